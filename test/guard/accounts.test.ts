/**
 * Guarded tools that are called with the account of each person.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { guardService } from '../../src/guard/definition.ts';
import { readPolicy } from '../../src/guard/policy/read.ts';
import { ANN, connect, signedIn } from '../accounts/desk.ts';
import { openOtherService } from '../accounts/other-service.ts';
import { testService } from '../support/world.ts';
import { GOOD, guardOf } from './rig.ts';

const POLICY = `guard: shop
upstream:
  url: https://mcp.example.com/
  account: { authorize: "https://a.example/a", token: "https://a.example/t", client_id: x }
tools: { pay: { effect: write } }`;

test('guardService() switches off tools that need an account where it knows none', () => {
  assert.match(guardService(guarded().given).off.get('pay') ?? '', /needs the account of a person/);
});

test('a call reaches the upstream with the access token of the person', async () => {
  const other = await openOtherService();
  const { given, calls } = guarded();
  const { service: definition } = guardService({ ...given, account: other.account });
  const identities = [{ key: ANN, principal: 'human:ann@example.com', scopes: ['shop.write'] }];
  const service = await testService({ definition, settings: { identities, rate_limits: 'off' } });
  const { token } = await service.issue(ANN, { scope: ['shop.write'] });

  const { body: unconnected } = await service.invoke(token, 'pay', GOOD);
  assert.equal(unconnected.failure.type, 'account_required');
  assert.equal(calls.length, 0);
  await connect({ other, service, lent: [] }, await signedIn({ service }), 'upstream');
  const { body } = await service.invoke(token, 'pay', GOOD);

  assert.equal(body.success, true, JSON.stringify(body));
  assert.equal(calls.length, 1);
  assert.equal(other.isValid(calls[0]?.accessToken ?? ''), true);
  assert.ok(!JSON.stringify(body).includes(calls[0]?.accessToken ?? ''));
});

function guarded() {
  const reading = readPolicy(POLICY);
  assert.ok('policy' in reading);
  const { options, calls } = guardOf('  pay: { effect: write }');
  return { given: { ...options, policy: reading.policy }, calls };
}
