import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { smallest } from '../../../test/support/declarations.ts';
import { type Capability, CapabilityDeclaration } from '../../protocol/capability.ts';
import type { Composition, CompositionStep } from '../../protocol/composition.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import {
  checkDraw,
  composedOutput,
  emptyEnding,
  type Flow,
  isEmptyResult,
  stepCapabilities,
  stepParameters,
} from './composition.ts';

function composition(changes: Partial<Composition> = {}): Composition {
  return {
    authority_boundary: 'same_service',
    steps: [{ id: 'one', capability: 'first' }],
    input_mapping: {},
    output_mapping: {},
    failure_policy: 'propagate',
    audit_policy: { record_child_invocations: true, parent_task_lineage: true },
    step_authority: 'caller',
    ...changes,
  };
}

function whole(changes: Partial<Composition> = {}): Capability {
  const declared = { ...smallest(), output: { type: 'object', fields: ['a', 'b'] } };
  const parsed = CapabilityDeclaration.parse(declared);
  return { name: 'whole', ...parsed, kind: 'composed', composition: composition(changes) };
}

const step: CompositionStep = { id: 'one', capability: 'first' };

/** The value that a step is sent for one path. */
function read(path: string, flow: Partial<Flow>): JsonObject {
  const mapped = composition({ input_mapping: { one: { x: path } } });
  return stepParameters(mapped, step, { input: {}, outputs: new Map(), ...flow });
}

const OUTPUT = { a: { b: [{ c: 1 }, 'text'], nothing: null, no: false }, zero: 0, empty: '' };
const reached: [path: string, value: unknown][] = [
  ['$.steps.s.output', OUTPUT],
  ['$.steps.s.output.a.b.0.c', 1],
  ['$.steps.s.output.a.b.1', 'text'],
  ['$.steps.s.output.a.nothing', null],
  ['$.steps.s.output.a.no', false],
  ['$.steps.s.output.zero', 0],
  ['$.steps.s.output.empty', ''],
];
for (const [path, value] of reached) {
  test(`stepParameters() reads ${path}`, () => {
    assert.deepEqual(read(path, { outputs: new Map([['s', OUTPUT]]) }), { x: value });
  });
}

for (const path of [
  '$.input.missing',
  '$.input.__proto__',
  '$.input.constructor.name',
  '$.input.toString',
  '$.input.list.length',
  '$.input.text.length',
  '$.input.text.0',
  '$.input.nothing.more',
  '$.steps.other.output',
  '$.steps.constructor.output.name',
  '$.steps.s.output.hasOwnProperty',
]) {
  test(`stepParameters() sends nothing for ${path}, which is no own property`, () => {
    const input = { list: [1], text: 'word', nothing: null };

    assert.deepEqual(read(path, { input, outputs: new Map([['s', {}]]) }), {});
  });
}

test('stepParameters() reads own values under inherited names, and changes no prototype', () => {
  const input = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": "word"}');

  assert.deepEqual(read('$.input.constructor', { input }), { x: 'word' });
  assert.deepEqual(read('$.input.__proto__.polluted', { input }), { x: 1 });
  assert.equal(Object.hasOwn(Object.prototype, 'polluted'), false);
});

test('stepParameters() sends nothing to a step named like an inherited property', () => {
  const named = { id: 'constructor', capability: 'first' };

  assert.deepEqual(stepParameters(composition(), named, { input: {}, outputs: new Map() }), {});
});

test('stepParameters() reads every own value of every object, and nothing else', () => {
  const names = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString', 'length', '0');
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue()), names, (given, name) => {
      const input = JSON.parse(JSON.stringify(given)) as JsonObject;

      const { x } = read(`$.input.${name}`, { input });

      assert.deepEqual(x, Object.hasOwn(input, name) ? input[name] : undefined);
    }),
  );
});

test('composedOutput() has every field, with null where its path leads nowhere', () => {
  const mapped = composition({
    output_mapping: { a: '$.steps.s.output.zero', b: '$.steps.s.output.none', c: '$.input.q' },
  });

  assert.deepEqual(
    composedOutput(mapped, { input: { q: 'x' }, outputs: new Map([['s', OUTPUT]]) }),
    {
      a: 0,
      b: null,
      c: 'x',
    },
  );
});

const source = { ...step, empty_result_source: true };
const empties: [output: JsonObject, path: string | undefined, empty: boolean][] = [
  [{}, undefined, true],
  [{ found: null }, undefined, false],
  [{ found: null }, 'found', true],
  [{ found: [] }, 'found', true],
  [{ found: {} }, 'found', true],
  [{ found: '' }, 'found', true],
  [{ found: 0 }, 'found', false],
  [{ found: false }, 'found', false],
  [{ found: [null] }, 'found', false],
  [{ found: { deep: [] } }, 'found.deep', true],
  [{}, 'constructor', true],
];
for (const [output, path, empty] of empties) {
  test(`isEmptyResult() finds ${JSON.stringify(output)} at ${path} ${empty ? 'empty' : 'full'}`, () => {
    const looked = path === undefined ? source : { ...source, empty_result_path: path };

    assert.equal(isEmptyResult(looked, output), empty);
    assert.equal(isEmptyResult({ ...looked, empty_result_source: false }, output), false);
  });
}

