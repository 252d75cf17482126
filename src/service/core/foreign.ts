/**
 * Asking foreign code: every call of a function that a service author wrote goes through here.
 *
 * Whatever such a function throws, returns or promises comes back as a value, read once; nothing it
 * does makes the asking reject, and no promise of it is left without a handler of its rejection. What it
 * returned is still foreign: `domain/wire/foreign.ts` reads it. A function that never gives control back
 * stops the process, and nothing here can help that.
 *
 * @module
 */

import { foreignMember } from '../../domain/wire/foreign.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import { beforeLate, type LATE } from '../pace/deadline.ts';

export type Heard = { readonly returned: unknown } | { readonly thrown: unknown };

/** Thenables that resolve with another one. A promise never does; more than this is a trick. */
const THENABLES_MAX = 8;

/** Asks, and waits for what was promised. Never rejects. */
export async function ask(code: () => unknown): Promise<Heard> {
  try {
    let answer: unknown = code();
    for (let promised = 0; promised <= THENABLES_MAX; promised++) {
      const then = thenOf(answer);
      if (!then) return { returned: answer };
      answer = (await outcomeOf(answer, then)).value;
    }
    return {
      thrown: new Error('Cannot wait: the promise resolves to a chain of promises without an end'),
    };
  } catch (error) {
    return { thrown: error };
  }
}

/** The same, but not longer than this. `LATE` when the time is up; what then comes is not heard. */
export function askWithin(
  platform: Platform,
  deadlineMs: number,
  code: () => unknown,
): Promise<Heard | typeof LATE> {
  return beforeLate(platform, ask(code), deadlineMs);
}

/** Asks code that must answer at once. A promise is a defect, and its rejection ends here. */
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

/** What was returned, or a defect of ours to blame: the thrown value itself goes only to the log. */
export function returnedBy(heard: Heard, what: string): unknown {
  if ('returned' in heard) return heard.returned;
  throw new Error(`Cannot use ${what}: it threw`, { cause: heard.thrown });
}

/** Writes a line about foreign code. A logger of the author's own may throw too. */
export function report(log: Logger, facts: object, message: string): void {
  try {
    log.error(facts, message);
  } catch {
    // The outcome of a call must not depend on whether somebody could be told of it.
  }
}

type Then = (resolve: (value: unknown) => void, reject: (error: unknown) => void) => unknown;

/** Read once: what is asked a second time may answer otherwise. */
function thenOf(value: unknown): Then | undefined {
  const then = foreignMember(value, 'then');
  return typeof then === 'function' ? (then as Then) : undefined;
}

/** In a box: resolved with the value itself, a promise would go on with its `then` by itself. */
function outcomeOf(promised: unknown, then: Then): Promise<{ value: unknown }> {
  return new Promise((resolve, reject) => {
    then.call(promised, (value: unknown) => resolve({ value }), reject);
  });
}

function ignore(): void {}
