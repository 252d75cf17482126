/**
 * What a test expects of a reply: the answer or the failure, or an error that shows what came instead.
 *
 * For any test framework: each function returns a value or throws.
 *
 * @module
 */

import type { Reply } from '../client/index.ts';
import type { AuditEntry } from '../protocol/audit.ts';
import type { Failure } from '../protocol/failure.ts';

/**
 * The answer of a call that succeeded. Throws with the failure of one that was refused.
 *
 * @example
 * import { createService } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const { client } = desk.human('ann');
 * const { entries } = expectAnswer(await client.ask('audit.query', { limit: 10 }));
 * console.log(entries.length);
 * await desk.close();
 */
export function expectAnswer<Answer>(reply: Reply<Answer>): Answer {
  if (reply.ok) return reply.answer;
  const { type, detail } = reply.failure;
  throw new Error(`Expected an answer: the call was refused with "${type}": ${detail}`);
}

/**
 * The failure of a call that was refused, of this type where one is given. Throws otherwise.
 *
 * @example
 * import { createService } from 'writ';
 * import { expectFailure, testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const { client } = desk.human('ann');
 * const reply = await client.ask('graph.get', { capability: 'refund' });
 * console.log(expectFailure(reply, 'unknown_capability').detail);
 * await desk.close();
 */
export function expectFailure(reply: Reply<unknown>, type?: string): Failure {
  const wanted = type === undefined ? 'a failure' : `the failure "${type}"`;
  if (reply.ok) throw new Error(`Expected ${wanted}: the call succeeded`);
  const { failure } = reply;
  if (type === undefined || failure.type === type) return failure;
  throw new Error(`Expected ${wanted}: it is "${failure.type}": ${failure.detail}`);
}

/**
 * Which entries of the log a test looks for.
 *
 * @example
 * import { createService } from 'writ';
 * import { type EntryFilter, testService } from 'writ/testing';
 *
 * const desk = await testService(createService({ id: 'demo', capabilities: [] }));
 * const { client } = desk.human('ann');
 * await client.ask('tokens.issue', { subject: 'agent:planner', scope: ['bank.pay'] });
 * const refusedTokens: EntryFilter = { entry_type: 'issuance', outcome: 'not_entitled' };
 * console.log((await desk.entries(refusedTokens)).length);
 * await desk.close();
 */
export interface EntryFilter {
  readonly capability?: string | undefined;
  /** `success`, or the type of the failure. */
  readonly outcome?: string | undefined;
  /** Such as `invocation`, `issuance` or `approval_decision`. */
  readonly entry_type?: string | undefined;
}

export function matchesEntry(entry: AuditEntry, filter: EntryFilter): boolean {
  const { capability, outcome, entry_type } = filter;
  return (
    (capability === undefined || entry.capability === capability) &&
    (outcome === undefined || outcomeOf(entry) === outcome) &&
    (entry_type === undefined || entry.entry_type === entry_type)
  );
}

/** The one entry among those found. Throws with what the log has instead. */
export function onlyEntry(all: readonly AuditEntry[], filter: EntryFilter): AuditEntry {
  const found = all.filter((entry) => matchesEntry(entry, filter));
  const [first] = found;
  if (first && found.length === 1) return first;
  const listed = all.slice(-LISTED_MAX).map((entry) => {
    return `  ${entry.entry_type} ${entry.capability ?? '-'}: ${outcomeOf(entry)}`;
  });
  const wanted = `Expected one entry with ${JSON.stringify(filter)}: found ${found.length}`;
  throw new Error([`${wanted}. The last entries of the log:`, ...listed].join('\n'));
}

/** Entries that an error shows. */
const LISTED_MAX = 20;

function outcomeOf({ success, failure_type, state }: AuditEntry): string {
  return success ? 'success' : (failure_type ?? state);
}
