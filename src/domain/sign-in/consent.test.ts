import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { type Capability, CapabilityDeclaration, type Catalog } from '../../protocol/capability.ts';
import { authorityRefusal, controlRefusal, type Whole } from '../authority/authorization.ts';
import type { Entitlement } from '../authority/entitlement.ts';
import type { Authority } from '../authority/narrowing.ts';
import { covers } from '../authority/scope-pattern.ts';
import { stepCapabilities } from '../composition/composition.ts';
import { checkBudget } from '../invocation/budget.ts';
import {
  type ConsentSubject,
  consentOptions,
  costsMoney,
  currenciesOf,
  TICKS,
  tickedNames,
} from './consent.ts';
import { type ConsentForm, consentRequest } from './consent-form.ts';
import { isGivable, neverGiven } from './givable.ts';

const NOTHING_ASKED = { scope: [], capabilities: [] };
const STRONG = { control_requirements: [{ type: 'stronger_delegation_required' }] };

function usd(certainty: string, financial: object) {
  return { cost: { certainty, financial: { currency: 'USD', ...financial } } };
}

function catalogOf(declared: Record<string, object>): Catalog {
  const capabilities = Object.entries(declared).map(([name, changes]): [string, Capability] => {
    const parsed = CapabilityDeclaration.parse({
      description: `About ${name}`,
      contract_version: '1.0.0',
      inputs: [],
      output: { type: 'object', fields: [] },
      side_effect: { type: 'read' },
      minimum_scope: ['travel.search'],
      ...changes,
    });
    return [name, { name, ...parsed }];
  });
  return { capabilities: new Map(capabilities) };
}

function subjectOf(
  declared: Record<string, object>,
  scopes: readonly string[] = ['travel.*'],
): ConsentSubject {
  const entitlement: Entitlement = {
    principal: 'human:ann@example.com',
    scopes,
    subjects: [],
    caller_class: 'internal',
    caller_classes: [],
  };
  return { catalog: catalogOf(declared), entitlement, isQuoted: (name) => name === 'quoted' };
}

function optionOf(declared: object, scopes?: readonly string[]) {
  const [option] = consentOptions(subjectOf({ it: declared }, scopes), NOTHING_ASKED);
  assert.ok(option);
  return option;
}

function composed(steps: readonly string[]) {
  return {
    kind: 'composed',
    composition: {
      authority_boundary: 'same_service',
      steps: steps.map((capability, index) => ({ id: `s${index}`, capability })),
      input_mapping: {},
      output_mapping: {},
      failure_policy: 'fail_parent',
      audit_policy: { record_child_invocations: true, parent_task_lineage: true },
    },
  };
}

test('consentOptions() describes a capability in words', () => {
  const declared = {
    side_effect: { type: 'transactional', rollback_window: 'PT24H' },
    minimum_scope: ['travel.hold'],
    ...usd('fixed', { amount: 15 }),
  };

  const [option] = consentOptions(subjectOf({ hold_seat: declared }), NOTHING_ASKED);

  assert.deepEqual(option, {
    name: 'hold_seat',
    title: 'Hold seat',
    description: 'About hold_seat',
    scope: ['travel.hold'],
    effect: { kind: 'undo', words: 'Can be undone for 24 h' },
    cost: '15.00 USD each',
    currency: 'USD',
    approval: undefined,
    isChosen: false,
    isAsked: false,
    blocked: undefined,
    alone: undefined,
  });
});

const BLOCKED: readonly [what: string, declared: object, reason: string][] = [
  [
    'a scope that the person lacks',
    { minimum_scope: ['travel.search', 'payroll.read'] },
    'You are not entitled to payroll.read',
  ],
  ['what is not delegable', { delegable: false }, 'Only you yourself may do this'],
  ['what is for people', { principal_classes: ['human', 'oidc'] }, 'It does not admit agents'],
  [
    'what ends above the client',
    { max_delegation_depth: 0 },
    'It admits only tokens that you use yourself',
  ],
  [
    'a cost that no budget can hold',
    usd('estimated', { range_max: 9 }),
    'No limit can hold it: nothing fixes its price',
  ],
];

for (const [what, declared, reason] of BLOCKED) {
  test(`consentOptions() blocks ${what}`, () => {
    assert.equal(optionOf(declared).blocked, reason);
    assert.equal(optionOf(declared).isChosen, false);
  });
}

