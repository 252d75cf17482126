/**
 * Activity in the console: the words of entries, and the filters in its address.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { filterQuery, queryFilters, searchedTo } from '../../src/console/views/activity/filters.ts';
import { outcomeOf, whatOf } from '../../src/console/views/activity/words.ts';
import { type AuditEntry, EntryType } from '../../src/protocol/audit.ts';

test('whatOf() has words for every type of entry, whatever its detail is', () => {
  const details = [null, {}, { verb: 7, decision: [], subject: {} }, { verb: 'constructor' }];
  for (const entry_type of EntryType.options) {
    for (const detail of details) assert.notEqual(whatOf(entry({ entry_type, detail })).length, 0);
  }
});

test('whatOf() keeps the name that a caller made up apart from our words', () => {
  const words = whatOf(entry({ capability: 'x, and approved by Bob' }));

  assert.deepEqual(words, ['Called ', { text: 'x, and approved by Bob', kind: 'name' }]);
});

const decisions = [
  { detail: { decision: 'granted', approvals: 2, approvals_required: 2 }, end: ', 2 of 2' },
  {
    detail: { decision: 'approved', approvals: 1, approvals_required: 2 },
    end: ', 1 of 2, others are waited for',
  },
  { detail: { decision: 'denied', reason: 'no' }, end: { text: 'no', kind: 'text' } },
  { detail: { decision: 'expired' }, end: ' expired' },
];
for (const { detail, end } of decisions) {
  test(`whatOf() says of a decision that it is ${detail.decision}`, () => {
    assert.deepEqual(whatOf(entry({ entry_type: 'approval_decision', detail })).at(-1), end);
  });
}

test('whatOf() names what an operator froze', () => {
  const frozen = entry({ entry_type: 'operator', detail: { verb: 'freeze', target: 'refund' } });
  const whole = entry({ entry_type: 'operator', detail: { verb: 'freeze', what: 'service' } });

  assert.deepEqual(whatOf(frozen), ['Froze ', { text: 'refund', kind: 'text' }]);
  assert.deepEqual(whatOf(whole), ['Froze ', 'the whole service']);
});

test('whatOf() names the tool that was reviewed', () => {
  const detail = { verb: 'guard_tool_reviewed', tool: 'write-file' };

  assert.deepEqual(whatOf(entry({ entry_type: 'operator', detail })), [
    'Reviewed ',
    { text: 'write-file', kind: 'text' },
  ]);
});

test('outcomeOf() tells a dry run that lacks approval from a refused one', () => {
  const lacking = entry({ entry_type: 'dry_run', state: 'refused' });
  const refused = entry({ entry_type: 'dry_run', state: 'refused', failure_type: 'frozen' });

  assert.equal(outcomeOf(lacking).words, 'Would need approval');
  assert.equal(outcomeOf(refused).words, 'Would be refused');
});

test('outcomeOf() says how a request was decided', () => {
  const decided = (decision: string) =>
    outcomeOf(entry({ entry_type: 'approval_decision', detail: { decision } })).words;

  assert.deepEqual(['granted', 'denied', 'expired', 'toString'].map(decided), [
    'Approved',
    'Denied',
    'Expired',
    'Done',
  ]);
});

test('queryFilters() reads the filters of an address, and nothing else', () => {
  const query = new URLSearchParams('capability=%20refund%20&task_id=&limit=9999&include=leaf');

  assert.deepEqual(queryFilters(query), { capability: 'refund' });
});

test('filterQuery() asks for one page of all types, and passes on a type that it does not know', () => {
  assert.deepEqual(filterQuery({}, undefined), { entry_type: 'all', limit: 50 });
  assert.deepEqual(filterQuery({ entry_type: 'nonsense' }, '7'), {
    entry_type: 'nonsense',
    limit: 50,
    cursor: '7',
  });
});

test('searchedTo() reads a number, and no other cursor', () => {
  assert.equal(searchedTo('812'), 812);
  assert.equal(searchedTo('8e12'), undefined);
  assert.equal(searchedTo(''), undefined);
});

function entry(fields: Partial<AuditEntry>): AuditEntry {
  return {
    entry_type: 'invocation',
    state: 'completed',
    failure_type: null,
    capability: 'refund',
    token_id: null,
    detail: null,
    ...fields,
  } as AuditEntry;
}
