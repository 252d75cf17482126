/**
 * Pace: how long the client waits before a repetition, and how it waits.
 *
 * @module
 */

/** Milliseconds before the first repetition; doubled for each further one. */
const BACKOFF_MS = 200;
const BACKOFF_MAX_MS = 10_000;

/**
 * How the client waits. Rejects with the signal's reason when it aborts.
 *
 * @example
 * import { createClient, type Pause } from 'writ/client';
 *
 * const pauses: number[] = [];
 * const pause: Pause = async (ms) => void pauses.push(ms);
 * const offline = () => Promise.reject(new Error('no network'));
 * const client = createClient({ url: 'http://127.0.0.1', retries: 3, pause, fetch: offline });
 * await client.ask('discovery', {});
 * console.log(pauses.length);
 */
export type Pause = (ms: number, signal?: AbortSignal) => Promise<void>;

/** Full jitter, so that many clients do not return at once; never earlier than the service asks for. */
export function backoffMs(attempt: number, atLeastMs = 0): number {
  const most = Math.min(BACKOFF_MS * 2 ** attempt, BACKOFF_MAX_MS);
  return atLeastMs + Math.random() * most;
}

/** In milliseconds: a longer timer fires at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

export const pauseFor: Pause = async (ms, signal) => {
  signal?.throwIfAborted();
  for (let left = ms; left > 0; left -= TIMER_MAX_MS) {
    await slept(Math.min(left, TIMER_MAX_MS), signal);
  }
};

function slept(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
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
}
