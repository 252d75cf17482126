import assert from 'node:assert/strict';
import type pg from 'pg';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import { admission, entry, insert, rootToken } from '../../../../test/support/fixtures.ts';
import { connectedTo, freshDatabase, isWaitedFor } from '../../../../test/support/postgres.ts';
import type { EntryRecord } from '../../../domain/log/entry.ts';
import { foldPeaks, rootOf } from '../../../domain/log/merkle.ts';
import { type Store, StoreUnavailable } from '../../port/store.ts';
import { openPostgres, type PostgresOptions } from '../store.ts';
import { rowValues } from './entries.ts';

/** In milliseconds. Databases are made and dropped here, and a busy disk takes its time. */
const SLOW = { timeout: 60_000 };

let server: Awaited<ReturnType<typeof freshDatabase>>;
let admin: pg.Client;

beforeEach(async () => {
  server = await freshDatabase();
  admin = await connectedTo(server.url);
});

async function open(options: PostgresOptions = {}): Promise<Store> {
  return closedAtEnd(await openPostgres(server.url, { poolSize: 4, ...options }));
}

const entries = (count: number): EntryRecord[] => Array.from({ length: count }, () => entry());

/** The whole log, whose places must be contiguous and whose tree must be the one over its leaves. */
async function wholeLog(store: Store): Promise<string[]> {
  const { size, peaks } = await store.sequence();
  const log = await store.scanEntries(0, size + 1);
  assert.deepEqual(
    log.map(({ sequence }) => sequence),
    log.map((_, place) => place),
  );
  assert.deepEqual(foldPeaks(peaks), rootOf(log.map(({ leaf_hash }) => leaf_hash)));
  return log.map(({ entry_id }) => entry_id);
}

test(
  'entries get their places in the order they were queued, over several batches',
  SLOW,
  async () => {
    const store = await open();
    const logged = entries(2_500);

    await store.append(logged);

    assert.deepEqual(
      await wholeLog(store),
      logged.map(({ entry_id }) => entry_id),
    );
  },
);

test('entries get their places without being asked for', SLOW, async () => {
  const store = await open({ sequenceIntervalMs: 20 });

  await store.append(entries(3));
  while (store.backlog().waiting > 0) await new Promise((done) => setTimeout(done, 10));

  assert.equal((await store.treeHead()).size, 3);
});

test('sequence() places what another process has acknowledged', SLOW, async () => {
  const [writer, reader] = [await open(), await open({ sequenceIntervalMs: 60_000 })];
  await writer.append(entries(2));

  assert.equal((await reader.sequence()).size, 2);
});

/** Queues entries as a statement of the store does. */
const ENQUEUE = `INSERT INTO queue (count, hashes, leaves, personal) VALUES ($1, $2, $3, $4)`;

test('an entry that commits late is placed after those that overtook it', SLOW, async () => {
  const store = await open();
  const [late, ...others] = entries(4) as [EntryRecord, ...EntryRecord[]];
  await admin.query('BEGIN');
  await admin.query(ENQUEUE, rowValues([late]).slice(0, 4));
  await store.append(others);
  await store.sequence();

  await admin.query('COMMIT');

  const ids = [...others, late].map(({ entry_id }) => entry_id);
  assert.deepEqual(await wholeLog(store), ids);
});

test('entries of many statements share a segment, in order', SLOW, async () => {
  const store = await open({ sequenceIntervalMs: 60_000 });
  await admin.query('BEGIN');
  await admin.query('SELECT FROM head FOR UPDATE');
  const logged = entries(9);
  for (const one of logged) await store.append([one]);
  await admin.query('ROLLBACK');

  await store.sequence();

  const { rows } = await admin.query('SELECT first::int, count FROM segments');
  assert.deepEqual(rows, [{ first: 0, count: 9 }]);
  assert.deepEqual(
    await wholeLog(store),
    logged.map(({ entry_id }) => entry_id),
  );
});

test('a retention that an entry states is kept with its place', SLOW, async () => {
  const store = await open();
  const [one, stated] = [entry(), entry({ retention: 'P1D' })] as const;

  await store.append([one, stated]);
  await store.sequence();

  const { rows } = await admin.query('SELECT place::int, retain_until FROM retentions');
  assert.deepEqual(rows, [{ place: 1, retain_until: stated.retain_until }]);
});

