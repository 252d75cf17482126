import assert from 'node:assert/strict';
import { test } from 'vitest';
import { disclosure, inSeconds, NOW, widened } from '../../../test/support/authorities.ts';
import type { FailureType } from '../../protocol/failure.ts';
import { IssueRequest } from '../../protocol/token.ts';
import { type Authority, expiryOf, type Narrowed, narrow, unreadableBudget } from './narrowing.ts';

const parent: Authority = {
  subject: 'agent:planner',
  root_principal: 'human:alice',
  scope: ['travel.search', 'travel.book', 'approver:*'],
  capability: 'book_flight',
  purpose: { task_id: 'task-1', region: { eu: ['de', 'fr'], us: null }, seats: 2 },
  budget: { currency: 'USD', max_amount: 100 },
  caller_class: 'partner',
  concurrent_branches: 'exclusive',
  depth: 1,
  max_delegation_depth: 4,
  session_id: 's-1',
  expires_at: inSeconds(3_600),
};
const SUBJECT = 'agent:helper';
const BARE = { scope: ['travel.search'], subject: SUBJECT };

/** As in the service: text is read as JSON, the schema parses it, the rules narrow it. */
function ask(raw: object, from: Authority = parent): Narrowed | undefined {
  const parsed = IssueRequest.safeParse(JSON.parse(JSON.stringify(raw)));
  if (!parsed.success) return undefined;
  const { subject = SUBJECT, ...rest } = parsed.data;
  return narrow(from, { ...rest, subject }, { now: NOW, disclosure });
}

function authorityOf(raw: object, from: Authority = parent): Authority {
  const narrowed = ask(raw, from);
  assert.ok(narrowed && 'authority' in narrowed, JSON.stringify(narrowed));
  return narrowed.authority;
}

function failureOf(raw: object, from: Authority = parent) {
  const narrowed = ask(raw, from);
  assert.ok(narrowed && 'failure' in narrowed, JSON.stringify(narrowed));
  return narrowed.failure;
}

// The decided failure type of each widening; `undefined` where it is allowed.
type Row = [change: Record<string, unknown>, type: FailureType | undefined];

const scopes = (type: FailureType | undefined, ...texts: string[]): Row[] =>
  texts.map((text) => [{ scope: ['travel.search', text] }, type]);
const purposes = (type: FailureType | undefined, ...values: object[]): Row[] =>
  values.map((purpose_parameters) => [{ purpose_parameters }, type]);
const budgets = (type: FailureType | undefined, currency: string, ...amounts: number[]): Row[] =>
  amounts.map((max_amount) => [{ budget: { currency, max_amount } }, type]);
const each = (field: string, type: FailureType | undefined, ...values: unknown[]): Row[] =>
  values.map((value) => [{ [field]: value }, type]);

