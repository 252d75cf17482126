/**
 * Writes lines to a client in the given order, and no faster than the client reads.
 *
 * After a client has left, nothing more is written to it. A client that reads slowly, or not at
 * all, misses progress events, so the memory it occupies is bounded. The content of a line has no
 * meaning here.
 *
 * @module
 */

import type { Writable } from 'node:stream';
import type { Platform } from '../../platform.ts';

/** In milliseconds: the longest time a handler waits for a client that is behind. */
export const STALL_MS = 3_000;

/** Events of up to 64 KiB that wait for one client. Later events are dropped. */
const WAITING_MAX = 16;

export interface LineWriter {
  /** Writes a line to the stream. False when the client has left. */
  write(line: string): boolean;
  /**
   * Resolves with true when the stream takes more, with false when the client has left or has not
   * read for `stallMs`. Without `stallMs` it waits until the client reads or leaves.
   */
  ready(stallMs?: number): Promise<boolean>;
  /** Resolves when all lines are written, when the client has left, or after `stallMs`. */
  flushed(stallMs: number): Promise<void>;
  isOpen(): boolean;
  /** Resolves when the client has left. */
  readonly gone: Promise<void>;
}

export function createLineWriter(
  output: Writable,
  { after, cancel }: Pick<Platform, 'after' | 'cancel'>,
): LineWriter {
  // Bound now, because `output.write` may be replaced later.
  const write = output.write.bind(output);
  const waiting = new Set<(ready: boolean) => void>();
  let open = true;
  const wake = (ready: boolean) => {
    for (const resume of [...waiting]) resume(ready);
  };
  const gone = new Promise<void>((resolve) => {
    const leave = () => {
      open = false;
      wake(false);
      resolve();
    };
    output.once('close', leave);
    // Stays registered: a broken pipe reports an error for every pending write.
    output.on('error', leave);
  });
  output.on('drain', () => wake(true));

  function woken(stallMs?: number): Promise<boolean> {
    return new Promise((resolve) => {
      const resume = (ready: boolean) => {
        cancel(timer);
        waiting.delete(resume);
        resolve(ready);
      };
      const timer = stallMs === undefined ? undefined : after(stallMs, () => resume(false));
      waiting.add(resume);
    });
  }

  return {
    gone,
    isOpen: () => open,
    write(line) {
      if (open) write(line);
      return open;
    },
    async ready(stallMs) {
      if (!open || !output.writableNeedDrain) return open;
      return woken(stallMs);
    },
    async flushed(stallMs) {
      if (!open || output.writableLength === 0) return;
      const late = woken(stallMs);
      write('', () => wake(true));
      await late;
    },
  };
}

/** Waits until the client has read. False when it is too far behind for another event. */
export function createPace(
  { ready }: Pick<LineWriter, 'ready'>,
  stallMs: number = STALL_MS,
): () => Promise<boolean> {
  let waiting = 0;
  let isBehind = false;
  return async () => {
    if (waiting >= WAITING_MAX) return false;
    waiting += 1;
    isBehind = !(await ready(isBehind ? 0 : stallMs));
    waiting -= 1;
    return !isBehind;
  };
}
