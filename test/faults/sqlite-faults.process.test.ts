/**
 * One SQLite file under processes that are killed: what was acknowledged is kept, once, in order.
 *
 * A kill takes the process and leaves the machine, so a missing flush goes unnoticed here: that each
 * commit is flushed is shown by `flush-faults.alone.test.ts`.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'vitest';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { temporaryFolder } from '../support/ends.ts';
import { checkLedger, createLedger, type Ledger, prepareWorld } from './ledger.ts';
import { bundle, startWorker, type Worker } from './process.ts';
import type { Said, World } from './said.ts';
import { anyMoment, LOOP_TIMEOUT, repeat } from './soak.ts';
import { checkFile, checkStoreFile, prepareFile } from './sqlite.ts';

const KILLS = 4;
const OPENING_KILLS = 2;

const folder = temporaryFolder();
const program = await bundle(new URL('./worker.ts', import.meta.url));

const NO_INSTANCE: World = { line: [], exclusive: '', grant: '' };
const isAcknowledged = ({ said }: Said) => said === 'kept' || said === 'settled';

let started = 0;
function start(file: string, world: World, ledger: Ledger): Worker {
  started += 1;
  const config = { url: `sqlite:${file}`, instance: `worker-${started}`, lanes: 12, world };
  return startWorker({ program, argument: JSON.stringify(config), onSaid: ledger.hear });
}

test(
  'openSqlite() completes a store after the processes that created it were killed',
  LOOP_TIMEOUT,
  async () => {
    const file = join(folder, 'made.db');
    const ledger = createLedger();
    for (let kill = 0; kill < OPENING_KILLS; kill++) {
      const worker = start(file, NO_INSTANCE, ledger);
      await worker.heard(1, ({ said }) => said === 'opening');
      await anyMoment(20);
      await worker.kill();
    }

    const store = await openSqlite(file);
    const world = await prepareWorld(store);

    await checkLedger(store, world, createLedger());
    await store.close();
    checkFile(file);
  },
);

test(
  'a killed process keeps every acknowledged change, and leaves no partial change',
  LOOP_TIMEOUT,
  async () => {
    const file = join(folder, 'killed.db');
    const world = await prepareFile(file);
    const ledger = createLedger();

    await repeat(KILLS, async () => {
      const worker = start(file, world, ledger);
      await worker.heard(randomInt(1, 100), isAcknowledged);
      await anyMoment(20);
      await worker.kill();
      checkFile(file);
    });

    await checkStoreFile(file, world, ledger);
    assert.ok(ledger.counts.settled > 0 && ledger.counts.kept > 0);
    assert.equal(ledger.counts.unknown, 0);
  },
);

test(
  'two processes on one file lose nothing when one is killed repeatedly',
  LOOP_TIMEOUT,
  async () => {
    const file = join(folder, 'shared.db');
    const world = await prepareFile(file);
    const ledgers = [createLedger(), createLedger()] as const;
    const all = createLedger();
    const hearing = (own: Ledger): Ledger => ({
      ...own,
      hear(said) {
        own.hear(said);
        all.hear(said);
      },
    });
    const steady = start(file, world, hearing(ledgers[0]));
    await steady.heard(1, isAcknowledged);

    await repeat(KILLS / 2, async () => {
      const other = start(file, world, hearing(ledgers[1]));
      await other.heard(randomInt(1, 50), isAcknowledged);
      await anyMoment(20);
      await other.kill();
      await steady.heard(1, isAcknowledged);
    });
    await steady.stop();

    await checkStoreFile(file, world, all);
    for (const { counts } of ledgers) assert.ok(counts.settled > 0 && counts.kept > 0);
  },
);
