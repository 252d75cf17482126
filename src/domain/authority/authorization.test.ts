import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type Capability, CapabilityDeclaration } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { PrincipalClass } from '../../protocol/primitives.ts';
import {
  excessiveDepth,
  inadmissiblePrincipal,
  matchingScopes,
  missingScope,
  otherBinding,
  otherTask,
  unlistedCapability,
  unmetControl,
  unmetControls,
} from './authorization.ts';
import { disclose } from './disclosure.ts';
import type { Authority } from './narrowing.ts';

const ROOT = 'human:alice';

function token(changed: Partial<Authority> = {}): Authority {
  return {
    subject: 'agent:planner',
    root_principal: ROOT,
    scope: ['travel.search'],
    purpose: {},
    caller_class: 'default',
    concurrent_branches: 'allowed',
    depth: 1,
    max_delegation_depth: 5,
    expires_at: new Date('2030-01-01T00:00:00Z'),
    ...changed,
  };
}

function capability(declared: object = {}): Capability {
  const parsed = CapabilityDeclaration.parse({
    description: 'Find flights',
    contract_version: '1.0.0',
    inputs: [],
    output: { type: 'list', fields: [] },
    side_effect: { type: 'read' },
    minimum_scope: ['travel.search'],
    ...declared,
  });
  return { name: 'search_flights', ...parsed };
}

/** Type and action; `undefined` where the rule finds nothing. */
function found(failure: Failure | undefined) {
  return failure && [failure.type, failure.resolution.action];
}

const NON_DELEGABLE = ['non_delegable_action', 'invoke_as_root_principal'] as const;
const OTHER_CLASS = ['principal_class_not_admitted', 'request_new_delegation'] as const;

const PRINCIPALS: readonly [
  what: string,
  declared: object,
  held: Partial<Authority>,
  refused?: typeof NON_DELEGABLE | typeof OTHER_CLASS,
][] = [
  ['anyone where nothing is declared', {}, {}],
  ['a class that is named', { principal_classes: ['human', 'agent'] }, {}],
  ['a class that is not named', { principal_classes: ['human'] }, {}, OTHER_CLASS],
  ['an agent whose root is human', { principal_classes: ['human'] }, { depth: 0 }, OTHER_CLASS],
  [
    'a human below a service',
    { principal_classes: ['human'] },
    { subject: 'human:bob', root_principal: 'service:x' },
  ],
  [
    'a subject that is not a principal',
    { principal_classes: ['human'] },
    { subject: 'human:' },
    OTHER_CLASS,
  ],
  ['the root principal itself', { delegable: false }, { subject: ROOT, depth: 0 }],
  ['another subject of a root token', { delegable: false }, { depth: 0 }, NON_DELEGABLE],
  [
    'the root principal by name, deeper',
    { delegable: false },
    { subject: ROOT, depth: 1 },
    NON_DELEGABLE,
  ],
  ['an agent', { delegable: false }, {}, NON_DELEGABLE],
  [
    'an agent where only a human root may',
    { delegable: false, principal_classes: ['human'] },
    {},
    NON_DELEGABLE,
  ],
  [
    'a root of the wrong class',
    { delegable: false, principal_classes: ['service'] },
    { subject: ROOT, depth: 0 },
    OTHER_CLASS,
  ],
];
for (const [what, declared, held, refused] of PRINCIPALS) {
  test(`inadmissiblePrincipal() ${refused ? 'refuses' : 'passes'} ${what}`, () => {
    const failure = inadmissiblePrincipal(token(held), capability(declared), [token(held)]);

    assert.deepEqual(found(failure), refused);
    if (!failure) return;
    const recovery = refused === NON_DELEGABLE ? 'terminal' : 'redelegation_then_retry';
    assert.equal(failure.resolution.recovery_class, recovery);
    assert.equal(failure.retry, false);
  });
}

