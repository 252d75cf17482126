/**
 * Work in progress: calls whose handler runs, whether or not anybody waits for their answer.
 *
 * A client that leaves does not stop a handler, so a service that stops cannot go by its connections:
 * it waits for the work itself, as long as it was told to.
 *
 * @module
 */

import type { Platform, Timer } from '../../platform.ts';

export interface WorkInProgress {
  /** Counts a call until it has ended and is recorded. */
  track<Result>(work: Promise<Result>): Promise<Result>;
  /** Resolves when nothing is in progress or the time is up, with what is left. */
  finish(graceMs: number): Promise<number>;
}

export function createWorkInProgress({
  after,
  cancel,
}: Pick<Platform, 'after' | 'cancel'>): WorkInProgress {
  const open = new Set<Promise<unknown>>();
  return {
    track(work) {
      open.add(work);
      const done = () => open.delete(work);
      work.then(done, done);
      return work;
    },
    async finish(graceMs) {
      let timer: Timer | undefined;
      const timeUp = new Promise<'time'>((resolve) => {
        timer = after(graceMs, () => resolve('time'));
      });
      // Work that ends may start other work: a late outcome is recorded after its call.
      while (open.size > 0) {
        if ((await Promise.race([Promise.allSettled(open), timeUp])) === 'time') break;
      }
      cancel(timer);
      return open.size;
    },
  };
}
