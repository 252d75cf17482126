import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  type FaultRow,
  faultsOf,
  GRANT_POLICY,
  placeOf,
  travelWith,
  wholeOf,
} from '../../../test/support/declarations.ts';
import { COMPOSITION_STEPS_MAX } from '../../protocol/composition.ts';

const at = 'plan_trip.composition';
const path = 'expected "$.input.name" or "$.steps.<id>.output.name"';
const boundary = 'expected "same_service"';

// The set's "plan_trip" has a step "search" (find_flights), then a step "book" (book_flight).
const rules: FaultRow[] = [
  [`${at}.authority_boundary`, 'same_package', boundary],
  [`${at}.authority_boundary`, 'cross_service', boundary],
  [`${at}.authority_boundary`, undefined, boundary],
  [`${at}.steps`, [], 'expected at least 1 item'],
  [`${at}.failure_policy`, 'ignore', 'expected "propagate" or "fail_parent" or "compensate"'],
  [`${at}.audit_policy`, undefined, 'it is required'],
  [`${at}.input_mapping`, undefined, 'it is required'],
  [`${at}.output_mapping`, undefined, 'it is required'],
  [`${at}.stepz`, [], 'there is no such field', 'plan_trip composition.stepz'],

  [`${at}.steps.1.capability`, 'nowhere', 'step "book": "nowhere" is not declared here'],
  [`${at}.steps.1.capability`, 'toString', 'step "book": "toString" is not declared here'],
  [
    'trip_report.composition.steps.0.capability',
    'trip_report',
    'step "status": "trip_report" is not atomic',
  ],

  [`${at}.input_mapping.hotel`, {}, 'there is no step "hotel"'],
  [`${at}.input_mapping.toString`, {}, 'there is no step "toString"'],
  [
    `${at}.input_mapping.book.quote`,
    '$.input.quote',
    '"$.input.quote": "plan_trip" has no input "quote"',
  ],
  [
    `${at}.input_mapping.book.quote`,
    '$.input.constructor',
    '"$.input.constructor": "plan_trip" has no input "constructor"',
  ],
  [
    `${at}.input_mapping.book.quote`,
    '$.input.__proto__.x',
    '"$.input.__proto__.x": "plan_trip" has no input "__proto__"',
  ],
  [
    `${at}.input_mapping.book.quote`,
    '$.steps.search.output.price',
    '"$.steps.search.output.price": "find_flights" has no output field "price"',
  ],
  [
    `${at}.input_mapping.book.quote`,
    '$.steps.search.output.toString',
    '"$.steps.search.output.toString": "find_flights" has no output field "toString"',
  ],
  [
    `${at}.input_mapping.search.day`,
    '$.steps.book.output.price',
    '"$.steps.book.output.price": no step "book" comes before',
  ],
  [
    `${at}.input_mapping.book.quote`,
    '$.steps.book.output.booking_id',
    '"$.steps.book.output.booking_id": no step "book" comes before',
  ],
  [
    `${at}.input_mapping.book.quote`,
    '$.steps.hotel.output',
    '"$.steps.hotel.output": no step "hotel" comes before',
  ],
  [
    `${at}.input_mapping.book.quote`,
    '$.steps.constructor.output',
    '"$.steps.constructor.output": no step "constructor" comes before',
  ],
  [`${at}.input_mapping.book.meal`, '$.input.day', '"book_flight" has no input "meal"'],
  [`${at}.input_mapping.book.valueOf`, '$.input.day', '"book_flight" has no input "valueOf"'],
  [
    `${at}.input_mapping.book.quote`,
    undefined,
    '"book_flight" needs input "quote"',
    'plan_trip composition.input_mapping.book',
  ],
  [`${at}.input_mapping.book`, undefined, '"book_flight" needs input "quote"'],
  ...['quote', '$.quote', '$.input.', '$..input', '$.steps.search.quote', '$.input[0]'].map(
    (text): FaultRow => [`${at}.input_mapping.book.quote`, text, path],
  ),

  [`${at}.output_mapping.price`, '$.steps.book.output.price', 'it is not an output field'],
  [
    `${at}.output_mapping.flights`,
    '$.steps.search.output.hotels',
    '"$.steps.search.output.hotels": "find_flights" has no output field "hotels"',
  ],
  [
    `${at}.output_mapping.flights`,
    '$.steps.hotel.output.x',
    '"$.steps.hotel.output.x": no step "hotel" comes before',
  ],
  [
    `${at}.output_mapping.flights`,
    '$.input.hotels',
    '"$.input.hotels": "plan_trip" has no input "hotels"',
  ],
  [
    `${at}.output_mapping.flights`,
    undefined,
    'output field "flights" has no source',
    'plan_trip composition.output_mapping',
  ],
  [
    'plan_trip.output.fields',
    ['booking_id', 'flights', 'toString'],
    'output field "toString" has no source',
    'plan_trip composition.output_mapping',
  ],

  [`${at}.empty_result_output`, undefined, 'policy "return_success_no_results" needs it'],
  [
    `${at}.empty_result_output.hotels`,
    [],
    'it is not an output field',
    'plan_trip composition.empty_result_output.hotels',
  ],
  [`${at}.empty_result_output`, { flights: new Set() }, 'it has no JSON form'],
  [
    `${at}.steps.0.empty_result_source`,
    undefined,
    'step "search" is not an empty_result_source',
    'plan_trip composition.steps[0].empty_result_path',
  ],
  [`${at}.steps.0.empty_result_path`, 'hotels.list', 'step "search" has no output field "hotels"'],

  ['plan_trip.minimum_scope', ['travel.search'], 'step "book" needs "travel.book"'],
  ['plan_trip.minimum_scope', ['travel.search', 'travel'], 'step "book" needs "travel.book"'],
  ['plan_trip.side_effect.type', 'write', '"write" is weaker than "transactional" of step "book"'],
  ['plan_trip.side_effect.type', 'read', '"read" is weaker than "transactional" of step "book"'],
  ['plan_trip.cost', undefined, 'step "book" costs money, so the whole declares a cost'],
  [
    'plan_trip.cost.financial',
    undefined,
    'step "book" costs money, so the whole declares a cost',
    'plan_trip cost',
  ],
  ['plan_trip.cost.financial.currency', 'EUR', 'step "book" costs USD, the whole EUR'],
  [
    'plan_trip.approval',
    undefined,
    'step "book" may need approval, so the whole declares a policy',
  ],
  [
    'book_flight.side_effect.compensation',
    undefined,
    'step "book" is transactional and has no compensation',
    'plan_trip composition.steps[1]',
  ],
];
for (const [place, value, words, where = placeOf(place)] of rules) {
  test(`compositionFaults reports at ${where}: ${words}`, () => {
    const [capability = '', field = ''] = where.split(' ');

    assert.deepEqual(faultsOf(travelWith(place, value)), [[capability, field, words]]);
  });
}

