/**
 * The entries of one agent in the console: by the lineage of tokens, and only the person's own.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ALICE, BOB, testService } from '../support/world.ts';
import { atConsole } from './person.ts';

test('activity.entries has the calls of an agent and of the agents below it, and no others', async () => {
  const service = await testService();
  const root = await service.issue(ALICE, { scope: ['travel.search'] });
  const planner = await service.delegate(root, { subject: 'agent:planner' });
  const finder = await service.delegate(planner, { subject: 'agent:finder' });
  // A second agent of the same name is another agent.
  const other = await service.delegate(root, { subject: 'agent:planner' });
  for (const { token } of [planner, finder, other]) await service.invoke(token, 'search_flights');
  const alice = await atConsole(service, ALICE);

  const { entries } = await alice.answer('activity.entries', {
    token_id: planner.token_id,
    entry_type: 'invocation',
  });

  assert.deepEqual(
    entries.map(({ token_id }) => token_id),
    [finder.token_id, planner.token_id],
  );
});

test('activity.entries goes on from its cursor, and finds each entry once', async () => {
  const service = await testService();
  const root = await service.issue(ALICE, { scope: ['travel.search'] });
  const agent = await service.delegate(root, { subject: 'agent:planner' });
  for (let calls = 0; calls < 5; calls++) {
    for (const { token } of [agent, root]) await service.invoke(token, 'search_flights');
  }
  const alice = await atConsole(service, ALICE);
  const found: number[] = [];
  let cursor: string | null | undefined;
  do {
    const page = await alice.answer('activity.entries', {
      token_id: agent.token_id,
      entry_type: 'invocation',
      limit: 2,
      ...(cursor && { cursor }),
    });
    found.push(...page.entries.map(({ sequence }) => sequence));
    cursor = page.next_cursor;
  } while (cursor !== null);

  assert.equal(found.length, 5);
  assert.deepEqual(
    found,
    [...new Set(found)].sort((one, other) => other - one),
  );
});

test("activity.entries shows nothing of another person's agent", async () => {
  const service = await testService();
  const root = await service.issue(ALICE, { scope: ['travel.search'] });
  await service.invoke(root.token, 'search_flights');
  const bob = await atConsole(service, BOB);

  const { entries } = await bob.answer('activity.entries', { token_id: root.token_id });

  assert.deepEqual(entries, []);
});

test('activity.entries refuses an id that is no token, and a filter that it does not know', async () => {
  const service = await testService();
  const alice = await atConsole(service, ALICE);
  const token_id = `tok_${'0'.repeat(32)}`;

  const misnamed = await alice.reply('activity.entries', { token_id: 'planner' });
  const misspelt = await alice.reply('activity.entries', { token_id, capabilty: 'x' });

  assert.equal(misnamed.body.failure.type, 'invalid_parameters');
  assert.equal(misspelt.body.failure.type, 'invalid_parameters');
});
