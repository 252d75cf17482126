import assert from 'node:assert/strict';
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { test } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../../test/support/ends.ts';
import {
  admission,
  admitCall,
  at,
  cents,
  entry,
  insert,
  keyOf,
  rootToken,
  settlement,
  usd,
} from '../../../test/support/fixtures.ts';
import { appendLeaves } from '../../domain/log/merkle.ts';
import { type Store, StoreUnavailable } from '../port/store.ts';
import { type Connection, openConnection } from './connection.ts';
import { createSqliteStore, openSqlite } from './store.ts';

const folder = temporaryFolder();

let files = 0;
function newPath(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

test('openSqlite() finds everything again, under the same log id', async () => {
  const path = newPath();
  const first = await openSqlite(path);
  const token = await insert(first, rootToken({ budget: cents(100) }));
  const call = admission(token, { charge: usd(30n), idempotency: keyOf(token, 'key') });
  await first.admit(call);
  await first.settle(settlement(call));
  const entries = await first.scanEntries(0, 10);
  const head = await first.treeHead();
  await first.close();

  const second = closedAtEnd(await openSqlite(path));

  assert.equal(second.logId, first.logId);
  assert.deepEqual(await second.scanEntries(0, 10), entries);
  assert.deepEqual(await second.treeHead(), head);
  const described = await second.describeToken(token.token_id, 0);
  assert.equal(described?.lineage[0]?.budget?.consumed, 30n);
});

test('openSqlite() begins a new log in each new store', async () => {
  const stores = await Promise.all([openSqlite(':memory:'), openSqlite(':memory:')]);

  assert.notEqual(stores[0].logId, stores[1].logId);
  await Promise.all(stores.map((store) => store.close()));
});

test('openSqlite() takes its time from the clock it is given', async () => {
  const store = closedAtEnd(await openSqlite(':memory:', { clock: () => at(7) }));

  assert.deepEqual(store.now(), at(7));
});

/** Files that must stay as they are, and why they are refused. */
const FOREIGN: [name: string, sql: string, reason: RegExp][] = [
  [
    'without a version',
    'CREATE TABLE contacts (name TEXT)',
    /is not a store: it contains "contacts"$/,
  ],
  [
    'with a version of its own',
    'CREATE TABLE contacts (name TEXT); PRAGMA user_version = 1',
    /belongs to another program$/,
  ],
  [
    'with a mark and a version of its own',
    'PRAGMA application_id = 7; PRAGMA user_version = 99; CREATE TABLE contacts (name TEXT)',
    /belongs to another program$/,
  ],
];

for (const [name, sql, reason] of FOREIGN) {
  test(`openSqlite() refuses a file ${name}, and leaves every byte of it`, async () => {
    const path = newPath();
    const raw = new DatabaseSync(path);
    raw.exec(sql);
    raw.close();
    const before = readFileSync(path);

    await assert.rejects(openSqlite(path), { name: 'Error', message: reason });

    assert.deepEqual(readFileSync(path), before);
    assert.deepEqual(
      readdirSync(folder).filter((file) => file.startsWith(`${basename(path)}-`)),
      [],
      'nothing lies beside it',
    );
  });
}

test('openSqlite() refuses a store of a newer program', async () => {
  const path = newPath();
  await (await openSqlite(path)).close();
  const raw = openConnection(path);
  raw.script('PRAGMA user_version = 99');
  raw.close();

  await assert.rejects(openSqlite(path), {
    message:
      /^Cannot open the store: it was written by version 99 of the schema, this program knows \d+; /,
  });
});

test('close() folds the log into the file, so that a copy of the file is the store', async () => {
  const path = newPath();
  const copy = newPath();
  const store = await openSqlite(path);
  const kept = entry();
  await store.append([kept]);

  await store.close();
  copyFileSync(path, copy);

  const again = closedAtEnd(await openSqlite(copy));
  const [found] = await again.scanEntries(0, 1);
  assert.equal(found?.entry_id, kept.entry_id);
});

test('close() finishes what was accepted, and does nothing the second time', async () => {
  const path = newPath();
  const store = await openSqlite(path);
  const accepted = store.append([entry()]);

  await store.close();
  await store.close();

  await accepted;
  const again = closedAtEnd(await openSqlite(path));
  assert.equal((await again.treeHead()).size, 1);
});

const CALLS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  admit: (store) => store.admit(admission(rootToken())),
  append: (store) => store.append([entry()]),
  load: (store) => store.load({ tokenId: 'tok_' }),
  queryEntries: (store) => store.queryEntries({ limit: 1 }),
  sequence: (store) => store.sequence(),
  probe: (store) => store.probe(),
};

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name}() rejects with StoreUnavailable after close()`, async () => {
    const store = await openSqlite(':memory:');
    await store.close();

    await assert.rejects(call(store), StoreUnavailable);
  });
}

test('a full disk refuses the change, keeps earlier data, and accepts changes when there is room', async () => {
  const connection = openConnection(newPath());
  const store = closedAtEnd(createSqliteStore(connection));
  await store.append([entry()]);
  const pages = connection.get<{ page_count: bigint }>('PRAGMA page_count')?.page_count;
  connection.script(`PRAGMA max_page_count = ${pages}`);
  const large = () => entry({ detail: { text: 'x'.repeat(60_000) } });

  const results = await Promise.allSettled([
    store.append([large()]),
    store.append([large(), large()]),
  ]);

  for (const result of results) {
    assert.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable);
    assert.equal(result.reason.message, 'Cannot use the store: it is full');
  }
  assert.equal((await store.treeHead()).size, 1);
  connection.script('PRAGMA max_page_count = 1000000');
  await store.append([large()]);
  assert.equal((await store.treeHead()).size, 2);
});

test('a store that turned read-only fails its probe and every change, and still answers', async () => {
  const connection = openConnection(newPath());
  const store = closedAtEnd(createSqliteStore(connection));
  await store.probe();
  connection.script('PRAGMA query_only = ON');

  await assert.rejects(store.probe(), StoreUnavailable);
  await assert.rejects(store.append([entry()]), {
    name: 'StoreUnavailable',
    message: 'Cannot use the store: it is read-only',
  });
  assert.equal((await store.treeHead()).size, 0);
});

test('a store whose file another process holds for writing refuses changes and still answers', async () => {
  const path = newPath();
  const other = openConnection(path);
  const connection = openConnection(path);
  const store = closedAtEnd(createSqliteStore(connection));
  connection.script('PRAGMA busy_timeout = 0');
  other.script('BEGIN IMMEDIATE');

  await assert.rejects(store.append([entry()]), {
    name: 'StoreUnavailable',
    message: 'Cannot use the store: it is locked by another process',
  });
  assert.equal((await store.treeHead()).size, 0);

  other.script('COMMIT');
  other.close();
  await store.append([entry()]);
});

test('close() of a store never waits for a reader while it holds the write lock', async () => {
  const path = newPath();
  const reader = closedAtEnd(openConnection(path));
  const connection = openConnection(path);
  const waits: unknown[] = [];
  const store = createSqliteStore({
    ...connection,
    get: (sql, ...values) => {
      if (sql.includes('TRUNCATE')) waits.push(connection.get('PRAGMA busy_timeout'));
      return connection.get(sql, ...values);
    },
  });
  reader.script('BEGIN; SELECT * FROM store');
  await store.append([entry()]);

  await store.close();

  assert.deepEqual(
    waits.map((row) => ({ ...(row as object) })),
    [{ timeout: 0n }],
  );
});

test('two stores on one file write one log without gaps, and one budget', async () => {
  const path = newPath();
  const stores = [await openSqlite(path), await openSqlite(path)] as const;
  const token = await insert(stores[0], rootToken({ budget: cents(10) }));

  const results = await Promise.all(
    Array.from({ length: 40 }, async (_, i) => {
      const store = stores[i % 2] as Store;
      const call = admission(token, { charge: usd(1n) });
      const { admitted } = await store.admit(call);
      if (admitted) await (stores[(i + 1) % 2] as Store).settle(settlement(call));
      return admitted;
    }),
  );

  assert.equal(results.filter(Boolean).length, 10);
  const entries = await stores[1].scanEntries(0, 100);
  assert.deepEqual(
    entries.map(({ sequence }) => sequence),
    Array.from({ length: 11 }, (_, i) => i),
  );
  const { size, peaks } = appendLeaves(
    0,
    [],
    entries.map(({ leaf_hash }) => leaf_hash),
  );
  assert.deepEqual(await stores[0].treeHead(), { first: 0, size, peaks });
  await Promise.all(stores.map((store) => store.close()));
});

test('a store refuses text that SQLite would cut, and keeps nothing of the change', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));
  const token = rootToken({ session_id: 'a\0b' });

  await assert.rejects(store.insertRoot(token, entry()), /Cannot store the text/);

  assert.equal(await store.describeToken(token.token_id, 0), undefined);
  assert.equal((await store.treeHead()).size, 0);
});

test('a budget cannot be made to hold more than its bound, by any statement', async () => {
  const connection: Connection = openConnection(':memory:');
  const store = closedAtEnd(createSqliteStore(connection));
  await insert(store, rootToken({ budget: cents(10) }));

  for (const sql of [
    'UPDATE budgets SET reserved = 11',
    'UPDATE budgets SET reserved = 5, consumed = 6',
    'UPDATE budgets SET consumed = -1',
    'UPDATE budgets SET reserved = -1',
  ]) {
    assert.throws(() => connection.script(sql), /CHECK constraint failed/, sql);
  }
});

test('adoptComposition() fails on a damaged step, and hands over nothing made of it', async () => {
  const connection: Connection = openConnection(':memory:');
  const store = closedAtEnd(createSqliteStore(connection));
  const call = await admitCall(store, await insert(store, rootToken()), {
    composed: { date: '2030-01-01' },
  });
  const { operation_id, instance_id } = call.intent;
  const step = {
    operation_id,
    role: 'step',
    step_id: 'hold',
    invocation_id: 'inv-step',
    capability: 'hold_seat',
    parameters: {},
  } as const;
  await store.beginStep(step, instance_id);
  await store.endStep({ ...step, outcome: 'completed', output: { hold_id: 'H-1' } }, instance_id, {
    bindings: [],
  });
  connection.script(`PRAGMA ignore_check_constraints = 1; UPDATE steps SET output = '{"hold_id":'`);

  await assert.rejects(store.adoptComposition('another', at(24 * 3_600_000)), SyntaxError);
});