for (const [what, declared] of BLOCKED.slice(1, 4)) {
  test(`consentOptions() blocks a composed capability with a step that is ${what}`, () => {
    const subject = subjectOf({ step: declared, trip: composed(['step']) });

    assert.ok(consentOptions(subject, NOTHING_ASKED).every(({ blocked }) => blocked !== undefined));
  });
}

test('consentOptions() does not block what a price, a binding or a depth of one makes usable', () => {
  const bound = { requires_binding: [{ type: 'quote', field: 'q' }] };
  const cost = usd('estimated', { range_max: 9 });
  const subject = subjectOf({
    quoted: cost,
    bound: { ...cost, ...bound },
    shallow: { max_delegation_depth: 1 },
    agents: { principal_classes: ['agent'] },
  });

  for (const option of consentOptions(subject, NOTHING_ASKED)) {
    assert.equal(option.blocked, undefined, option.name);
  }
});

// An operator who signs in holds these; the agent that the operator lets act does not.
const RIGHTS = ['operator:*', 'operator:freeze', 'approver:*', 'approver:charter_jet'];

for (const right of [...RIGHTS, 'Operator:freeze', 'operator:', 'approver:a:b']) {
  test(`consent never gives ${right}, not even where a capability needs it and the person holds it`, () => {
    const held = ['operator:*', 'approver:*', 'travel.*', right];
    const option = optionOf({ minimum_scope: ['travel.search', right] }, held);

    assert.equal(option.blocked, `Consent can never give ${right}`);
    assert.deepEqual(neverGiven(['travel.search', right]), [right]);
  });
}

// A catalog with these does not start; the rule does not depend on that.
for (const pattern of ['*', '*:*', '*.*', 'oper*', 'operator*', '*operator:*', 'a:*:*', 'o.*']) {
  test(`consent never gives the pattern ${pattern}, whatever the person is entitled to`, () => {
    for (const held of [[pattern], ['*'], ['*:*'], ['operator:*']]) {
      assert.match(optionOf({ minimum_scope: [pattern] }, held).blocked ?? '', /never give/);
    }
  });
}

test('no scope that consent gives covers a right over the service', () => {
  const part = fc.constantFrom('operator', 'approver', 'op', '*', ':', '.', 'travel', '.*', ':*');

  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const scope = parts.join('');
      fc.pre(isGivable(scope));

      assert.ok(!RIGHTS.some((right) => covers(scope, right) || covers(right, scope)), scope);
    }),
    { numRuns: 2_000 },
  );
});

test('consentOptions() preselects only what reads and has no price', () => {
  const subject = subjectOf({
    reads: {},
    reads_paid: usd('fixed', { amount: 1 }),
    reads_zero: usd('fixed', { amount: 0 }),
    reads_alone: STRONG,
    reads_other: { minimum_scope: ['payroll.read'] },
    writes: { side_effect: { type: 'write' } },
    undoes: { side_effect: { type: 'transactional' } },
    ends: { side_effect: { type: 'irreversible' } },
  });

  const chosen = consentOptions(subject, NOTHING_ASKED).filter(({ isChosen }) => isChosen);

  assert.deepEqual(
    chosen.map(({ name }) => name),
    ['reads'],
  );
});

test('consentOptions() preselects only what the client names, where it names something', () => {
  const subject = subjectOf({
    search: {},
    book: { minimum_scope: ['travel.book'], side_effect: { type: 'write' } },
    read: { minimum_scope: ['travel.read'] },
    open: { minimum_scope: [] },
  });
  const shown = (scope: string[], capabilities: string[] = []) =>
    consentOptions(subject, { scope, capabilities }).map(({ name, isAsked, isChosen }) =>
      [name, isAsked && 'asked', isChosen && 'chosen'].filter(Boolean).join(' '),
    );

  assert.deepEqual(shown(['travel.search', 'travel.book']), [
    'search asked chosen',
    'book asked',
    'read',
    'open',
  ]);
  assert.deepEqual(shown([], ['read', 'unknown']), ['search', 'book', 'read asked chosen', 'open']);
  assert.deepEqual(shown(['operator:*']), ['search chosen', 'book', 'read chosen', 'open chosen']);
});

