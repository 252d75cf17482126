/**
 * PostgreSQL that crashes, stands still, or is restarted under load: calls end, processes live,
 * nothing is lost.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { atEnd } from '../support/ends.ts';
import { makeDatabase } from '../support/postgres.ts';
import { createLedger, type Ledger } from './ledger.ts';
import { checkDatabase, prepareDatabase } from './postgres.ts';
import { bundle, startWorker, type Worker } from './process.ts';
import type { PostgresTimeouts, Said, World } from './said.ts';
import { startFaultyServer } from './server.ts';
import { anyMoment, LOOP_TIMEOUT, repeat } from './soak.ts';

const PROCESSES = 2;
const CRASHES = 3;

/** In milliseconds: shorter than in production, so that waiting them out does not take long. */
const IMPATIENT: PostgresTimeouts = {
  connectTimeoutMs: 500,
  lockTimeoutMs: 500,
  statementTimeoutMs: 1_000,
  resolveTimeoutMs: 1_000,
};

const program = await bundle(new URL('./worker.ts', import.meta.url));
const server = await startFaultyServer();
atEnd(() => server.stop());

const isAcknowledged = ({ said }: Said) => said === 'kept' || said === 'settled';

interface Load {
  readonly workers: readonly Worker[];
  readonly ledger: Ledger;
  /** Resolves when each has been acknowledged something new. */
  isServed(): Promise<void>;
  check(): Promise<void>;
}

async function startLoad(postgres?: PostgresTimeouts): Promise<Load> {
  const { url } = await makeDatabase(server.url);
  const world: World = await prepareDatabase(url);
  const ledger = createLedger();
  const workers = Array.from({ length: PROCESSES }, (_, number) => {
    const config = { url, instance: `worker-${number}`, lanes: 12, world, postgres };
    return startWorker({ program, argument: JSON.stringify(config), onSaid: ledger.hear });
  });
  const isServed = async () => {
    await Promise.all(workers.map((worker) => worker.heard(20, isAcknowledged)));
  };
  await isServed();
  const check = () => checkDatabase(url, world, ledger);
  return { workers, ledger, isServed, check };
}

test('a server that crashes and recovers keeps what it acknowledged', LOOP_TIMEOUT, async () => {
  const { workers, ledger, isServed, check } = await startLoad();

  await repeat(CRASHES, async () => {
    await anyMoment(200);
    await server.crash();
    await isServed();
  });

  await Promise.all(workers.map((worker) => worker.stop()));
  await check();
  assert.ok(ledger.counts.refused + ledger.counts.unknown > 0, 'somebody noticed');
});

test('processes survive a restart of the database server', LOOP_TIMEOUT, async () => {
  const { workers, ledger, isServed, check } = await startLoad();

  await server.shutDown();
  await Promise.all(workers.map((worker) => worker.heard(1, ({ said }) => said === 'refused')));
  await server.startAgain();
  await isServed();

  await Promise.all(workers.map((worker) => worker.stop()));
  await check();
  assert.ok(ledger.counts.refused > 0);
});

test(
  'every call and close() end while the database server hangs, and nothing is lost afterwards',
  LOOP_TIMEOUT,
  async () => {
    const { workers, ledger, check } = await startLoad(IMPATIENT);

    await server.freeze();
    try {
      await Promise.all(workers.map((worker) => worker.stop()));
    } finally {
      server.thaw();
    }

    await Promise.all(workers.map((worker) => worker.ended));
    await check();
    assert.ok(ledger.counts.unknown > 0, 'what was under way could not be told');
  },
);