const table: Row[] = [
  ...scopes(undefined, 'travel.book', 'approver:*', 'approver:x', 'approver:a:b', 'approver:x*'),
  ...scopes('scope_escalation', 'travel', 'travel.', 'travel.*', 'travel.search.all', '*', '*:*'),
  ...scopes(
    'scope_escalation',
    'Travel.book',
    'travel.boo',
    'approver',
    'approver:',
    'approvers:x',
  ),
  ...scopes('scope_escalation', 'xapprover:y', 'operator:*', 'constructor', '__proto__'),

  ...each('capability', undefined, 'book_flight'),
  ...each('capability', 'purpose_mismatch', 'find_flights', 'Book_flight', 'book_flight.x'),
  ...each('capability', 'purpose_mismatch', 'book_fligh', 'constructor'),

  ...purposes(undefined, {}, { task_id: 'task-1' }, { seats: 2 }, { more: { any: [1] } }),
  ...purposes(undefined, { region: { us: null, eu: ['de', 'fr'] } }, { constructor: 1 }),
  ...purposes('purpose_mismatch', { task_id: 'task-2' }, { task_id: 'Task-1' }),
  ...purposes('purpose_mismatch', { task_id: 'task-1 ' }, { task_id: 'task\u20101' }),
  ...purposes('purpose_mismatch', { seats: 3 }, { seats: '2' }, { seats: [2] }, { seats: false }),
  ...purposes('purpose_mismatch', { region: {} }, { region: { eu: ['de', 'fr'] } }),
  ...purposes('purpose_mismatch', { region: { eu: ['fr', 'de'], us: null } }),
  ...purposes('purpose_mismatch', { region: { eu: ['de', 'fr'], us: 1 } }),
  ...purposes('purpose_mismatch', { region: { eu: ['de', 'fr'], us: null, ca: 1 } }),
  ...purposes('purpose_mismatch', { task_id: 'task-1', seats: 3 }, { region: '' }),

  ...each('session_id', undefined, 's-1'),
  ...each('session_id', 'purpose_mismatch', 's-2', 'S-1', 's-1 ', 's-11'),
  ...purposes(undefined, { session_id: 's-1' }),
  ...purposes('purpose_mismatch', { session_id: 's-2' }),
  [{ session_id: 's-1', purpose_parameters: { session_id: 's-1' } }, undefined],
  [{ session_id: 's-1', purpose_parameters: { session_id: 's-2' } }, 'purpose_mismatch'],
  [{ session_id: 's-2', purpose_parameters: { session_id: 's-1' } }, 'purpose_mismatch'],
  [{ session_id: 's-2', purpose_parameters: { session_id: 's-2' } }, 'purpose_mismatch'],

  ...budgets(undefined, 'USD', 100, 99.99, 0),
  ...budgets('budget_exceeded', 'USD', 100.01, 101, 1e12),
  ...budgets('budget_currency_mismatch', 'EUR', 1, 1_000),
  ...budgets('budget_currency_mismatch', 'JPY', 1),
  ...budgets('invalid_parameters', 'USD', 1.005, 1e21, 1e-7, 70_368_744_177_664),
  ...budgets('invalid_parameters', 'JPY', 1.5),

  ...each('max_delegation_depth', undefined, 4, 3, 2, 0),
  ...each('max_delegation_depth', 'delegation_depth_exceeded', 5, 1_000),
  ...each('concurrent_branches', undefined, 'exclusive'),
  ...each('concurrent_branches', 'purpose_mismatch', 'allowed'),
  ...each('caller_class', undefined, 'partner', 'default', 'quiet', 'unheard_of'),
  ...each('caller_class', 'not_entitled', 'internal', 'automated_agent'),
  ...each('subject', undefined, 'agent:x', 'service:x', 'oidc:x', 'agent:planner'),
  ...each('subject', 'not_entitled', 'human:alice', 'human:bob'),
  ...each('subject', 'invalid_parameters', 'agent:e\u0301'),
  ...each('ttl_hours', undefined, 1e-9, 0.5, 1, 1.5, 720, 1e9, 1e300),
];
for (const [change, type] of table) {
  const words = JSON.stringify(change);
  test(`narrow() ${type ? `answers ${type} to` : 'accepts'} ${words}`, () => {
    if (type) assert.equal(failureOf({ ...BARE, ...change }).type, type);
    else assert.deepEqual(widened(parent, authorityOf({ ...BARE, ...change })), []);
  });
}

test('narrow() refuses -0 as an amount, which JSON text can hold', () => {
  const raw = { ...BARE, budget: JSON.parse('{"currency":"USD","max_amount":-0}') };
  const request = IssueRequest.parse(raw);

  assert.equal(unreadableBudget(request)?.type, 'invalid_parameters');
});

test("narrow() refuses any budget when the parent's cannot be read", () => {
  const broken = { ...parent, budget: { currency: 'USD', max_amount: 1.005 } };
  const budget = { currency: 'USD', max_amount: 1 };

  assert.equal(failureOf({ ...BARE, budget }, broken).type, 'budget_exceeded');
});

test('narrow() compares budgets exactly, beyond the precision of doubles', () => {
  const held = { ...parent, budget: { currency: 'USD', max_amount: 0.29 } };
  const asking = (max_amount: number) => ({ ...BARE, budget: { currency: 'USD', max_amount } });

  assert.equal(authorityOf(asking(0.29), held).budget?.max_amount, 0.29);
  assert.equal(failureOf(asking(0.3), held).type, 'budget_exceeded');
});

