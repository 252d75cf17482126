/**
 * What an approval of a guarded call is for: one tool as it was reviewed, at one upstream.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { declarationDigest } from '../../src/domain/catalog/declaration.ts';
import { type GuardOptions, guardService } from '../../src/guard/definition.ts';
import { NO_PINS, pinned } from '../../src/guard/pins.ts';
import type { UpstreamTool } from '../../src/guard/upstream.ts';
import type { JsonObject } from '../../src/protocol/primitives.ts';
import { testService } from '../../src/testing/test-service.ts';
import { BY, guardOf, PAY } from './rig.ts';

const TOOLS = '  pay: { effect: write, approval: always }';

/** What an approval of `pay` is bound to. */
function boundTo(tool: UpstreamTool, upstream: object = {}): string {
  const { options } = guardOf(TOOLS);
  const given: GuardOptions = {
    ...options,
    policy: { ...options.policy, upstream: { ...options.policy.upstream, ...upstream } },
    pins: pinned(NO_PINS, [tool], BY),
    live: [tool],
  };
  const capability = guardService(given).service.catalog.capabilities.get('pay');
  return declarationDigest(capability ?? assert.fail());
}

const CHANGES: readonly (readonly [what: string, change: Partial<UpstreamTool>])[] = [
  ['description', { description: 'Pay someone else' }],
  ['title', { title: 'Pay everybody' }],
  ['annotations', { annotations: { destructiveHint: true } }],
  ['route', { route: { method: 'DELETE', path: '/accounts' } }],
];

for (const [what, change] of CHANGES) {
  test(`an approval is not for a tool whose ${what} changed, although it was reviewed again`, () => {
    assert.notEqual(boundTo({ ...PAY, ...change }), boundTo(PAY));
  });
}

test('an approval is not for another upstream, and stays for another deadline', () => {
  assert.notEqual(boundTo(PAY, { command: ['y'] }), boundTo(PAY));
  assert.equal(boundTo(PAY, { deadline: '5s' }), boundTo(PAY));
});

const MOVE: UpstreamTool = {
  name: 'move',
  description: 'Moves money',
  inputSchema: {
    type: 'object',
    properties: { amount: { type: 'number' }, to: { type: 'string' } },
  },
};

const AMOUNTS: readonly (readonly [what: string, parameters: JsonObject, failure?: string])[] = [
  ['passes zero', { amount: 0 }],
  ['passes the threshold', { amount: 100 }],
  ['asks above it', { amount: 100.01 }, 'approval_required'],
  ['asks below zero', { amount: -1_000_000 }, 'approval_required'],
  ['asks without an amount', {}, 'approval_required'],
  ['asks where the amount is null', { amount: null }, 'approval_required'],
  ['refuses a text', { amount: '200' }, 'invalid_parameters'],
  ['refuses a list', { amount: [200] }, 'invalid_parameters'],
];

for (const [what, parameters, failure] of AMOUNTS) {
  test(`{ above: 100, field: amount } ${what}`, async () => {
    const { options, calls } = guardOf(
      '  move: { effect: write, approval: { above: 100, field: amount } }',
    );
    const given = { ...options, pins: pinned(NO_PINS, [MOVE], BY), live: [MOVE] };
    const shop = await testService(guardService(given).service);

    const { client } = await shop.caller('a');
    const reply = await client.invoke({ capability: 'move', parameters });

    assert.equal(reply.ok ? undefined : reply.failure.type, failure);
    assert.equal(calls.length, failure === undefined ? 1 : 0);
    await shop.close();
  });
}
