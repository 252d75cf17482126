import assert from 'node:assert/strict';
import { test } from 'vitest';
import { atEnd, closedAtEnd } from '../../../../test/ends.ts';
import { connectedTo, freshDatabase } from '../../../../test/postgres.ts';
import {
  admission,
  at,
  entry,
  HOUR,
  insert,
  rootToken,
  SECOND,
} from '../../../testing/fixtures.ts';
import { StoreUnavailable } from '../../port/store.ts';
import { openPostgres } from '../store.ts';

const server = await freshDatabase();
const store = closedAtEnd(await openPostgres(server.url, { poolSize: 4 }));
const admin = await connectedTo(server.url);
await store.append([entry({ capability: 'book_flight', task_id: 'trip' }), entry(), entry()]);
await store.sequence();

const FORBIDDEN = [
  'DELETE FROM log WHERE sequence = 0',
  'TRUNCATE log',
  'UPDATE log SET sequence = 9 WHERE sequence = 0',
  "UPDATE log SET entry_id = 'ent_other' WHERE sequence = 0",
  'UPDATE log SET leaf_hash = sha256(leaf_hash) WHERE sequence = 0',
  "UPDATE log SET leaf = '\\x00' WHERE sequence = 0",
  "UPDATE log SET capability = 'cancel_flight' WHERE sequence = 0",
  'UPDATE log SET capability = NULL WHERE sequence = 0',
  "UPDATE log SET leaf = NULL, capability = 'cancel_flight' WHERE sequence = 0",
  "UPDATE log SET leaf = NULL, root_principal = 'human:other@example.com' WHERE sequence = 0",
  'UPDATE log SET leaf = NULL, sequence = 9 WHERE sequence = 0',
  'DELETE FROM nodes WHERE level = 0',
  'TRUNCATE nodes',
  'UPDATE nodes SET hash = sha256(hash) WHERE level = 0',
];
for (const statement of FORBIDDEN) {
  test(`the database refuses: ${statement}`, async () => {
    await assert.rejects(admin.query(statement), /it only grows|may only be erased/);
  });
}

test('the database refuses even a session that plays a replica', async () => {
  await admin.query('SET session_replication_role = replica');
  atEnd(() => admin.query('RESET session_replication_role'));
  await assert.rejects(admin.query('DELETE FROM log'), /it only grows/);
});

test('contents can be erased; the hash and the proof of it stay', async () => {
  const [before] = await store.scanEntries(0, 1);

  await admin.query(
    'UPDATE log SET leaf = NULL, personal = NULL, capability = NULL, task_id = NULL WHERE sequence = 0',
  );

  const [after] = await store.scanEntries(0, 1);
  assert.equal(after?.leaf, undefined);
  assert.equal(after?.capability, undefined);
  assert.deepEqual(after?.leaf_hash, before?.leaf_hash);
  assert.deepEqual(await store.nodes([{ level: 0, index: 0 }]), [before?.leaf_hash]);
});

test('queryEntries() finds what is since a time though timestamps are not in order', async () => {
  const root_principal = 'human:since@example.com';
  const logged = [5, 1, 9, 2, 7].map((hour) => {
    return entry({ root_principal, timestamp: at(hour * HOUR).toISOString() });
  });
  await store.append(logged);

  for (const hour of [0, 1, 2, 4, 5, 7, 8, 9, 10]) {
    const since = at(hour * HOUR);
    const { entries: found } = await store.queryEntries({
      rootPrincipal: root_principal,
      since,
      limit: 50,
    });
    const expected = logged.filter(({ timestamp }) => timestamp > since).reverse();
    assert.deepEqual(
      found.map(({ entry_id }) => entry_id),
      expected.map(({ entry_id }) => entry_id),
    );
  }
});

test('text with U+0000 is rejected wherever it stands, and nothing is kept', async () => {
  const token = rootToken();
  const bad = ['\u0000', 'cut\u0000short'];

  for (const text of bad) {
    const rejected = [
      store.insertRoot(rootToken({ subject: text }), entry()),
      store.insertRoot(rootToken({ purpose: { text } }), entry()),
      store.append([{ ...entry(), actor_key: text }]),
      insert(store, token).then(() =>
        store.admit(admission(token, { intent: { facts: { text } } })),
      ),
    ];
    for (const result of await Promise.allSettled(rejected)) {
      assert.equal(result.status, 'rejected');
      assert.equal((result.reason as Error) instanceof StoreUnavailable, false, 'it is a defect');
    }
  }

  assert.deepEqual(await store.abandonedIntents(at(900 * HOUR), 10), []);
});

test('load() is not older than a change that was acknowledged before it', async () => {
  const token = await insert(store, rootToken());
  const { token_id: tokenId } = token;
  const freeze = { what: 'root_principal', target: token.root_principal } as const;
  const rest = { reason: 'drill', frozen_by: 'human:operator@example.com', frozen_at: at(SECOND) };

  // A steady stream, so that there always is a batch under way that the call must not join.
  let isOver = false;
  const stream = Array.from({ length: 8 }, async () => {
    while (!isOver) await store.load({ tokenId });
  });
  for (let round = 0; round < 25; round++) {
    await store.freeze({ ...freeze, ...rest }, entry());
    assert.equal((await store.load({ tokenId })).freezes.length, 1);
    await store.unfreeze(freeze, entry());
    assert.equal((await store.load({ tokenId })).freezes.length, 0);
  }
  isOver = true;
  await Promise.all(stream);
});
