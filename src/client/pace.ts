/**
 * Pace: how long the client waits before it asks again, and how it waits.
 *
 * @module
 */

/** Milliseconds before the first repetition; doubled for each further one. */
const BACKOFF_MS = 200;
const BACKOFF_MAX_MS = 10_000;

/** How the client waits. Rejects with the signal's reason when it aborts. */
export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;

/** Full jitter, so that many clients do not come back at once; never before the service wants it. */
export function backoffMs(attempt: number, atLeastMs = 0): number {
  const most = Math.min(BACKOFF_MS * 2 ** attempt, BACKOFF_MAX_MS);
  return atLeastMs + Math.random() * most;
}

export const pauseFor: Pause = (ms, signal) =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
