/**
 * Repeated tasks: run at an interval or when nudged, never beside themselves.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';

export interface Repeated {
  /** Runs soon: now, or once more when the run under way has ended. */
  nudge(): void;
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

export function repeated(
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
