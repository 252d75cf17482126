/**
 * Writing to a client: whole pieces, in the order they were given, and no faster than it reads.
 *
 * A client that has left is noticed once and written to no more. One that reads slowly, or not at all,
 * misses progress, and what waits for it in memory is bounded. Nothing here knows what a piece says.
 *
 * @module
 */

import type { Writable } from 'node:stream';
import type { Platform } from '../../platform.ts';

/** In milliseconds: a handler waits this long for a client that is behind, and then no more. */
export const STALL_MS = 3_000;

/** Events of 64 KiB that wait for a client while its handler goes on; the rest of them is dropped. */
const WAITING_MAX = 16;

export interface LineWriter {
  /** Gives a line to the stream. False when nobody is there to read it. */
  write(line: string): boolean;
  /**
   * Resolves with true when the client has read enough for more to be written, with false when it
   * has left or has not done so for `stallMs`. Without a bound it waits as long as the client lives.
   */
  ready(stallMs?: number): Promise<boolean>;
  /** Resolves when everything was handed over, when the client has left, or after `stallMs`. */
  flushed(stallMs: number): Promise<void>;
  isOpen(): boolean;
  /** Resolves when the client has left. */
  readonly gone: Promise<void>;
}

export function createLineWriter(
  output: Writable,
  { after, cancel }: Pick<Platform, 'after' | 'cancel'>,
): LineWriter {
  // Bound now: whoever writes to the stream by its own name later may be led elsewhere.
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
    // Kept for good: a pipe that breaks says so on every write that was still under way.
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

/** Waits until the client has read on. False when it is too far behind for another event. */
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
