import assert from 'node:assert/strict';
import { test } from 'vitest';
import { smallest } from '../../../test/support/declarations.ts';
import { type Capability, ResolutionBehavior, ResolutionMode } from '../../protocol/capability.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import { createCatalog } from '../catalog/catalog.ts';
import {
  type ActorPolicy,
  type Finding,
  resolveInputs,
  resolverOf,
  unknownParameters,
  valueToResolve,
} from './inputs.ts';

const DEFAULT = 'd';
const POLICY = 'p';
const CANDIDATES = ['c1', 'c2'];

/** A capability with these inputs, as it comes out of the catalog. */
function withInputs(...inputs: object[]): Capability {
  const result = createCatalog(Object.entries({ act: { ...smallest(), inputs } }));
  if ('faults' in result) throw new Error(JSON.stringify(result.faults));
  return result.catalog.capabilities.get('act') as Capability;
}

interface Asked {
  readonly sent?: JsonObject;
  readonly finding?: Finding;
  readonly policy?: ActorPolicy;
}

/** The outcome of input "x": its value, `absent`, or the failure with what it asks to clarify. */
function outcomeOf(input: object, { sent = {}, finding, policy }: Asked = {}): unknown {
  const resolved = resolveInputs(withInputs({ name: 'x', type: 'string', ...input }), sent, {
    findings: new Map(finding ? [['x', finding]] : []),
    policies: new Map(policy ? [['x', policy]] : []),
  });
  if ('parameters' in resolved) {
    return Object.hasOwn(resolved.parameters, 'x') ? resolved.parameters.x : 'absent';
  }
  const { type, clarify } = resolved.failure;
  return clarify ? [type, ...clarify] : type;
}

const asks = (reason: string, candidates?: unknown[]) => [
  'clarification_required',
  { input: 'x', reason, ...(candidates && { candidates }) },
];

/** The decided outcome of each behaviour; the disclosable candidates are an argument. */
function decided(
  behavior: ResolutionBehavior,
  reason: string,
  { shown, policy }: { shown?: unknown[] | undefined; policy?: boolean },
): unknown {
  switch (behavior) {
    case 'clarify':
    case 'app_select_or_clarify':
      return asks(reason, shown);
    case 'deny':
      return 'input_denied';
    case 'deny_or_clarify':
      return shown ? asks(reason, shown) : 'input_denied';
    case 'use_default':
      return DEFAULT;
    case 'use_actor_scope':
      return policy ? POLICY : 'input_denied';
    case 'omit':
      return 'absent';
  }
}

function inputWith(mode: ResolutionMode, behaviors: object, more: object = {}) {
  const resolver = mode === 'backend_resolved' && { resolver_ref: 'places' };
  const closed = mode === 'closed_values' && { allowed_values: [DEFAULT, POLICY] };
  return {
    default: DEFAULT,
    ...closed,
    ...more,
    resolution: { mode, ...resolver, ...behaviors },
  };
}

for (const on_ambiguous of ResolutionBehavior.options) {
  for (const disclosable of [true, false, undefined]) {
    test(`resolveInputs() does ${on_ambiguous} for candidates with disclosable ${disclosable}`, () => {
      const shown = disclosable ? CANDIDATES : undefined;
      const finding = { candidates: CANDIDATES, disclosable };

      assert.deepEqual(
        outcomeOf(inputWith('backend_resolved', { on_ambiguous }), {
          sent: { x: 'word' },
          finding,
          policy: { value: POLICY },
        }),
        decided(on_ambiguous, 'ambiguous', { shown, policy: true }),
      );
    });
  }
}

for (const on_unresolved of ResolutionBehavior.options) {
  for (const mode of ResolutionMode.options.filter((each) => each !== 'actor_policy')) {
    test(`resolveInputs() does ${on_unresolved} for a ${mode} value outside of the closed set`, () => {
      const allowed_values = [DEFAULT, POLICY];
      const asked = {
        sent: { x: 'z' },
        finding: { value: 'z' },
        policy: { value: POLICY, allowed: [POLICY, 'z'] },
      };

      assert.deepEqual(
        outcomeOf(inputWith(mode, { on_unresolved }, { allowed_values }), asked),
        decided(on_unresolved, 'unresolved', { shown: allowed_values, policy: true }),
      );
    });
  }
}

test('resolveInputs() checks the value of an actor policy against the closed set too', () => {
  const input = (more: object) => ({
    allowed_values: ['a', 'b'],
    resolution: { mode: 'actor_policy', ...more },
  });
  const policy = { value: 'z' };

  assert.equal(outcomeOf(input({}), { policy }), 'input_denied');
  assert.equal(outcomeOf(input({ on_unresolved: 'use_actor_scope' }), { policy }), 'input_denied');
  const explicit = {
    ...input({}),
    resolution: { mode: 'explicit_only', on_unresolved: 'use_actor_scope' },
  };
  assert.equal(outcomeOf(explicit, { sent: { x: 'q' }, policy }), 'input_denied');
  assert.equal(outcomeOf(explicit, { sent: { x: 'q' }, policy: { value: 'b' } }), 'b');
});

