/**
 * Calls author code: every function that a service author wrote is called through this file.
 *
 * What such a function throws, returns or promises comes back as a value, and every promise has a rejection
 * handler. The returned value is still untrusted: `domain/wire/foreign.ts` reads it. A function that never returns
 * blocks the process, and this file cannot prevent that.
 *
 * @module
 */

import { failure, Refusal } from '../../domain/failure.ts';
import type { Platform } from '../../platform.ts';
import { type Eventual, isPromised, run, type Steps, wait } from '../../steps.ts';
import { beforeLate, type LATE } from '../pace/deadline.ts';

export type Heard = { readonly returned: unknown } | { readonly thrown: unknown };

/** Calls the code, and waits for its promise if it returns one. Never throws. */
export function callForeign(code: () => unknown): Steps<Heard> {
  try {
    const returned = code();
    return isPromised(returned) ? awaitForeign(returned) : wait({ returned });
  } catch (error) {
    return wait({ thrown: error });
  }
}

function* awaitForeign(promise: Promise<unknown>): Steps<Heard> {
  try {
    return { returned: yield promise };
  } catch (error) {
    return { thrown: error };
  }
}

/** Like `callForeign`, with a deadline. The answer is `LATE` when the time is up, and a later result is ignored. */
export function askWithin(
  platform: Platform,
  deadlineMs: number,
  code: () => unknown,
): Eventual<Heard | typeof LATE> {
  return beforeLate(platform, run(callForeign(code)), deadlineMs);
}

/** Calls code that must return at once. A promise is a defect, and its rejection is ignored. */
export function askNow(code: () => unknown): Heard {
  try {
    const returned = code();
    if (!isPromised(returned)) return { returned };
    returned.then(undefined, () => undefined);
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

/** Refuses a call because author code did not answer. `what` begins the sentence. */
export function noAnswer(what: string, deadlineMs: number): Refusal {
  const detail = `${what}: no answer within ${deadlineMs} ms; nothing happened`;
  return new Refusal(failure('service_unavailable', detail));
}