const accepted: [name: string, place: string, value: unknown][] = [
  ['a whole that is stronger than its steps', 'plan_trip.side_effect.type', 'irreversible'],
  ['the whole input as a parameter', `${at}.input_mapping.book.quote`, '$.input'],
  ['the whole output of a step', `${at}.output_mapping.flights`, '$.steps.search.output'],
  ['a path deep into an input', `${at}.input_mapping.book.quote`, '$.input.day.of.constructor'],
  [
    'an optional input without a source',
    'book_flight.inputs.1',
    { name: 'seats', type: 'integer', required: false },
  ],
  ['a parent input in the output', `${at}.output_mapping.flights`, '$.input.day'],
];
for (const [name, place, value] of accepted) {
  test(`compositionFaults accepts ${name}`, () => {
    assert.deepEqual(faultsOf(travelWith(place, value)), []);
  });
}

test('compositionFaults requires a compensation only for failure_policy "compensate"', () => {
  for (const failure_policy of ['propagate', 'fail_parent']) {
    const declarations = travelWith('book_flight.side_effect.compensation', undefined);
    const { composition } = declarations.plan_trip as { composition: object };
    Object.assign(composition, { failure_policy });

    assert.deepEqual(faultsOf(declarations), []);
  }
});

test('compositionFaults requires an empty result only where the policy returns one', () => {
  const without = (changes: object) => {
    const declarations = travelWith(`${at}.empty_result_output`, undefined);
    const { composition } = declarations.plan_trip as { composition: object };
    Object.assign(composition, changes);
    return faultsOf(declarations);
  };

  assert.deepEqual(without({ empty_result_policy: 'deny' }), []);
  assert.deepEqual(without({ empty_result_policy: 'clarify' }), []);
  assert.deepEqual(
    without({
      steps: [
        { id: 'search', capability: 'find_flights' },
        { id: 'book', capability: 'book_flight' },
      ],
    }),
    [],
  );
});

const approval = { when: 'always', grant_policy: GRANT_POLICY };
const write = { side_effect: { type: 'write' } };
const two = [
  { id: 'one', capability: 'first' },
  { id: 'two', capability: 'second' },
];

test('compositionFaults allows only reads before a step that may need approval', () => {
  const late = 'step "two" may need approval, but step "one" has an effect before it';

  for (const type of ['write', 'transactional', 'irreversible']) {
    const parts = { first: { side_effect: { type } }, second: { approval } };
    const whole = { approval, side_effect: { type: 'irreversible' } };
    assert.deepEqual(faultsOf(wholeOf(two, parts, whole)), [
      ['whole', 'composition.steps[1]', late],
    ]);
  }
  assert.deepEqual(faultsOf(wholeOf(two, { first: {}, second: { approval } }, { approval })), []);
});

test('compositionFaults allows an effect after a step that may need approval', () => {
  const parts = { first: { approval, ...write }, second: write };

  assert.deepEqual(faultsOf(wholeOf(two, parts, { approval, ...write })), []);
});

