/**
 * Rate limits. Limits that an operator or an author sets hold for all replicas together. The pace
 * of each root principal is counted by each process alone.
 *
 * A process takes a slice of the calls of a window from the store and spends it without asking
 * again, so calls do not compete for one row. A window never admits more calls than its limit. It
 * admits fewer when calls are spread unevenly: at most one slice less for each further replica.
 *
 * @module
 */

import type { Config } from '../../config/config.ts';
import { Refusal } from '../../domain/failure.ts';
import {
  createPacer,
  type Pacer,
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

/** Slices in a window: few trips to the store, little left unused. */
const SLICES_PER_WINDOW = 20;

/**
 * Keys with a current window. A key that was not used recently is forgotten, and its slice is lost.
 */
const KEYS_MAX = 100_000;

export interface RateLimiter {
  /** Counts a call of any operation. Returns the failure when the principal calls too fast. */
  outpaced(rootPrincipal: string): Failure | undefined;
  /**
   * Takes one call from the window and adds the rest to `call.rates`. Refuses when the window is
   * empty.
   */
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

/** The slice of a window that this process holds. */
interface Held {
  readonly start: number;
  calls: number;
  /** Calls that the store had left at the last question; 0 once it granted nothing. */
  left: number;
  asking?: Promise<void> | undefined;
}

/** Counts the calls of each root principal in this process. `undefined` where they are not limited. */
export function createPrincipalPacer({
  rate_limits,
  principal_rate,
}: Pick<Config, 'rate_limits' | 'principal_rate'>): Pacer | undefined {
  return rate_limits === 'on' ? createPacer('the root principal', principal_rate) : undefined;
}

/** `pacer` limits each root principal. Without it there is no such limit. */
export function createRateLimiter(
  store: Store,
  { monotonic }: Pick<Platform, 'monotonic'>,
  pacer?: Pacer,
): RateLimiter {
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
    // The key contains the length, because a window of another length has other starts.
    const key = `${policy}:${lengthMs}:${name}`;
    const window = heldOf(key, start.getTime(), limit);
    while (window.calls === 0 && window.left > 0) {
      // One question at a time. Calls that arrive meanwhile share its answer.
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
