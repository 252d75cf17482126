/**
 * The state of the service for operators, its identities, and the sessions of all people.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { personAt } from '../sign-in/browser.ts';
import { ALICE, BOB, onEachStore, testService } from '../support/world.ts';
import { ENDER, PEOPLE, READER } from './people.ts';
import { atConsole } from './person.ts';

const READS = ['operations', 'operations.identities', 'operations.sessions'] as const;

onEachStore(
  ({ url }) => testService({ store: url, settings: PEOPLE }),
  (service) => {
    test('operations() says what runs, and which keys sign', async () => {
      const reader = await atConsole(service(), READER);

      const found = await reader.answer('operations');

      assert.deepEqual(found.unready, []);
      assert.match(found.version, /^\d+\.\d+\.\d+/);
      assert.equal(found.node, process.versions.node);
      assert.ok(found.log.entries > 0);
      assert.ok(found.started_at <= found.now);
      const signing = found.keys.filter(({ state }) => state === 'signs');
      assert.deepEqual(
        signing.map(({ use }) => use),
        ['token', 'log', 'row'],
      );
      const { keys } = (await service().ask('GET', '/.well-known/jwks.json')).body;
      const published = new Set(keys.map((each: { kid: string }) => each.kid));
      assert.ok(signing.slice(0, 2).every(({ kid }) => published.has(kid)));
      assert.equal(found.settings.keys, 'folder');
    });

    test('no answer for operators contains a credential', async () => {
      const reader = await atConsole(service(), READER);
      const { identities } = await reader.answer('operations.identities');
      const alice = identities.find(({ principal }) => principal === 'human:alice@example.com');
      assert.deepEqual(alice?.scopes, ['travel.*']);
      assert.equal(alice?.is_demo, true);

      for (const method of READS) {
        const { text = '' } = await reader.reply(method);
        for (const { key } of PEOPLE.identities) assert.ok(!text.includes(key), method);
        assert.ok(!text.includes('secret'), method);
        assert.ok(!text.includes('postgres://'), method);
      }
    });

    test('a person without the right reads nothing and ends no session', async () => {
      const [alice, bob] = [await atConsole(service(), ALICE), await atConsole(service(), BOB)];
      const { session } = await bob.answer('me');

      for (const method of READS) {
        const { body } = await alice.reply(method);
        assert.deepEqual(body.failure.resolution.requires, ['operator:read']);
      }
      const reader = await atConsole(service(), READER);
      for (const person of [alice, reader]) {
        const ended = await person.reply('operations.end_session', {
          session_id: session.session_id,
        });
        assert.deepEqual(ended.body.failure.resolution.requires, ['operator:revoke']);
      }
      assert.equal((await bob.reply('me')).status, 200);
    });

    test('operations.sessions() has the living sessions of all people, page by page', async () => {
      const [alice, reader] = [
        await atConsole(service(), ALICE),
        await atConsole(service(), READER),
      ];
      const { session } = await alice.answer('me');

      const found = new Map<string, boolean>();
      let cursor: string | undefined;
      do {
        const page = await reader.answer('operations.sessions', {
          limit: 2,
          ...(cursor !== undefined && { cursor }),
        });
        for (const each of page.sessions) {
          assert.ok(!found.has(each.session_id));
          found.set(each.session_id, each.is_this);
        }
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);

      assert.equal(found.get(session.session_id), false);
      assert.equal([...found.values()].filter(Boolean).length, 1);
      const forged = await reader.reply('operations.sessions', { cursor: 'ses_' });
      assert.equal(forged.body.failure.type, 'invalid_parameters');
    });

    test('an operator ends a session, and the entry says who did it', async () => {
      const [bob, ender] = [await atConsole(service(), BOB), await atConsole(service(), ENDER)];
      const { session_id } = (await bob.answer('me')).session;

      const ended = await ender.answer('operations.end_session', { session_id });
      const again = await ender.answer('operations.end_session', { session_id });
      const unknown = await ender.answer('operations.end_session', { session_id: 'ses_unknown' });

      assert.deepEqual(
        [ended, again, unknown],
        [{ ended: true }, { ended: false }, { ended: false }],
      );
      assert.equal((await bob.reply('me')).status, 401);
      const entries = await service().entriesBy({ entryType: 'session' });
      const own = entries.filter(({ detail }) => detail?.session_id === session_id);
      const last = own.at(-1);
      assert.equal(own.length, 2);
      assert.equal(last?.actor_key, 'human:edda@example.com');
      assert.equal(last?.root_principal, 'human:bob@example.com');
      assert.equal(last?.detail?.by, 'operator');
      const stranger = personAt(service());
      assert.equal((await stranger.open('/console/')).status, 303);
    });
  },
);
