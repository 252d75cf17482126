import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ApprovalCondition, type Capability } from '../../protocol/capability.ts';
import { type ApprovalFacts, needsApproval } from './approval.ts';

const usd = (amount: bigint) => ({ currency: 'USD', amount });

/** Only the policy matters here. */
const under = (when: ApprovalCondition) => ({ approval: { when } }) as unknown as Capability;

const byInput = ApprovalCondition.parse({ amount_above: 100, input: 'amount' });
const byCost = ApprovalCondition.parse({ amount_above: 100 });

const table: [name: string, when: ApprovalCondition, facts: ApprovalFacts, needed: boolean][] = [
  ['asks always where the policy says so', 'always', { parameters: {} }, true],
  ['lets an input at the threshold pass', byInput, { parameters: { amount: 100 } }, false],
  ['asks for an input above the threshold', byInput, { parameters: { amount: 100.01 } }, true],
  ['asks for an input that is not a number', byInput, { parameters: { amount: '5' } }, true],
  ['asks for an input that is not there', byInput, { parameters: {} }, true],
  ['lets zero pass', byInput, { parameters: { amount: 0 } }, false],
  ['lets minus zero pass, which is zero', byInput, { parameters: { amount: -0 } }, false],
  ['asks for an input below zero', byInput, { parameters: { amount: -1_000_000 } }, true],
  ['asks for a part of a unit below zero', byInput, { parameters: { amount: -5e-324 } }, true],
  ['asks for a number beyond exactness', byInput, { parameters: { amount: 2 ** 53 + 2 } }, true],
  ['asks for a number without end', byInput, { parameters: { amount: Infinity } }, true],
  ['asks for an input that is null', byInput, { parameters: { amount: null } }, true],
  ['asks for an amount in a list', byInput, { parameters: { amount: [5] } }, true],
  ['asks for an amount in an object', byInput, { parameters: { amount: { value: 5 } } }, true],
  [
    'asks for an input that is not a number to compare',
    byInput,
    { parameters: { amount: Number.NaN } },
    true,
  ],
  ['lets a cost at the threshold pass', byCost, { parameters: {}, charge: usd(10_000n) }, false],
  ['asks for a cost above the threshold', byCost, { parameters: {}, charge: usd(10_001n) }, true],
  ['asks when the cost is unknown', byCost, { parameters: {} }, true],
  [
    'asks where a condition holds',
    { condition: 'big' },
    { parameters: {}, condition: () => true },
    true,
  ],
  [
    'passes where a condition does not hold',
    { condition: 'big' },
    { parameters: {}, condition: () => false },
    false,
  ],
  ['asks where a condition has no predicate', { condition: 'big' }, { parameters: {} }, true],
];

for (const [name, when, facts, needed] of table) {
  test(`needsApproval() ${name}`, () => {
    assert.equal(needsApproval(under(when), facts), needed);
  });
}

test('needsApproval() is false for a capability without a policy', () => {
  assert.equal(needsApproval({} as Capability, { parameters: {} }), false);
});
