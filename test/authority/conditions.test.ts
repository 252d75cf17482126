/**
 * Conditions of tokens: which calls a token allows, which conditions it can have, and which its children.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ALICE, type ConditionsDesk, onBothStores } from './conditions-desk.ts';

/** Conditions on `act`, a call within them, and calls that try to get around them. */
const CALLS: readonly [name: string, where: object, good: object, bad: readonly object[]][] = [
  [
    'a number',
    { value: { at_least: 0, at_most: 50 } },
    { value: 50 },
    [
      ...['50', '5e1', [50], [[50]], { value: 50 }, true, -1, 50.1, 2 ** 53 - 1].map((value) => ({
        value,
      })),
      {},
      { value: null },
    ],
  ],
  [
    'a whole text',
    { value: { is: 'prod' } },
    { value: 'prod' },
    ['PROD', 'prod ', 'prοd', 'ｐrod', 'pro\u200bd', ['prod']].map((value) => ({ value })),
  ],
  [
    'every element',
    { 'to.*': { email_domain: ['example.com'] } },
    { to: ['ann@example.com', 'bob@EXAMPLE.com'] },
    [[], ['ann@example.com', 'x@evil.com'], 'ann@example.com', [['ann@example.com']], [null]].map(
      (to) => ({ to }),
    ),
  ],
  [
    'what lies below',
    { 'deep.price.amount': { at_least: 0, at_most: 5 } },
    { deep: { price: { amount: 5 } } },
    [
      {},
      { price: null },
      { price: { amount: null } },
      { 'price.amount': 5 },
      { price: { Amount: 5 } },
    ].map((deep) => ({ deep })),
  ],
  [
    'a path',
    { path: { under: ['docs'] } },
    { path: 'docs/a.md' },
    [
      'docs/../x',
      './docs/a',
      'docs//a',
      'docs/a.',
      'docs/a ',
      '~/docs',
      'docs/%2e%2e/x',
      'docs\\a',
      'docs/a:b',
      'docs-secret/a',
      '/docs/a',
      'docs/a\u202e',
      'docs/e\u0301',
    ].map((path) => ({ path })),
  ],
  [
    'an address',
    { mail: { email_domain: ['example.com'] } },
    { mail: 'ann@example.com' },
    [
      'Ann <ann@example.com>',
      '"a"@example.com',
      'a@x.com,b@example.com',
      'a%x.com@example.com',
      'a!b@example.com',
      'a@example.com\n',
      'a@evilexample.com',
      'a@example.com.evil.com',
      'a@example.com.',
      'a@[127.0.0.1]',
      'a@exаmple.com',
      'a@xn--exmple-cua.com',
    ].map((mail) => ({ mail })),
  ],
  [
    'a URL',
    { url: { url_under: ['https://example.com/v1'] } },
    { url: 'https://example.com/v1/x?q=1' },
    [
      'https://u@example.com/v1',
      'https:\\\\example.com/v1',
      'https:/example.com/v1',
      'HTTPS://example.com/v1',
      'https://example.com:443/v1',
      'https://example.com/v1#x',
      'https://example.com/v10',
      'https://example.com/v1/../x',
      'https://2130706433/v1',
      'https://0177.0.0.1/v1',
    ].map((url) => ({ url })),
  ],
  [
    'an instant',
    { on: { at_least: '2026-01-01T00:00:00Z' } },
    { on: '2026-01-01T01:00:00+01:00' },
    [
      '2026-01-01T00:59:59+01:00',
      '2026-02-30T00:00:00Z',
      '2026-01-01T00:00:00.0000001Z',
      '2026-01-02T00:00:00',
      '2026-01-02',
    ].map((on) => ({ on })),
  ],
  ['no value', { value: { absent: true } }, {}, [{ value: 0 }, { value: '' }, { value: [] }]],
];

