import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  type FaultRow,
  faultsOf,
  GRANT_POLICY,
  placeOf,
  smallest,
  travel,
  travelWith,
} from '../../../test/support/declarations.ts';
import { CAPABILITIES_MAX, createCatalog } from './catalog.ts';
import { faultText } from './fault.ts';

test('createCatalog() finds no fault in a set that keeps every rule', () => {
  assert.deepEqual(faultsOf(travel()), []);
});

test('createCatalog() keeps every declaration under its name', () => {
  const result = createCatalog(Object.entries(travel()));

  assert.ok('catalog' in result);
  assert.deepEqual([...result.catalog.capabilities.keys()], Object.keys(travel()));
  for (const [name, capability] of result.catalog.capabilities) assert.equal(capability.name, name);
});

test('createCatalog() fills in every default', () => {
  const declared = {
    ...smallest(),
    inputs: [{ name: 'a', type: 'string' }],
    business_effects: {},
    control_requirements: [{ type: 'cost_ceiling' }],
    approval: { when: 'always', grant_policy: GRANT_POLICY },
  };

  const result = createCatalog(Object.entries({ alone: declared }));

  assert.ok('catalog' in result);
  assert.deepEqual(result.catalog.capabilities.get('alone'), {
    ...declared,
    name: 'alone',
    kind: 'atomic',
    response_modes: ['unary'],
    delegable: true,
    inputs: [{ name: 'a', type: 'string', required: true }],
    business_effects: { produces: [], does_not_produce: [] },
    control_requirements: [{ type: 'cost_ceiling', enforcement: 'reject' }],
    approval: { when: 'always', grant_policy: GRANT_POLICY, approvals_required: 1 },
  });
});

test('createCatalog() lets a capability name itself in refresh_via', () => {
  const alone = { ...smallest(), refresh_via: ['alone'] };

  assert.ok('catalog' in createCatalog(Object.entries({ alone })));
});

test('createCatalog() accepts a service without capabilities', () => {
  assert.deepEqual(createCatalog(Object.entries({})), { catalog: { capabilities: new Map() } });
});

