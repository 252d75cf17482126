/**
 * Stories of Activity: which entries belong to one row, and what the row says.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { stepsOf, storiesOf } from '../../src/console/views/activity/story.ts';
import type { AuditEntry } from '../../src/protocol/audit.ts';

const APPROVED = [
  entry({ invocation_id: 'inv-2', approval_request_id: 'apr_1', sequence: 4, cost_actual: usd(9) }),
  entry({
    entry_type: 'approval_decision',
    approval_request_id: 'apr_1',
    sequence: 3,
    actor_key: 'human:bob@example.com',
    detail: { decision: 'granted' },
  }),
  entry({
    invocation_id: 'inv-1',
    approval_request_id: 'apr_1',
    sequence: 2,
    state: 'refused',
    failure_type: 'approval_required',
  }),
  entry({ entry_type: 'approval_request', approval_request_id: 'apr_1', sequence: 1 }),
];

test('storiesOf() makes one story of a request, its decision and the call, in the place of the newest', () => {
  const other = entry({ invocation_id: 'inv-3', sequence: 5, capability: 'look' });
  const [newest, ...older] = APPROVED as [AuditEntry, ...AuditEntry[]];

  const stories = storiesOf([newest, other, ...older]);

  assert.deepEqual(stories.map(numbers), [[4, 3, 2, 1], [5]]);
  assert.equal(stories[0]?.head, newest);
  assert.deepEqual(stepWords(stories[0]), ['asked', 'bob@example.com: Approved refund', 'paid']);
});

test('storiesOf() tells what a page has of a story that is on two pages', () => {
  const [end, start] = [APPROVED.slice(0, 2), APPROVED.slice(2)].map((page) => storiesOf(page));

  assert.deepEqual(end?.map(stepWords), [['bob@example.com: Approved refund', 'paid']]);
  assert.deepEqual(start?.map(stepWords), [['asked']]);
});

test('storiesOf() puts the calls inside a call under it, and names them', () => {
  const inside = { parent_invocation_id: 'inv-1', token_id: 'tok_1' };
  const stories = storiesOf([
    entry({ invocation_id: 'inv-1', token_id: 'tok_1', sequence: 3, capability: 'plan' }),
    entry({ ...inside, invocation_id: 'inv-3', sequence: 2, capability: 'hold' }),
    entry({ ...inside, invocation_id: 'inv-2', sequence: 1, capability: 'look' }),
  ]);

  assert.deepEqual(stories.map(numbers), [[3, 2, 1]]);
  assert.equal(stories[0]?.head.capability, 'plan');
  assert.deepEqual(stepWords(stories[0]), ['look: done', 'hold: done', 'done']);
});

test('storiesOf() keeps a call apart that names the call of another token as its parent', () => {
  const stories = storiesOf([
    entry({
      invocation_id: 'inv-2',
      parent_invocation_id: 'inv-1',
      token_id: 'tok_2',
      sequence: 2,
    }),
    entry({ invocation_id: 'inv-1', token_id: 'tok_1', sequence: 1 }),
  ]);

  assert.deepEqual(stories.map(numbers), [[2], [1]]);
});

test('storiesOf() counts equal calls that cost nothing and follow each other, and no others', () => {
  const call = { capability: 'look', token_id: 'tok_1' };
  const stories = storiesOf([
    entry({ ...call, invocation_id: 'inv-6', sequence: 6 }),
    entry({ ...call, invocation_id: 'inv-5', sequence: 5 }),
    entry({ ...call, invocation_id: 'inv-4', sequence: 4, cost_actual: usd(1) }),
    entry({ ...call, invocation_id: 'inv-3', sequence: 3, token_id: 'tok_2' }),
    entry({ ...call, invocation_id: 'inv-2', sequence: 2, state: 'refused', token_id: 'tok_2' }),
  ]);

  assert.deepEqual(stories.map(numbers), [[6, 5], [4], [3], [2]]);
  assert.deepEqual(
    stories.map(({ isRepeated }) => isRepeated),
    [true, false, false, false],
  );
});

test('stepsOf() ends a story in its refusal, and says why', () => {
  const [denied] = storiesOf([
    entry({
      entry_type: 'approval_decision',
      approval_request_id: 'apr_1',
      actor_key: 'human:bob@example.com',
      detail: { decision: 'denied', reason: 'no' },
    }),
    entry({ entry_type: 'approval_request', approval_request_id: 'apr_1' }),
  ]);
  const [refused] = storiesOf([entry({ state: 'refused', failure_type: 'budget_exceeded' })]);

  assert.deepEqual(stepWords(denied), ['asked', 'bob@example.com: Denied refund: no']);
  assert.deepEqual(denied && stepsOf(denied).map(({ isBad }) => isBad), [false, true]);
  assert.deepEqual(stepWords(refused), ['refused: budget exceeded']);
});

function numbers({ entries }: { entries: readonly AuditEntry[] }): number[] {
  return entries.map(({ sequence }) => sequence);
}

function stepWords(story: ReturnType<typeof storiesOf>[number] | undefined): string[] {
  assert.ok(story);
  return stepsOf(story).map(({ words }) =>
    words
      .map((word) => (typeof word === 'string' ? word : word.text.replace('human:', '')))
      .join(''),
  );
}

function usd(amount: number): { currency: string; amount: number } {
  return { currency: 'USD', amount };
}

function entry(fields: Partial<AuditEntry>): AuditEntry {
  return {
    entry_type: 'invocation',
    entry_id: `ent_${fields.sequence ?? 0}`,
    state: 'completed',
    failure_type: null,
    capability: 'refund',
    invocation_id: null,
    parent_invocation_id: null,
    approval_request_id: null,
    token_id: null,
    actor_key: null,
    cost_actual: null,
    detail: null,
    timestamp: '2026-11-17T12:00:00.000Z',
    ...fields,
  } as AuditEntry;
}