const CHAINS: readonly [classes: PrincipalClass[], chain: string[], other?: string][] = [
  [['service'], ['service:x']],
  [['service'], ['service:x', 'service:y']],
  [['service'], ['agent:a', 'service:x'], 'agent:a'],
  [['service'], ['service:x', 'agent:a', 'service:y'], 'agent:a'],
  [['service'], ['human:r', 'service:x'], 'human:r'],
  [
    ['service', 'agent'],
    ['agent:a', 'service:x'],
  ],
  [['oidc'], ['service:x', 'oidc:x'], 'service:x'],
  [['human'], ['human:r', 'human:b']],
  [['human'], ['service:x', 'human:b'], 'service:x'],
  [['agent'], ['human:r', 'service:x', 'agent:a']],
  [['agent'], ['agent:a', 'service:x'], 'service:x'],
];
for (const [principal_classes, chain, other] of CHAINS) {
  test(`inadmissiblePrincipal() ${other ? 'refuses' : 'passes'} ${chain.join(' > ')} for ${principal_classes}`, () => {
    const lineage = chain.map((subject) => token({ subject }));
    const own = lineage.at(-1) as Authority;

    const failure = inadmissiblePrincipal(own, capability({ principal_classes }), lineage);

    assert.deepEqual(found(failure), other ? OTHER_CLASS : undefined);
    if (other) assert.ok(failure?.detail.includes(`"${other}"`), failure?.detail);
  });
}

for (const [root, principal_classes, grantable_by] of [
  ['human:r', ['human'], 'human:r'],
  ['service:desk', ['agent'], 'service:desk'],
  ['service:desk', ['human'], undefined],
  ['service:desk', ['human', 'oidc'], undefined],
] as const) {
  test(`inadmissiblePrincipal() names ${grantable_by ?? 'no one'} who can grant what ${principal_classes} may, under ${root}`, () => {
    const held = token({ subject: 'service:x', root_principal: root });

    const failure = inadmissiblePrincipal(held, capability({ principal_classes }), [held]);

    assert.deepEqual(found(failure), OTHER_CLASS);
    assert.equal(failure?.resolution.grantable_by, grantable_by);
  });
}

test('inadmissiblePrincipal() names the admitted classes within the length of a reduced detail', () => {
  const classes = ['human', 'service', 'oidc'] as const;
  const long = token({ subject: `agent:${'x'.repeat(250)}` });
  const wide = { ...capability({ principal_classes: classes }), name: 'c'.repeat(128) };
  const failure = inadmissiblePrincipal(long, wide, [long]);

  const kept = disclose(failure as Failure, 'reduced').detail;
  assert.match(kept, /admits human or service or oidc principals/);
});

const SCOPES: readonly [what: string, needed: string[], held: string[], missing: string[]][] = [
  ['the very scope', ['a.b'], ['a.b'], []],
  ['one of two', ['a.b', 'a.c'], ['a.c'], ['a.b']],
  ['the wildcard of the word', ['w:b'], ['w:*'], []],
  ['nothing', ['a.b', 'a.c'], [], ['a.b', 'a.c']],
];
for (const [what, minimum_scope, scope, missing] of SCOPES) {
  test(`missingScope() names exactly what ${what} leaves lacking`, () => {
    const failure = missingScope(token({ scope }), capability({ minimum_scope }));

    assert.equal(failure?.type, missing.length > 0 ? 'scope_insufficient' : undefined);
    assert.deepEqual(failure?.resolution.requires ?? [], missing);
    if (failure) assert.equal(failure.resolution.grantable_by, ROOT);
  });
}

test('matchingScopes() keeps the order of the token and omits scopes that are not needed', () => {
  const held = token({ scope: ['x', 'w:*', 'a.b', 'w:c'] });

  assert.deepEqual(matchingScopes(held, capability({ minimum_scope: ['a.b', 'w:c'] })), [
    'w:*',
    'a.b',
    'w:c',
  ]);
});

test('otherBinding() accepts a token without binding or with the same one, and refuses any other', () => {
  const bound = (name?: string) => otherBinding(token({ capability: name }), capability());

  assert.equal(bound(), undefined);
  assert.equal(bound('search_flights'), undefined);
  for (const name of ['book_flight', 'Search_flights', 'search_flights2', '']) {
    assert.deepEqual(found(bound(name)), ['purpose_mismatch', 'request_capability_binding']);
  }
});