test('compositionFaults refuses a composed step', () => {
  const inner = wholeOf([{ id: 'one', capability: 'first' }], { first: {} }).whole;
  const outer = wholeOf([{ id: 'two', capability: 'inner' }], { first: {} });

  assert.deepEqual(faultsOf({ ...outer, inner }), [
    ['whole', 'composition.steps[0].capability', 'step "two": "inner" is not atomic'],
  ]);
});

test('compositionFaults names a repeated step id', () => {
  const steps = [...two, { id: 'one', capability: 'first' }];

  assert.deepEqual(faultsOf(wholeOf(steps, { first: {}, second: {} })), [
    ['whole', 'composition.steps', 'step "one" appears twice'],
  ]);
});

test('compositionFaults allows one capability in several steps', () => {
  const steps = ['a', 'b'].map((id) => ({ id, capability: 'first' }));

  assert.deepEqual(faultsOf(wholeOf(steps, { first: {} })), []);
});

test('compositionFaults requires the union of scopes, and accepts a wildcard for what it covers', () => {
  const parts = {
    first: { minimum_scope: ['desk:open', 'a'] },
    second: { minimum_scope: ['desk:close', 'b'] },
  };
  const scoped = (...scopes: string[]) =>
    faultsOf(wholeOf(two, parts, { minimum_scope: scopes })).map(([, field, words]) => [
      field,
      words.replace(/ \(or .*/, ''),
    ]);

  assert.deepEqual(scoped('desk:*', 'a', 'b'), []);
  assert.deepEqual(scoped('desk:open', 'desk:close', 'a', 'b', 'more'), []);
  assert.deepEqual(scoped('desk', 'a'), [
    ['minimum_scope', 'step "one" needs "desk:open"'],
    ['minimum_scope', 'step "two" needs "desk:close", "b"'],
  ]);
});

test('compositionFaults accepts a weaker scope with step_authority "service"', () => {
  const place = 'plan_trip.composition.step_authority';
  const declarations = travelWith(place, 'service');
  Object.assign(declarations.plan_trip as object, { minimum_scope: [] });

  assert.deepEqual(faultsOf(declarations), []);
});

const strengths = ['read', 'write', 'transactional', 'irreversible'];
for (const [strength, type] of strengths.entries()) {
  test(`compositionFaults requires a ${type} whole to be as strong as its strongest step`, () => {
    for (const [stronger, part] of strengths.entries()) {
      const parts = { first: {}, second: { side_effect: { type: part } } };
      const faults = faultsOf(wholeOf(two, parts, { side_effect: { type } }));
      const words = `"${type}" is weaker than "${part}" of step "two"`;

      assert.deepEqual(faults, stronger > strength ? [['whole', 'side_effect.type', words]] : []);
    }
  });
}

test('compositionFaults requires no cost where a step costs only time', () => {
  const cost = { certainty: 'fixed', compute: { expected_duration: 'PT1S' } };

  assert.deepEqual(faultsOf(wholeOf(two, { first: { cost }, second: {} })), []);
});

test('compositionFaults accepts the maximum number of steps and refuses one more', () => {
  const steps = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ id: `s${index}`, capability: 'first' }));

  assert.deepEqual(faultsOf(wholeOf(steps(COMPOSITION_STEPS_MAX), { first: {} })), []);
  assert.deepEqual(faultsOf(wholeOf(steps(COMPOSITION_STEPS_MAX + 1), { first: {} })), [
    ['whole', 'composition.steps', 'expected at most 16 items'],
  ]);
});

for (const id of ['constructor', 'toString', 'hasOwnProperty', 'valueOf']) {
  test(`compositionFaults treats "${id}" as an ordinary step`, () => {
    const steps = [{ id, capability: 'first' }];

    assert.deepEqual(faultsOf(wholeOf(steps, { first: {} })), []);
  });

  test(`compositionFaults reports a missing input of step "${id}" like that of any other step`, () => {
    // An object inherits a function under that name, which has "name" and "length".
    const inputs = ['name', 'length'].map((name) => ({ name, type: 'string' }));
    const steps = [{ id, capability: 'first' }];
    const field = `composition.input_mapping.${id}`;

    assert.deepEqual(faultsOf(wholeOf(steps, { first: { inputs } })), [
      ['whole', field, '"first" needs input "name"'],
      ['whole', field, '"first" needs input "length"'],
    ]);
  });
}

test('compositionFaults reports every fault of one composition', () => {
  const parts = {
    first: { ...write, minimum_scope: ['a'] },
    second: { approval, cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 1 } } },
  };
  const steps = [...two, { id: 'three', capability: 'nowhere' }];

  assert.deepEqual(
    faultsOf(wholeOf(steps, parts)).map(([, field]) => field),
    [
      'composition.steps[2].capability',
      'minimum_scope',
      'side_effect.type',
      'cost',
      'approval',
      'composition.steps[1]',
    ],
  );
});
