import assert from 'node:assert/strict';
import { copyFileSync, existsSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { describe, test } from 'vitest';
import {
  backup,
  dump,
  edited,
  fileOf,
  filled,
  PLACES,
  restore,
  tablesOf,
} from '../../../test/support/backups.ts';
import { admitCall, chain, entry, settlement, usd } from '../../../test/support/fixtures.ts';
import { connectedTo, runSql } from '../../../test/support/postgres.ts';
import { newFile } from '../../../test/support/store-places.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import { checkStore } from '../fsck/fsck.ts';
import { openSnapshot, openStore, SCHEMA_VERSIONS } from '../open.ts';
import { BASELINE_VERSION } from '../port/versions.ts';
import { loadPostgres } from '../postgres/backup/loader.ts';
import { loadSqlite } from '../sqlite/backup/loader.ts';
import { openConnection } from '../sqlite/connection.ts';
import { restoreParts } from './backup.ts';
import { readBackup } from './file.ts';
import {
  COPIED_TABLES,
  type CopiedColumn,
  type CopiedTable,
  type CopiedValue,
  LEFT_OUT,
} from './tables.ts';

for (const [name, open] of Object.entries(PLACES)) {
  describe(name, () => {
    test('a restored store has every row of the backed-up one, and fsck finds nothing', async () => {
      const [from, to] = [await open(), await open()];
      await filled(from);

      await restore(to, await backup(from));

      assert.deepEqual(await dump(to), await dump(from));
      const store = await openStore(to, { create: false });
      const { findings, entries } = await checkStore(store);
      await store.close();
      assert.deepEqual(findings, []);
      assert.ok(entries > 34);
    });

    test('a store with two logs is restored with both', async () => {
      const [from, to] = [await open(), await open()];
      await filled(from, true);

      const facts = await restore(to, await backup(from));

      assert.equal(facts.entries, 4);
      assert.deepEqual(await dump(to), await dump(from));
    });

    test('a restored store goes on: budgets, tokens, places and the log', async () => {
      const [from, to] = [await open(), await open()];
      const store = await openStore(from);
      const [token] = await chain(store, [{ budget: { currency: 'USD', max_amount: 1 } }]);
      assert.ok(token);
      const call = await admitCall(store, token, { charge: usd(60n) });
      await store.close();

      await restore(to, await backup(from));

      const restored = await openStore(to);
      assert.equal(await restored.settle(settlement(call, { actual: 60n })), 'settled');
      await assert.rejects(admitCall(restored, token, { charge: usd(41n) }));
      await admitCall(restored, token, { charge: usd(40n) });
      await restored.sequence();
      assert.deepEqual((await checkStore(restored)).findings, []);
      await restored.close();
    });

    test('every table is in a backup or named as left out', async () => {
      const url = await open();
      await (await openStore(url)).close();

      const tables = await tablesOf(url);

      const known = new Set([
        ...COPIED_TABLES.map((table) => table.name),
        ...Object.keys(LEFT_OUT),
      ]);
      assert.deepEqual(
        tables.filter((table) => !known.has(table)),
        [],
      );
    });

    test('restoreStore() refuses a place that has a store, and changes nothing', async () => {
      const [from, to] = [await open(), await open()];
      await filled(from);
      await (await openStore(to)).close();
      const before = await dump(to);

      await assert.rejects(restore(to, await backup(from)), /there is a store in .* already/);

      assert.deepEqual(await dump(to), before);
    });

    test('openSnapshot() refuses a place without a store, and makes none', async () => {
      const url = await open();

      await assert.rejects(openSnapshot(url), /there is no store in/);

      if (url.startsWith('sqlite:')) assert.equal(existsSync(url.slice(7)), false);
      else assert.deepEqual(await tablesOf(url), []);
    });

    test('a backup of an empty store restores an empty store with the same log', async () => {
      const [from, to] = [await open(), await open()];
      const made = await openStore(from);
      await made.close();

      await restore(to, await backup(from));

      const store = await openStore(to, { create: false });
      assert.equal(store.logId, made.logId);
      assert.equal((await store.sequence()).size, 0);
      await store.close();
    });

    test('a backup of the version before is restored, and the next step finds its rows', async () => {
      const [from, to] = [await open(), await open()];
      await filled(from);

      await restoreWithStep(to, await backup(from));

      assert.deepEqual(await dump(to), await dump(from));
      assert.deepEqual(await countedIn(to), { tokens: 4, version: BASELINE_VERSION + 1 });
    });
  });
}

/** A step after those of this program. */
const STEP = `CREATE TABLE counted (tokens integer);
  INSERT INTO counted SELECT count(*) FROM tokens`;

/** As a program with one step more than this one restores a file. */
async function restoreWithStep(url: string, bytes: Buffer): Promise<void> {
  const known = { sqlite: SCHEMA_VERSIONS.sqlite + 1, postgres: SCHEMA_VERSIONS.postgres + 1 };
  const work = (loaderFor: Parameters<typeof restoreParts>[1]) =>
    restoreParts(readBackup(fileOf(bytes), known), loaderFor);
  if (url.startsWith('sqlite:')) {
    await loadSqlite(url.slice('sqlite:'.length), work, [(on) => on.script(STEP)]);
  } else await loadPostgres(url, work, [STEP]);
}

async function countedIn(url: string): Promise<unknown> {
  if (!url.startsWith('sqlite:')) {
    const [row] = await runSql(url, 'SELECT tokens, version FROM counted, meta');
    return row;
  }
  const connection = openConnection(url.slice('sqlite:'.length));
  const row = connection.get<{ tokens: bigint; version: bigint }>(
    'SELECT tokens, user_version AS version FROM counted, pragma_user_version',
  );
  connection.close();
  return { tokens: Number(row?.tokens), version: Number(row?.version) };
}

for (const [first, second] of [
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
] as const) {
  test(`a store moves from ${first} to ${second} and back`, async () => {
    const [from, over, back] = [
      await PLACES[first](),
      await PLACES[second](),
      await PLACES[first](),
    ];
    await filled(from);

    await restore(over, await backup(from));
    await restore(back, await backup(over));

    for (const url of [over, back]) {
      const store = await openStore(url, { create: false });
      assert.deepEqual((await checkStore(store)).findings, []);
      await store.close();
    }
    assert.deepEqual(comparable(await dump(back)), comparable(await dump(from)));
  });
}

/** Without what the other database does not keep: the order of keys, and what an admission answered. */
function comparable(tables: Record<string, string[]>): Record<string, unknown> {
  const rows = Object.entries(tables).map(([name, texts]): [string, unknown[]] => {
    const shown = texts.map((text) => ({ ...(plain(JSON.parse(text)) as object), result: 0 }));
    return [name, shown.map((row) => canonicalJson(row)).sort()];
  });
  return Object.fromEntries(rows);
}

/** Columns of JSON text as the value that they mean. */
function plain(value: unknown): unknown {
  if (typeof value === 'string' && /^[[{]/.test(value)) return JSON.parse(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, plain(each)]));
}

test('entries that wait for a place in PostgreSQL get one in the restored store, each once', async () => {
  const url = await PLACES.PostgreSQL();
  const store = await openStore(url);
  await store.append([entry(), entry()]);
  await store.sequence();
  const client = await connectedTo(url);
  // No entry gets a place while this lock is held.
  await client.query('BEGIN');
  await client.query('SELECT FROM head FOR UPDATE');
  const waiting = [entry(), entry(), entry()];
  await store.append(waiting);
  const bytes = await backup(url);
  await client.query('ROLLBACK');
  await client.end();
  await store.close();

  for (const open of Object.values(PLACES)) {
    const target = await open();
    assert.equal((await restore(target, bytes)).entries, 5);
    const restored = await openStore(target, { create: false });
    const { findings, entries } = await checkStore(restored);
    await restored.close();
    assert.deepEqual(findings, []);
    assert.equal(entries, 5);
  }
});

test('a snapshot that ends releases the log of SQLite at once, with what was written meanwhile in the file', async () => {
  const file = newFile();
  const store = await openStore(`sqlite:${file}`);
  await filled(`sqlite:${file}`);
  const snapshot = await openSnapshot(`sqlite:${file}`);
  const slices = snapshot.rows(COPIED_TABLES.find(({ name }) => name === 'tokens') as CopiedTable);
  await slices[Symbol.asyncIterator]().next();
  await store.append([entry()]);

  await snapshot.close();

  const copy = newFile();
  copyFileSync(file, copy);
  const other = openConnection(file);
  other.script('PRAGMA busy_timeout = 0');
  const { busy } = other.get<{ busy: bigint }>('PRAGMA wal_checkpoint(TRUNCATE)') ?? {};
  other.close();
  const { size } = await store.sequence();
  await store.close();
  assert.equal(busy, 0n);
  const copied = await openStore(`sqlite:${copy}`);
  assert.equal((await copied.sequence()).size, size);
  await copied.close();
});

/** A value for a column of a row that is made up. Null: the other columns of the row require it. */
const MADE_UP: Readonly<Record<string, CopiedValue>> = {
  'erasures.below': 3,
  'checkpoints.sequence': 1,
  'checkpoints.size': 2,
  'checkpoints.root': `${'A'.repeat(43)}=`,
  'cosignatures.checkpoint_id': 'checkpoint_id',
  'deliveries.event': 'requested',
  'deliveries.state': 'pending',
  'steps.role': 'step',
  'steps.outcome': 'completed',
};

/** One row with a value in every column, for each table that has none. References name `ids`. */
function madeUpRow({ name, columns }: CopiedTable, ids: Readonly<Record<string, string>>) {
  const byKind: Readonly<Record<CopiedColumn['kind'], CopiedValue>> = {
    ...{ text: '', integer: 4, amount: '9007199254740993', time: 1_893_456_000_123, flag: true },
    ...{ bytes: 'AAEC/w==', list: '["a","é"]', json: '{"a": 1}', exact: '{"a": 1}' },
  };
  return columns.map((column): CopiedValue => {
    const made = MADE_UP[`${name}.${column.name}`] ?? ids[column.name];
    return made ?? (column.kind === 'text' ? column.name : byKind[column.kind]);
  });
}

test('every column of every table survives in both databases', async () => {
  const from = `sqlite:${newFile()}`;
  const { root, pending } = await filled(from);
  const plainFile = await backup(from);
  const texts = gunzipSync(plainFile).toString().split('\n');
  const intents = texts.findIndex((line) => line.startsWith('{"table":"intents"'));
  const operation_id = JSON.parse(texts[intents + 1] as string)[0] as string;
  const ids = { token_id: root, approval_request_id: pending, operation_id };
  const counts = JSON.parse(texts.at(-3) as string).rows as Record<string, number>;
  const empty = COPIED_TABLES.filter(({ name }) => counts[name] === 0 && name !== 'queue');
  const full = edited(plainFile, (lines) =>
    lines.flatMap((line) => {
      const table = empty.find(({ name }) => line.startsWith(`{"table":"${name}"`));
      if (table) return [line, JSON.stringify(madeUpRow(table, ids))];
      if (!line.startsWith('{"rows"')) return [line];
      const made = Object.fromEntries(empty.map(({ name }) => [name, 1]));
      return [JSON.stringify({ rows: { ...counts, ...made } })];
    }),
  );
  assert.ok(empty.length >= 12, 'the ledger has rows of most tables itself');

  for (const open of Object.values(PLACES)) {
    const url = await open();
    await restore(url, full);

    const [sent, kept] = [full, await backup(url)].map((bytes) => rowsIn(bytes));
    for (const { name } of empty) {
      // SQLite has no such columns.
      const isLess = url.startsWith('sqlite:') && name === 'permits';
      const expected = isLess ? sent?.[name]?.map((row) => [...row.slice(0, -1), 0]) : sent?.[name];
      assert.deepEqual(kept?.[name], expected, `${name} in ${url.split(':')[0]}`);
    }
  }
});

/** The rows of each table in a backup. */
function rowsIn(bytes: Buffer): Record<string, CopiedValue[][]> {
  const tables: Record<string, CopiedValue[][]> = {};
  let rows: CopiedValue[][] = [];
  for (const line of gunzipSync(bytes).toString().trimEnd().split('\n')) {
    const json = JSON.parse(line);
    if (Array.isArray(json)) rows.push(json);
    else if (json.table !== undefined) {
      rows = [];
      tables[json.table] = rows;
    }
  }
  return tables;
}
