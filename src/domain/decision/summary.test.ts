import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Decision, Quote } from '../../protocol/decision.ts';
import { summaryPart } from './summary.ts';
import { wordsText } from './text.ts';

const NOW = '2026-12-01T10:00:00.000Z';

const rows: [
  name: string,
  of: { issued: string | null; max_age?: string; age?: 'at_run' },
  words: RegExp,
][] = [
  [
    'is honoured',
    { issued: '2026-12-01T09:50:00.000Z', max_age: 'PT5M' },
    /30\.00 USD, made .*10.* it stays valid until the approval expires/,
  ],
  ['has no limit', { issued: '2026-12-01T09:50:00.000Z', age: 'at_run' }, /it has no limit of age/],
  [
    'must be fresh when the call runs',
    { issued: '2026-12-01T09:57:00.000Z', max_age: 'PT5M', age: 'at_run' },
    /refused once it is older than 5 min, even if approved/,
  ],
  [
    'is too old already',
    { issued: '2026-12-01T09:50:00.000Z', max_age: 'PT5M', age: 'at_run' },
    /older than 5 min: the call would be refused even if approved/,
  ],
  [
    'is of another issuer',
    { issued: null, max_age: 'PT5M', age: 'at_run' },
    /from another issuer the call is refused where it is older than 5 min/,
  ],
];

for (const [name, { issued, max_age, age }, words] of rows) {
  test(`summaryPart() says of a quote that it ${name}`, () => {
    const quote: Quote = {
      field: 'quote',
      issued_at: issued,
      price: { currency: 'USD', amount: 30 },
    };

    assert.match(quoteWords(quote, { max_age, age }), words);
  });
}

test('summaryPart() says what comes beside a request for the same thing, and what it is in all', () => {
  const past = (status: string, amount: number, booking_id: string) => ({
    status,
    cost: { currency: 'USD', amount },
    parameters: { amount, booking_id },
  });
  const items = [
    past('pending', 150, 'BK-1'),
    past('approved', 120.1, 'BK-1'),
    past('approved', 9, 'BK-2'),
    past('denied', 8, 'BK-1'),
  ];
  const parameters = { amount: 110.2, booking_id: 'BK-1' };
  const cost = { currency: 'USD', amount: 110.2 };

  assert.equal(
    factOf('Compared', { parameters, cost, inputs: [{ name: 'booking_id' }], items }),
    'in addition to 120.10 USD approved and 150.00 USD waiting for the same booking: 380.30 USD in all',
  );
});

function quoteWords(
  quote: Quote,
  { max_age, age }: { max_age?: string | undefined; age?: 'at_run' | undefined },
): string {
  return factOf('Quote', { quotes: [quote], max_age, age });
}

/** The words of one fact of a decision, of which only the given parts matter. */
function factOf(
  name: string,
  given: {
    readonly quotes?: readonly Quote[];
    readonly max_age?: string | undefined;
    readonly age?: 'at_run' | undefined;
    readonly parameters?: object;
    readonly cost?: object;
    readonly inputs?: readonly object[];
    readonly items?: readonly object[];
  },
): string {
  const {
    quotes = [],
    max_age,
    age,
    parameters = {},
    cost = null,
    inputs = [],
    items = [],
  } = given;
  const decision = {
    now: NOW,
    request: {
      approvals: [],
      approvals_required: 1,
      parameters,
      expires_at: NOW,
      requester: { root_principal: 'human:ann', subject: 'agent:a' },
    },
    capability: {
      description: 'Books',
      inputs,
      side_effect: { type: 'write' },
      requires_binding: [{ type: 'quote', field: 'quote', max_age }],
      approval: { binding_age: age },
    },
    quotes,
    cost,
    chain: [],
    budgets: [],
    history: {
      today: { approved: 0, denied: 0, expired: 0, pending: 0 },
      items,
      is_complete: true,
    },
    similar: null,
    viewer: {},
  };
  const { facts } = summaryPart(decision as unknown as Decision);
  const fact = facts.find(({ label }) => label[0] === name);
  return wordsText(fact?.words ?? [], Date.parse(NOW));
}
