/**
 * Identities that operators add while the service runs: they work on every replica, and a removal ends them at once.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { atConsole } from '../console/person.ts';
import { personAt } from '../sign-in/browser.ts';
import { temporaryFolder } from '../support/ends.ts';
import { SQL_PLACES, type SqlPlace } from '../support/sql-places.ts';
import { testService } from '../support/world.ts';
import {
  BOTH,
  CHIEF,
  IDENTITIES,
  MINOR,
  madeAtStore,
  newKey,
  onSqlPlaces,
  openDesk,
  READER,
} from './desk.ts';

const file = () => (SQL_PLACES[0] as { open(): Promise<SqlPlace> }).open();

onSqlPlaces((open, name) => {
  describe(name, () => {
    test('an added identity works on every replica, and a removed one on none', async () => {
      const desk = await openDesk(open);
      const made = await desk.made({ scopes: ['travel.search', 'travel.search'] });

      const before = await desk.seen(made.key);
      const removed = await desk.remove(made.identity_id);
      const after = await desk.seen(made.key);

      assert.deepEqual(
        [before, after],
        [
          [200, 200],
          [401, 401],
        ],
      );
      assert.equal(removed.body.removed, true);
      assert.equal(removed.body.identity.removed_by, 'human:chief');
      assert.deepEqual(made.scopes, ['travel.search']);
      assert.deepEqual((await checkStore(desk.service.store)).findings, []);
    });

    test('each change has its entry with the operator, and a repeated removal has none', async () => {
      const desk = await openDesk(open);
      const made = await desk.made();
      await desk.remove(made.identity_id);
      const again = await desk.remove(made.identity_id);

      const entries = await desk.service.entriesBy({ entryType: 'operator' });

      assert.deepEqual(again.body, { removed: false, identity: null });
      const { identity_id, key_sha256 } = made;
      assert.deepEqual(
        entries.map(({ actor_key, state, detail }) => ({ actor_key, state, ...detail })),
        [
          {
            actor_key: 'human:chief',
            state: 'completed',
            verb: 'identity_added',
            identity_id,
            key_sha256,
            principal: 'agent:worker',
            scopes: ['travel.search'],
            subjects: [],
            caller_class: 'internal',
            caller_classes: [],
          },
          { actor_key: 'human:chief', state: 'completed', verb: 'identity_removed', identity_id },
        ],
      );
    });

    test('the list has living identities, and removed ones when asked, in pages', async () => {
      const desk = await openDesk(open);
      const all = [];
      for (let count = 0; count < 5; count++) all.push(await desk.made());
      await desk.remove(all[0]?.identity_id ?? '');
      const idsOf = async (query: string) => {
        const ids: string[] = [];
        let cursor = '';
        do {
          const { status, body, text } = await desk.list(`?limit=2${query}${cursor}`);
          assert.equal(status, 200, text);
          ids.push(...body.identities.map((each: { identity_id: string }) => each.identity_id));
          cursor = body.next_cursor === null ? '' : `&cursor=${body.next_cursor}`;
        } while (cursor !== '');
        return ids;
      };

      const ids = all.map(({ identity_id }) => identity_id);
      assert.deepEqual(await idsOf(''), ids.slice(1).sort());
      assert.deepEqual(await idsOf('&removed=true'), ids.toSorted());
    });
  });
});

/** Who may add what. The chief has operator:* and travel.*; the minor operator operator:identities. */
const REFUSED: readonly [what: string, request: object, type: string, bearer?: string][] = [
  ['a scope that its maker lacks', { scopes: ['finance.pay'] }, 'not_entitled'],
  ['a wider pattern', { scopes: ['travel.search', 'trave*'] }, 'invalid_parameters'],
  ['every scope by a star', { scopes: ['*'] }, 'invalid_parameters'],
  ['a pattern above its own', { scopes: ['operator:*'] }, 'not_entitled', MINOR],
  ['the right to approve', { scopes: ['approver:book_flight'] }, 'not_entitled'],
  ['the right to approve all', { scopes: ['approver:*'] }, 'not_entitled'],
  ['approvals by a pattern', { scopes: ['approver:book.*'] }, 'not_entitled'],
  ['the right to approve, which its maker has', { scopes: ['approver:*'] }, 'not_entitled', BOTH],
  [
    'its own name with the right to approve',
    { principal: 'human:both', scopes: ['approver:*'] },
    'not_entitled',
    BOTH,
  ],
  ['another name, if it may approve', { scopes: [] }, 'not_entitled', BOTH],
  ['the name of an approver', { principal: 'human:judge@example.com' }, 'not_entitled'],
  ['a subject that its maker may not name', { subjects: ['service:*'] }, 'not_entitled'],
  ['a wider subject', { subjects: ['human:*'] }, 'not_entitled'],
  ['another caller class', { caller_class: 'default' }, 'not_entitled'],
  ['another class to give', { caller_classes: ['automated_agent'] }, 'not_entitled'],
  ['a name that its maker may not name', { principal: 'human:boss' }, 'not_entitled'],
  ['the name of another operator', { principal: 'service:minor' }, 'not_entitled'],
  ['a name with a class in its name', { principal: 'agent:human:boss' }, 'invalid_parameters'],
  ['a name in other letters', { principal: 'human:ann@еxample.com' }, 'not_entitled'],
  ['a name with an invisible letter', { principal: 'agent:a\u200bb' }, 'invalid_parameters'],
  ['a name that is not in NFC', { principal: 'agent:e\u0301' }, 'invalid_parameters'],
  ['a class in full-width letters', { principal: 'agent:ｈuman:boss' }, 'invalid_parameters'],
  ['a pattern as its name', { principal: 'agent:*' }, 'invalid_parameters'],
  ['a digest in capitals', { key_sha256: 'A'.repeat(64) }, 'invalid_parameters'],
  ['a key instead of its digest', { key: 'wk_x' }, 'invalid_parameters'],
  ['anything, by a reader', {}, 'scope_insufficient', READER],
];

