/**
 * Who is signed in, as the console shows it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ALICE, BOB, testService } from '../support/world.ts';
import { atConsole } from './person.ts';

test('me() says who is signed in and whose requests this person may decide', async () => {
  const service = await testService();

  const alice = await (await atConsole(service, ALICE)).answer('me');
  const bob = await (await atConsole(service, BOB)).answer('me');

  assert.equal(alice.principal, 'human:alice@example.com');
  assert.deepEqual(alice.approves, []);
  assert.ok(bob.approves.includes('charter_fleet'));
  assert.deepEqual(bob.operates, []);
});
