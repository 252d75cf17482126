/**
 * A deadline: whether it has passed, and an abort signal for it.
 *
 * The signal is created on first use. Most handlers never read it, and creating one takes longer
 * than some handlers run.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';
import { type Eventual, isPromised } from '../../steps.ts';

export interface Deadline {
  readonly hasPassed: boolean;
  /** By the monotonic clock, in milliseconds. */
  readonly endsAt: number;
  readonly signal: AbortSignal;
}

/** A class, because defining two accessors on each object is slow. */
class PassableDeadline implements Deadline {
  #controller: AbortController | undefined;
  #passed: Error | undefined;
  readonly endsAt: number;

  constructor(endsAt: number) {
    this.endsAt = endsAt;
  }

  get hasPassed(): boolean {
    return this.#passed !== undefined;
  }

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#passed) this.#controller.abort(this.#passed);
    }
    return this.#controller.signal;
  }

  /** Never throws: a timer calls it, and an error there stops the service. */
  pass(reason: Error): void {
    this.#passed = reason;
    try {
      this.#controller?.abort(reason);
    } catch {
      // A handler may have frozen its signal. The deadline has passed all the same.
    }
  }
}

export function createDeadline(endsAt: number): Deadline & { pass(reason: Error): void } {
  return new PassableDeadline(endsAt);
}

export const LATE = Symbol('late');

/** The result of `ended`, or `LATE` when the time is up first. */
export function beforeLate<Result>(
  platform: Pick<Platform, 'after' | 'cancel'>,
  ended: Eventual<Result>,
  deadlineMs: number,
): Eventual<Result | typeof LATE> {
  return inTime(platform, ended, deadlineMs, () => LATE);
}

/**
 * The result of `ended`, or what `late` returns when the time is up first. What has ended needs no timer. `late` must
 * not throw.
 */
export function inTime<Result, Late>(
  { after, cancel }: Pick<Platform, 'after' | 'cancel'>,
  ended: Eventual<Result>,
  deadlineMs: number,
  late: () => Late,
): Eventual<Result | Late> {
  if (!isPromised(ended)) return ended;
  return new Promise((resolve, reject) => {
    const timer = after(deadlineMs, () => resolve(late()));
    // `finally` would create two more promises for each call.
    ended.then(
      (result) => {
        cancel(timer);
        resolve(result);
      },
      (error: unknown) => {
        cancel(timer);
        reject(error);
      },
    );
  });
}
