import assert from 'node:assert/strict';
import { Ajv } from 'ajv';
import { test } from 'vitest';
import { failure, GUIDANCE } from '../domain/failure.ts';
import { CapabilityDeclaration } from '../protocol/capability.ts';
import { FailureType } from '../protocol/failure.ts';
import type { InvokeAnswer } from '../protocol/invocation.ts';
import { toolResultOf } from './result.ts';
import { toolOf } from './tool.ts';

const FIELDS = ['thing_id', 'price'];
const { outputSchema } = toolOf(
  'do_it',
  CapabilityDeclaration.parse({
    description: 'Does it',
    contract_version: '1.0.0',
    inputs: [],
    output: { type: 'thing', fields: FIELDS },
    side_effect: { type: 'read' },
    minimum_scope: [],
  }),
);
// As clients of the first generation make it.
const isValid = new Ajv({ strict: false, validateSchema: false }).compile(outputSchema);

const IDS = { invocation_id: 'inv-0123456789ab' };
const success = (result: Record<string, unknown>): InvokeAnswer => ({
  success: true,
  ...IDS,
  result,
});

for (const type of FailureType.options) {
  test(`toolResultOf() makes of ${type} what the output schema says`, () => {
    const refused = { success: false, failure: failure(type, GUIDANCE[type].when) } as const;

    assert.ok(isValid(toolResultOf({ ...refused, ...IDS }, FIELDS).structuredContent));
    assert.ok(isValid(toolResultOf(refused).structuredContent));
  });
}

test('toolResultOf() tells a declared field that the handler left out as null', () => {
  const { structuredContent, content } = toolResultOf(success({ thing_id: 7, more: 1 }), FIELDS);

  const result = { thing_id: 7, more: 1, price: null };
  assert.deepEqual(structuredContent, success(result));
  assert.deepEqual(content, [{ type: 'text', text: JSON.stringify(result) }]);
  assert.ok(isValid(structuredContent));
});

const OTHERS: [what: string, content: object][] = [
  ['a success without a declared field', success({ thing_id: 7 })],
  ['a success without a result', { success: true, ...IDS }],
  ['a success without its id', { success: true, result: { thing_id: 7, price: 1 } }],
  ['a refusal without its failure', { success: false, ...IDS }],
  ['a failure without its advice', { success: false, failure: { type: 'frozen', detail: 'x' } }],
  ['neither', { result: { thing_id: 7, price: 1 }, ...IDS }],
];
for (const [what, content] of OTHERS) {
  test(`outputSchema does not admit ${what}`, () => {
    assert.equal(isValid(content), false);
  });
}
