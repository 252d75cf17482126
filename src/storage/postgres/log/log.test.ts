import assert from 'node:assert/strict';
import { test } from 'vitest';
import { atEnd, closedAtEnd } from '../../../../test/support/ends.ts';
import {
  admission,
  at,
  entry,
  HOUR,
  insert,
  rootToken,
  SECOND,
} from '../../../../test/support/fixtures.ts';
import { connectedTo, freshDatabase } from '../../../../test/support/postgres.ts';
import { StoreUnavailable } from '../../port/store.ts';
import { openPostgres } from '../store.ts';

const server = await freshDatabase();
const store = closedAtEnd(await openPostgres(server.url, { poolSize: 4 }));
const admin = await connectedTo(server.url);
// Enough for a node that is in a tile.
await store.append([
  entry({ capability: 'book_flight', task_id: 'trip' }),
  ...Array.from({ length: 255 }, () => entry()),
]);
await store.sequence();

const FORBIDDEN = [
  'DELETE FROM segments WHERE first = 0',
  'TRUNCATE segments',
  'UPDATE segments SET first = 9 WHERE first = 0',
  'UPDATE segments SET count = count + 1, hashes = hashes || sha256(hashes) WHERE first = 0',
  'UPDATE segments SET hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1) WHERE first = 0',
  'UPDATE segments SET leaves = set_byte(leaves, 9, 0) WHERE first = 0',
  "UPDATE segments SET leaves = leaves || '\\x0a' WHERE first = 0",
  "UPDATE segments SET leaves = '\\x0a', personal = personal || '\\x0a' WHERE first = 0",
  'UPDATE segments SET leaves = leaves WHERE first = 0',
  `INSERT INTO segments SELECT 1, 1, substring(hashes FROM 1 FOR 32), leaves, personal FROM segments
     WHERE first = 0`,
  'DELETE FROM tiles',
  'TRUNCATE tiles',
  'UPDATE tiles SET hashes = set_byte(hashes, 0, get_byte(hashes, 0) # 1)',
  "UPDATE tiles SET hashes = ''",
  'UPDATE tiles SET id = 9',
];
for (const statement of FORBIDDEN) {
  test(`the database refuses: ${statement}`, async () => {
    await assert.rejects(admin.query(statement), /it only grows|may only be erased/);
  });
}

test('the database refuses even a session that plays a replica', async () => {
  await admin.query('SET session_replication_role = replica');
  atEnd(() => admin.query('RESET session_replication_role'));
  await assert.rejects(admin.query('DELETE FROM segments'), /it only grows/);
});

test('contents can be erased; the hash and the proof of it stay', async () => {
  const [before] = await store.scanEntries(0, 1);
  const [timestamp, event_class] = [before?.timestamp as Date, before?.event_class];

  await store.erase({
    what: 'contents',
    eventClass: event_class as NonNullable<typeof event_class>,
    until: timestamp,
    limit: 1,
  });

  const [after] = await store.scanEntries(0, 1);
  assert.equal(after?.leaf, undefined);
  assert.equal(after?.capability, undefined);
  assert.deepEqual(after?.leaf_hash, before?.leaf_hash);
  assert.deepEqual(await store.nodes([{ level: 0, index: 0 }]), [before?.leaf_hash]);
});

test('queryEntries() names the entries of a damaged segment, and reads all others', async () => {
  const one = entry({ task_id: 'damaged' });
  await store.append([one]);
  await store.sequence();
  const [{ sequence = 0 } = {}] = (await store.queryEntries({ taskId: 'damaged', limit: 1 }))
    .entries;
  await admin.query('ALTER TABLE segments DISABLE TRIGGER segments_altered');
  await admin.query("UPDATE segments SET leaves = '' WHERE first = $1", [sequence]);

  const name = new RegExp(`entry ${sequence}: the segment is damaged`);
  await assert.rejects(store.queryEntries({ limit: 1 }), name);
  await assert.rejects(store.scanEntries(sequence, 1), name);
  assert.equal((await store.queryEntries({ before: sequence, limit: 1 })).entries.length, 1);

  await admin.query('UPDATE segments SET leaves = $2 WHERE first = $1', [
    sequence,
    Buffer.concat([one.leaf, Buffer.from('\n')]),
  ]);
  await admin.query('ALTER TABLE segments ENABLE ALWAYS TRIGGER segments_altered');
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