const unknown = '"nowhere" is not declared here';
const rules: FaultRow[] = [
  ['book_flight.requires.0.capability', 'nowhere', unknown],
  ['book_flight.refresh_via', ['find_flights', 'nowhere'], unknown, 'book_flight refresh_via[1]'],
  ['book_flight.verify_via.0', 'nowhere', unknown],
  ['book_flight.requires_binding.0.source_capability', 'nowhere', unknown],
  ['book_flight.side_effect.compensation', 'nowhere', unknown],
  ['book_flight.verify_via.0', 'Flight_status', '"Flight_status" is not declared here'],
  ['book_flight.requires.0.capability', 'book_flight', 'it names itself'],
  ['book_flight.side_effect.compensation', 'book_flight', 'it names itself'],
  ['find_flights.output.fields', ['flights', 'quote', 'quote'], '"quote" appears twice'],
  [
    'cancel_flight.minimum_scope',
    ['travel.book', 'travel.book', 'travel.book'],
    '"travel.book" appears twice',
  ],
  ['cancel_flight.response_modes', ['unary', 'unary'], '"unary" appears twice'],
  ['book_flight.principal_classes', ['human', 'human'], '"human" appears twice'],
  [
    'book_flight.control_requirements',
    [{ type: 'cost_ceiling' }, { type: 'cost_ceiling' }],
    '"cost_ceiling" appears twice',
  ],
  [
    'book_flight.requires_binding',
    [
      { type: 'quote', field: 'quote' },
      { type: 'hold', field: 'quote' },
    ],
    '"quote" appears twice',
  ],
  [
    'book_flight.approval.grant_policy.allowed_grant_types',
    ['one_time', 'session_bound', 'one_time'],
    '"one_time" appears twice',
  ],
  ['book_flight.side_effect.rollback_window', 'P1M', '"P1M" is not a positive duration'],
  ['find_flights.cost.compute.expected_duration', 'PT0S', '"PT0S" is not a positive duration'],
  ['book_flight.observability.retention', '0d', '"0d" is not a positive duration'],
  ['find_flights.rate_limit.window', 'PT', '"PT" is not a positive duration'],
  ['book_flight.requires_binding.0.max_age', 'P1DT', '"P1DT" is not a positive duration'],
  [
    'cancel_flight.side_effect.rollback_window',
    'PT1H',
    'only a transactional effect has it, not "write"',
  ],
  [
    'flight_status.side_effect.compensation',
    'cancel_flight',
    'only a transactional effect has it, not "read"',
  ],
  [
    'cancel_flight.inputs.0.name',
    'reference',
    '"cancel_flight" needs "reference", which neither output nor inputs have',
    'book_flight side_effect.compensation',
  ],
  ['book_flight.side_effect.compensation', 'trip_report', '"trip_report" is composed'],
  [
    'cancel_flight.approval',
    { when: 'always', grant_policy: GRANT_POLICY },
    '"cancel_flight" may need approval',
    'book_flight side_effect.compensation',
  ],
  ...(
    [
      ['principal_classes', ['human'], 'admits only some principal classes'],
      ['delegable', false, 'is for the root principal only'],
      ['max_delegation_depth', 3, 'admits only some depths of delegation'],
      ['requires_binding', [{ type: 'booking', field: 'booking_id' }], 'requires a binding'],
      ['control_requirements', [{ type: 'cost_ceiling' }], 'has control requirements'],
      ['response_modes', ['streaming'], 'only streams'],
    ] as const
  ).map(
    ([field, value, words]): FaultRow => [
      `cancel_flight.${field}`,
      value,
      `"cancel_flight" ${words}`,
      'book_flight side_effect.compensation',
    ],
  ),
  ...['actor_policy', 'actor_policy_or_explicit'].map(
    (mode): FaultRow => [
      'cancel_flight.inputs.0.resolution',
      { mode },
      '"cancel_flight" derives an input from its caller',
      'book_flight side_effect.compensation',
    ],
  ),
  [
    'cancel_flight.inputs',
    [],
    'no input of "cancel_flight" tells which call it undoes',
    'book_flight side_effect.rollback_window',
  ],
  ...['*', 'travel.*', 'travel*', '*:book', '*:*', 'travel:book:*', 'tra*vel:*'].map(
    (scope): FaultRow => [
      'cancel_flight.minimum_scope.0',
      scope,
      `no token can hold "${scope}": the only wildcard is "word:*"`,
    ],
  ),
  ['book_flight.requires_binding.0.field', 'offer', '"offer" is not an input'],
  [
    'book_flight.inputs.0.type',
    'integer',
    'input "quote" is "integer", not "string"',
    'book_flight requires_binding[0].field',
  ],
  ...(
    [
      ['default', 'q'],
      ['resolution', { mode: 'clarify', resolver_ref: 'quotes' }],
      ['resolution', { mode: 'actor_policy_or_explicit' }],
      ['resolution', { mode: 'explicit_only', on_missing: 'omit' }],
    ] as const
  ).map(
    ([field, value]): FaultRow => [
      `book_flight.inputs.0.${field}`,
      value,
      'input "quote" carries a handle, which is used as it is sent: it has no default, no resolver and no policy',
      'book_flight requires_binding[0].field',
    ],
  ),
  [
    'book_flight.observability.fields_logged.0',
    'passport',
    '"passport" is neither input nor output',
    'book_flight observability.fields_logged',
  ],
  [
    'book_flight.approval.grant_policy.allowed_grant_types',
    ['session_bound'],
    '"one_time" is not allowed',
    'book_flight approval.grant_policy.default_grant_type',
  ],
  [
    'book_flight.approval.grant_policy.allowed_grant_types',
    ['one_time'],
    'a one_time grant has one use',
    'book_flight approval.grant_policy.max_uses',
  ],
  ['plan_trip.composition', undefined, 'a composed capability needs one'],
  ['plan_trip.kind', 'atomic', 'only a composed capability has one', 'plan_trip composition'],
  [
    'cancel_flight.minimum_scopes',
    ['travel.admin'],
    'there is no such field',
    'cancel_flight minimum_scopes',
  ],
  [
    'book_flight.side_effect.rollbackWindow',
    'PT1H',
    'there is no such field',
    'book_flight side_effect.rollbackWindow',
  ],
  ['cancel_flight.contract_version', '1.0', 'expected "1.2.3"'],
  [
    'book_flight.side_effect.rollback_window',
    'one day',
    'expected a duration such as "PT15M" or "24h"',
  ],
  [
    'cancel_flight.minimum_scope.0',
    'travel book',
    'expected scope characters (RFC 6749), no spaces',
  ],
  [
    'find_flights.cost.compute.memory',
    () => 'small',
    'it has no JSON form',
    'find_flights cost.compute',
  ],
];
for (const [place, value, words, at = placeOf(place)] of rules) {
  test(`createCatalog() reports at ${at}: ${words}`, () => {
    const [capability = '', field = ''] = at.split(' ');

    assert.deepEqual(faultsOf(travelWith(place, value)), [[capability, field, words]]);
  });
}

for (const field of Object.keys(smallest())) {
  test(`createCatalog() names a missing ${field}, and only that`, () => {
    const faults = faultsOf(travelWith(`cancel_flight.${field}`, undefined));

    assert.equal(faults.length, 1);
    assert.deepEqual(faults[0]?.slice(0, 2), ['cancel_flight', field]);
    assert.match(faults[0]?.[2] ?? '', /^it is required$/);
  });
}

