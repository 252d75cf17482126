/**
 * The platform: clock, timers, the end of a turn of the event loop, and random bytes.
 *
 * A running service asks this port and nothing else for time and chance, so one implementation of it
 * decides every id, every timestamp and the order of all background work. Programs take `system`; a test
 * or a simulation gives its own. `test/repository/layers.ts` lists the files that ask Node directly.
 *
 * Keys, their MACs and signatures stay with node:crypto: a seed must never decide a secret. Salts of entries
 * come from here. They protect erased values only as long as `random` cannot be predicted, which holds for
 * `system`.
 *
 * @module
 */

import { randomFillSync } from 'node:crypto';
import { setImmediate } from 'node:timers';

export interface Platform {
  /** The wall clock: milliseconds since 1970. */
  now(): number;
  /** A clock that is never set back, in milliseconds. */
  monotonic(): number;
  after(ms: number, run: () => void): Timer;
  every(ms: number, run: () => void): Timer;
  /** Has no effect on a timer that has run or was cancelled. */
  cancel(timer: Timer | undefined): void;
  /** Runs in the next turn of the event loop, after the input of this one was read. */
  turn(run: () => void): void;
  /** Runs after the current callback, when no promise job is left. */
  tick(run: () => void): void;
  /** Bytes that never repeat. */
  random(size: number): Uint8Array;
}

export interface Timer {
  /** Lets the process end while the timer is still waiting. */
  unref(): unknown;
}

/** What Node offers. Globals are looked up at each call, so that a test may replace them. */
export const system: Platform = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, run) => setTimeout(run, ms),
  every: (ms, run) => setInterval(run, ms),
  cancel: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  turn: (run) => void setImmediate(run),
  tick: (run) => process.nextTick(run),
  random: pooledBytes,
};

export function pause({ after }: Pick<Platform, 'after'>, ms: number): Promise<void> {
  return new Promise((resolve) => void after(ms, resolve));
}

/**
 * How far the other clock is ahead. Every part of a time differs there: year, month, day, weekday, hour, minute,
 * second and millisecond.
 */
const OTHER_TIME_MS = 400 * 86_400_000 + 45_296_789;

/** Runs synchronous code under a clock that is ahead, so that its caller sees what depends on the time. */
export function atAnotherTime<Result>(run: () => Result): Result {
  const { Date: Real } = globalThis;
  const now = () => Real.now() + OTHER_TIME_MS;
  globalThis.Date = new Proxy(Real, {
    apply: () => new Real(now()).toString(),
    construct: (target, given, made) =>
      Reflect.construct(target, given.length === 0 ? [now()] : given, made),
    get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
  });
  try {
    return run();
  } finally {
    globalThis.Date = Real;
  }
}

/** A random UUID (RFC 9562, version 4). */
export function newUuid({ random }: Pick<Platform, 'random'>): string {
  const bytes = random(16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = Buffer.from(bytes).toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** In bytes, enough for some sixty requests: one fill costs less than a call for each id. */
const POOL_BYTES = 8_192;

const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

function pooledBytes(size: number): Uint8Array {
  if (size > POOL_BYTES) throw new RangeError(`Cannot take ${size} random bytes at once`);
  if (used + size > POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = new Uint8Array(size);
  for (let i = 0; i < size; i++, used++) {
    bytes[i] = pool[used] as number;
    pool[used] = 0;
  }
  return bytes;
}
