import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Capability } from '../../protocol/capability.ts';
import type { Decision } from '../../protocol/decision.ts';
import {
  grantEnd,
  hasKnownBudgets,
  hiddenTexts,
  lifetimeWords,
  moneyInputs,
  noSimilarWords,
} from './claims.ts';
import { numberWords } from './values.ts';

const NO_REQUESTS = { approved: 0, denied: 0, expired: 0, pending: 0 };
const AGENT = { principal: 'agent:a', client_name: null, purpose: null, state: 'active' };

function decision(request: object = {}, more: object = {}): Decision {
  const requester = { subject: 'agent:a', root_principal: 'human:ann', chain: 'sha256:00' };
  return {
    request: { parameters: {}, preview: null, requester, ...request },
    chain: [AGENT],
    history: { today: NO_REQUESTS, items: [], is_complete: true },
    ...more,
  } as unknown as Decision;
}

const pathsIn = (of: Decision) => hiddenTexts(of).map(({ path, where }) => [where, path]);

test('hiddenTexts() finds them in words, names and purposes too', () => {
  const chain = [
    { ...AGENT, principal: 'agent:pl\u0430nner', client_name: 'Bank\u200b' },
    { ...AGENT, purpose: { task: 'x\u202ey' } },
  ];

  assert.deepEqual(pathsIn(decision({ note: 'furi\u200bous' }, { chain })), [
    ['words', "the agent's words"],
    ['hands', 'the name of a principal'],
    ['hands', 'the name of a client'],
    ['hands', 'purpose: task'],
  ]);
});

test('hiddenTexts() counts the texts of the preview that parameters do not have', () => {
  const parameters = { reason: 'a\u200b' };
  const preview = { reason: 'a\u200b', to: 'b\u200b' };

  assert.deepEqual(pathsIn(decision({ parameters, preview })), [
    ['parameters', 'reason'],
    ['preview', 'preview: to'],
  ]);
});

test('hiddenTexts() keeps each parameter, also where two have the same path and text', () => {
  const parameters = { 'a.b': 'x\u200b', a: { b: 'x\u200b' } };

  assert.equal(hiddenTexts(decision({ parameters })).length, 2);
});

const REFUND = {
  inputs: [{ name: 'amount', type: 'number', semantic_type: 'money' }],
  cost: { financial: { currency: 'USD' } },
} as unknown as Capability;

test('moneyInputs() names no currency where a call names another one', () => {
  const money = (...calls: Parameters<typeof moneyInputs>[1][]) =>
    Object.fromEntries(moneyInputs(REFUND, ...calls));

  assert.deepEqual(money({ amount: 250 }), { amount: 'USD' });
  assert.deepEqual(money({ amount: 250, currency: 'USD' }), { amount: 'USD' });
  assert.deepEqual(money({ amount: 250, currency: 'KWD' }), {});
  assert.deepEqual(money({ amount: 250, currency: 'JPY' }, { amount: 250 }), {});
});

test('noSimilarWords() calls a request the first of its kind only where none was made before', () => {
  const before = (today: object, is_complete = true) =>
    decision({}, { history: { today: { ...NO_REQUESTS, ...today }, items: [], is_complete } });

  assert.match(noSimilarWords(decision()), /^first of its kind/);
  assert.match(noSimilarWords(before({ denied: 3 })), /none .* was approved/);
  assert.match(noSimilarWords(before({}, false)), /none .* was approved/);
});

test('hasKnownBudgets() is false where the token of the request cannot be read', () => {
  assert.equal(hasKnownBudgets(decision()), true);
  assert.equal(hasKnownBudgets(decision({}, { chain: [{ ...AGENT, state: 'unknown' }] })), false);
  assert.equal(hasKnownBudgets(decision({}, { chain: [] })), false);
});

test('lifetimeWords() says no less than what is signed', () => {
  const words = [0.5, 59, 60, 119, 900, 5_400, 86_400, 259_199].map(lifetimeWords);

  assert.deepEqual(words, [
    '0.5 s',
    '59 s',
    '1 min',
    '1 min 59 s',
    '15 min',
    '1 h 30 min',
    '1 day',
    '2 days 23 h 59 min 59 s',
  ]);
});

test('grantEnd() is the time of the decision and the lifetime of its terms', () => {
  const decided = { status: 'approved', decided_at: '2026-12-01T09:00:00.000Z' };
  const terms = { expires_in_seconds: 900 };
  const end = (request: object) => grantEnd(decision(request).request);

  assert.equal(end({ ...decided, terms }), Date.parse('2026-12-01T09:15:00.000Z'));
  assert.equal(end({ ...decided, status: 'denied', terms }), undefined);
  assert.equal(end({ ...decided, terms: null }), undefined);
});

test('numberWords() shows every digit', () => {
  const words = [0.0004, 1_234.567_89, -250, 1e21, 5e-324, 9_007_199_254_740_991].map(numberWords);

  assert.deepEqual(words, [
    '0.0004',
    '1,234.56789',
    '-250',
    '1e+21',
    '5e-324',
    '9,007,199,254,740,991',
  ]);
});
