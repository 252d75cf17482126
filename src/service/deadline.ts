/**
 * A deadline: whether it has passed, and a signal of it for whoever asks for one.
 *
 * The signal is made when it is first asked for: most handlers end without a look at it, and to make
 * one takes longer than some of them.
 *
 * @module
 */

export interface Deadline {
  readonly hasPassed: boolean;
  readonly signal: AbortSignal;
}

export function createDeadline(): Deadline & { pass(reason: Error): void } {
  let controller: AbortController | undefined;
  let passed: Error | undefined;
  return {
    get hasPassed() {
      return passed !== undefined;
    },
    get signal() {
      if (!controller) {
        controller = new AbortController();
        if (passed) controller.abort(passed);
      }
      return controller.signal;
    },
    pass(reason) {
      passed = reason;
      controller?.abort(reason);
    },
  };
}

export const LATE = Symbol('late');

/** What ends first: `ended`, or the time it has. */
export function beforeLate<Result>(
  ended: Promise<Result>,
  deadlineMs: number,
): Promise<Result | typeof LATE> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, deadlineMs, LATE);
    const inTime = () => clearTimeout(timer);
    ended.finally(inTime).then(resolve, reject);
  });
}