const delegations: [from: string, to: string, allowed: boolean][] = [
  ['human:alice', 'human:bob', true],
  ['human:alice', 'agent:x', true],
  ['agent:x', 'agent:y', true],
  ['agent:x', 'human:alice', false],
  ['service:x', 'human:alice', false],
  ['oidc:x', 'human:alice', false],
  ['agent:x:human:y', 'human:y', false],
];
for (const [from, to, allowed] of delegations) {
  test(`narrow() lets ${from} ${allowed ? 'issue' : 'not issue'} to ${to}`, () => {
    const narrowed = ask({ ...BARE, subject: to }, { ...parent, subject: from }) ?? {};

    assert.equal('authority' in narrowed, allowed);
  });
}

test('narrow() names the missing scopes and the root principal who could grant them', () => {
  const { detail, resolution } = failureOf({ ...BARE, scope: ['a', 'travel.search', 'b'] });

  assert.equal(detail, 'Cannot delegate scope "a", "b": the parent token lacks it');
  assert.deepEqual(resolution.requires, ['a', 'b']);
  assert.equal(resolution.grantable_by, 'human:alice');
});

const grantable: Record<string, unknown>[] = [
  { capability: 'other' },
  { purpose_parameters: { task_id: 'other' } },
  { session_id: 'other' },
  { budget: { currency: 'USD', max_amount: 101 } },
  { budget: { currency: 'EUR', max_amount: 1 } },
  { max_delegation_depth: 5 },
  { concurrent_branches: 'allowed' },
];
for (const change of grantable) {
  test(`narrow() names the root principal who could grant ${JSON.stringify(change)}`, () => {
    assert.equal(failureOf({ ...BARE, ...change }).resolution.grantable_by, 'human:alice');
  });
}

test('narrow() bounds a purpose that grows over levels like the purpose of one request', () => {
  const long = (key: string) => ({ ...BARE, purpose_parameters: { [key]: 'x'.repeat(1_000) } });

  const first = authorityOf(long('a'));

  assert.deepEqual(Object.keys(first.purpose), [...Object.keys(parent.purpose), 'a']);
  assert.equal(failureOf(long('b'), first).type, 'invalid_parameters');
  assert.deepEqual(authorityOf(long('a'), first).purpose, first.purpose);
});

// Counted from the start of the second of `NOW`, 250 ms earlier.
const lifetimes: [hours: number | undefined, seconds: number][] = [
  [2, 7_200],
  [1 / 3_600, 1],
  [0.5 / 3_600, 1],
  [1.999 / 3_600, 1],
  [2 / 3_600, 2],
];
for (const [hours, seconds] of lifetimes) {
  test(`expiryOf() ends ${hours} hours after ${seconds} whole seconds`, () => {
    assert.deepEqual(expiryOf(hours, NOW), inSeconds(seconds));
  });
}

test('expiryOf() keeps every whole number of seconds that a caller divided by 3600', () => {
  for (let seconds = 1; seconds <= 10_000; seconds += 1) {
    assert.deepEqual(expiryOf(seconds / 3_600, NOW), inSeconds(seconds));
  }
});

test('expiryOf() counts from the start of the current second, on both sides of its end', () => {
  const at = (text: string) => expiryOf(1 / 3_600, new Date(text)).toISOString();

  assert.equal(at('2030-01-01T00:00:00.000Z'), '2030-01-01T00:00:01.000Z');
  assert.equal(at('2030-01-01T00:00:00.999Z'), '2030-01-01T00:00:01.000Z');
  assert.equal(at('2030-01-01T00:00:01.000Z'), '2030-01-01T00:00:02.000Z');
});

const shortened: [hours: number | undefined, held: number, seconds: number][] = [
  [1, 3_600, 3_600],
  [1, 3_599, 3_599],
  [1, 3_601, 3_600],
  [3_599 / 3_600, 3_600, 3_599],
  [undefined, 60, 60],
  [undefined, 86_400, 7_200],
  [1e300, 60, 60],
];
for (const [hours, held, seconds] of shortened) {
  test(`narrow() lets ${hours} hours under ${held} seconds end after ${seconds}`, () => {
    const raw = { ...BARE, ttl_hours: hours };
    const child = authorityOf(raw, { ...parent, expires_at: inSeconds(held) });

    assert.deepEqual(child.expires_at, inSeconds(seconds));
  });
}
