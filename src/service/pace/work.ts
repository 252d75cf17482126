/**
 * Work in progress: calls whose handler runs, whether or not a client waits for the answer.
 *
 * A handler goes on after its client has left. So a service that stops waits for the handlers, not
 * for the connections, up to its grace period.
 *
 * @module
 */

import type { Platform, Timer } from '../../platform.ts';
import type { Steps } from '../../steps.ts';

export interface WorkInProgress {
  /** Counts a call until it has ended and its outcome is recorded. */
  during<Result>(call: Steps<Result>): Steps<Result>;
  /** The same for work that a promise stands for. */
  track<Result>(work: Promise<Result>): Promise<Result>;
  /** Resolves when nothing runs or the time is up, with the number of calls that still run. */
  finish(graceMs: number): Promise<number>;
}

export function createWorkInProgress({
  after,
  cancel,
}: Pick<Platform, 'after' | 'cancel'>): WorkInProgress {
  let open = 0;
  let onIdle: (() => void)[] = [];
  const ended = () => {
    open -= 1;
    if (open > 0) return;
    for (const tell of onIdle) tell();
    onIdle = [];
  };
  return {
    *during(call) {
      open += 1;
      try {
        return yield* call;
      } finally {
        ended();
      }
    },
    track(work) {
      open += 1;
      work.then(ended, ended);
      return work;
    },
    async finish(graceMs) {
      let timer: Timer | undefined;
      const timeUp = new Promise<'time'>((resolve) => {
        timer = after(graceMs, () => resolve('time'));
      });
      // Work that ends may start more work: a late outcome is recorded after its call.
      while (open > 0) {
        const idle = new Promise<'idle'>((resolve) => onIdle.push(() => resolve('idle')));
        if ((await Promise.race([idle, timeUp])) === 'time') break;
      }
      cancel(timer);
      return open;
    },
  };
}