// Where no behaviour is declared.
const SILENT: [name: string, input: object, asked: Asked, expected: unknown][] = [
  [
    'refuses in mode explicit_only although there is a default',
    { default: DEFAULT, resolution: { mode: 'explicit_only' } },
    {},
    'invalid_parameters',
  ],
  [
    'refuses in mode app_selected although there is a default',
    { default: DEFAULT, resolution: { mode: 'app_selected' } },
    {},
    'invalid_parameters',
  ],
  [
    'leaves out an optional input of mode explicit_only',
    { required: false, default: DEFAULT, resolution: { mode: 'explicit_only' } },
    {},
    'absent',
  ],
  [
    'denies what no resolver was asked about',
    inputWith('backend_resolved', {}),
    { sent: { x: 'w' } },
    'input_denied',
  ],
  [
    'accepts the derived value sent explicitly where the policy allows no other',
    { resolution: { mode: 'actor_policy_or_explicit' } },
    { sent: { x: POLICY }, policy: { value: POLICY } },
    POLICY,
  ],
  [
    'refuses a value of another type before it resolves',
    inputWith('backend_resolved', {}),
    { sent: { x: 1 }, finding: { value: 'W' } },
    'invalid_parameters',
  ],
];
for (const [name, input, asked, expected] of SILENT) {
  test(`resolveInputs() ${name}`, () => {
    assert.deepEqual(outcomeOf(input, asked), expected);
  });
}

test('resolveInputs() compares closed sets by value, not by identity', () => {
  const input = { type: 'object', allowed_values: [{ b: 1, a: [2] }] };

  assert.deepEqual(outcomeOf(input, { sent: { x: { a: [2], b: 1 } } }), { a: [2], b: 1 });
  assert.equal(outcomeOf(input, { sent: { x: { a: [2] } } }), 'input_denied');
});

test('resolveInputs() asks about all unclear inputs at once, and refuses before it asks', () => {
  const clarify = { type: 'string', resolution: { mode: 'clarify' } };
  const facts = { findings: new Map(), policies: new Map() };
  const both = withInputs({ ...clarify, name: 'x' }, { ...clarify, name: 'y' });
  const refused = withInputs({ ...clarify, name: 'x' }, { name: 'y', type: 'string' });

  const asked = resolveInputs(both, {}, facts);
  const found = resolveInputs(refused, {}, facts);

  assert.ok('failure' in asked && 'failure' in found);
  assert.deepEqual(
    asked.failure.clarify?.map(({ input }) => input),
    ['x', 'y'],
  );
  assert.equal(found.failure.type, 'invalid_parameters');
});

test('unknownParameters() names undeclared parameters, within bounds', () => {
  const capability = withInputs({ name: 'x', type: 'string' });
  const hostile = JSON.parse('{"__proto__": 1, "toString": 2, "x": "fine"}');
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`p${i}`, i]));

  assert.equal(unknownParameters(capability, { x: 'y' }), undefined);
  assert.match(unknownParameters(capability, hostile)?.detail ?? '', /"__proto__", "toString"/);
  assert.ok((unknownParameters(capability, many)?.detail.length ?? 0) < 1_000);
  const long = unknownParameters(capability, { [`a${'\u{1f600}'.repeat(100_000)}`]: 1 });
  assert.ok((long?.detail.length ?? 0) < 1_000);
  assert.doesNotMatch(long?.detail ?? '', /\p{Surrogate}/u);
});

test('resolverOf() names a resolver in every mode that takes a value from a caller', () => {
  const asked = (mode: ResolutionMode, named: object) =>
    resolverOf({ name: 'x', type: 'string', required: true, ...named, resolution: { mode } });
  const taking = ResolutionMode.options.filter(
    (mode) => asked(mode, { catalog_ref: 'towns' }) === 'towns',
  );

  assert.deepEqual(taking, [
    'backend_resolved',
    'actor_policy_or_explicit',
    'app_selected',
    'explicit_only',
    'clarify',
  ]);
  for (const mode of ResolutionMode.options) assert.equal(asked(mode, {}), undefined);
  assert.equal(
    resolverOf({ name: 'x', type: 'string', required: true, catalog_ref: 'towns' }),
    undefined,
  );
});

test('valueToResolve() is the sent value when it has the declared type', () => {
  const input = { name: 'x', type: 'string', required: true };

  assert.equal(valueToResolve(input, { x: 'w' }), 'w');
  assert.equal(valueToResolve(input, { x: 1 }), undefined);
  assert.equal(valueToResolve(input, { x: null }), undefined);
  assert.equal(valueToResolve(input, {}), undefined);
});
