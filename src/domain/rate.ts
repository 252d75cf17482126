/**
 * Rate limits as rules: which window a moment lies in, and what a caller is told of it.
 *
 * Windows are fixed and start at whole multiples of their length since 1970, so replicas with one clock
 * agree on them without talking.
 *
 * @module
 */

import type { RateLimit } from '../protocol/capability.ts';
import type { Failure } from '../protocol/failure.ts';
import { parseDuration } from './duration.ts';
import { failure } from './failure.ts';

/** Whose calls a limit counts. */
export type RatePolicy = 'principal' | 'capability';

/** One limit as a call found it. */
export interface RateState {
  readonly policy: RatePolicy;
  readonly limit: number;
  readonly windowMs: number;
  /** As far as this process knows: others may hold some of it. */
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
  const lengthMs = parseDuration(window);
  if (!lengthMs) throw new RangeError(`Cannot limit calls: "${window}" is no positive duration`);
  const passed = now.getTime() % lengthMs;
  return { start: new Date(now.getTime() - passed), lengthMs, resetMs: lengthMs - passed };
}

export function rateLimited(state: RateState, { window }: RateLimit): Failure {
  const seconds = wholeSeconds(state.resetMs);
  const whose = state.policy === 'principal' ? 'of the root principal' : 'of the capability';
  const detail = `Cannot invoke now: all ${state.limit} calls ${whose} in ${window} are used; more in ${seconds} s`;
  return failure('rate_limited', detail, { estimated_availability: `PT${seconds}S` });
}

/** The header fields that tell a client how to pace itself. Empty where nothing is limited. */
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
