/**
 * Repeated tasks: run at an interval or when nudged, never beside themselves.
 *
 * @module
 */

export interface Repeated {
  /** Runs soon: now, or once more when the run under way has ended. */
  nudge(): void;
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

export function repeated(
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
  const timer = setInterval(nudge, everyMs);
  timer.unref();
  return {
    nudge,
    async stop() {
      stopped = true;
      clearInterval(timer);
      await running;
    },
  };
}
