import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ConsentOption } from './consent.ts';
import {
  type ConsentForm,
  type ConsentLimits,
  consentRequest,
  passOnChoices,
  untilChoices,
} from './consent-form.ts';

const LIMITS: ConsentLimits = {
  now: new Date('2026-11-17T09:00:00.400Z'),
  ttlHoursMax: 720,
  depthMax: 5,
};

const FORM: ConsentForm = {
  chosen: ['search'],
  limit: '',
  currency: 'USD',
  until: '2026-11-17T17:00:00.400Z',
  for: '',
  pass: '0',
};

function option(name: string, changes: Partial<ConsentOption> = {}): ConsentOption {
  return {
    name,
    title: `Title of ${name}`,
    description: '',
    scope: [`travel.${name}`],
    effect: { kind: 'reads', words: 'Reads' },
    cost: 'free',
    isChosen: false,
    isAsked: false,
    ...changes,
  };
}

const PAID = { cost: '15.00 USD each', currency: 'USD' };

const OPTIONS = [
  option('search'),
  option('read', { scope: ['travel.search', 'travel.read'] }),
  option('hold', PAID),
  option('book', PAID),
  option('tour', { cost: '9.00 EUR each', currency: 'EUR' }),
  option('gift', { cost: 'free', currency: 'EUR' }),
  option('jet', { ...PAID, alone: 'It needs a consent of its own' }),
  option('erase', { blocked: 'Only you yourself may do this' }),
];

function read(changed: Partial<ConsentForm>, limits: Partial<ConsentLimits> = {}, from = OPTIONS) {
  return consentRequest({ ...FORM, ...changed }, from, { ...LIMITS, ...limits });
}

function consentOf(...given: Parameters<typeof read>) {
  const reading = read(...given);
  if ('fault' in reading) throw new Error(reading.fault);
  return reading.consent;
}

test('consentRequest() binds the token to a capability that is chosen alone, without money', () => {
  assert.deepEqual(consentOf({}), {
    scope: ['travel.search'],
    capability: 'search',
    purpose: {},
    budget: { currency: 'USD', max_amount: 0 },
    ttl_hours: 8,
    max_delegation_depth: 1,
  });
});

test('consentRequest() names the chosen capabilities in the purpose, and one budget for all', () => {
  const form = { chosen: ['hold', 'search', 'read'], limit: ' 300.50 ', for: ' March offsite ' };

  assert.deepEqual(consentOf({ ...form, pass: '2' }), {
    scope: ['travel.hold', 'travel.read', 'travel.search'],
    capability: undefined,
    purpose: { for: 'March offsite', only_capabilities: ['hold', 'read', 'search'] },
    budget: { currency: 'USD', max_amount: 300.5 },
    ttl_hours: 8,
    max_delegation_depth: 3,
  });
});

test('consentRequest() lists the capabilities even where the scopes admit no other today', () => {
  const all = [option('a', { scope: ['s'] }), option('b', { scope: ['s'] })];

  const { purpose } = consentOf({ chosen: ['a', 'b'] }, {}, all);

  assert.deepEqual(purpose.only_capabilities, ['a', 'b']);
});

test('consentRequest() takes the currency of what is chosen, and one for a service without prices', () => {
  assert.equal(consentOf({ chosen: ['gift'] }).budget.currency, 'EUR');
  const budget = consentOf({}, {}, [option('search')]).budget;
  assert.deepEqual(budget, { currency: 'USD', max_amount: 0 });
});

test('consentRequest() lets what needs a consent of its own be chosen alone', () => {
  assert.equal(consentOf({ chosen: ['jet'], limit: '1' }).capability, 'jet');
});

const many = Array.from({ length: 65 }, (_, index) => option(`c${index}`));
const long = Array.from({ length: 64 }, (_, index) =>
  option(`capability_with_a_long_name_${index}`, { scope: ['s'] }),
);

