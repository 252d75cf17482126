/**
 * A guard in front of an upstream that answers by a function.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type GuardOptions, guardService } from '../../src/guard/definition.ts';
import { NO_PINS, pinned } from '../../src/guard/pins.ts';
import { readPolicy } from '../../src/guard/policy/read.ts';
import type { UpstreamCall, UpstreamTool } from '../../src/guard/upstream.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { testService } from '../../src/testing/test-service.ts';

export const PAY: UpstreamTool = {
  name: 'pay',
  description: 'Pay\u202e someone\nat once',
  inputSchema: {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: {
      amount: { type: 'number', minimum: 0 },
      to: { $ref: '#/definitions/account' },
      note: { type: 'string', default: 'none', description: 'A\u200bnote' },
      'x-trace[id]': { type: 'string' },
      when: { type: 'string', format: 'date' },
    },
    required: ['amount', 'to'],
    definitions: { account: { type: 'string', minLength: 2, pattern: '(a+)+$' } },
  },
};
export const LOOK: UpstreamTool = {
  name: 'look up',
  description: '',
  inputSchema: {
    type: 'object',
    properties: { at: { type: ['string', 'null'] } },
    required: ['at'],
  },
  outputSchema: {
    type: 'object',
    properties: { found: { type: 'boolean' }, usage: { type: 'object' } },
    required: ['found'],
  },
};
export const BY = { at: new Date('2030-01-01T00:00:00Z'), who: 'human:ann' };
export const GOOD = { amount: 10, to: 'bob' };

/** A guard in front of an upstream that answers by a function. */
export function guardOf(
  tools: string,
  answer: (call: UpstreamCall) => unknown = () => ({ done: true }),
) {
  const reading = readPolicy(`guard: shop\nupstream: { command: [x] }\ntools:\n${tools}`);
  assert.ok('policy' in reading, JSON.stringify(reading));
  const calls: UpstreamCall[] = [];
  const options: GuardOptions = {
    policy: reading.policy,
    pins: pinned(NO_PINS, [PAY, LOOK], BY),
    live: [PAY, LOOK],
    upstream: {
      call: async (call) => {
        calls.push(call);
        return answer(call) as JsonObject;
      },
    },
    isCurrent: () => true,
  };
  return { options, calls };
}

export async function opened(tools: string, answer?: (call: UpstreamCall) => unknown) {
  const { options, calls } = guardOf(tools, answer);
  const { service, off } = guardService(options);
  assert.deepEqual([...off], []);
  return { shop: await testService(service), calls, service };
}

export const budget = { currency: 'USD', max_amount: 25 };

interface Refusal {
  readonly type: string;
  readonly detail: string;
  readonly retry: boolean;
  readonly approval_request_id?: string | undefined;
}

export function failureOf(reply: unknown): Refusal {
  const { failure } = reply as { failure?: Refusal };
  assert.ok(failure, JSON.stringify(reply));
  return failure;
}
