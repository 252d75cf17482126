/**
 * The two ways to wait: steps inside a call, `async` everywhere else.
 *
 * - *Steps* is a generator that yields each promise it needs and runs on at once past every value that it has. A
 *   promise costs a call more than most of its rules, so what every call passes, from its request to its answer, is
 *   written as steps: `yield* other(…)` for other steps, `yield* wait(value)` for a value that may be a promise.
 * - *async functions* are all the rest: the store, streams, the order of a composed call, pages, background tasks.
 *
 * `run` leads from steps to a value, or to the promise of one where the steps wait: async code writes
 * `await run(steps)`. Steps that call an async function write `yield* wait(…)`.
 *
 * @module
 */

/** A value, or the promise of one: what `run` returns and `wait` takes. */
export type Eventual<Value> = Value | Promise<Value>;

/** Yields the promises that it waits for, and returns its result. */
export interface Steps<Result> {
  next(value?: unknown): IteratorResult<Promise<unknown>, Result>;
  throw(error: unknown): IteratorResult<Promise<unknown>, Result>;
  [Symbol.iterator](): Steps<Result>;
}

/** Whether a value is not here yet: a promise of any kind. One taken for a value would be a check that is not waited for. */
export function isPromised<Value>(value: Eventual<Value>): value is Promise<Value> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

/** The value, after a wait if it is not here yet. */
export function wait<Value>(value: Eventual<Value>): Steps<Value> {
  return isPromised(value) ? waiting(value) : new Ready(value);
}

function* waiting<Value>(promise: Promise<Value>): Steps<Value> {
  return (yield promise) as Value;
}

/** Steps that have ended. Most of what a call could wait for is here, and a generator takes longer than most rules. */
class Ready<Value> implements Steps<Value> {
  readonly done = true;
  readonly value: Value;

  constructor(value: Value) {
    this.value = value;
  }

  next(): IteratorReturnResult<Value> {
    return this;
  }

  throw(error: unknown): never {
    throw error;
  }

  [Symbol.iterator](): Steps<Value> {
    return this;
  }
}

/** The result of work, whether or not it is written as steps. */
export function stepsOf<Result>(work: Eventual<Result> | Steps<Result>): Steps<Result> {
  return isSteps(work) ? work : wait(work);
}

function isSteps<Result>(work: Eventual<Result> | Steps<Result>): work is Steps<Result> {
  return typeof work === 'object' && work !== null && Symbol.iterator in work && 'next' in work;
}

/** Runs steps. Returns, or throws, at once where nothing waits. */
export function run<Result>(steps: Steps<Result>): Eventual<Result> {
  const first = steps.next();
  return first.done ? first.value : resumed(steps, first.value);
}

/** The same steps. Calls `begun` when they wait for the first time, or end without waiting. */
export function* begunWith<Result>(steps: Steps<Result>, begun: () => void): Steps<Result> {
  let next = steps.next();
  begun();
  while (!next.done) {
    try {
      next = steps.next(yield next.value);
    } catch (error) {
      // Steps that threw have ended, and throw the same error again.
      next = steps.throw(error);
    }
  }
  return next.value;
}

async function resumed<Result>(steps: Steps<Result>, first: Promise<unknown>): Promise<Result> {
  let pending = first;
  for (;;) {
    let next: IteratorResult<Promise<unknown>, Result>;
    try {
      next = steps.next(await pending);
    } catch (error) {
      // Steps that threw have ended, and throw the same error again.
      next = steps.throw(error);
    }
    if (next.done) return next.value;
    pending = next.value;
  }
}

/** Begins all works at once, and waits for all of them. Throws when the first of them fails. */
export function all<Value>(works: readonly Steps<Value>[]): Eventual<Value[]> {
  const begun = works.map((work) => {
    try {
      return run(work);
    } catch (error) {
      return Promise.reject(error);
    }
  });
  return begun.some(isPromised) ? Promise.all(begun) : (begun as Value[]);
}
