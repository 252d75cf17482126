import assert from 'node:assert/strict';
import { test } from 'vitest';
import { smallest } from '../../../test/declarations.ts';
import { createCatalog } from '../catalog/catalog.ts';
import { observedDetail } from './observability.ts';

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

const call = { parameters: { who: 'ann', note: 'x' }, result: { id: 7, who: 'bo', secret: 's' } };

test('observedDetail() keeps nothing of a call whose capability lists no field', () => {
  assert.equal(observedDetail(capability(), call), undefined);
  assert.equal(observedDetail(capability({ logged: true }), call), undefined);
  assert.equal(observedDetail(undefined, call), undefined);
});

test('observedDetail() keeps the listed fields, of inputs and of output, and no others', () => {
  assert.deepEqual(observedDetail(capability({ fields_logged: ['who', 'id'] }), call), {
    parameters: { who: 'ann' },
    result: { id: 7, who: 'bo' },
  });
});

test('observedDetail() keeps no value when the capability says that it is not logged', () => {
  const silent = capability({ logged: false, fields_logged: ['who'] });

  assert.equal(observedDetail(silent, call), undefined);
});

test('observedDetail() leaves out what a call does not have, also names of every object', () => {
  const named = capability({ fields_logged: ['constructor', 'id'] });

  assert.equal(observedDetail(named, { parameters: {} }), undefined);
  assert.deepEqual(observedDetail(named, { result: { id: null } }), { result: { id: null } });
});

test('observedDetail() keeps a value that is too long as its digest', () => {
  const detail = observedDetail(capability({ fields_logged: ['who'] }), {
    parameters: { who: 'x'.repeat(511) },
  }) as { parameters: { who: { digest: string } } };

  assert.match(detail.parameters.who.digest, /^sha256:[0-9a-f]{64}$/);
});
