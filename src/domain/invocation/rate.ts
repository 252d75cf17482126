/**
 * Rate limits: which window a moment lies in, how fast calls may follow each other, and the failures and
 * headers that inform a caller.
 *
 * Windows are fixed and start at whole multiples of their length since 1970, so replicas with one clock
 * agree on them without communication. A pace belongs to one process and has no windows: calls use up an
 * allowance that grows back continuously.
 *
 * @module
 */

import type { RateLimit } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import { failure } from '../failure.ts';
import { parseDuration } from '../values/duration.ts';
import { createRecent } from '../values/recent.ts';

/** Whose calls a limit counts. */
export type RatePolicy = 'principal' | 'capability';

/** The state of one limit when a call checked it. */
export interface RateState {
  readonly policy: RatePolicy;
  readonly limit: number;
  readonly windowMs: number;
  /** As far as this process knows: other processes may hold a part of it. */
  readonly remaining: number;
  /** Until the window ends. */
  readonly resetMs: number;
}

export interface RateWindow {
  readonly start: Date;
  readonly lengthMs: number;
  readonly resetMs: number;
}

export function rateWindow({ window }: RateLimit, now: Date): RateWindow {
  const lengthMs = lengthOf(window);
  const passed = now.getTime() % lengthMs;
  return { start: new Date(now.getTime() - passed), lengthMs, resetMs: lengthMs - passed };
}

export function rateLimited(state: RateState, { window }: RateLimit): Failure {
  const seconds = wholeSeconds(state.resetMs);
  const whose = state.policy === 'principal' ? 'of the root principal' : 'of the capability';
  const detail = `Cannot invoke now: all ${state.limit} calls ${whose} in ${window} are used; more in ${seconds} s`;
  return failure('rate_limited', detail, { estimated_availability: `PT${seconds}S` });
}

/** Whose calls a pacer counts. */
export type PaceOf =
  | 'the root principal'
  | 'the address'
  | 'the address, for credentials that are not known,';

export interface Pacer {
  /** Takes one call of `key`, or returns the failure. `nowMs` comes from a monotonic clock. */
  take(key: string, nowMs: number): Failure | undefined;
  /** Returns one call to the allowance of `key`. */
  giveBack(key: string): void;
}

/** Keys that are counted at the same time. A key that was evicted has its whole allowance again. */
const PACED_KEYS_MAX = 100_000;

/** In milliseconds. Absorbs the rounding of sums of fractions. */
const TOLERANCE_MS = 1e-3;

/**
 * Allows `limit` calls at once and, over time, `limit` calls in each window. Stores for each key the moment
 * at which its allowance is whole again. A refused call changes nothing, so a flood of calls does not
 * prolong the wait.
 */
export function createPacer(whose: PaceOf, { limit, window }: RateLimit): Pacer {
  const lengthMs = lengthOf(window);
  const eachMs = lengthMs / limit;
  const wholeAt = createRecent<string, number>(PACED_KEYS_MAX);
  return {
    take(key, nowMs) {
      const next = Math.max(wholeAt.get(key) ?? 0, nowMs) + eachMs;
      const earlyMs = next - nowMs - lengthMs;
      if (earlyMs > TOLERANCE_MS) return outpaced(whose, { limit, window }, earlyMs);
      wholeAt.set(key, next);
      return undefined;
    },
    giveBack(key) {
      wholeAt.set(key, (wholeAt.get(key) ?? 0) - eachMs);
    },
  };
}

function outpaced(whose: PaceOf, { limit, window }: RateLimit, waitMs: number): Failure {
  const seconds = wholeSeconds(waitMs);
  const detail = `Cannot answer now: ${whose} has used its ${limit} calls in ${window}; more in ${seconds} s`;
  return failure('rate_limited', detail, { estimated_availability: `PT${seconds}S` });
}

function lengthOf(window: string): number {
  const lengthMs = parseDuration(window);
  if (lengthMs) return lengthMs;
  throw new RangeError(`Cannot limit calls: "${window}" is not a positive duration`);
}

/** Header fields that let a client pace itself. Empty where no limit applies. */
export function rateHeaders(states: readonly RateState[]): Record<string, string> {
  if (states.length === 0) return {};
  const list = (item: (state: RateState) => string) =>
    states.map((state) => `"${state.policy}";${item(state)}`).join(', ');
  return {
    'ratelimit-policy': list(({ limit, windowMs }) => `q=${limit};w=${wholeSeconds(windowMs)}`),
    ratelimit: list(({ remaining, resetMs }) => `r=${remaining};t=${wholeSeconds(resetMs)}`),
  };
}

function wholeSeconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}
