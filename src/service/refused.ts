/**
 * Calls that end before anything ran: each known caller's refusal is an entry before it is an answer.
 *
 * @module
 */

import type { EntryType } from '../protocol/audit.ts';
import type { Failure } from '../protocol/failure.ts';
import { answerOf, type Call, endingEntry } from './call.ts';
import { type Answer, failureOf } from './operations.ts';
import type { Parts } from './parts.ts';

/** A call that ended before admission: nothing ran, and its caller, if known, has its entry. */
export async function refusedCall(
  parts: Parts,
  call: Call,
  found: Failure,
  entryType: EntryType = 'invocation',
): Promise<Answer> {
  const { caller } = call;
  const ending = { state: 'refused', failure: found, entryType } as const;
  if (!caller) return { body: answerOf(parts, call, ending), failure: found };
  const entry = endingEntry(parts, { ...call, caller }, ending);
  try {
    await parts.store.append([entry]);
  } catch (error) {
    return unrecordedCall(parts, call, failureOf('invoke', error, parts.log));
  }
  return { body: answerOf(parts, call, ending, entry), failure: found };
}

/** The store could not say that the entry is there, so the answer names none. */
export function unrecordedCall(parts: Parts, call: Call, found: Failure): Answer {
  const ending = { state: 'indeterminate', failure: found } as const;
  return { body: answerOf(parts, call, ending), failure: found };
}
