/**
 * Capabilities that declare their inputs and output by a schema, and capabilities with a price for each
 * call, through HTTP.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'vitest';
import * as z from 'zod';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService } from '../../src/service/author/definition.ts';
import type { AnySchema } from '../../src/service/author/typed.ts';
import { person } from '../support/person.ts';
import { ALICE, BOB, onEachStore, testService } from '../support/world.ts';

let ran: unknown[] = [];
let returned: unknown;
let price: unknown;

/** A schema of this test: what `validate` does is written out. */
function schemaOf(validate: (value: unknown) => unknown): AnySchema {
  const object = () => ({ type: 'object', properties: { a: { type: 'string' } } });
  const jsonSchema = { input: object, output: object };
  return {
    '~standard': { version: 1, vendor: 'test', validate, jsonSchema },
  } as unknown as AnySchema;
}

const COMMON = {
  description: 'Tests schemas',
  side_effect: 'write',
  minimum_scope: ['b.use'],
} as const;
const RANGE = {
  certainty: 'estimated',
  financial: { currency: 'USD', range_min: 5, range_max: 50 },
} as const;

const transfer = z.object({
  to: z.string().trim().toUpperCase(),
  amount: z.number().min(1).max(500),
  parts: z.array(z.object({ share: z.number().positive() })).default([]),
  note: z.string().nullable().optional(),
});

const definition = createService({
  id: 'schemas',
  capabilities: [
    defineCapability({
      ...COMMON,
      name: 'transfer',
      inputs: transfer,
      output: z.object({ id: z.string() }),
      handler(parameters) {
        ran.push(parameters);
        return returned as { id: string };
      },
    }),
    defineCapability({
      ...COMMON,
      name: 'approved',
      inputs: transfer,
      approval: { when: 'always' },
      handler: (parameters) => ({ got: parameters }),
    }),
    defineCapability({
      ...COMMON,
      name: 'later',
      inputs: z.object({ name: z.string().refine(async (name) => name !== 'taken', 'is taken') }),
      handler: (parameters) => ({ got: parameters }),
    }),
    defineCapability({
      ...COMMON,
      name: 'broken',
      inputs: schemaOf(() => {
        throw new Error('a secret of the author');
      }),
      handler: () => ({}),
    }),
    defineCapability({
      ...COMMON,
      name: 'widening',
      inputs: schemaOf(() => ({ value: { a: 'x', admin: true } })),
      handler: () => ({}),
    }),
    defineCapability({
      ...COMMON,
      name: 'stuck',
      deadline: 'PT1S',
      inputs: schemaOf(() => new Promise(() => undefined)),
      handler: () => ({}),
    }),
    defineCapability({
      ...COMMON,
      name: 'taxi',
      inputs: z.object({ km: z.number().positive(), night: z.boolean().optional() }),
      cost: RANGE,
      // Reads whether it is night only where the caller says so, and may change what it reads.
      price(parameters) {
        const amount = parameters.km * 2;
        if ('night' in parameters) parameters.night = !parameters.night;
        return (price ?? { currency: 'USD', amount }) as never;
      },
      handler(parameters) {
        ran.push(parameters);
        return {};
      },
    }),
    defineCapability({
      ...COMMON,
      name: 'limousine',
      inputs: z.object({ km: z.number().positive() }),
      cost: RANGE,
      price: ({ km }) => (price ?? { currency: 'USD', amount: km * 2 }) as never,
      approval: { when: { amount_above: 20 }, preview: ({ km }) => ({ km, price: 'free' }) },
      handler: () => ({}),
    }),
  ],
});

const SETTINGS = {
  identities: [person(ALICE, 'human:alice', ['b.*']), person(BOB, 'human:bob', ['approver:*'])],
};

const service = await testService({ definition, settings: SETTINGS });
const { token } = await service.issue(ALICE, { scope: ['b.use'] });
beforeEach(() => {
  ran = [];
  returned = { id: 'T-1' };
  price = undefined;
  service.log.length = 0;
});