test('tickedNames() ticks what can be given together, of what the client asks for', () => {
  const subject = subjectOf({
    reads: {},
    reads_paid: usd('fixed', { amount: 1 }),
    writes: { side_effect: { type: 'write' } },
    alone: STRONG,
    blocked: { delegable: false },
    other: { minimum_scope: ['travel.other'] },
  });
  const ticked = (scope: string[]) => {
    const options = consentOptions(subject, { scope, capabilities: [] });
    return Object.fromEntries(TICKS.map((tick) => [tick, tickedNames(options, tick).join(' ')]));
  };

  assert.deepEqual(ticked(['travel.search']), {
    all: 'reads reads_paid writes',
    reads: 'reads',
    none: '',
  });
  assert.deepEqual(ticked([]), {
    all: 'reads reads_paid writes other',
    reads: 'reads other',
    none: '',
  });
});

test('consentOptions() shows a faulty form with what was chosen, but never a blocked option', () => {
  const subject = subjectOf({ a: {}, b: {}, c: { delegable: false } });

  const options = consentOptions(subject, NOTHING_ASKED, ['b', 'c', 'unknown']);

  assert.deepEqual(
    options.filter(({ isChosen }) => isChosen).map(({ name }) => name),
    ['b'],
  );
});

test('consentOptions() preselects nothing when that would not fit into one token', () => {
  const chosenOf = (count: number, of: (index: number) => [string, object]) => {
    const declared = Object.fromEntries(Array.from({ length: count }, (_, index) => of(index)));
    const options = consentOptions(subjectOf(declared), NOTHING_ASKED);
    return options.filter(({ isChosen }) => isChosen).length;
  };

  assert.equal(
    chosenOf(100, (index) => [`read_number_${index}`, {}]),
    0,
  );
  const scoped = (index: number): [string, object] => [
    `r${index}`,
    { minimum_scope: [`travel.s${index}`] },
  ];
  assert.equal(chosenOf(65, scoped), 0);
  assert.equal(chosenOf(64, scoped), 64);
});

test('currenciesOf() names the most frequent currency first', () => {
  const eur = { cost: { certainty: 'fixed', financial: { currency: 'EUR', amount: 1 } } };
  const subject = subjectOf({ a: usd('fixed', { amount: 1 }), b: eur, c: eur, d: {} });

  assert.deepEqual(currenciesOf(consentOptions(subject, NOTHING_ASKED)), ['EUR', 'USD']);
});

test('what a consent gives is exactly what its token can invoke, for every choice', () => {
  const subject = subjectOf({
    search: {},
    search_more: {},
    hold: { minimum_scope: ['travel.hold'], ...usd('fixed', { amount: 15 }) },
    jet: { ...usd('dynamic', { upper_bound: 90 }), ...STRONG },
    capped: { control_requirements: [{ type: 'cost_ceiling' }] },
    euro: { cost: { certainty: 'fixed', financial: { currency: 'EUR', amount: 0 } } },
    trip: {
      minimum_scope: ['travel.search', 'travel.hold'],
      ...usd('fixed', { amount: 20 }),
      ...composed(['search', 'hold']),
    },
    bare: { minimum_scope: [] },
    person: { delegable: false },
    admin: { minimum_scope: ['operator:read'] },
  });
  const options = consentOptions(subject, NOTHING_ASKED);
  const names = options.map(({ name }) => name);
  const now = new Date('2026-11-17T09:00:00Z');
  const limits = { now, ttlHoursMax: 720, depthMax: 5 };

  fc.assert(
    fc.property(fc.subarray(names, { minLength: 1 }), (chosen) => {
      const isPaid = options.some((each) => chosen.includes(each.name) && costsMoney(each));
      const form: ConsentForm = {
        chosen,
        limit: isPaid ? '100' : '',
        currency: 'USD',
        until: '2026-11-18T09:00:00Z',
        for: '',
        pass: '0',
      };
      const reading = consentRequest(form, options, limits);
      fc.pre('consent' in reading);
      const { ttl_hours: _, ...given } = (reading as { consent: Authority & { ttl_hours: number } })
        .consent;
      const token: Authority = {
        ...given,
        subject: 'agent:client/7f3a',
        root_principal: subject.entitlement.principal,
        caller_class: 'default',
        concurrent_branches: 'allowed',
        depth: 1,
        expires_at: now,
      };

      for (const capability of subject.catalog.capabilities.values()) {
        const whole: Whole = [capability, ...stepCapabilities(subject.catalog, capability)];
        const refusal =
          authorityRefusal({ token, whole, lineage: [token, token] }) ??
          controlRefusal(token, whole) ??
          checkBudget(token, capability, []).failure;
        assert.equal(refusal === undefined, chosen.includes(capability.name), capability.name);
      }
    }),
    { numRuns: 500 },
  );
});
