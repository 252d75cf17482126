import assert from 'node:assert/strict';
import type pg from 'pg';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../../test/ends.ts';
import { connectedTo, freshDatabase } from '../../../../test/postgres.ts';
import type { EntryRecord } from '../../../domain/log/entry.ts';
import { foldPeaks, rootOf } from '../../../domain/log/merkle.ts';
import { admission, entry, insert, rootToken } from '../../../testing/fixtures.ts';
import { type Store, StoreUnavailable } from '../../port/store.ts';
import { openPostgres, type PostgresOptions } from '../store.ts';

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

test('an entry that commits late is placed after those that overtook it', SLOW, async () => {
  const store = await open();
  const [late, ...others] = entries(4) as [EntryRecord, ...EntryRecord[]];
  await admin.query('BEGIN');
  await admin.query(
    `INSERT INTO queue (entry_id, entry_type, root_principal, actor_key, event_class, state,
       timestamp, leaf, leaf_hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      ...[late.entry_id, late.entry_type, late.root_principal, late.actor_key, late.event_class],
      ...[late.state, late.timestamp, late.leaf, late.leaf_hash],
    ],
  );
  await store.append(others);
  await store.sequence();

  await admin.query('COMMIT');

  const ids = [...others, late].map(({ entry_id }) => entry_id);
  assert.deepEqual(await wholeLog(store), ids);
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
  'an entry that was queued again after it had its place leaves the queue and no trace',
  SLOW,
  async () => {
    const warnings: string[] = [];
    const store = await open({ onWarning: (message) => warnings.push(message) });
    const logged = entry();
    await store.append([logged]);
    await store.sequence();
    await store.append([logged]);
    // As a repetition leaves it that was under way while the first got its place.
    await admin.query('ALTER TABLE queue DISABLE TRIGGER queue_known');
    await admin.query(
      `INSERT INTO queue (entry_id, entry_type, root_principal, actor_key, event_class, state,
       timestamp, leaf, leaf_hash)
     SELECT entry_id, entry_type, root_principal, actor_key, event_class, state, timestamp, leaf,
       leaf_hash FROM log`,
    );

    assert.deepEqual(await wholeLog(store), [logged.entry_id]);
    assert.deepEqual((await admin.query('SELECT FROM queue')).rows, []);
    assert.deepEqual(warnings, []);
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
      store.append([entry({ entry_id: logged.entry_id })]),
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
  'a transition rejects an entry whose id is in the log, and does not happen',
  SLOW,
  async () => {
    const store = await open();
    const logged = entry();
    await store.append([logged]);
    await store.sequence();
    const token = rootToken();

    await assert.rejects(store.insertRoot(token, logged), /the log has it/);

    assert.equal(await store.describeToken(token.token_id, 0), undefined);
  },
);

test(
  'admit() is unavailable while too many entries wait, and goes on when they have places',
  SLOW,
  async () => {
    const store = await open({ sequenceIntervalMs: 60_000 });
    const token = await insert(store, rootToken());
    await store.sequence();
    await admin.query('BEGIN');
    await admin.query('SELECT FROM head FOR UPDATE');

    await store.append(entries(4_096));
    const before = await store.admit(admission(token));
    await store.append(entries(1));

    assert.equal(before.admitted, true);
    assert.deepEqual(store.backlog(), { waiting: 4_097, overloaded: true });
    await assert.rejects(store.admit(admission(token)), StoreUnavailable);
    await admin.query('ROLLBACK');
    await store.sequence();
    assert.deepEqual(store.backlog(), { waiting: 0, overloaded: false });
    assert.equal((await store.admit(admission(token))).admitted, true);
  },
);
