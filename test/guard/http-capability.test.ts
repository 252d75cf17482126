/**
 * Capabilities of authors that call an HTTP API, in a service.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import * as z from 'zod';
import { createService, httpCapability } from '../../src/index.ts';
import { expectAnswer, expectFailure, testService } from '../../src/testing/index.ts';
import { json, localApi } from './http-api.ts';

const CANARY = 'canary-51d0c7e9';

const COMMON = {
  name: 'pay',
  description: 'Pays an invoice',
  side_effect: 'write',
  minimum_scope: ['bank.pay'],
} as const;

const INPUTS = z.object({ invoice: z.string(), amount: z.number() });

/** A service with one capability that calls a local API, and a caller with a budget. */
async function paying(
  answer: Parameters<typeof localApi>[0],
  more: { costOf?: (answer: object) => { currency: string; amount: number } } = {},
) {
  const api = await localApi(answer);
  const pay = httpCapability({
    ...COMMON,
    inputs: INPUTS,
    cost: { certainty: 'dynamic', financial: { currency: 'USD', upper_bound: 10 } },
    request: {
      origin: `${api.origin}/v1`,
      method: 'POST',
      path: '/invoices/{invoice}/pay',
      body: ['amount'],
    },
    inside: true,
    credential: async () => ({ header: 'X-Api-Key', value: CANARY }),
    ...more,
  });
  const desk = await testService(createService({ id: 'bank', capabilities: [pay] }));
  const agent = await desk.caller('payer', { budget: { currency: 'USD', max_amount: 100 } });
  const close = async () => {
    await desk.close();
    await api.close();
  };
  return { api, desk, agent, close };
}

test('httpCapability() calls the API and charges what the answer says', async () => {
  const { api, desk, agent, close } = await paying(json(200, { id: 'p1', fee: 3 }), {
    costOf: (answer) => ({ currency: 'USD', amount: (answer as { fee: number }).fee }),
  });
  const { result, invocation_id } = expectAnswer(
    await agent.invoke('pay', { invoice: 'a/b', amount: 5 }),
  );

  assert.deepEqual(result, { id: 'p1', fee: 3 });
  const [request] = api.requests;
  assert.equal(request?.url, '/v1/invoices/a%2Fb/pay');
  assert.equal(request?.body, '{"amount":5}');
  assert.equal(request?.headers['idempotency-key'], invocation_id);
  assert.equal(request?.headers['x-api-key'], CANARY);
  await desk.expectSpent(agent, 3);
  await close();
});

test('httpCapability() charges the reserved amount when the answer has no cost', async () => {
  const { desk, agent, close } = await paying(json(200, {}), {
    costOf: (answer) => ({ currency: 'USD', amount: (answer as { fee: number }).fee }),
  });
  expectAnswer(await agent.invoke('pay', { invoice: 'a', amount: 5 }));

  await desk.expectSpent(agent, 10);
  assert.match(JSON.stringify(desk.log), /the reserved amount is charged/);
  await close();
});

test('httpCapability() charges nothing when the API refuses, and the credential appears nowhere', async () => {
  const { desk, agent, close } = await paying(json(401, { message: `bad key ${CANARY}` }));
  const failure = expectFailure(
    await agent.invoke('pay', { invoice: 'a', amount: 5 }),
    'upstream_failed',
  );

  assert.equal(failure.retry, false);
  await desk.expectSpent(agent, 0);
  const shown = JSON.stringify([failure, desk.log, await desk.entries()]);
  assert.doesNotMatch(shown, new RegExp(CANARY));
  await close();
});

test('httpCapability() reports an unknown outcome when the API breaks', async () => {
  const { agent, close } = await paying((_, response) => response.socket?.destroy());
  const reply = await agent.invoke('pay', { invoice: 'a', amount: 5 });
  expectFailure(reply, 'outcome_unknown');
  await close();
});

test('httpCapability() sends a read that has a price once, and charges it when the answer is lost', async () => {
  const api = await localApi((_, response) => response.socket?.destroy());
  const look = httpCapability({
    ...COMMON,
    name: 'look',
    side_effect: 'read',
    cost: { certainty: 'fixed', financial: { currency: 'USD', amount: 2 } },
    request: { origin: api.origin, method: 'GET', path: '/look' },
    inside: true,
  });
  const desk = await testService(createService({ id: 'bank', capabilities: [look] }));
  const agent = await desk.caller('payer', { budget: { currency: 'USD', max_amount: 100 } });

  expectFailure(await agent.invoke('look', {}), 'outcome_unknown');

  assert.equal(api.requests.length, 1);
  await desk.expectSpent(agent, 2);
  await desk.close();
  await api.close();
});

test('httpCapability() refuses parameters that do not fit the path before anything is sent', async () => {
  const { api, agent, close } = await paying(json(200, {}));
  const reply = await agent.invoke('pay', { invoice: '..', amount: 5 });

  assert.match(expectFailure(reply, 'invalid_parameters').detail, /"invoice"/);
  assert.equal(api.requests.length, 0);
  await close();
});

test('createService() reports every fault of a request', () => {
  const request = { origin: 'https://pay.example.com', method: 'POST', path: '/pay' } as const;
  const faultsOf = (...given: Parameters<typeof httpCapability>) =>
    httpCapability(...given).faults.map(({ field, fault }) => `${field}: ${fault}`);
  const inputs = [{ name: 'amount', type: 'number' }] as const;

  assert.deepEqual(
    [
      faultsOf({ ...COMMON, request: { ...request, origin: 'http://pay.example.com' } }),
      faultsOf({ ...COMMON, request: { ...request, path: '/../pay' } }),
      faultsOf({ ...COMMON, inputs, request }),
      faultsOf({ ...COMMON, request: { ...request, body: ['amount' as never] } }),
      faultsOf({ ...COMMON, request, credential: { header: 'Host', value: CANARY } }),
      faultsOf({ ...COMMON, inputs, request: { ...request, body: 'rest' } }),
    ].map((each) => each.map((line) => line.replace(/:.*"(.*)".*/, ': $1'))),
    [
      ['request.origin: inside: true'],
      ['request.path: /pets/{id}'],
      ['request: amount'],
      ['request: amount'],
      ['credential: Authorization'],
      [],
    ],
  );
});

test('httpCapability() does not compile with an undeclared parameter', () => {
  const request = { origin: 'https://pay.example.com', method: 'POST' } as const;
  const right = httpCapability({
    ...COMMON,
    inputs: INPUTS,
    request: { ...request, path: '/pay/{invoice}', body: ['amount'] },
    costOf: (_, { amount }) => ({ currency: 'USD', amount: amount.valueOf() }),
  });
  httpCapability({
    ...COMMON,
    inputs: INPUTS,
    // @ts-expect-error "invoce" is not an input.
    request: { ...request, path: '/pay/{invoce}', body: ['amount'] },
  });
  httpCapability({
    ...COMMON,
    inputs: INPUTS,
    // @ts-expect-error "total" is not an input.
    request: { ...request, path: '/pay/{invoice}', body: ['total'] },
  });
  httpCapability({
    ...COMMON,
    inputs: INPUTS,
    // @ts-expect-error "tenant" is not an input.
    request: { ...request, path: '/pay', headers: { 'X-Tenant': 'tenant' }, body: 'rest' },
  });
  httpCapability({
    ...COMMON,
    // @ts-expect-error There are no inputs.
    request: { ...request, path: '/pay', query: ['page'] },
  });

  assert.deepEqual(right.faults, []);
});