const shared = await openDesk(file);

for (const [what, request, type, bearer] of REFUSED) {
  test(`no operator adds ${what}`, async () => {
    const { body, text } = await shared.add(request, bearer);

    assert.equal(body.failure?.type, type, text);
    assert.deepEqual((await shared.list()).body.identities, []);
  });
}

test('an operator gives what it has: its own name, narrower patterns, its own classes', async () => {
  const desk = await openDesk(file);
  const given = [
    { principal: 'human:chief', scopes: ['operator:*'] },
    { scopes: ['travel.book.*', 'travel.x:*'], subjects: ['agent:a*', 'human:chief'] },
    { principal: 'human:ann@example.com', subjects: ['human:b*@example.com'] },
    { caller_class: 'partner', caller_classes: ['internal'] },
  ];

  for (const request of given) {
    const { status, text } = await desk.add(request);
    assert.equal(status, 200, text);
  }
});

test('a token adds no identity, also one of an operator; it lists and removes', async () => {
  const desk = await openDesk(file);
  const { token } = await desk.service.issue(CHIEF, { scope: ['operator:identities'] });
  const made = await desk.made();

  const added = await desk.add({}, token);

  assert.equal(added.body.failure?.type, 'not_entitled');
  assert.equal((await desk.list('', token)).body.identities.length, 1);
  assert.equal((await desk.remove(made.identity_id, token)).body.removed, true);
});

test('no two identities have one key, and none has the key of the configuration', async () => {
  const desk = await openDesk(file);
  const { key_sha256 } = newKey();
  const configured = createHash('sha256').update(MINOR).digest('hex');

  const first = await desk.add({ key_sha256 });
  const again = await desk.add({ key_sha256, principal: 'agent:other' });
  const taken = await desk.add({ key_sha256: configured });
  await desk.remove(first.body.identity_id);
  const back = await desk.add({ key_sha256 });

  assert.equal(first.status, 200);
  for (const { body } of [again, taken, back]) {
    assert.equal(body.failure?.type, 'invalid_parameters');
    assert.match(body.failure.detail, /another one has or had this key/);
  }
});

