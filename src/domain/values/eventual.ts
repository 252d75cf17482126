/**
 * Values that may be here already: work that waits only where something makes it wait.
 *
 * A promise costs a call more than most of its rules. So the work of a call is written as steps: a generator that
 * yields each promise it needs, and runs on at once past everything that is here.
 *
 * @module
 */

export type Eventual<Value> = Value | Promise<Value>;

/** Yields the promises that it waits for, and returns its result. */
export type Steps<Result> = Generator<Promise<unknown>, Result, unknown>;

/**
 * Whether a value is not here yet. By its `then`: an app may replace the global `Promise`, and then the promise of an
 * async function is no instance of it. A promise taken for a value would be a check that is not waited for.
 */
export function isPromised<Value>(value: Eventual<Value>): value is Promise<Value> {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as { readonly then?: unknown }).then === 'function'
  );
}

/** The value, after a wait if it is not here yet. */
export function* wait<Value>(value: Eventual<Value>): Steps<Value> {
  return isPromised(value) ? ((yield value) as Value) : value;
}

/** The result of work, whether or not it is written as steps. */
export function resultOf<Result>(work: Eventual<Result> | Steps<Result>): Steps<Result> {
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

/** Begins all works at once. Throws when the first of them fails. */
export function all<Value>(works: readonly (() => Eventual<Value>)[]): Eventual<Value[]> {
  const begun = works.map((work) => {
    try {
      return work();
    } catch (error) {
      return Promise.reject(error);
    }
  });
  return begun.some(isPromised) ? Promise.all(begun) : (begun as Value[]);
}

/** What follows a value: at once, or when it is here. */
export function following<Value, Result>(
  value: Eventual<Value>,
  next: (value: Value) => Eventual<Result>,
): Eventual<Result> {
  return isPromised(value) ? value.then(next) : next(value);
}
