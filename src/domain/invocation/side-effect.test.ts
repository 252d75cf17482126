import assert from 'node:assert/strict';
import { test } from 'vitest';
import { smallest } from '../../../test/declarations.ts';
import {
  type Capability,
  CapabilityDeclaration,
  SideEffectType,
} from '../../protocol/capability.ts';
import { eventClassOf, isHighRisk, SIDE_EFFECT_STRENGTH } from './side-effect.ts';

function capability(type: SideEffectType, cost?: object): Capability {
  const declared = { ...smallest(), side_effect: { type }, ...(cost && { cost }) };
  return { name: 'it', ...CapabilityDeclaration.parse(declared) };
}

const FINANCIAL = { certainty: 'estimated', financial: { currency: 'USD' } };
const COMPUTE = { certainty: 'fixed', compute: { expected_duration: 'PT1S' } };

// Decisions, audit: only a read that moves no money is low risk.
const table: [type: SideEffectType, cost: object | undefined, high: boolean][] = [
  ['read', undefined, false],
  ['read', COMPUTE, false],
  ['read', FINANCIAL, true],
  ['write', undefined, true],
  ['transactional', undefined, true],
  ['irreversible', undefined, true],
  ['write', FINANCIAL, true],
];
for (const [type, cost, high] of table) {
  const words = cost === FINANCIAL ? ' that costs money' : cost ? ' that costs time' : '';
  test(`isHighRisk() says ${high} of a ${type}${words}`, () => {
    assert.equal(isHighRisk(capability(type, cost)), high);
  });

  test(`eventClassOf() classes a ${type}${words} by its risk and its end`, () => {
    const risk = high ? 'high' : 'low';
    assert.equal(eventClassOf(capability(type, cost), true), `${risk}_risk_success`);
    assert.equal(eventClassOf(capability(type, cost), false), `${risk}_risk_failure`);
  });
}

test('eventClassOf() classes an unknown capability as low risk', () => {
  assert.equal(eventClassOf(undefined, false), 'low_risk_failure');
});

test('SIDE_EFFECT_STRENGTH orders read, write, transactional, irreversible', () => {
  const ordered = [...SideEffectType.options].sort(
    (one, other) => SIDE_EFFECT_STRENGTH[one] - SIDE_EFFECT_STRENGTH[other],
  );

  assert.deepEqual(ordered, ['read', 'write', 'transactional', 'irreversible']);
  assert.equal(new Set(Object.values(SIDE_EFFECT_STRENGTH)).size, 4);
});
