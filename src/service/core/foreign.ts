/**
 * Calls author code: every function that a service author wrote is called through this file.
 *
 * What such a function throws, returns or promises comes back as a value that is read once, and
 * every promise of author code that is reached has a rejection handler. The returned value is still untrusted:
 * `domain/wire/foreign.ts` reads it. A function that never returns blocks the process, and this file cannot
 * prevent that.
 *
 * @module
 */

import { isPromise } from 'node:util/types';
import type { Eventual } from '../../domain/values/eventual.ts';
import { foreignMember } from '../../domain/wire/foreign.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import { beforeLate, type LATE } from '../pace/deadline.ts';

export type Heard = { readonly returned: unknown } | { readonly thrown: unknown };

/**
 * Thenables that resolve with another thenable. A promise never does, so a longer chain is a
 * defect.
 */
const THENABLES_MAX = 8;

/**
 * Calls the code, waits for its promise if it returns one, and continues with what was heard. Only `next` can
 * throw.
 */
export function ask<Result>(
  code: () => unknown,
  next: (heard: Heard) => Eventual<Result>,
): Eventual<Result> {
  let heard: Heard;
  try {
    const returned = code();
    if (isPlainPromise(returned)) return afterPromise(returned, next);
    const then = thenOf(returned);
    if (then) return afterThenable(returned, then, next);
    heard = { returned };
  } catch (error) {
    heard = { thrown: error };
  }
  return next(heard);
}

async function afterPromise<Result>(
  promise: Promise<unknown>,
  next: (heard: Heard) => Eventual<Result>,
): Promise<Result> {
  let heard: Heard;
  try {
    heard = { returned: await promise };
  } catch (error) {
    heard = { thrown: error };
  }
  return next(heard);
}

async function afterThenable<Result>(
  first: unknown,
  firstThen: Then,
  next: (heard: Heard) => Eventual<Result>,
): Promise<Result> {
  let answer = first;
  let then: Then | undefined = firstThen;
  try {
    for (let thenables = 0; then; thenables += 1) {
      if (thenables === THENABLES_MAX) {
        // It may be a promise that rejects.
        then.call(answer, ignore, ignore);
        throw new Error(ENDLESS);
      }
      answer = (await outcomeOf(answer, then)).value;
      if (isPlainPromise(answer)) return afterPromise(answer, next);
      then = thenOf(answer);
    }
  } catch (error) {
    return next({ thrown: error });
  }
  return next({ returned: answer });
}

const ENDLESS = 'Cannot wait: the promise resolves to a chain of promises without an end';

/**
 * Like `ask`, with a deadline. The answer is `LATE` when the time is up, and a later result is ignored.
 */
export function askWithin(
  platform: Platform,
  deadlineMs: number,
  code: () => unknown,
): Eventual<Heard | typeof LATE> {
  return beforeLate(platform, ask(code, asHeard), deadlineMs);
}

function asHeard(heard: Heard): Heard {
  return heard;
}

/** Calls code that must return at once. A promise is a defect, and its rejection is ignored. */
export function askNow(code: () => unknown): Heard {
  try {
    const returned = code();
    const then = thenOf(returned);
    if (!then) return { returned };
    then.call(returned, ignore, ignore);
    return { thrown: new Error('Cannot use a promise: the function has to answer at once') };
  } catch (error) {
    return { thrown: error };
  }
}

/**
 * The returned value. Throws a defect of ours instead of the thrown value, which only the log gets.
 */
export function returnedBy(heard: Heard, what: string): unknown {
  if ('returned' in heard) return heard.returned;
  throw new Error(`Cannot use ${what}: it threw`, { cause: heard.thrown });
}

/** Writes a log line about author code. The logger may be author code that throws. */
export function report(log: Logger, facts: object, message: string): void {
  try {
    log.error(facts, message);
  } catch {
    // The outcome of a call must not depend on its log line.
  }
}

/** A promise of the language itself. It never resolves with another one, and is waited for as it is. */
function isPlainPromise(value: unknown): value is Promise<unknown> {
  return (
    isPromise(value) &&
    Object.getPrototypeOf(value) === Promise.prototype &&
    !Object.hasOwn(value, 'then') &&
    !Object.hasOwn(value, 'constructor')
  );
}

type Then = (resolve: (value: unknown) => void, reject: (error: unknown) => void) => unknown;

/** Reads `then` once: a getter may return something else the second time. */
function thenOf(value: unknown): Then | undefined {
  const then = foreignMember(value, 'then');
  return typeof then === 'function' ? (then as Then) : undefined;
}

/** Boxed, because a promise that resolves with a thenable calls its `then` by itself. */
function outcomeOf(promised: unknown, then: Then): Promise<{ value: unknown }> {
  return new Promise((resolve, reject) => {
    then.call(promised, (value: unknown) => resolve({ value }), reject);
  });
}

function ignore(): void {}
