/**
 * Repeated tasks: each runs at an interval or when nudged, and never twice at the same time.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';

export interface Repeated {
  /** Runs the task now, or once more after the current run. */
  nudge(): void;
  /** Resolves when the current run has ended. */
  stop(): Promise<void>;
}

export function startRepeating(
  { every, cancel }: Pick<Platform, 'every' | 'cancel'>,
  task: () => Promise<void>,
  everyMs: number,
  onError: (error: unknown) => void,
): Repeated {
  let running: Promise<void> | undefined;
  let again = false;
  let stopped = false;

  const nudge = () => {
    if (stopped) return;
    if (running !== undefined) {
      again = true;
      return;
    }
    running = task()
      .catch(onError)
      .finally(() => {
        running = undefined;
        if (!again) return;
        again = false;
        nudge();
      });
  };
  const timer = every(everyMs, nudge);
  timer.unref();
  return {
    nudge,
    async stop() {
      stopped = true;
      cancel(timer);
      await running;
    },
  };
}
