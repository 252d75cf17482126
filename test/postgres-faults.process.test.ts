/**
 * One PostgreSQL database under processes and connections that are killed: nothing is lost, doubled
 * or skipped, and whoever was told that nothing happened was told the truth.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { beforeEach, test } from 'vitest';
import { openPostgres } from '../src/storage/postgres/store.ts';
import { entry } from '../src/testing/fixtures.ts';
import { closedAtEnd } from './ends.ts';
import { createLedger, type Ledger } from './faults/ledger.ts';
import { type LossyWay, openLossyWay } from './faults/lossy.ts';
import { checkDatabase, prepareDatabase } from './faults/postgres.ts';
import { bundle, startWorker, type Worker } from './faults/process.ts';
import type { Said, World } from './faults/said.ts';
import { anyMoment, LOOP_TIMEOUT, repeat, SOAK_MS } from './faults/soak.ts';
import { connectedTo, freshDatabase } from './postgres.ts';

const KILLS = 6;
const OPENING_KILLS = 4;

/** In milliseconds: how long replicas compete while connections and processes are killed. */
const COMPETING_MS = Math.max(8_000, SOAK_MS);
const REPLICAS = 3;

/** One in so many kills takes a whole process, the others take one connection, or its answers. */
const PROCESS_KILL_SHARE = 15;

let database: Awaited<ReturnType<typeof freshDatabase>>;
const program = await bundle(new URL('./faults/worker.ts', import.meta.url));
beforeEach(async () => {
  database = await freshDatabase();
});

const NO_INSTANCE: World = { line: [], exclusive: '', grant: '' };
const isAcknowledged = ({ said }: Said) => said === 'kept' || said === 'settled';

let started = 0;
function start(world: World, ledger: Ledger, url = database.url): Worker {
  started += 1;
  const config = { url, instance: `worker-${started}`, lanes: 12, world };
  return startWorker({ program, argument: JSON.stringify(config), onSaid: ledger.hear });
}

test(
  'openPostgres() completes a store after the processes that created it were killed',
  LOOP_TIMEOUT,
  async () => {
    const ledger = createLedger();
    for (let kill = 0; kill < OPENING_KILLS; kill++) {
      const worker = start(NO_INSTANCE, ledger);
      await worker.heard(1, ({ said }) => said === 'opening');
      await anyMoment(60);
      await worker.kill();
    }

    const world = await prepareDatabase(database.url);

    await checkDatabase(database.url, world, createLedger());
  },
);

test(
  'a killed process keeps every acknowledged change, and leaves no partial change',
  LOOP_TIMEOUT,
  async () => {
    const world = await prepareDatabase(database.url);
    const ledger = createLedger();

    await repeat(KILLS, async () => {
      const worker = start(world, ledger);
      await worker.heard(randomInt(1, 100), isAcknowledged);
      await anyMoment(20);
      await worker.kill();
    });

    await checkDatabase(database.url, world, ledger);
    assert.ok(ledger.counts.settled > 0 && ledger.counts.kept > 0);
  },
);

test(
  'competing replicas lose and duplicate no entry when connections, answers and processes are lost',
  LOOP_TIMEOUT,
  async () => {
    const world = await prepareDatabase(database.url);
    const ledger = createLedger();
    const way = await openLossyWay(database.url);
    const startOne = () => start(world, ledger, way.url);
    const replicas = Array.from({ length: REPLICAS }, startOne);
    await Promise.all(replicas.map((replica) => replica.heard(1, isAcknowledged)));

    const kills = await killAtRandom(replicas, startOne, way);
    await Promise.all(replicas.map((replica) => replica.heard(1, isAcknowledged)));
    await Promise.all(replicas.map((replica) => replica.stop()));
    await way.close();

    await checkDatabase(database.url, world, ledger);
    assert.ok(
      Object.values(kills).every((count) => count > 0),
      JSON.stringify(kills),
    );
    assert.ok(ledger.counts.settled > 0 && ledger.counts.kept > 0);
  },
);

/**
 * As when an answer was lost and the entry is queued again: the repetition began before the entry got
 * its place and ends after. An entry beside it, which another process has not decided on yet, holds
 * the repetition up in between.
 */
test('append() succeeds when its entries are sequenced during a retry', async () => {
  const store = closedAtEnd(await openPostgres(database.url, { sequenceIntervalMs: 60_000 }));
  const [sequencer, other] = [await connectedTo(database.url), await connectedTo(database.url)];
  const [undecided, told] = [entry(), entry()];
  await sequencer.query('BEGIN');
  await sequencer.query('SELECT FROM head FOR UPDATE');
  await store.append([told]);
  await other.query('BEGIN');
  await other.query(
    `INSERT INTO queue (entry_id, entry_type, root_principal, actor_key, event_class, state,
       timestamp, leaf, leaf_hash) SELECT $1, entry_type, root_principal, actor_key, event_class,
       state, timestamp, leaf, leaf_hash FROM queue`,
    [undecided.entry_id],
  );

  const repeated = store.append([undecided, told]);
  await isHeldUp(sequencer, 'INSERT INTO queue');
  await sequencer.query('ROLLBACK');
  await store.sequence();
  await other.query('ROLLBACK');

  await repeated;
  const { size } = await store.sequence();
  const log = await store.scanEntries(0, size + 1);
  assert.deepEqual(
    log.map(({ entry_id }) => entry_id),
    [told.entry_id, undecided.entry_id],
  );
});

/** Resolves when a statement with this text waits for a lock. */
async function isHeldUp(client: pg.Client, text: string): Promise<void> {
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database()
    AND wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'`;
  while ((await client.query(waiting, [text])).rowCount === 0) await sleep(10);
}

interface Kills {
  connections: number;
  answers: number;
  processes: number;
}

/** Ends random connections, before or after the answer; less often a process, which is replaced. */
async function killAtRandom(
  replicas: Worker[],
  replacement: () => Worker,
  way: LossyWay,
): Promise<Kills> {
  const admin = await connectedTo(database.url);
  const kills: Kills = { connections: 0, answers: 0, processes: 0 };
  const end = performance.now() + COMPETING_MS;
  while (performance.now() < end || kills.processes === 0) {
    await sleep(randomInt(20, 120));
    if (randomInt(PROCESS_KILL_SHARE) === 0) {
      const victim = randomInt(replicas.length);
      await replicas[victim]?.kill();
      replicas[victim] = replacement();
      kills.processes += 1;
    } else if (randomInt(2) === 0) {
      way.loseAnswers();
      kills.answers += 1;
    } else {
      kills.connections += (await admin.query(KILL_ONE)).rowCount ?? 0;
    }
  }
  await admin.end();
  return kills;
}

/** Half of the time one that works, since most are idle. */
const KILL_ONE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  ORDER BY (state <> 'idle' AND random() < 0.5) DESC, random() LIMIT 1`;
