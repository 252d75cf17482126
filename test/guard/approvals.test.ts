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
