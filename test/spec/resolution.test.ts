/**
 * Input resolution over the surface: every cell of the table, the bare modes, what is a fault at start, and
 * who resolvers and actor policies are asked for.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { configOf } from '../../src/config/config.ts';
import { ResolutionBehavior, ResolutionMode } from '../../src/protocol/capability.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import {
  createService,
  type DefinitionError,
  type Resolution,
} from '../../src/service/author/definition.ts';
import { startWarnings } from '../../src/service/author/warnings.ts';
import { testService } from '../support/world.ts';
import { BARE, CELLS, type Hook, type Outcome, UNEQUIPPED } from './resolution-cells.ts';

const KEY = 'alice-key';
const SETTINGS = {
  identities: [
    { key: KEY, principal: 'human:alice', scopes: ['r.use'], subjects: ['agent:*'] },
  ].map((identity) => ({ ...identity, caller_class: 'internal' })),
  actor_policies: [
    { principals: ['agent:ruled'], inputs: { x: { value: 'p', allowed: ['p', 'q'] } } },
    { principals: ['agent:outside'], inputs: { x: { value: 'z' } } },
  ],
};

const CLOSED = ['d', 'p', 'q'];
const HOOKS: readonly Hook[] = ['on_missing', 'on_ambiguous', 'on_unresolved'];

/** Knows one word, finds two things for another, and does not know any third. */
function places(value: unknown): Resolution {
  if (value === 'known') return { value: 'p' };
  if (value === 'several') return { candidates: ['c1', 'c2'], disclosable: true };
  return { unresolved: true };
}

const isClosed = (mode: ResolutionMode) => mode === 'closed_values' || mode === 'actor_policy';

/** An input that has whatever its mode can have: a closed set, or a resolver. */
function equipped(mode: ResolutionMode, hooks: object = {}) {
  return {
    name: 'x',
    type: 'string',
    ...(isClosed(mode) && { allowed_values: CLOSED }),
    ...(Object.values(hooks).includes('use_default') && { default: 'd' }),
    resolution: { mode, ...(!isClosed(mode) && { resolver_ref: 'places' }), ...hooks },
  };
}

function echo(name: string, input: object) {
  return defineCapability({
    name,
    description: 'Answers what it is given',
    side_effect: 'read',
    minimum_scope: ['r.use'],
    inputs: [input as { name: string; type: 'string' }],
    handler: (parameters) => ({ got: parameters as JsonObject }),
  });
}

/** What the start warns of. It throws where a service with the input does not start. */
function warningsOf(input: object): string[] {
  const made = createService({
    id: 'warned',
    resolvers: { places },
    capabilities: [echo('act', input)],
  });
  return startWarnings(made, configOf(SETTINGS, '/'));
}

function faultsOf(input: object): string[] {
  try {
    createService({ id: 'faulty', resolvers: { places }, capabilities: [echo('act', input)] });
    return [];
  } catch (error) {
    const { faults } = error as DefinitionError;
    return faults.map(({ capability, field, fault }) => `${capability} ${field}: ${fault}`);
  }
}

const cellName = (...words: string[]) => words.join('.');
const definition = createService({
  id: 'resolution-table',
  resolvers: { places },
  capabilities: [
    ...CELLS.filter(([, , , outcome]) => outcome !== 'fault').map(([mode, hook, behavior]) =>
      echo(cellName(mode, hook, behavior), equipped(mode, { [hook]: behavior })),
    ),
    ...ResolutionMode.options.map((mode) => echo(mode, equipped(mode))),
  ],
});

const tokens: Record<string, string> = {};
const service = await testService({ definition, settings: SETTINGS });
for (const subject of ['agent:plain', 'agent:ruled', 'agent:outside']) {
  tokens[subject] = (await service.issue(KEY, { scope: ['r.use'], subject })).token;
}

/** What becomes of input "x", in the words of the table, and why it is asked for. */
async function outcomeOf(subject: string, capability: string, parameters: object) {
  const { body } = await service.invoke(tokens[subject] as string, capability, parameters);
  if (body.success) {
    const { x } = body.result.got;
    return { outcome: x === undefined ? 'omits' : `takes ${x}` };
  }
  const { type, clarify, resolution } = body.failure;
  if (type === 'input_denied') return { outcome: 'denies' };
  if (type === 'invalid_parameters') return { outcome: 'refuses' };
  assert.equal(type, 'clarification_required', JSON.stringify(body));
  assert.deepEqual(resolution, {
    action: 'provide_input',
    recovery_class: 'revalidate_then_retry',
  });
  const [{ input, reason, candidates = [] }, ...others] = clarify;
  assert.deepEqual([input, others], ['x', []]);
  return { outcome: ['asks', ...candidates].join(' '), reason };
}

