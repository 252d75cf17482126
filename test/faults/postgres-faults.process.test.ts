/**
 * One PostgreSQL database under processes and connections that are killed: nothing is lost, doubled
 * or skipped, and whoever was told that nothing happened was told the truth.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { beforeEach, test } from 'vitest';
import { OutcomeUnknown } from '../../src/storage/port/store.ts';
import { openPostgres } from '../../src/storage/postgres/store.ts';
import { atEnd, closedAtEnd } from '../support/ends.ts';
import { entry } from '../support/fixtures.ts';
import { connectedTo, freshDatabase } from '../support/postgres.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { type LossyWay, openLossyWay } from './lossy.ts';
import { checkDatabase, prepareDatabase } from './postgres.ts';
import { bundle, startWorker, type Worker } from './process.ts';
import type { Said, World } from './said.ts';
import { anyMoment, LOOP_TIMEOUT, repeat, SOAK_MS } from './soak.ts';

const KILLS = 3;
const OPENING_KILLS = 2;

/** In milliseconds: how long replicas compete while connections and processes are killed. */
const COMPETING_MS = Math.max(5_000, SOAK_MS);
const REPLICAS = 3;

/** One in so many kills takes a whole process, the others take one connection, or its answers. */
const PROCESS_KILL_SHARE = 15;

let database: Awaited<ReturnType<typeof freshDatabase>>;
const program = await bundle(new URL('./worker.ts', import.meta.url));
beforeEach(async () => {
  database = await freshDatabase();
});

const NO_INSTANCE: World = { line: [], exclusive: '', grant: '' };
const isAcknowledged = ({ said }: Said) => said === 'kept' || said === 'settled';

let started = 0;
function start(world: World, ledger: Ledger, url = database.url): Worker {
  started += 1;
  // The store gives up at once on a lost answer, so that callers repeat what they asked for.
  const postgres = { resolveTimeoutMs: 1 };
  const config = { url, instance: `worker-${started}`, lanes: 12, world, postgres };
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

/** The store gives up an answer at once, and its caller repeats. It waits for a lock as long as the test holds it. */
const NO_PATIENCE = {
  resolveTimeoutMs: 1,
  sequenceIntervalMs: 60_000,
  lockTimeoutMs: 60_000,
};

for (const order of ['before', 'after'] as const) {
  test(`append() stores an entry once when its lost attempt ends ${order} its repetition begins`, async () => {
    await (await openPostgres(database.url)).close();
    const way = await openLossyWay(database.url);
    atEnd(() => way.close());
    const store = closedAtEnd(await openPostgres(way.url, NO_PATIENCE));
    const [holder, observer] = [await connectedTo(database.url), await connectedTo(database.url)];
    const one = entry();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE handed IN SHARE MODE');

    const lost = assert.rejects(store.append([one]), OutcomeUnknown);
    await isHeldUp(observer, APPENDING);
    way.turnTo(undefined);
    await lost;
    way.turnTo(database.url);
    const release = async () => {
      await holder.query('ROLLBACK');
      while ((await observer.query(APPENDING)).rowCount !== 0) await sleep(5);
    };
    if (order === 'before') await release();
    const repeated = store.append([one], [], undefined, true);
    if (order === 'after') {
      await Promise.race([isHeldUp(observer, REPEATING), repeated]);
      await release();
    }
    await repeated;

    const { size } = await store.sequence();
    const log = await store.scanEntries(0, size + 1);
    assert.deepEqual(
      log.map(({ entry_id }) => entry_id),
      [one.entry_id],
    );
  });
}

const APPENDING = `SELECT FROM pg_stat_activity WHERE datname = current_database()
  AND state = 'active' AND query LIKE '%INTO handed%' AND pid <> pg_backend_pid()`;
/** The repetition makes the batch of the lost attempt void before it appends. */
const REPEATING = `${APPENDING} AND query LIKE '%is_void) VALUES%'`;

async function isHeldUp(observer: Client, statement: string): Promise<void> {
  const heldUp = `${statement} AND wait_event_type = 'Lock'`;
  while ((await observer.query(heldUp)).rowCount === 0) await sleep(5);
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
