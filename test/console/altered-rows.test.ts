/**
 * The console and rows that were changed behind the service's back: none of them shows an agent, a name or a
 * session that the service did not write.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Agent } from '../../src/protocol/console/views.ts';
import { onInspectedStores } from '../authority/support.ts';
import { delegation } from '../sign-in/browser.ts';
import { ALICE, BOB } from '../support/world.ts';
import { PEOPLE, READER } from './people.ts';
import { atConsole, type ConsolePerson } from './person.ts';

const SCOPE = ['travel.search'];

async function rootsOf(person: ConsolePerson): Promise<readonly Agent[]> {
  return (await person.answer('agents', { limit: 100 })).agents;
}

onInspectedStores(
  (rig) => {
    test('a root token that is moved to another person is shown to neither', async () => {
      const [alice, bob] = [await atConsole(rig(), ALICE), await atConsole(rig(), BOB)];
      const { token_id } = await rig().issue(ALICE, { scope: SCOPE, subject: 'agent:moved' });
      const kept = await rig().issue(ALICE, { scope: SCOPE, subject: 'agent:kept' });
      await rig().place.alter(
        `UPDATE tokens SET root_principal = 'human:bob@example.com' WHERE token_id = '${token_id}'`,
      );

      assert.deepEqual(await rootsOf(bob), []);
      const found = (await rootsOf(alice)).map((agent) => agent.token_id);
      assert.ok(found.includes(kept.token_id));
      assert.ok(!found.includes(token_id));
    });

    test('a child with another name or another parent is not shown', async () => {
      const alice = await atConsole(rig(), ALICE);
      const planner = await rig().issue(ALICE, { scope: SCOPE, subject: 'agent:planner' });
      const renamed = await rig().delegate(planner, { subject: 'agent:renamed', scope: SCOPE });
      const honest = await rig().delegate(planner, { subject: 'agent:honest', scope: SCOPE });
      await rig().place.alter(
        `UPDATE tokens SET subject = 'agent:trusted' WHERE token_id = '${renamed.token_id}'`,
      );

      const tree = (await rootsOf(alice)).find((agent) => agent.token_id === planner.token_id);
      const ends = await alice.answer('agents.ends', { token_id: planner.token_id });

      assert.deepEqual(
        tree?.children.map(({ token_id }) => token_id),
        [honest.token_id],
      );
      assert.deepEqual(ends.principals, ['agent:planner', 'agent:honest']);
    });

    test('a time that no clock shows ends no list', async () => {
      const alice = await atConsole(rig(), ALICE);
      const early = await rig().issue(ALICE, { scope: SCOPE, subject: 'agent:early' });
      const late = await rig().issue(ALICE, { scope: SCOPE, subject: 'agent:late' });
      const never = rig().place.url.startsWith('sqlite:') ? '9000000000000000000' : `'infinity'`;
      await rig().place.alter(
        `UPDATE tokens SET issued_at = ${never} WHERE token_id = '${late.token_id}'`,
      );

      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await alice.answer('agents', {
          limit: 1,
          ...(cursor !== undefined && { cursor }),
        });
        found.push(...page.agents.map(({ token_id }) => token_id));
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);

      assert.ok(found.includes(early.token_id));
      assert.ok(!found.includes(late.token_id));
    });

    test('a consent with another name of its client gives no name', async () => {
      const alice = await atConsole(rig(), ALICE);
      await delegation(rig(), { chosen: ['search_flights'] }, { person: alice });
      await rig().place.alter(`UPDATE consents SET client_name = 'Your Bank'`);

      const agents = await rootsOf(alice);

      assert.ok(agents.every(({ client_name }) => client_name === null));
    });

    test('a session with another principal is not listed', async () => {
      const [bob, reader] = [await atConsole(rig(), BOB), await atConsole(rig(), READER)];
      const { session_id } = (await bob.answer('me')).session;
      await rig().place.alter(
        `UPDATE sessions SET principal = 'human:alice@example.com' WHERE session_id = '${session_id}'`,
      );

      const { sessions } = await reader.answer('operations.sessions', { limit: 100 });

      assert.ok(sessions.some(({ is_this }) => is_this));
      assert.ok(!sessions.some((each) => each.session_id === session_id));
    });
  },
  { settings: PEOPLE },
);
