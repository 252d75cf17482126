/**
 * Rate limits: those that an operator or an author sets, shared by all replicas without a row that every
 * call would fight for; and the pace of each root principal, which each process counts by itself.
 *
 * Each process takes a slice of a window's calls from the store and hands it out alone. So no window
 * ever takes more calls than its limit, over all replicas together; and it takes at most one slice per
 * further replica less, where calls are spread unevenly.
 *
 * @module
 */

import { Refusal } from '../../domain/failure.ts';
import {
  createPacer,
  type RatePolicy,
  type RateState,
  rateLimited,
  rateWindow,
} from '../../domain/invocation/rate.ts';
import { createRecent } from '../../domain/values/recent.ts';
import type { Platform } from '../../platform.ts';
import type { RateLimit } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { Store } from '../../storage/port/store.ts';

/** A window is taken in about this many slices: few trips to the store, little left unused. */
const SLICES_PER_WINDOW = 20;

/** Keys with a window in progress; what was not used lately is forgotten, and its slice is lost. */
const KEYS_MAX = 100_000;

export interface RateLimiter {
  /** Counts a call of any operation. Tells why not, where its principal calls faster than it may. */
  outpaced(rootPrincipal: string): Failure | undefined;
  /** Takes one call and notes on it what is left. Refuses when the window is empty. */
  take(
    call: { readonly rates: RateState[] },
    whose: RateKey,
    rate: RateLimit | undefined,
  ): Promise<void> | undefined;
}

interface RateKey {
  readonly policy: RatePolicy;
  readonly name: string;
}

/** What this process holds of one window. */
interface Held {
  readonly start: number;
  calls: number;
  /** What the store has left for all, when it was last asked; nothing more when it gave nothing. */
  left: number;
  asking?: Promise<void> | undefined;
}

/** `pace` is that of each root principal; without it they call as fast as they like. */
export function createRateLimiter(
  store: Store,
  { monotonic }: Pick<Platform, 'monotonic'>,
  pace?: RateLimit,
): RateLimiter {
  const pacer = pace && createPacer('the root principal', pace);
  const held = createRecent<string, Held>(KEYS_MAX);

  function heldOf(key: string, start: number, limit: number): Held {
    const before = held.get(key);
    if (before?.start === start) return before;
    const window = { start, calls: 0, left: limit };
    held.set(key, window);
    return window;
  }

  async function refill(key: string, window: Held, limit: number): Promise<void> {
    const slice = Math.ceil(limit / SLICES_PER_WINDOW);
    const windowStart = new Date(window.start);
    const { granted, left } = await store.takePermits({ key, windowStart, limit, slice });
    window.calls += granted;
    window.left = granted === 0 ? 0 : left;
  }

  async function count(
    call: { readonly rates: RateState[] },
    { policy, name }: RateKey,
    rate: RateLimit,
  ): Promise<void> {
    const { limit } = rate;
    const { start, lengthMs, resetMs } = rateWindow(rate, store.now());
    // With its length: a window of another length would be taken for one that is over.
    const key = `${policy}:${lengthMs}:${name}`;
    const window = heldOf(key, start.getTime(), limit);
    while (window.calls === 0 && window.left > 0) {
      // One question at a time: those who come meanwhile share its answer.
      window.asking ??= refill(key, window, limit).finally(() => {
        window.asking = undefined;
      });
      await window.asking;
    }
    const isEmpty = window.calls === 0;
    if (!isEmpty) window.calls -= 1;
    const remaining = window.calls + window.left;
    const state: RateState = { policy, limit, windowMs: lengthMs, remaining, resetMs };
    call.rates.push(state);
    if (isEmpty) throw new Refusal(rateLimited(state, rate));
  }

  return {
    outpaced: (rootPrincipal) => pacer?.take(rootPrincipal, monotonic()),
    take: (call, whose, rate) => rate && count(call, whose, rate),
  };
}