describe('invoke() with a schema of the inputs', () => {
  test('runs and digests what the schema returns', async () => {
    const { status, body } = await service.invoke(token, 'transfer', { to: ' ab ', amount: 5 });

    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(ran, [{ to: 'AB', amount: 5, parts: [] }]);
    const plain = { to: 'AB', amount: 5, parts: [] };
    const dry = await service.ask('POST', '/svc/test/transfer', {
      bearer: token,
      body: { parameters: { to: 'ab  ', amount: 5 } },
    });
    assert.deepEqual(dry.body.resolved_parameters, plain);
  });

  const REFUSED: [parameters: object, detail: RegExp][] = [
    [{ to: 'a', amount: -5 }, /Cannot invoke "transfer": "amount": .*>=1/],
    [{ to: 'a', amount: 501 }, /"amount": .*<=500/],
    [{ to: 'a', amount: 5, parts: [{ share: 0 }] }, /"parts\.0\.share": /],
    [{ to: 'a', amount: 5, parts: [{}] }, /"parts\.0\.share": /],
    [{ to: 'a', amount: 5, other: 1 }, /it has no input "other"/],
    [{ to: 'a', amount: '5' }, /"5" is not of type "number"/],
    [{ amount: 5 }, /Cannot invoke without "to"/],
  ];
  for (const [parameters, detail] of REFUSED) {
    test(`refuses ${JSON.stringify(parameters)} before anything runs`, async () => {
      const { status, body } = await service.invoke(token, 'transfer', parameters);

      assert.equal(status, 400);
      assert.equal(body.failure.type, 'invalid_parameters');
      assert.match(body.failure.detail, detail);
      assert.deepEqual(ran, []);
    });
  }

  test('gives null back to a schema that takes it', async () => {
    const sent = { to: 'a', amount: 5, note: null };

    assert.equal((await service.invoke(token, 'transfer', sent)).status, 200);
  });

  test('does not ask an approver about parameters that the schema refuses', async () => {
    const { body } = await service.invoke(token, 'approved', { to: 'a', amount: -5 });

    assert.equal(body.failure.type, 'invalid_parameters');
    const { body: list } = await service.ask('GET', '/svc/approval_requests', { bearer: BOB });
    assert.deepEqual(list.approval_requests, []);
  });

  test('shows an approver what the schema returns, and continues with it', async () => {
    const first = await service.invoke(token, 'approved', { to: ' ab ', amount: 5 });
    const id = first.body.failure.approval_request_id;
    const shown = await service.ask('GET', `/svc/approval_requests/${id}`, { bearer: BOB });
    assert.deepEqual(shown.body.parameters, { to: 'AB', amount: 5, parts: [] });
    const granted = await service.ask('POST', '/svc/approval_grants', {
      bearer: BOB,
      body: { approval_request_id: id, grant_type: 'one_time' },
    });

    const fields = { approval_grant: granted.body.grant_id };
    const last = await service.invoke(token, 'approved', { to: 'ab', amount: 5 }, { fields });

    assert.deepEqual(last.body.result, { got: { to: 'AB', amount: 5, parts: [] } });
  });

  test('waits for an asynchronous schema', async () => {
    const free = await service.invoke(token, 'later', { name: 'free' });
    const taken = await service.invoke(token, 'later', { name: 'taken' });

    assert.deepEqual(free.body.result, { got: { name: 'free' } });
    assert.match(taken.body.failure.detail, /"name": is taken/);
  });

  test('refuses as a defect a schema that throws or adds inputs, and repeats no text of it', async () => {
    for (const name of ['broken', 'widening']) {
      const { status, body } = await service.invoke(token, name, { a: 'x' });

      assert.equal(status, 500, name);
      assert.equal(body.failure.type, 'internal_error');
      assert.doesNotMatch(JSON.stringify(body), /secret/);
    }
  });

  test('refuses, when the schema does not answer before the deadline', async () => {
    const { status, body } = await service.invoke(token, 'stuck', { a: 'x' });

    assert.equal(status, 503);
    assert.match(body.failure.detail, /no answer within 1000 ms; nothing happened/);
  });
});

describe('invoke() with a schema of the output', () => {
  test('answers what the schema admits', async () => {
    returned = { id: 'T-2', internal: 'not declared' };

    const { body } = await service.invoke(token, 'transfer', { to: 'a', amount: 5 });

    assert.deepEqual(body.result, { id: 'T-2' });
  });

  test('answers a defect that says that the call ran, counts an alarm, and charges', async () => {
    returned = { id: 7 };

    const { status, body } = await service.invoke(token, 'transfer', { to: 'a', amount: 5 });

    assert.equal(status, 500);
    assert.equal(body.failure.type, 'internal_error');
    assert.match(body.failure.detail, /The call ran and may have acted: do not repeat it/);
    assert.equal(ran.length, 1);
    const metrics = await service.ask('GET', '/metrics');
    assert.match(String(metrics.text), /writ_alarms_total\{alarm="output_mismatch"\} 1/);
    const [line = ''] = service.log.filter((each) => each.includes('output_mismatch'));
    assert.match(line, /\\"id\\": /);
    const [entry] = (await service.entriesBy({ invocationId: body.invocation_id })).reverse();
    assert.equal(entry?.state, 'failed');
  });
});