const LISTS: readonly [what: string, listed: unknown, isRefused: boolean][] = [
  ['no list', undefined, false],
  ['a list with the capability', ['book_flight', 'search_flights'], false],
  ['a list without it', ['book_flight'], true],
  ['an empty list', [], true],
  ['a longer name', ['search_flights2'], true],
  ['another case', ['Search_flights'], true],
  ['a pattern', ['*', 'search_*'], true],
  ['a text in place of a list', 'search_flights', true],
  ['a text that contains the name', 'book_flight,search_flights', true],
  ['a list that has more than texts', ['search_flights', 5], true],
  ['a list of lists', [['search_flights']], true],
  ['an object', { search_flights: true, includes: true }, true],
  ['true', true, true],
  ['null', null, true],
];
for (const [what, listed, isRefused] of LISTS) {
  test(`unlistedCapability() ${isRefused ? 'refuses' : 'passes'} under ${what}`, () => {
    const purpose = listed === undefined ? {} : { only_capabilities: listed };

    const failure = unlistedCapability(token({ purpose }), capability());

    const refusal = ['purpose_mismatch', 'request_capability_binding'];
    assert.deepEqual(found(failure), isRefused ? refusal : undefined);
    assert.equal(failure?.resolution.grantable_by, isRefused ? ROOT : undefined);
  });
}

const TASKS: readonly [held: string | undefined, asked: string | undefined, refused: boolean][] = [
  [undefined, undefined, false],
  [undefined, 'any', false],
  ['task-1', undefined, false],
  ['task-1', 'task-1', false],
  ['task-1', 'task-2', true],
  ['task-1', 'task-1 ', true],
  ['task-1', 'Task-1', true],
];
for (const [held, asked, refused] of TASKS) {
  test(`otherTask() ${refused ? 'refuses' : 'passes'} ${asked} under a token for ${held}`, () => {
    const purpose = held === undefined ? {} : { task_id: held };

    const failure = otherTask(token({ purpose }), asked);

    assert.equal(failure?.type, refused ? 'purpose_mismatch' : undefined);
  });
}

test('excessiveDepth() passes the declared depth and refuses one more', () => {
  const at = (depth: number, max_delegation_depth?: number) =>
    excessiveDepth(token({ depth }), capability({ max_delegation_depth }))?.type;

  assert.equal(at(5), undefined);
  assert.equal(at(2, 2), undefined);
  assert.equal(at(0, 0), undefined);
  assert.equal(at(3, 2), 'delegation_depth_exceeded');
  assert.equal(at(1, 0), 'delegation_depth_exceeded');
});

const CEILING = { type: 'cost_ceiling' };
const STRONGER = { type: 'stronger_delegation_required' };
const BUDGET = { budget: { currency: 'USD', max_amount: 1 } };
const BOUND = { capability: 'search_flights' };

const CONTROLS: readonly [
  what: string,
  required: object[] | undefined,
  held: Partial<Authority>,
  unmet: string[],
][] = [
  ['none', undefined, {}, []],
  ['a ceiling without a budget', [CEILING], {}, ['cost_ceiling']],
  ['a ceiling with a budget', [CEILING], BUDGET, []],
  [
    'a ceiling with a budget of nothing',
    [CEILING],
    { budget: { currency: 'USD', max_amount: 0 } },
    [],
  ],
  ['a binding that is missing', [STRONGER], BUDGET, ['stronger_delegation_required']],
  ['a binding that is there', [STRONGER], BOUND, []],
  [
    'a binding to another',
    [STRONGER],
    { capability: 'book_flight' },
    ['stronger_delegation_required'],
  ],
  ['both', [STRONGER, CEILING], {}, ['stronger_delegation_required', 'cost_ceiling']],
  ['both, one met', [STRONGER, CEILING], BOUND, ['cost_ceiling']],
  ['both, both met', [STRONGER, CEILING], { ...BOUND, ...BUDGET }, []],
];
const ACTIONS: Readonly<Record<string, string>> = {
  cost_ceiling: 'request_budget_bound_delegation',
  stronger_delegation_required: 'request_capability_binding',
};
for (const [what, required, held, unmet] of CONTROLS) {
  test(`unmetControls() finds exactly what is unmet of ${what}, and unmetControl() the first`, () => {
    const declared = capability({ control_requirements: required });

    const failure = unmetControl(token(held), declared);

    assert.deepEqual(
      unmetControls(token(held), declared).map(({ type }) => type),
      unmet,
    );
    const [first] = unmet;
    assert.deepEqual(found(failure), first && ['control_requirement_unsatisfied', ACTIONS[first]]);
    assert.deepEqual(failure?.resolution.requires, first && [first]);
  });
}