/** Sends what reaches the hook. */
function reaching(mode: ResolutionMode, hook: Hook): object {
  if (hook === 'on_missing' || mode === 'actor_policy') return {};
  if (hook === 'on_ambiguous') return { x: 'several' };
  return { x: 'unknown' };
}

const REASONS = { on_missing: 'missing', on_ambiguous: 'ambiguous', on_unresolved: 'unresolved' };

test('the table has each combination of mode, hook and behaviour once', () => {
  const all = ResolutionMode.options.flatMap((mode) =>
    HOOKS.flatMap((hook) => ResolutionBehavior.options.map((each) => cellName(mode, hook, each))),
  );

  const cells = CELLS.map(([mode, hook, behavior]) => cellName(mode, hook, behavior));

  assert.equal(all.length, 147);
  assert.deepEqual(cells.toSorted(), all.toSorted());
});

for (const [mode, hook, behavior, withoutPolicy, withPolicy] of CELLS) {
  if (withoutPolicy === 'fault') {
    test(`a service warns of ${hook}: ${behavior} in mode ${mode}, and starts`, () => {
      assert.deepEqual(warningsOf(equipped(mode, { [hook]: behavior })), [
        `The ${hook} of input "x" of capability "act" can never apply: mode "${mode}" asks no resolver`,
      ]);
    });
    continue;
  }
  test(`invoke() follows ${hook}: ${behavior} in mode ${mode}`, async () => {
    const capability = cellName(mode, hook, behavior);
    const sent = reaching(mode, hook);
    const isDerived = mode === 'actor_policy' && hook === 'on_unresolved';
    const check = async (subject: string, expected: Outcome) => {
      const reason = expected.startsWith('asks') && { reason: REASONS[hook] };
      assert.deepEqual(await outcomeOf(subject, capability, sent), {
        outcome: expected,
        ...reason,
      });
    };

    await check('agent:plain', withoutPolicy);
    await check(isDerived ? 'agent:outside' : 'agent:ruled', withPolicy);
  });
}

for (const [mode, sent, withoutPolicy, withPolicy] of BARE) {
  test(`invoke() in mode ${mode} without a hook, sent ${JSON.stringify(sent)}`, async () => {
    const parameters = sent === undefined ? {} : { x: sent };
    const { outcome: plain } = await outcomeOf('agent:plain', mode, parameters);
    const { outcome: ruled } = await outcomeOf('agent:ruled', mode, parameters);

    assert.deepEqual([plain, ruled], [withoutPolicy, withPolicy]);
  });
}

for (const [mode, hook, fault] of UNEQUIPPED) {
  const isFault = fault?.startsWith('mode "backend');
  test(`a service ${isFault ? 'does not start' : fault ? 'warns' : 'starts'} with ${hook} in mode ${mode} alone`, () => {
    const closed = mode === 'closed_values' && { allowed_values: CLOSED };
    const resolution = { mode, [hook]: 'deny' };

    const input = { name: 'x', type: 'string', ...closed, resolution };

    if (isFault) assert.deepEqual(faultsOf(input), [`act inputs[0].resolution: ${fault}`]);
    else {
      const warning = `The ${hook} of input "x" of capability "act" can never apply: ${fault}`;
      assert.deepEqual(warningsOf(input), fault ? [warning] : []);
    }
  });
}

for (const mode of ResolutionMode.options) {
  test(`a service does not start with a resolver that is not registered, in mode ${mode}`, () => {
    const input = { name: 'x', type: 'string', allowed_values: CLOSED };

    const faults = faultsOf({ ...input, resolution: { mode, resolver_ref: 'towns' } });

    assert.deepEqual(faults, ['act inputs[0].resolution: no resolver "towns" is registered']);
  });
}

test('a service starts with a catalog_ref without resolver, if no hook needs one', () => {
  const input = { name: 'x', type: 'string', catalog_ref: 'towns' };

  assert.deepEqual(faultsOf({ ...input, resolution: { mode: 'clarify' } }), []);
  assert.deepEqual(
    warningsOf({ ...input, resolution: { mode: 'clarify', on_ambiguous: 'deny' } }),
    [
      'The on_ambiguous of input "x" of capability "act" can never apply: no resolver "towns" is registered',
    ],
  );
});