// Each is just inside the edge of a rule above.
const accepted: [name: string, place: string, value: unknown][] = [
  ['an input of a compensation that has a default', 'cancel_flight.inputs.0.default', 'none'],
  ['an input of a compensation that is optional', 'cancel_flight.inputs.0.required', false],
  [
    'a policy of grants that are used once',
    'book_flight.approval.grant_policy',
    { ...GRANT_POLICY, allowed_grant_types: ['one_time'], max_uses: 1 },
  ],

  ['the shortest duration', 'book_flight.side_effect.rollback_window', '1ms'],
  ['two capabilities that refresh each other', 'find_flights.refresh_via', ['book_flight']],
  ['no scope at all', 'flight_status.minimum_scope', []],
  ['a wildcard that can be held', 'cancel_flight.minimum_scope', ['travel:*']],
  ['a compensation that also streams', 'cancel_flight.response_modes', ['streaming', 'unary']],
  ['a compensation with empty needs', 'cancel_flight.control_requirements', []],
  ['a compensation that asks for no binding', 'cancel_flight.requires_binding', []],
  [
    'references into other services, unread',
    'find_flights.cross_service',
    { handoff_to: [{ service: 'hotels', capability: 'nowhere' }] },
  ],
];
for (const [name, place, value] of accepted) {
  test(`createCatalog() accepts ${name}`, () => {
    assert.deepEqual(faultsOf(travelWith(place, value)), []);
  });
}

test('createCatalog() reports all faults of all capabilities at once', () => {
  const declarations = {
    ...travel(),
    first: {
      ...smallest(),
      refresh_via: ['nowhere'],
      output: { type: 'object', fields: ['a', 'a'] },
    },
    second: { ...smallest(), contract_version: 'one', minimum_scope: 'travel' },
    third: { ...smallest(), kind: 'composed' },
  };

  assert.deepEqual(
    faultsOf(declarations).map(([capability, field]) => `${capability} ${field}`),
    [
      'second contract_version',
      'second minimum_scope',
      'first refresh_via[0]',
      'first output.fields',
      'third composition',
    ],
  );
});

for (const name of Object.keys(travel())) {
  for (const [how, broken] of [
    ['is malformed', { description: 7 }],
    ['is null', null],
    ['is text', 'later'],
  ] as const) {
    test(`createCatalog() reports no other capability when "${name}" ${how}`, () => {
      const faults = faultsOf({ ...travel(), [name]: broken });

      assert.ok(faults.length > 0);
      assert.deepEqual([...new Set(faults.map(([capability]) => capability))], [name]);
    });
  }
}

test('createCatalog() refuses names that are no capability names', () => {
  const words = 'expected a letter, then letters, digits, "_", "." or "-"';
  for (const name of ['', '__proto__', '1st', 'a b', 'a/b', 'é', `a${'b'.repeat(128)}`, 'a\n']) {
    const declarations = Object.fromEntries([[name, smallest()]]);

    assert.deepEqual(faultsOf(declarations), [[name, 'name', words]], JSON.stringify(name));
  }
});

test('createCatalog() accepts the longest capability name', () => {
  assert.deepEqual(faultsOf({ [`a${'b'.repeat(127)}`]: smallest() }), []);
});

const prototypeNames = ['constructor', 'toString', 'hasOwnProperty', 'valueOf'];

for (const name of prototypeNames) {
  test(`createCatalog() treats "${name}" as an ordinary capability`, () => {
    const result = createCatalog([
      [name, smallest()],
      ['other', { ...smallest(), refresh_via: [name] }],
    ]);

    assert.ok('catalog' in result);
    assert.equal(result.catalog.capabilities.get(name)?.name, name);
  });

  test(`createCatalog() treats "${name}" as unknown when it is not declared`, () => {
    const words = `"${name}" is not declared here`;

    assert.deepEqual(faultsOf(travelWith('book_flight.refresh_via.0', name)), [
      ['book_flight', 'refresh_via[0]', words],
    ]);
    assert.deepEqual(faultsOf(travelWith('book_flight.side_effect.compensation', name)), [
      ['book_flight', 'side_effect.compensation', words],
    ]);
    assert.deepEqual(faultsOf(travelWith('book_flight.requires_binding.0.field', name)), [
      ['book_flight', 'requires_binding[0].field', `"${name}" is not an input`],
    ]);
    assert.deepEqual(faultsOf(travelWith('book_flight.observability.fields_logged.0', name)), [
      ['book_flight', 'observability.fields_logged', `"${name}" is neither input nor output`],
    ]);
  });
}

test('createCatalog() accepts as many capabilities as its bound and refuses one more', () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`c${index}`, smallest()]));

  assert.deepEqual(faultsOf(many(CAPABILITIES_MAX)), []);
  assert.deepEqual(faultsOf(many(CAPABILITIES_MAX + 1)), [
    ['', 'capabilities', 'more than 1000 are declared'],
  ]);
});

test('faultText() names the capability, the field and what is wrong in one line', () => {
  const place = { capability: 'book', field: 'inputs[2].default' };
  const text = faultText({ ...place, fault: 'it is odd', written: 'is "x"', write: '"y"' });

  assert.equal(text, 'capability book: inputs[2].default is "x", because it is odd; write "y"');
});

test('createCatalog() checks both of two declarations under one name', () => {
  const result = createCatalog([
    ['twice', { ...smallest(), refresh_via: ['nowhere'] }],
    ['twice', { ...smallest(), verify_via: ['nowhere'] }],
  ]);

  assert.ok('faults' in result);
  assert.deepEqual(
    result.faults.map(({ field }) => field),
    ['refresh_via[0]', 'verify_via[0]'],
  );
});
