import assert from 'node:assert/strict';
import { test } from 'vitest';
import { smallest } from '../../../test/support/declarations.ts';
import {
  type Capability,
  CapabilityDeclaration,
  SideEffectType,
} from '../../protocol/capability.ts';
import { createCatalog } from '../catalog/catalog.ts';
import { eventClassOf, observedDetail, SIDE_EFFECT_STRENGTH } from './observability.ts';

function capability(observability?: object) {
  const declared = {
    ...smallest(),
    inputs: [
      { name: 'who', type: 'string' },
      { name: 'constructor', type: 'string', required: false },
    ],
    output: { type: 'object', fields: ['id', 'who'] },
    ...(observability && { observability }),
  };
  const result = createCatalog([['act', declared]]);
  assert.ok('catalog' in result, JSON.stringify(result));
  return result.catalog.capabilities.get('act');
}

test('observedDetail() omits absent fields, including inherited names', () => {
  const named = capability({ fields_logged: ['constructor', 'id'] });

  assert.equal(observedDetail(named, { parameters: {} }), undefined);
  assert.deepEqual(observedDetail(named, { result: { id: null } }), { result: { id: null } });
});

test('observedDetail() replaces a value that is too long by its digest', () => {
  const detail = observedDetail(capability({ fields_logged: ['who'] }), {
    parameters: { who: 'x'.repeat(511) },
  }) as { parameters: { who: { digest: string } } };

  assert.match(detail.parameters.who.digest, /^sha256:[0-9a-f]{64}$/);
});

function withEffect(type: SideEffectType, cost?: object): Capability {
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

  test(`eventClassOf() classifies a ${type}${words} by risk and success`, () => {
    const risk = high ? 'high' : 'low';
    assert.equal(eventClassOf(withEffect(type, cost), true), `${risk}_risk_success`);
    assert.equal(eventClassOf(withEffect(type, cost), false), `${risk}_risk_failure`);
  });
}

test('eventClassOf() classifies an unknown capability as low risk', () => {
  assert.equal(eventClassOf(undefined, false), 'low_risk_failure');
});

test('SIDE_EFFECT_STRENGTH orders read, write, transactional, irreversible', () => {
  const ordered = [...SideEffectType.options].sort(
    (one, other) => SIDE_EFFECT_STRENGTH[one] - SIDE_EFFECT_STRENGTH[other],
  );

  assert.deepEqual(ordered, ['read', 'write', 'transactional', 'irreversible']);
  assert.equal(new Set(Object.values(SIDE_EFFECT_STRENGTH)).size, 4);
});