onEachStore(
  ({ url }) => testService({ definition, settings: SETTINGS, store: url }),
  (opened) => {
    const budgeted = (max_amount: number) =>
      opened().issue(ALICE, { scope: ['b.use'], budget: { currency: 'USD', max_amount } });

    test('invoke() reserves the price of exactly this call', async () => {
      const issued = await budgeted(100);

      const { status, body } = await opened().invoke(issued.token, 'taxi', { km: 10 });

      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.budget_context.cost_check_amount, 20);
      assert.equal((await opened().budgetOf(issued)).consumed, 2_000n);
    });

    test('invoke() refuses a price that the budget does not cover, before the handler', async () => {
      const { token: tight } = await budgeted(15);

      const { body } = await opened().invoke(tight, 'taxi', { km: 10 });

      assert.equal(body.failure.type, 'budget_exceeded');
      assert.match(body.failure.detail, /Cannot spend 20\.00 USD/);
      assert.equal(body.budget_context.cost_check_amount, 20);
      assert.deepEqual(ran, []);
    });

    test('permissions() and test() agree with invoke(): the range, then the price', async () => {
      const { token: tight } = await budgeted(15);
      const { token: rich } = await budgeted(100);
      const body = { parameters: { km: 10 } };

      const seen = await opened().ask('POST', '/svc/permissions', { bearer: tight, body: {} });
      const refused = await opened().ask('POST', '/svc/test/taxi', { bearer: tight, body });
      const admitted = await opened().ask('POST', '/svc/test/taxi', { bearer: rich, body });

      const taxi = seen.body.available.find(
        ({ capability }: { capability: string }) => capability === 'taxi',
      );
      assert.deepEqual(taxi.constraints.cost, RANGE);
      assert.equal(refused.body.failure.type, 'budget_exceeded');
      assert.equal(refused.body.budget_context.cost_check_amount, 20);
      const cost = { currency: 'USD', amount: 20, certainty: 'estimated' };
      assert.deepEqual(admitted.body.cost_check, cost);
    });

    for (const [name, amount] of [
      ['below the range', 4.99],
      ['above the range', 50.01],
      ['below zero', -20],
      ['with too many decimals', 20.555],
      ['that is not finite', Number.POSITIVE_INFINITY],
    ] as const) {
      test.each([
        ['one input', 'this "km"', { km: 10 }],
        ['several inputs', 'these parameters', { km: 10, night: true }],
      ])(`invoke() refuses a price of %s ${name}, with the range`, async (_, which, parameters) => {
        const { token: rich } = await budgeted(1_000);
        price = { currency: 'USD', amount };

        const { status, body } = await opened().invoke(rich, 'taxi', parameters);

        assert.equal(status, 400);
        assert.equal(body.failure.type, 'invalid_parameters');
        assert.equal(
          body.failure.detail,
          `Cannot price "taxi" with ${which}: it would cost ${amount} USD; expected 5 to 50 USD with at most 2 decimals`,
        );
        assert.deepEqual(ran, []);
      });
    }

    for (const [name, wrong] of [
      ['in another currency', { currency: 'EUR', amount: 20 }],
      ['that is no amount', { currency: 'USD', amount: 'much' }],
      ['that is nothing', null],
    ] as const) {
      test(`invoke() refuses as a defect a price ${name}`, async () => {
        const { token: rich } = await budgeted(1_000);
        price = wrong ?? [];

        const { status, body } = await opened().invoke(rich, 'taxi', { km: 10 });

        assert.equal(status, 500);
        assert.equal(body.failure.type, 'internal_error');
        assert.deepEqual(ran, []);
      });
    }

    test('an approval shows the price and pins it', async () => {
      const issued = await budgeted(100);
      const asked = await opened().invoke(issued.token, 'limousine', { km: 12 });
      const id = asked.body.failure.approval_request_id;
      const shown = await opened().ask('GET', `/svc/approval_requests/${id}`, { bearer: BOB });
      assert.deepEqual(shown.body.preview, { km: 12, price: { currency: 'USD', amount: 24 } });
      const granted = await opened().ask('POST', '/svc/approval_grants', {
        bearer: BOB,
        body: { approval_request_id: id, grant_type: 'one_time' },
      });
      price = { currency: 'USD', amount: 49 };

      const fields = { approval_grant: granted.body.grant_id };
      const last = await opened().invoke(issued.token, 'limousine', { km: 12 }, { fields });

      assert.equal(last.status, 200, JSON.stringify(last.body));
      assert.equal(last.body.budget_context.cost_check_amount, 24);
      assert.equal((await opened().budgetOf(issued)).consumed, 2_400n);
    });

    test('a call below the threshold of an approval is priced and runs', async () => {
      const { token: rich } = await budgeted(100);

      assert.equal((await opened().invoke(rich, 'limousine', { km: 5 })).status, 200);
    });
  },
);