/** What no token gets, and the words of the answer. */
const FAULTS: readonly [conditions: unknown, type: string, detail: RegExp][] = [
  [
    { pay: { amount: { at_mots: 50 } } },
    'invalid_parameters',
    /"at_mots" is no operator; write "at_most"/,
  ],
  [{ pay: { amuont: { is: 1 } } }, 'invalid_parameters', /"amuont" is no input; write amount/],
  [{ pay: { currency: { one_of: [] } } }, 'invalid_parameters', /a list has 0 values/],
  [{ pay: { 'amount.value': { is: 1 } } }, 'invalid_parameters', /nothing below it/],
  [{ pay: { amount: { at_most: 50 } } }, 'invalid_parameters', /at_least: 0, at_most: 50/],
  [{ pay: { amount: { is: '50' } } }, 'invalid_parameters', /no value of type "number"/],
  [{ pay: { amount: {} } }, 'invalid_parameters', /it has no operator/],
  [{ pay: { currency: { any: true } } }, 'invalid_parameters', /"any" belongs to approvals/],
  [{ pay: { $cost: { at_most: 5 } } }, 'invalid_parameters', /no cost/],
  [{ pay: { svc_approval_grant: 'x' } }, 'invalid_parameters', /belong to the protocol/],
  [{ pay: 50 }, 'invalid_parameters', /they are no object/],
  [{ paid: { amount: 50 } }, 'unknown_capability', /no such capability/],
  [{ constructor: { amount: 50 } }, 'unknown_capability', /no such capability/],
  [
    { act: { value: { one_of: Array(33).fill('x') } } },
    'invalid_parameters',
    /a list has 33 values/,
  ],
  [
    { act: { value: { is: 'x'.repeat(60_000) } } },
    'invalid_parameters',
    /a text has 60000 characters/,
  ],
  [
    { act: { url: { url_under: [`x${'y'.repeat(60_000)}`] } } },
    'invalid_parameters',
    /write addresses such as/,
  ],
  [
    { act: { value: { one_of: Array.from({ length: 20 }, (_, at) => `${at}`.padEnd(200, 'x')) } } },
    'invalid_parameters',
    /bytes of conditions: at most 2048/,
  ],
  [7, 'invalid_parameters', /conditions/],
];

/** What a child of the wide token asks for. */
const WIDE = {
  pay: { amount: { at_least: 0, at_most: 50 }, currency: { one_of: ['EUR', 'USD'] } },
  act: { 'to.*': { email_domain: ['example.com'] } },
};
const NARROWER: readonly [asked: unknown, found: object][] = [
  [undefined, WIDE],
  [null, WIDE],
  [{}, WIDE],
  [{ pay: null, act: {} }, WIDE],
  [
    { pay: { amount: { at_least: 1, at_most: 50 } } },
    { ...WIDE, pay: { ...WIDE.pay, amount: { at_least: 1, at_most: 50 } } },
  ],
  [{ pay: { note: 'x' } }, { ...WIDE, pay: { ...WIDE.pay, note: { is: 'x' } } }],
  [{ ask: { amount: 5 } }, { ...WIDE, ask: { amount: { is: 5 } } }],
];
const WIDER: readonly object[] = [
  { pay: { amount: { at_least: 0, at_most: 51 } } },
  { pay: { amount: { at_least: -1, at_most: 50 } } },
  { pay: { amount: { at_least: 0 } } },
  { pay: { amount: { at_least: 0, at_most: 50, or_absent: true } } },
  { pay: { currency: { one_of: ['EUR', 'GBP', 'USD'] } } },
  { pay: { currency: { starts_with: ['EU'] } } },
  { act: { 'to.*': { email_domain: ['*.example.com'] } } },
  { act: { 'to.*': { email_domain: ['example.com', 'evil.com'] } } },
];

const conditionsAt = ({ body }: { body: { failure: { conditions?: { at: string }[] } } }) =>
  body.failure.conditions?.map(({ at }) => at);