test('emptyEnding() succeeds with the declared output, and null for the other fields', () => {
  const policy = { empty_result_policy: 'return_success_no_results' } as const;

  assert.deepEqual(emptyEnding(whole({ ...policy, empty_result_output: { a: [] } }), source), {
    result: { a: [], b: null },
  });
});

test('emptyEnding() asks once about each input that the step was given', () => {
  const input_mapping = {
    one: { x: '$.input.place', y: '$.input.place.name', z: '$.steps.s.output.a', w: '$.input' },
  };
  const ending = emptyEnding(whole({ empty_result_policy: 'clarify', input_mapping }), source);

  assert.ok(ending && 'failure' in ending);
  assert.equal(ending.failure.type, 'clarification_required');
  assert.deepEqual(ending.failure.clarify, [{ input: 'place', reason: 'unresolved' }]);
});

test('stepCapabilities() names the step whose capability is missing', () => {
  const capabilities = new Map([['first', { ...whole(), name: 'first' }]]);

  assert.deepEqual(
    stepCapabilities({ capabilities }, whole()).map(({ name }) => name),
    ['first'],
  );
  assert.throws(() => stepCapabilities({ capabilities: new Map() }, whole()), /step "one"/);
});

const usd = (amount: bigint) => ({ currency: 'USD', amount });

function priced(certainty?: string, amounts: object = {}): Capability {
  const cost = certainty && { certainty, financial: { currency: 'USD', ...amounts } };
  const declared = CapabilityDeclaration.parse({ ...smallest(), ...(cost && { cost }) });
  return { name: 'step', ...declared };
}

const fixed = (amount: number) => priced('fixed', { amount });
const dynamic = (upper_bound: number) => priced('dynamic', { upper_bound });
const estimated = priced('estimated', { range_min: 1 });

test('checkDraw() draws nothing for a step without a price', () => {
  assert.deepEqual(checkDraw(priced(), { drawn: 0n, isBudgeted: true }), {});
});

test('checkDraw() lets a step draw exactly what is left, and not a cent more', () => {
  const left = { reserved: usd(30_00n), drawn: 10_00n, isBudgeted: true };

  assert.deepEqual(checkDraw(fixed(20), left), { price: usd(20_00n) });
  assert.deepEqual(checkDraw(dynamic(20), left), { price: usd(20_00n) });
  assert.deepEqual(checkDraw(estimated, left, usd(20_00n)), { price: usd(20_00n) });
  for (const found of [
    checkDraw(fixed(20.01), left),
    checkDraw(dynamic(20.01), left),
    checkDraw(estimated, left, usd(20_01n)),
  ]) {
    assert.equal(found.failure?.type, 'budget_exceeded');
    assert.match(found.failure?.detail ?? '', /20\.01 USD.*20\.00 is left/);
  }
});

test('checkDraw() refuses an unpinned price when a budget applies', () => {
  const reserved = { reserved: usd(30_00n), drawn: 0n };

  const found = checkDraw(estimated, { ...reserved, isBudgeted: true });
  assert.equal(found.failure?.type, 'budget_not_enforceable');
  const foreign = checkDraw(
    estimated,
    { ...reserved, isBudgeted: true },
    { ...usd(1n), currency: 'EUR' },
  );
  assert.equal(foreign.failure?.type, 'budget_not_enforceable');
  assert.deepEqual(checkDraw(estimated, { ...reserved, isBudgeted: false }), {
    price: usd(30_00n),
  });
});

test('checkDraw() only reports the price when nothing was reserved', () => {
  assert.deepEqual(checkDraw(fixed(20), { drawn: 99n, isBudgeted: false }), { price: usd(20_00n) });
  assert.deepEqual(checkDraw(estimated, { drawn: 0n, isBudgeted: false }), { price: undefined });
});

test('checkDraw() never lets steps draw more than was reserved, for any prices', () => {
  const cents = fc.integer({ min: 0, max: 5_000 });
  fc.assert(
    fc.property(cents, fc.array(cents, { maxLength: 16 }), (whole, prices) => {
      let drawn = 0n;
      for (const price of prices) {
        const draw = checkDraw(fixed(price / 100), {
          reserved: usd(BigInt(whole)),
          drawn,
          isBudgeted: true,
        });
        drawn += draw.price?.amount ?? 0n;
      }
      assert.ok(drawn <= BigInt(whole));
    }),
  );
});
