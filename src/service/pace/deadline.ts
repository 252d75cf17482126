/**
 * A deadline: whether it has passed, and a signal of it for whoever asks for one.
 *
 * The signal is made when it is first asked for: most handlers end without a look at it, and to make
 * one takes longer than some of them.
 *
 * @module
 */

import type { Platform } from '../../platform.ts';

export interface Deadline {
  readonly hasPassed: boolean;
  readonly signal: AbortSignal;
}

/** A class: to define two accessors on each object takes longer than all else here. */
class PassableDeadline implements Deadline {
  #controller: AbortController | undefined;
  #passed: Error | undefined;

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

  pass(reason: Error): void {
    this.#passed = reason;
    this.#controller?.abort(reason);
  }
}

export function createDeadline(): Deadline & { pass(reason: Error): void } {
  return new PassableDeadline();
}

export const LATE = Symbol('late');

/** What ends first: `ended`, or the time it has. */
export function beforeLate<Result>(
  { after, cancel }: Pick<Platform, 'after' | 'cancel'>,
  ended: Promise<Result>,
  deadlineMs: number,
): Promise<Result | typeof LATE> {
  return new Promise((resolve, reject) => {
    const timer = after(deadlineMs, () => resolve(LATE));
    // Not `finally`, which makes two promises more for each call.
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
