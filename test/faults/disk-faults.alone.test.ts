/**
 * A store without room, and one that may not be written: work is refused, nothing is half done, and
 * all goes on in the same process when the fault is gone.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished, test } from 'vitest';
import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { openPostgres } from '../../src/storage/postgres/store.ts';
import { openConnection } from '../../src/storage/sqlite/connection.ts';
import { createSqliteStore } from '../../src/storage/sqlite/store.ts';
import { unchanged } from '../store/observe.ts';
import { atEnd, closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { admission, admitCall, entry, rootToken, settlement, usd } from '../support/fixtures.ts';
import { makeDatabase, runSql, startPostgres } from '../support/postgres.ts';
import { checkLedger, createLedger, type Ledger, prepareWorld } from './ledger.ts';
import { checkDatabase, prepareDatabase } from './postgres.ts';
import { bundle, type Launch, startWorker, type Worker } from './process.ts';
import type { Said, World } from './said.ts';
import { liftLimit, makeDisk, underLimit, whyNoDisk, whyNoLimit } from './small-disk.ts';
import { LOOP_TIMEOUT } from './soak.ts';
import { checkStoreFile, prepareFile } from './sqlite.ts';

const folder = temporaryFolder();
const program = await bundle(new URL('./worker.ts', import.meta.url));
const server = await startPostgres();
atEnd(() => server.stop());

const named = (name: string, whyNot: string | undefined): string => {
  return whyNot ? `${name} (not run: ${whyNot})` : name;
};
const isAcknowledged = ({ said }: Said) => said === 'kept' || said === 'settled';
const isRefused = ({ said }: Said) => said === 'refused';

/** Refusals to hear while there is no room, and acknowledgements when there is again. */
const ENOUGH = 20;

interface Place {
  readonly url: string;
  readonly world: World;
  readonly under?: Launch['under'];
  readonly giveRoom: (worker: Worker) => void;
}

/** Works until there is no room, and on when there is. */
async function fillUp({ url, world, under, giveRoom }: Place): Promise<Ledger> {
  const ledger = createLedger();
  const config = { url, instance: 'worker', lanes: 8, world };
  const argument = JSON.stringify(config);
  const worker = startWorker({ program, argument, onSaid: ledger.hear, under });
  await worker.heard(1, isAcknowledged);
  await worker.heard(ENOUGH, isRefused);

  giveRoom(worker);
  await worker.heard(ENOUGH, isAcknowledged);
  await worker.stop();

  assert.equal(ledger.counts.unknown, 0, 'a refusal is certain');
  return ledger;
}

const whyNotDisk = whyNoDisk();
const whyNotLimit = whyNoLimit();

test.skipIf(whyNotDisk)(
  named('SQLite on a disk that is full refuses, and goes on when there is room', whyNotDisk),
  LOOP_TIMEOUT,
  async () => {
    const disk = makeDisk('2m');
    onTestFinished(disk.remove);
    const file = join(disk.folder, 'writ.db');
    const world = await prepareFile(file);

    const ledger = await fillUp({ url: `sqlite:${file}`, world, giveRoom: disk.grow });

    await checkStoreFile(file, world, ledger);
  },
);

test.skipIf(whyNotLimit)(
  named('SQLite whose files may not grow refuses, and goes on when they may', whyNotLimit),
  LOOP_TIMEOUT,
  async () => {
    const file = join(folder, 'limited.db');
    const world = await prepareFile(file);
    const giveRoom = ({ pid }: Worker) => liftLimit(pid);
    const under = underLimit(1_000_000);

    const ledger = await fillUp({ url: `sqlite:${file}`, world, under, giveRoom });

    await checkStoreFile(file, world, ledger);
  },
);

