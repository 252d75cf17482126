/**
 * The one way to standard output: whole lines, in the order they were given, and no faster than the
 * client reads.
 *
 * A client that has left is noticed once and written to no more. Nothing here knows what a line says.
 *
 * @module
 */

import type { Writable } from 'node:stream';

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

export function createLineWriter(output: Writable): LineWriter {
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
        clearTimeout(timer);
        waiting.delete(resume);
        resolve(ready);
      };
      const timer = stallMs === undefined ? undefined : setTimeout(resume, stallMs, false);
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
