/**
 * One job that runs on request: never twice at a time, and once more when it was requested while it ran.
 *
 * @module
 */

import type { Platform, Timer } from '../../platform.ts';

export interface Jobs {
  /** Resolves when a run that began after this request has ended. Never rejects. */
  run(): Promise<void>;
  /** Requests a run after a pause, and after a rest since the last one that was requested so; requests meanwhile are one. */
  soon(): void;
  /** Drops waiting requests. Resolves when no run is in work. */
  close(): Promise<void>;
}

interface Timing {
  readonly platform: Platform;
  readonly pauseMs: number;
  readonly restMs: number;
}

export function createJobs(
  job: () => Promise<void>,
  onError: (error: unknown) => void,
  { platform, pauseMs, restMs }: Timing,
): Jobs {
  let running: Promise<void> | undefined;
  let isRequested = false;
  let isClosed = false;
  let waiting: Timer | undefined;
  let lastAt = Number.NEGATIVE_INFINITY;

  async function work(): Promise<void> {
    while (isRequested && !isClosed) {
      isRequested = false;
      await job().catch(onError);
    }
    running = undefined;
  }

  function run(): Promise<void> {
    isRequested = true;
    running ??= work();
    return running;
  }

  return {
    run,
    soon() {
      const restedMs = platform.monotonic() - lastAt;
      waiting ??= platform.after(Math.max(pauseMs, restMs - restedMs), () => {
        waiting = undefined;
        lastAt = platform.monotonic();
        void run();
      });
    },
    async close() {
      isClosed = true;
      platform.cancel(waiting);
      await running;
    },
  };
}