test.skipIf(whyNotDisk)(
  named('PostgreSQL on a disk that is full refuses, and goes on when there is room', whyNotDisk),
  LOOP_TIMEOUT,
  async () => {
    const { uid, gid } = statSync(await one(server.url, 'SHOW data_directory'));
    const disk = makeDisk('64m', { uid, gid });
    onTestFinished(disk.remove);
    await one(server.url, `CREATE TABLESPACE small LOCATION '${disk.folder}'`);
    await one(server.url, 'CREATE DATABASE small TABLESPACE small');
    const url = new URL(server.url);
    url.pathname = '/small';
    const world = await prepareDatabase(url.href);
    disk.fill(1_000_000);

    const ledger = await fillUp({ url: url.href, world, giveRoom: disk.grow });

    await checkDatabase(url.href, world, ledger);
    await one(server.url, 'DROP DATABASE small WITH (FORCE)');
    await one(server.url, 'DROP TABLESPACE small');
  },
);

test('SQLite at its size limit refuses whole changes, and continues when the limit is lifted', async () => {
  const connection = openConnection(join(folder, 'bounded.db'));
  const store = closedAtEnd(createSqliteStore(connection));
  const world = await prepareWorld(store);
  const ledger = createLedger();
  const limit = connection.get<{ page_count: bigint }>('PRAGMA page_count')?.page_count;
  connection.script(`PRAGMA max_page_count = ${limit}`);

  const append = async () => {
    const entries = [entry(), entry()];
    const act = { append: entries.map(({ entry_id }) => entry_id) };
    await store.append(entries).then(
      () => ledger.hear({ said: 'kept', act }),
      (error: Error) => ledger.hear({ said: said(error), act, why: error.message }),
    );
  };
  const said = (error: Error) => (error instanceof StoreUnavailable ? 'refused' : 'unknown');
  while (ledger.counts.refused + ledger.counts.unknown < ENOUGH) await append();
  connection.script('PRAGMA max_page_count = 4294967294');
  await append();

  await checkLedger(store, world, ledger);
  assert.equal(ledger.counts.unknown, 0, 'a refusal is certain');
});

test('read-only SQLite refuses every change, and continues when it is writable again', async () => {
  const connection = openConnection(join(folder, 'read-only.db'));
  const store = closedAtEnd(createSqliteStore(connection));

  await refusesChanges(store, {
    begin: async () => connection.script('PRAGMA query_only = ON'),
    end: async () => connection.script('PRAGMA query_only = OFF'),
  });
});

test('read-only PostgreSQL refuses every change, and continues when it is writable again', async () => {
  const database = await makeDatabase(server.url);
  const name = new URL(database.url).pathname.slice(1);
  const store = await openPostgres(database.url);
  /** Applies to new connections, so those there are have to go. */
  const set = async (value: string) => {
    await one(server.url, `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
    await one(
      server.url,
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${name}'`,
    );
  };

  await refusesChanges(store, { begin: () => set('on'), end: () => set('off') });

  await store.close();
  await database.drop();
});

interface Phase {
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** One change of each kind: each is refused while the phase lasts, changes nothing, and works after. */
async function refusesChanges(store: Store, phase: Phase): Promise<void> {
  const world = await prepareWorld(store);
  const leaf = world.line.at(-1) as string;
  const { token } = await store.load({ tokenId: leaf });
  assert.ok(token);
  const open = await admitCall(store, token, { charge: usd(5n) });
  const next = admission(token, { charge: usd(7n) });
  const told = entry();
  const changes: Record<string, () => Promise<unknown>> = {
    insertRoot: () => store.insertRoot(rootToken(), entry()),
    append: () => store.append([told]),
    admit: () => store.admit(next),
    settle: () => store.settle(settlement(open)),
    revokeToken: () => store.revokeToken(leaf, next.now, () => entry()),
    probe: () => store.probe(),
  };

  const watched = { tokens: world.line, grants: [world.grant] };
  await store.sequence();
  await unchanged(store, watched, async () => {
    await phase.begin();
    for (const [name, change] of Object.entries(changes)) {
      await assert.rejects(change, { name: 'StoreUnavailable', message: /read-only/ }, name);
    }
    await phase.end();
  });

  for (const change of Object.values(changes)) await change();
  const { size } = await store.sequence();
  const log = await store.scanEntries(0, size);
  assert.ok(log.some(({ entry_id }) => entry_id === told.entry_id));
}

/** The first value of what a statement yields, if it yields any. */
async function one(url: string, sql: string): Promise<string> {
  const [row = {}] = await runSql(url, sql);
  return `${Object.values(row)[0] ?? ''}`;
}
