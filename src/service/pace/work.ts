/**
 * Work in progress: calls whose handler runs, whether or not a client waits for the answer.
 *
 * A handler goes on after its client has left. So a service that stops waits for the handlers, not
 * for the connections, up to its grace period.
 *
 * @module
 */

import type { Platform, Timer } from '../../platform.ts';

export interface WorkInProgress {
  /** Counts a call until it has ended and its outcome is recorded. */
  track<Result>(work: Promise<Result>): Promise<Result>;
  /** Resolves when nothing runs or the time is up, with the number of calls that still run. */
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
      // Work that ends may start more work: a late outcome is recorded after its call.
      while (open.size > 0) {
        if ((await Promise.race([Promise.allSettled(open), timeUp])) === 'time') break;
      }
      cancel(timer);
      return open.size;
    },
  };
}
