import assert from 'node:assert/strict';
import { test } from 'vitest';
import { faultsOf, smallest } from '../../../test/support/declarations.ts';

/** Two malformed fields, each with broken rules elsewhere in the same declaration. */
const beside: [what: string, wrong: object, found: readonly string[]][] = [
  ['a wrong description', { description: 7, refresh_via: ['nowhere'] }, ['refresh_via[0]']],
  ['an unknown field', { colour: 'red', verify_via: ['nowhere'] }, ['verify_via[0]']],
  ['a missing version', { contract_version: undefined, refresh_via: ['a'] }, ['refresh_via[0]']],
  [
    'a nameless input',
    {
      inputs: [{ type: 'string' }, { name: 'a', type: 'integer', default: 'x' }],
      refresh_via: ['nowhere'],
    },
    ['refresh_via[0]', 'inputs[1].default'],
  ],
  [
    'an input of a wrong type and one that appears twice',
    {
      inputs: [
        { name: 'a', type: 7, default: 1 },
        { name: 'b', type: 'string' },
        { name: 'b', type: 'string' },
      ],
    },
    ['inputs'],
  ],
  [
    'a cost without certainty',
    { cost: { financial: { currency: 'XXQ' } }, side_effect: { type: 'read', compensation: 'x' } },
    ['side_effect.compensation', 'side_effect.compensation'],
  ],
  [
    'a broken element of a list',
    { requires: [{ capability: 'x' }], refresh_via: ['nowhere'] },
    ['refresh_via[0]'],
  ],
  ['a kind that does not exist', { kind: 'mixed', verify_via: ['nowhere'] }, ['verify_via[0]']],
  [
    'a step without an id',
    {
      kind: 'composed',
      composition: { authority_boundary: 'same_service', steps: [{}] },
      verify_via: ['nowhere'],
    },
    ['verify_via[0]'],
  ],
  [
    'a composition without policies and mappings',
    { kind: 'composed', composition: { steps: [{ id: 'a', capability: 'nowhere' }] } },
    ['composition.steps[0].capability'],
  ],
];
for (const [what, wrong, found] of beside) {
  test(`createCatalog() finds every broken rule beside ${what}`, () => {
    const declared = { ...smallest(), ...wrong };
    const faults = faultsOf({ act: declared }).map(([, field]) => field);
    const form = faults.slice(0, faults.length - found.length);

    assert.ok(form.length > 0, 'the form is found wrong');
    assert.deepEqual(faults.slice(form.length), found);
    assert.ok(form.every((field) => !found.includes(field)));
  });
}

const alone: [what: string, wrong: object, at: readonly string[]][] = [
  [
    'a lost input name',
    {
      inputs: [{ name: 'No name', type: 'string' }],
      requires_binding: [{ type: 'quote', field: 'quote' }],
    },
    ['inputs[0].name'],
  ],
  [
    'lost output fields',
    {
      output: { type: 'object', fields: 'id' },
      observability: { fields_logged: ['id'] },
    },
    ['output.fields'],
  ],
  ['a lost kind', { kind: 'mixed' }, ['kind']],
  [
    'a lost effect',
    { side_effect: { type: 'loud', rollback_window: 'PT1H' } },
    ['side_effect.type'],
  ],
  ['a lost scope', { minimum_scope: ['a', 'not a scope'] }, ['minimum_scope[1]']],
];
for (const [what, wrong, at] of alone) {
  test(`createCatalog() reports only the fault of ${what}`, () => {
    assert.deepEqual(
      faultsOf({ act: { ...smallest(), ...wrong } }).map(([, field]) => field),
      at,
    );
  });
}

for (const declared of [null, undefined, 7, 'later', [], () => undefined]) {
  test(`createCatalog() reports once that ${String(declared) || 'a list'} is no declaration`, () => {
    assert.deepEqual(
      faultsOf({ act: declared }).map(([, field]) => field),
      ['declaration'],
    );
  });
}