/** Lets the sequencer read the head and this entry in the queue, then changes what it read before it places anything. */
async function changedMeanwhile(
  store: Store,
  added: EntryRecord,
  change: () => Promise<unknown>,
): Promise<void> {
  const observer = await connectedTo(server.url);
  await admin.query('BEGIN');
  await admin.query('SELECT FROM head FOR UPDATE');
  await store.append([added]);
  const sequenced = store.sequence().catch(() => undefined);
  const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
    AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO segments%'`;
  while ((await observer.query(waiting)).rowCount === 0) await turn();
  await change();
  await admin.query('COMMIT');
  await sequenced;
}

test(
  'another copy of the database gets no tree over entries that it does not have',
  SLOW,
  async () => {
    const store = await open({ sequenceIntervalMs: 60_000 });
    const [before, lost, other] = entries(3) as [EntryRecord, EntryRecord, EntryRecord];
    await store.append([before]);
    await store.sequence();

    await changedMeanwhile(store, lost, () => {
      const text = 'UPDATE queue SET count = $1, hashes = $2, leaves = $3, personal = $4';
      return admin.query(text, rowValues([other]).slice(0, 4));
    });

    assert.deepEqual(await wholeLog(store), [before.entry_id, other.entry_id]);
  },
);

test('another copy of the database keeps its own tree', SLOW, async () => {
  const store = await open({ sequenceIntervalMs: 60_000 });
  const [before, added, other] = entries(3) as [EntryRecord, EntryRecord, EntryRecord];
  await store.append([before]);
  await store.sequence();

  await changedMeanwhile(store, added, () => {
    return admin.query('UPDATE head SET peaks = ARRAY[$1::bytea]', [other.leaf_hash]);
  });

  const { size, peaks } = await store.sequence();
  assert.equal(size, 2);
  assert.deepEqual(foldPeaks(peaks), rootOf([other.leaf_hash, added.leaf_hash]));
});

test(
  'a sequencer that is killed before its commit leaves the batch in the queue',
  SLOW,
  async () => {
    const store = await open({ sequenceIntervalMs: 60_000, resolveTimeoutMs: 30_000 });
    const logged = entries(3);
    // The insertion of a segment waits here, after the batch was picked.
    await admin.query('BEGIN');
    await admin.query('LOCK TABLE segments IN SHARE MODE');
    const observer = await connectedTo(server.url);
    const appended = store
      .append(logged)
      .then(() => store.sequence())
      .catch(() => undefined);
    const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
    AND wait_event_type = 'Lock' AND query LIKE '%INSERT INTO segments%'`;
    while ((await observer.query(waiting)).rowCount === 0) await turn();

    await observer.query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS sequencers`);
    await admin.query('ROLLBACK');

    await appended;
    assert.deepEqual(
      await wholeLog(store),
      logged.map(({ entry_id }) => entry_id),
    );
  },
);

const turn = () => new Promise((done) => setTimeout(done, 5));

