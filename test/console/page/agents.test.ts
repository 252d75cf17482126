import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  effectCounts,
  livingIn,
  noActWords,
  outcomeWords,
  purposeWords,
  refusedWords,
  requestWords,
  spendingWords,
  stateWords,
} from '../../../src/console/views/agents/words.ts';
import type { Agent } from '../../../src/protocol/console/views.ts';

const NOW = Date.parse('2026-11-17T12:00:00.000Z');

function agent(more: Partial<Agent> = {}): Agent {
  return {
    state: 'active',
    subject: 'agent:planner',
    budget: null,
    expires_at: '2026-11-17T13:00:00.000Z',
    is_frozen: false,
    waits_for: null,
    last_act: null,
    acts_are_whole: true,
    children: [],
    children_count: 0,
    ...more,
  } as Agent;
}

function actAt(timestamp: string): Agent['last_act'] {
  const said = { success: true, failure_type: null, cost: null };
  return { invocation_id: null, capability: null, timestamp, ...said };
}

const waits = { waits_for: 'apr_1' };
const STATES: readonly [name: string, more: Partial<Agent>, words: string][] = [
  ['calls a revoked agent ended, whatever else is so', { state: 'revoked', ...waits }, 'Ended'],
  [
    'goes by the end of an agent that the answer calls active',
    { expires_at: '2026-11-17T12:00:00.000Z' },
    'Expired',
  ],
  ['shows a freeze before what the agent waits for', { is_frozen: true, ...waits }, 'Frozen'],
  ['says that an agent waits for approval', waits, 'Waits for approval'],
  [
    'says that an agent acted in the last minute',
    { last_act: actAt('2026-11-17T11:59:01.000Z') },
    'Just acted',
  ],
  [
    'calls an agent idle a minute after its last act',
    { last_act: actAt('2026-11-17T11:59:00.000Z') },
    'Idle',
  ],
  [
    'says that nothing is left of a budget, which is not so of one that is zero',
    { budget: { currency: 'USD', max: 9, spent: 9, reserved: 0, left: 0 } },
    'Out of budget',
  ],
  ['calls an agent without acts idle', {}, 'Idle'],
  ['does not call an agent idle whose acts are not known', { acts_are_whole: false }, 'Active'],
];
for (const [name, more, words] of STATES) {
  test(`stateWords() ${name}`, () => {
    assert.equal(stateWords(agent(more), NOW).words, words);
  });
}

test('what an agent did is not denied where older entries were not read', () => {
  const some = { acts_are_whole: false };

  assert.equal(refusedWords(agent({ refused_today: 0 })), 'none refused today');
  assert.match(refusedWords(agent({ ...some, refused_today: 0 })), /among the newest/);
  assert.match(refusedWords(agent({ ...some, refused_today: 3 })), /^at least 3/);
  assert.equal(noActWords(agent()), 'Never acted');
  assert.match(noActWords(agent(some)), /among the newest/);
  assert.equal(requestWords(0, true), 'No approval is waited for');
  assert.match(requestWords(0, false), /among the newest/);
  assert.match(requestWords(1, false), /^At least 1 approval request/);
});

test('livingIn() counts living agents of every level', () => {
  const child = agent({ children: [agent(), agent({ state: 'revoked' })], children_count: 2 });

  assert.equal(livingIn([agent({ children: [child], children_count: 1 }), agent()], NOW), 4);
});

test("livingIn() does not count a person's own token as an agent, but the agents below it", () => {
  const own = agent({ subject: 'human:ann@example.com', children: [agent()], children_count: 1 });

  assert.equal(livingIn([own], NOW), 1);
});

test('purposeWords() has the texts of a purpose, without ids and limits', () => {
  const limits = { task_id: 'trail-1', session_id: 's', only_capabilities: ['x'], depth: 2 };

  assert.equal(purposeWords(null), undefined);
  assert.equal(purposeWords(limits), undefined);
  assert.equal(purposeWords({ ...limits, for: 'March', team: 'sales' }), 'March, sales');
  assert.equal(purposeWords({ for: 'x'.repeat(81) }), `${'x'.repeat(80)}…`);
});

test('effectCounts() counts the capabilities that the catalog declares', () => {
  const declarations = {
    look: { side_effect: { type: 'read' as const } },
    pay: { side_effect: { type: 'irreversible' as const } },
  };

  const counts = effectCounts(['look', 'pay', 'gone'], declarations);

  assert.deepEqual(counts, { read: 1, write: 0, transactional: 0, irreversible: 1 });
});

test('livingIn() counts nothing where a tree shows only some agents', () => {
  assert.equal(livingIn([agent({ children_count: 1 }), agent()], NOW), undefined);
});

test('outcomeWords() names the type of a failure in words', () => {
  const refused = { success: false, failure_type: 'budget_exceeded' } as never;

  assert.equal(outcomeWords(refused), 'budget exceeded');
});

test('spendingWords() tells no limit from a limit of zero', () => {
  const budget = { currency: 'USD', max: 0, spent: 0, reserved: 0, left: 0 };

  assert.match(spendingWords(null) ?? '', /^No limit/);
  assert.match(spendingWords(budget) ?? '', /^Cannot spend/);
  assert.equal(spendingWords({ ...budget, max: 1 }), undefined);
});