onBothStores((desk) => {
  for (const [name, where, good, bad] of CALLS) {
    test(`a token with conditions on ${name} allows what is within, and nothing else`, async () => {
      const token = await desk().held({ act: where });
      desk().scripts.reset();

      const allowed = await desk().invoke(token, 'act', good);
      const refused = await Promise.all(bad.map((each) => desk().invoke(token, 'act', each)));
      const tried = await Promise.all(bad.map((each) => desk().dryRun(token, 'act', each)));

      assert.equal(allowed.status, 200, JSON.stringify(allowed.body));
      for (const [at, { status, body }] of refused.entries()) {
        const told = `${JSON.stringify(bad[at])} ${JSON.stringify(body)}`;
        assert.equal(status, 403, told);
        assert.equal(body.failure.type, 'scope_insufficient', told);
        assert.deepEqual(conditionsAt({ body }), Object.keys(where), told);
        assert.deepEqual(tried[at]?.body.failure, body.failure);
      }
      assert.equal(desk().scripts.ran('act'), 1);
    });
  }

  for (const [conditions, type, detail] of FAULTS) {
    test(`no token gets ${JSON.stringify(conditions).slice(0, 80)}`, async () => {
      const { body } = await desk().issued({ conditions });

      assert.equal(body.failure?.type, type, JSON.stringify(body));
      assert.match(body.failure.detail, detail);
      assert.ok(body.failure.detail.length < 2_000);
    });
  }

  for (const [conditions, found] of NARROWER) {
    test(`a child that asks for ${JSON.stringify(conditions)} gets what is narrower`, async () => {
      const parent = await desk().issue(ALICE, {
        scope: ['w.use'],
        subject: 'agent:a',
        conditions: WIDE,
      });

      const child = await desk().delegate(parent, { subject: 'agent:b', conditions });
      const viewed = await desk().ask('GET', `/svc/tokens/${child.token_id}`, { bearer: ALICE });

      assert.deepEqual(child.conditions, found);
      assert.deepEqual(viewed.body.conditions, found);
    });
  }

  for (const conditions of WIDER) {
    test(`no child gets ${JSON.stringify(conditions)}, which is wider`, async () => {
      const parent = await desk().issue(ALICE, {
        scope: ['w.use'],
        subject: 'agent:a',
        conditions: WIDE,
      });

      const body = {
        subject: 'agent:b',
        scope: ['w.use'],
        parent_token: parent.token_id,
        conditions,
      };
      const { body: refused } = await desk().ask('POST', '/svc/tokens', {
        bearer: parent.token,
        body,
      });

      assert.equal(refused.failure?.type, 'scope_escalation', JSON.stringify(refused));
      assert.match(refused.failure.detail, /allowed only where/);
    });
  }

  test('a token conditions at most eight capabilities and sixteen paths, counted with its parent', async () => {
    const paths = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`deep.p${from + at}`, 'x']));
    const parent = await desk().issue(ALICE, {
      scope: ['w.use'],
      subject: 'agent:a',
      conditions: { act: paths(0, 16) },
    });
    const nine = Object.fromEntries(
      Array.from({ length: 9 }, (_, at) => [`c${at}`, { amount: 1 }]),
    );

    const child = {
      subject: 'agent:b',
      scope: ['w.use'],
      parent_token: parent.token_id,
      conditions: { act: paths(16, 1) },
    };
    const more = await desk().issued(child, parent.token);
    const many = await desk().issued({ conditions: nine });

    assert.match(more.body.failure.detail, /17 paths of a capability: at most 16/);
    assert.match(many.body.failure.detail, /9 capabilities in one token: at most 8/);
  });

  test('conditions on one capability leave the others free', async () => {
    const token = await desk().held({ pay: { amount: { at_least: 0, at_most: 50 } } });

    const { status } = await desk().invoke(token, 'act', { value: 1_000 });

    assert.equal(status, 200);
  });

  test('the failure names the condition in words, and not the value', async () => {
    const token = await desk().held({
      pay: { amount: { at_least: 0, at_most: 50 }, currency: 'EUR' },
    });

    const { body } = await desk().invoke(token, 'pay', { amount: 987_654 });

    assert.equal(
      body.failure.detail,
      'Cannot invoke "pay" so: the token allows it only where amount is from 0 to 50 and currency is "EUR" (without a value)',
    );
    assert.deepEqual(body.failure.conditions, [
      { at: 'amount', where: { at_least: 0, at_most: 50 }, found: 'outside' },
      { at: 'currency', where: { is: 'EUR' }, found: 'missing' },
    ]);
    assert.equal(body.failure.resolution.action, 'request_broader_scope');
    assert.equal(body.failure.resolution.grantable_by, 'human:alice');
    assert.ok(!JSON.stringify(body).includes('987654'));
  });

  test('unknown and misspelt parameters are refused before conditions', async () => {
    const token = await desk().held({ pay: { note: { absent: true } } });

    for (const more of [{ Note: 'x' }, { notе: 'x' }, { svc_note: 'x' }]) {
      const { body } = await desk().invoke(token, 'pay', { amount: 1, ...more });
      assert.equal(body.failure.type, 'invalid_parameters');
    }
  });

  test('the price of a call is asked for after its conditions hold, and the cost is judged after it', async () => {
    const token = await desk().held({
      buy: { count: { at_least: 1, at_most: 5 }, $cost: { at_most: 30 } },
    });

    const outside = await desk().invoke(token, 'buy', { count: 9_999 });
    const dear = await desk().invoke(token, 'buy', { count: 4 });
    const cheap = await desk().invoke(token, 'buy', { count: 3 });

    assert.deepEqual(conditionsAt(outside), ['count']);
    assert.deepEqual(conditionsAt(dear), ['$cost']);
    assert.match(dear.body.failure.detail, /where the cost is at most 30/);
    assert.equal(cheap.status, 200, JSON.stringify(cheap.body));
  });

  test('an approval never widens a token', async () => {
    const [free, bound] = [await desk().held(), await desk().held({ ask: { amount: 5 } })];
    const { body } = await desk().invoke(free, 'ask', { amount: 80 });
    const { approval_request_id } = body.failure;
    const granted = await approve(desk(), approval_request_id);

    const fields = { approval_grant: granted };
    const refused = await desk().invoke(bound, 'ask', { amount: 80 }, { fields });
    const again = await desk().invoke(
      bound,
      'ask',
      { amount: 80 },
      { fields: { continue_approved: true } },
    );
    const allowed = await desk().invoke(free, 'ask', { amount: 80 }, { fields });

    assert.deepEqual(conditionsAt(refused), ['amount']);
    assert.deepEqual(conditionsAt(again), ['amount']);
    assert.equal(allowed.status, 200, JSON.stringify(allowed.body));
  });

  test('a call outside the token asks no person', async () => {
    const token = await desk().held({ ask: { amount: 5 } });

    const { body } = await desk().invoke(token, 'ask', { amount: 6 });

    assert.equal(body.failure.type, 'scope_insufficient');
    assert.equal(body.failure.approval_request_id, undefined);
  });

  test('a stored answer is repeated before conditions are judged', async () => {
    const [free, bound] = [await desk().held(), await desk().held({ pay: { amount: 5 } })];
    const headers = { 'idempotency-key': 'once' };
    const first = await desk().invoke(free, 'pay', { amount: 80 }, { headers });

    const repeated = await desk().invoke(bound, 'pay', { amount: 80 }, { headers });

    assert.equal(first.status, 200);
    assert.equal(repeated.body.invocation_id, first.body.invocation_id);
  });

  test('the conditions on a step hold in a composed call, unless the service answers for its steps', async () => {
    const token = await desk().held({ pay: { amount: { at_least: 0, at_most: 5 } } });
    desk().scripts.reset();

    const refused = await desk().invoke(token, 'pay_whole', { amount: 6 });
    const ran = desk().scripts.ran('pay');
    const within = await desk().invoke(token, 'pay_whole', { amount: 5 });
    const forAll = await desk().invoke(token, 'pay_for_all', { amount: 6 });

    assert.equal(refused.body.success, false);
    assert.match(refused.body.failure.detail, /amount is from 0 to 5/);
    assert.equal(ran, 0);
    assert.equal(within.status, 200, JSON.stringify(within.body));
    assert.equal(forAll.status, 200, JSON.stringify(forAll.body));
  });

  test('the conditions on a capability hold where a handler calls it', async () => {
    const token = await desk().held({ pay: { amount: { at_least: 0, at_most: 5 } } });
    desk().scripts.reset();
    const told: unknown[] = [];
    desk().scripts.script('relay', async ({ amount }, { invoke }) => {
      const { failure } = (await invoke('pay', { amount })) as { failure?: { type: string } };
      told.push(failure?.type);
      return { done: true };
    });

    await desk().invoke(token, 'relay', { amount: 6 });
    await desk().invoke(token, 'relay', { amount: 5 });

    assert.deepEqual(told, ['scope_insufficient', undefined]);
    assert.equal(desk().scripts.ran('pay'), 1);
  });
});

async function approve(desk: ConditionsDesk, id: string): Promise<string> {
  const { body } = await desk.ask('POST', '/svc/approval_grants', {
    bearer: 'approver-key',
    body: { approval_request_id: id, grant_type: 'one_time' },
  });
  assert.ok(body.grant_id, JSON.stringify(body));
  return body.grant_id;
}