/** Waits until a statement with this text waits for a lock. */
async function untilHeldUp(text: string): Promise<void> {
  const observer = await connectedTo(server.url);
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
    AND wait_event_type = 'Lock' AND query LIKE '%${text}%'`;
  while ((await observer.query(waiting)).rowCount === 0) await turn();
}

test('a batch of which one row is gone is not placed, and the rest is', SLOW, async () => {
  const store = await open({ sequenceIntervalMs: 60_000 });
  const logged = entries(3);
  for (const one of logged) await store.append([one]);
  await admin.query('BEGIN');
  await admin.query('SELECT FROM head FOR UPDATE');
  const placed = assert.rejects(store.sequence(), /null value in column "size"/);
  await untilHeldUp('INSERT INTO segments');

  await admin.query('DELETE FROM queue WHERE id = (SELECT min(id) FROM queue)');
  await admin.query('COMMIT');

  await placed;
  assert.equal((await store.treeHead()).size, 0);
  assert.deepEqual(
    await wholeLog(store),
    logged.slice(1).map(({ entry_id }) => entry_id),
  );
});

test('a batch that was computed over an earlier head is computed again', SLOW, async () => {
  const [slow, fast] = [await open(), await open()];
  const logged = entries(4);
  await slow.append(logged.slice(0, 2));
  // Both pick the batch, and wait here to place it.
  await admin.query('BEGIN');
  await admin.query('LOCK TABLE queue IN SHARE MODE');
  const both = [slow.sequence(), fast.sequence()];
  await untilHeldUp('INSERT INTO segments');
  await admin.query('COMMIT');

  const heads = await Promise.all(both);
  await fast.append(logged.slice(2));

  assert.deepEqual(
    heads.map(({ size }) => size),
    [2, 2],
  );
  assert.deepEqual(
    await wholeLog(slow),
    logged.map(({ entry_id }) => entry_id),
  );
});

test(
  'nothing is lost, doubled or skipped while sequencers compete and are killed',
  SLOW,
  async () => {
    const replicas = await Promise.all([1, 2, 3].map(() => open({ sequenceIntervalMs: 5 })));
    const acknowledged: string[] = [];
    let isOver = false;
    const killer = (async () => {
      while (!isOver) {
        await admin.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
         AND pid <> pg_backend_pid() AND query LIKE '%head%' AND state <> 'idle'`,
        );
        await new Promise((done) => setTimeout(done, 5));
      }
    })();

    await Promise.all(
      replicas.map(async (store) => {
        for (let round = 0; round < 40; round++) {
          const logged = entries(5);
          await store.append(logged);
          acknowledged.push(...logged.map(({ entry_id }) => entry_id));
        }
      }),
    );
    isOver = true;
    await killer;

    const log = await wholeLog(replicas[0] as Store);
    assert.deepEqual([...log].sort(), [...acknowledged].sort());
  },
);

test(
  'append() rejects another entry under an id that is taken, and keeps those beside it',
  SLOW,
  async () => {
    const store = await open();
    const [logged, beside] = entries(2) as [EntryRecord, EntryRecord];
    await store.append([logged]);
    await store.sequence();

    const results = await Promise.allSettled([
      store.append([entry({ entry_id: logged.entry_id })], [], undefined, true),
      store.append([beside]),
    ]);

    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'fulfilled'],
    );
    assert.deepEqual(await wholeLog(store), [logged.entry_id, beside.entry_id]);
  },
);

test(
  'admit() is unavailable while entries that wait cannot be placed, and goes on when they have places',
  SLOW,
  async () => {
    const store = await open({ sequenceIntervalMs: 60_000, lockTimeoutMs: 100 });
    const token = await insert(store, rootToken());
    await store.sequence();
    await admin.query('BEGIN');
    await admin.query('SELECT FROM head FOR UPDATE');

    await store.append(entries(4_096));
    const before = await store.admit(admission(token));
    await store.append(entries(1));

    assert.equal(before.admitted, true);
    assert.deepEqual(store.backlog(), { waiting: 4_097, overloaded: true });
    await assert.rejects(store.admit(admission(token)), (error) => {
      assert.ok(error instanceof StoreUnavailable);
      assert.match(error.message, /^Cannot admit: 4097 entries wait for their place in the log$/);
      return true;
    });
    await admin.query('ROLLBACK');
    await store.sequence();
    assert.deepEqual(store.backlog(), { waiting: 0, overloaded: false });
    assert.equal((await store.admit(admission(token))).admitted, true);
  },
);

test(
  'admit() refuses no call while another process is late to place the entries',
  SLOW,
  async () => {
    const store = await open({ sequenceIntervalMs: 60_000 });
    const token = await insert(store, rootToken());
    await store.sequence();
    await admin.query('BEGIN');
    await admin.query('SELECT FROM head FOR UPDATE');
    await store.append(entries(4_097));

    const admitting = [1, 2, 3].map(() => store.admit(admission(token)));
    await isWaitedFor(admin);
    await admin.query('ROLLBACK');

    for (const { admitted } of await Promise.all(admitting)) assert.equal(admitted, true);
    await store.sequence();
    assert.deepEqual(store.backlog(), { waiting: 0, overloaded: false });
  },
);