test('a frozen operator adds no identity', async () => {
  const desk = await openDesk(file);
  const frozen = { what: 'root_principal', target: 'human:chief', reason: 'drill' };
  await desk.service.ask('POST', '/svc/operator/freeze', { bearer: CHIEF, body: frozen });

  assert.equal((await desk.add()).body.failure?.type, 'frozen');
});

test('a delegation token causes no look-up of an identity', async () => {
  const asked: string[] = [];
  const service = await testService({
    settings: { identities: IDENTITIES },
    wrap: (store) =>
      Object.assign(Object.create(store), {
        findIdentity: (digest: string) => {
          asked.push(digest);
          return store.findIdentity(digest);
        },
      }),
  });
  const { token } = await service.issue(CHIEF, { scope: ['travel.search'] });

  await service.invoke(token, 'search_flights', { origin: 'SEA' });
  await service.ask('POST', '/svc/permissions', { bearer: token, body: {} });
  assert.deepEqual(asked, []);
  await service.ask('POST', '/svc/permissions', { bearer: newKey().key, body: {} });
  await service.ask('POST', '/svc/tokens', { bearer: newKey().key, body: { scope: ['x'] } });
  assert.equal(asked.length, 1);
});

test('a stranger who tries keys is stopped by the rate of its address before the store', async () => {
  const looked: string[] = [];
  const service = await testService({
    settings: { identities: IDENTITIES, address_rate: '20/PT1M' },
    wrap: (store) =>
      Object.assign(Object.create(store), {
        findIdentity: (digest: string) => {
          looked.push(digest);
          return store.findIdentity(digest);
        },
      }),
  });
  const statuses = [];
  for (let tries = 0; tries < 40; tries++) {
    const body = { scope: ['travel.search'] };
    const { status } = await service.ask('POST', '/svc/tokens', { bearer: newKey().key, body });
    statuses.push(status);
  }

  assert.ok(looked.length <= 20, `${looked.length} look-ups`);
  assert.deepEqual([statuses[0], statuses.at(-1)], [401, 429]);
  assert.deepEqual(await service.entriesBy({}), []);
});

test('a person signs in with a key of the store, and a removal ends the session', async () => {
  const desk = await openDesk(file, {
    settings: { identities: [...IDENTITIES, { key: 'p', principal: 'human:p', scopes: [] }] },
  });
  const made = await desk.made({ principal: 'human:ann@example.com' });
  const ann = personAt(desk.service);

  assert.equal((await ann.signIn(made.key)).status, 303);
  assert.equal((await ann.open('/agents')).status, 200);
  await desk.remove(made.identity_id);

  assert.equal((await ann.open('/agents')).status, 303);
  assert.equal((await personAt(desk.service).signIn(made.key)).status, 401);
});

test('a service whose only people are in the store has pages for them after its next start', async () => {
  const [, , reader] = IDENTITIES;
  const settings = { identities: [reader] };
  const place = await file();
  const keys = temporaryFolder();
  const first = await testService({ settings, store: place.url, keys });
  const without = await first.ask('GET', '/sign-in');
  const made = await madeAtStore(first, { scopes: ['operator:read'] });
  await first.close();
  const again = await testService({ settings, store: place.url, keys });
  const ann = await atConsole(again, made.key);
  const { identities } = await ann.answer('operations.identities');

  assert.equal(without.status, 404);
  assert.deepEqual(
    identities.map(({ principal, stored }) => [principal, stored?.identity_id ?? null]),
    [
      ['service:reader', null],
      ['human:ann@example.com', made.identity_id],
    ],
  );
});