const FAULTS: readonly [
  what: string,
  changed: Partial<ConsentForm>,
  fault: RegExp,
  limits?: Partial<ConsentLimits>,
][] = [
  ['nothing chosen', { chosen: [] }, /^Choose at least one/],
  ['a capability that is gone', { chosen: ['search', 'gone'] }, /^The service changed/],
  ['a name of every object', { chosen: ['__proto__'] }, /^The service changed/],
  ['a blocked one', { chosen: ['erase'] }, /^Leave out "Title of erase"\. Only you yourself/],
  ['a blocked one among others', { chosen: ['search', 'erase'] }, /^Leave out "Title of erase"/],
  ['one that must stand alone', { chosen: ['search', 'jet'], limit: '5' }, /"Title of jet" and no/],
  ['money without a limit', { chosen: ['hold'] }, /^Set a limit above 0/],
  ['a limit of zero', { chosen: ['hold'], limit: '0.00' }, /^Set a limit above 0/],
  ['a limit without anything to buy', { limit: '300' }, /^Set the limit to 0, or choose/],
  ['a negative limit', { chosen: ['hold'], limit: '-5' }, /^Write the limit in digits/],
  ['a comma, which means two things', { chosen: ['hold'], limit: '1,000' }, /^Write the limit in/],
  ['an exponent', { chosen: ['hold'], limit: '1e9' }, /^Write the limit in digits/],
  ['endless digits', { chosen: ['hold'], limit: '9'.repeat(16) }, /^Write the limit in digits/],
  ['infinity', { chosen: ['hold'], limit: 'Infinity' }, /^Write the limit in digits/],
  ['parts of a cent', { chosen: ['hold'], limit: '0.001' }, /in steps of 0\.01\.$/],
  ['more than can be counted', { chosen: ['hold'], limit: '9'.repeat(15) }, /at most \d+\.99 USD/],
  ['two currencies', { chosen: ['hold', 'tour'], limit: '5' }, /one currency/],
  ['a free one of another currency', { chosen: ['hold', 'gift'], limit: '5' }, /one currency/],
  ['another currency', { chosen: ['tour'], limit: '5' }, /^Set the limit in EUR/],
  ['no end', { until: '' }, /^Choose until when/],
  ['an end that is no instant', { until: '2026-11-18' }, /^Choose until when/],
  ['an end that is over', { until: '2026-11-17T09:00:00Z' }, /^Choose a later end/],
  ['an end too far', { until: '2026-12-17T09:00:01Z' }, /^Choose an earlier end/],
  ['a shorter service', {}, /^Choose an earlier end/, { ttlHoursMax: 7 }],
  ['a purpose of two lines', { for: 'a\nApproved by Bob' }, /^Say what it is for in one line/],
  ['an endless purpose', { for: 'x'.repeat(201) }, /^Say what it is for in one line/],
  ['a negative level', { pass: '-1' }, /^Choose how far/],
  ['many levels', { pass: '3' }, /^Choose how far/],
  ['no level', { pass: '' }, /^Choose how far/],
  ['more levels than the service has', { pass: '1' }, /^Choose how far/, { depthMax: 1 }],
  ['a service without delegation', {}, /^Refuse: /, { depthMax: 0 }],
];

for (const [what, changed, fault, limits] of FAULTS) {
  test(`consentRequest() says what to do about ${what}`, () => {
    const reading = read(changed, limits);

    assert.match('fault' in reading ? reading.fault : 'admitted', fault);
    assert.match('fault' in reading ? reading.fault : '', /\.$/);
  });
}

for (const [what, options] of Object.entries({ scopes: many, names: long })) {
  test(`consentRequest() refuses more ${what} than fit into a token`, () => {
    const chosen = options.map(({ name }) => name);

    const reading = read({ chosen }, {}, options);

    assert.match('fault' in reading ? reading.fault : 'admitted', /^Choose fewer/);
    assert.ok('consent' in read({ chosen: chosen.slice(0, 20) }, {}, options));
  });
}

test('untilChoices() offers instants that the form takes, and selects eight hours', () => {
  const choices = untilChoices(LIMITS);

  assert.deepEqual(
    choices.map(({ label }) => label),
    [
      '17 Nov 2026, 10:00 UTC (1 h)',
      '17 Nov 2026, 17:00 UTC (8 h)',
      '18 Nov 2026, 09:00 UTC (24 h)',
      '24 Nov 2026, 09:00 UTC (7 days)',
      '17 Dec 2026, 09:00 UTC (30 days)',
    ],
  );
  assert.deepEqual(
    choices.filter(({ isSelected }) => isSelected).map(({ value }) => value),
    ['2026-11-17T17:00:00.000Z'],
  );
  for (const { value } of choices) assert.ok('consent' in read({ until: value }), value);
});

test('untilChoices() stays within the service, and keeps what a form had unless it is over', () => {
  assert.deepEqual(
    untilChoices({ ...LIMITS, ttlHoursMax: 0.5 }).map(({ label }) => label),
    ['17 Nov 2026, 09:30 UTC (30 min)'],
  );
  const kept = untilChoices(LIMITS, '2026-11-20T12:00:00Z').filter(({ isSelected }) => isSelected);
  assert.deepEqual(
    kept.map(({ value }) => value),
    ['2026-11-20T12:00:00.000Z'],
  );
  const past = untilChoices(LIMITS, '2026-11-16T12:00:00Z').filter(({ isSelected }) => isSelected);
  assert.equal(past[0]?.value, '2026-11-17T17:00:00.000Z');
});

test('passOnChoices() offers what the service admits', () => {
  const values = (depthMax: number) => passOnChoices({ depthMax }).map(({ value }) => value);

  assert.deepEqual(values(5), ['0', '1', '2']);
  assert.deepEqual(values(2), ['0', '1']);
  assert.deepEqual(values(1), ['0']);
  const selected = passOnChoices(LIMITS, '1').filter(({ isSelected }) => isSelected);
  assert.deepEqual(selected, [{ value: '1', label: 'Yes, to its sub-agents', isSelected: true }]);
});
