import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, test } from 'vitest';
import { fillLedger } from '../../../test/log/small-ledger.ts';
import { freshDatabase, runSql } from '../../../test/postgres.ts';
import { newFile } from '../../../test/store-places.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import { admitCall, chain, entry, settlement, usd } from '../../testing/fixtures.ts';
import { checkStore } from '../fsck/fsck.ts';
import { checkBackup, openSnapshot, openStore, restoreStore, SCHEMA_VERSIONS } from '../open.ts';
import type { Store } from '../port/store.ts';
import { openConnection } from '../sqlite/connection.ts';
import { backupOf } from './backup.ts';
import { COPIED_TABLES, LEFT_OUT } from './tables.ts';

const PLACES: Readonly<Record<string, () => Promise<string>>> = {
  SQLite: async () => `sqlite:${newFile()}`,
  PostgreSQL: async () => (await freshDatabase()).url,
};

/** The bytes of a backup of the store at this address. */
async function backup(url: string): Promise<Buffer> {
  const snapshot = await openSnapshot(url);
  try {
    const options = { now: new Date(0), product: 'test', schema: SCHEMA_VERSIONS };
    const chunks: Uint8Array[] = [];
    for await (const chunk of backupOf(snapshot, { ...options, onProgress: () => undefined })) {
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    await snapshot.close();
  }
}

function fileOf(bytes: Buffer) {
  async function* pieces() {
    // Odd pieces: a line ends anywhere in them.
    for (let at = 0; at < bytes.length; at += 777) yield bytes.subarray(at, at + 777);
  }
  return { bytes: pieces(), size: bytes.length };
}

const restore = (url: string, bytes: Buffer) => restoreStore(url, () => fileOf(bytes));

/** A store with rows of most tables, and with erased entries. */
async function filled(url: string, isRecovered = false) {
  const store = await openStore(url);
  const ids = await fillLedger(store);
  await store.append(Array.from({ length: 30 }, () => entry()));
  await store.sequence();
  await store.erase({ what: 'personal', until: new Date('2040-01-01'), limit: 5 });
  if (isRecovered) await beginAgain(store);
  await store.close();
  return ids;
}

async function beginAgain(store: Store): Promise<void> {
  await store.beginOrigin(await store.sequence(), '6b1c7e0a-0000-4000-8000-000000000000', entry());
  await store.append(Array.from({ length: 3 }, () => entry()));
  await store.sequence();
}

/** Every row of every table of a store, as the database prints it. */
async function dump(url: string): Promise<Record<string, string[]>> {
  const names = [...COPIED_TABLES.map(({ name }) => name), 'nodes', 'head', 'families', 'marks'];
  const tables: Record<string, string[]> = {};
  if (url.startsWith('sqlite:')) {
    const connection = openConnection(url.slice('sqlite:'.length));
    for (const name of names.filter((each) => each !== 'queue' && each !== 'families')) {
      const rows = connection.all<object>(`SELECT * FROM ${name}`);
      tables[name] = rows.map((row) => JSON.stringify(row, printed)).sort();
    }
    connection.close();
    return tables;
  }
  for (const name of names.filter((each) => each !== 'marks')) {
    const rows = await runSql<{ row: string }>(
      url,
      `SELECT to_jsonb(t)::text AS row FROM ${name} t`,
    );
    tables[name] = rows.map(({ row }) => row).sort();
  }
  return tables;
}

function printed(_: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value);
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
}

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

    test('a backup of the version before is restored and migrated', async () => {
      const [from, to] = [await open(), await open()];
      await filled(from);
      const older = edited(await backup(from), (lines) => {
        const header = JSON.parse(lines[0] as string);
        header.schema = {
          sqlite: SCHEMA_VERSIONS.sqlite - 1,
          postgres: SCHEMA_VERSIONS.postgres - 1,
        };
        // The last step made this table.
        const rest = lines
          .slice(1)
          .filter((line) => !line.includes('{"table":"connected_accounts"'));
        return [JSON.stringify(header), ...rest];
      });

      await restore(to, older);

      assert.deepEqual(await dump(to), await dump(from));
    });
  });
}

for (const [first, second] of [
  ['SQLite', 'PostgreSQL'],
  ['PostgreSQL', 'SQLite'],
] as const) {
  test(`a store moves from ${first} to ${second} and back`, async () => {
    const [from, over, back] = [
      await (PLACES[first] as () => Promise<string>)(),
      await (PLACES[second] as () => Promise<string>)(),
      await (PLACES[first] as () => Promise<string>)(),
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

async function tablesOf(url: string): Promise<string[]> {
  if (url.startsWith('sqlite:')) {
    const connection = openConnection(url.slice('sqlite:'.length));
    const rows = connection.all<{ name: string }>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'",
    );
    connection.close();
    return rows.map(({ name }) => name);
  }
  const rows = await runSql<{ name: string }>(
    url,
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = current_schema`,
  );
  return rows.map(({ name }) => name);
}

/** Changes the lines of a backup, and gives it a digest that fits. */
function edited(bytes: Buffer, change: (lines: string[]) => string[]): Buffer {
  const lines = gunzipSync(bytes).toString().trimEnd().split('\n').slice(0, -1);
  const text = change(lines)
    .map((line) => `${line}\n`)
    .join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  return gzipSync(`${text}${JSON.stringify({ sha256 })}\n`);
}

describe('a file that is not a whole backup', async () => {
  const source = `sqlite:${newFile()}`;
  await filled(source);
  const whole = await backup(source);
  const text = gunzipSync(whole).toString();
  const swap = (pattern: RegExp | string, by: string) => (lines: string[]) =>
    lines.map((line) => line.replace(pattern, by));

  const FILES: Readonly<Record<string, readonly [file: Buffer, fault: RegExp]>> = {
    'is empty': [Buffer.alloc(0), /the file is cut/],
    'is cut': [whole.subarray(0, whole.length - 400), /the file is cut/],
    'is cut and compressed again': [gzipSync(text.slice(0, 20_000)), /the file is cut/],
    'is no gzip': [Buffer.from(text), /damaged or not compressed with gzip/],
    'is compressed twice': [gzipSync(whole), /not a backup: its first line is not JSON/],
    'goes on': [Buffer.concat([whole, Buffer.from('more')]), /is damaged/],
    'goes on with zeros': [Buffer.concat([whole, Buffer.alloc(9)]), /goes on after its contents/],
    'goes on with another file': [Buffer.concat([whole, whole]), /goes on after its last line/],
    'has another amount': [
      gzipSync(text.replace('"USD","1000"', '"USD","9000"')),
      /its digest is not that of its contents/,
    ],
    'has one huge line': [gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20)), /a line has more than/],
    'has deep JSON': [
      gzipSync(`${text.split('\n')[0]}\n${'['.repeat(100_000)}\n`),
      /line 2 is not JSON of a backup/,
    ],
    'has another format': [
      edited(whole, swap('writ-backup/1', 'writ-backup/2')),
      /its format is "writ-backup\/2", this program reads "writ-backup\/1"/,
    ],
    'is of a newer version': [
      edited(whole, swap(/"sqlite":\d+/, '"sqlite":900')),
      /made by version "test" .* schema 900 .*, this program knows \d+ and \d+; use that version/,
    ],
    'has an unknown table': [
      edited(whole, swap('{"table":"budgets"', '{"table":"sqlite_schema"')),
      /unknown table: "sqlite_schema"/,
    ],
    'has an unknown column': [
      edited(
        whole,
        swap(
          '"columns":["token_id","currency","max"',
          '"columns":["token_id","currency","max) --"',
        ),
      ),
      /table "budgets" has an unknown column: "max\) --"/,
    ],
    'lacks a table': [
      edited(whole, (lines) => lines.filter((line) => !line.startsWith('{"table":"debts"'))),
      /table "budgets".*a row has 3 values, expected 5/,
    ],
    'has a wrong value': [
      edited(whole, swap('"USD","1000"', '"USD",{"a":1}')),
      /column "max" is not of the kind "amount"/,
    ],
    'lacks an entry': [
      edited(whole, (lines) => {
        const log = lines.findIndex((line) => line.startsWith('{"table":"log"'));
        return lines.filter((_, index) => index !== log + 3);
      }),
      /entry 2 is missing before entry 3/,
    ],
    'has an edited entry hash': [
      edited(whole, (lines) => {
        const log = lines.findIndex((line) => line.startsWith('{"table":"log"'));
        return lines.map((line, index) => {
          return index === log + 40 ? line.replace(/"[^"]{44}"\]$/, `"${'A'.repeat(43)}="]`) : line;
        });
      }),
      /the log is damaged: its head says/,
    ],
    'has a checkpoint that the log does not cover': [
      edited(whole, (lines) =>
        lines.flatMap((line) =>
          line.startsWith('{"table":"cosignatures"')
            ? [JSON.stringify([1, 'c', 900, `${'A'.repeat(43)}=`, 0, 's', 'n']), line]
            : [line.replace('"checkpoints":0', '"checkpoints":1')],
        ),
      ),
      /checkpoint 1 covers 900 entries, the log has/,
    ],
  };

  for (const [what, [file, fault]] of Object.entries(FILES)) {
    test(`restoreStore() changes nothing when the file ${what}`, async () => {
      const path = newFile();

      await assert.rejects(checkBackup(fileOf(file)), fault);
      await assert.rejects(restore(`sqlite:${path}`, file), fault);

      assert.deepEqual(await tablesOf(`sqlite:${path}`), []);
    });
  }

  test('restoreStore() refuses rows that do not fit together, and changes nothing', async () => {
    const orphan = edited(whole, (lines) =>
      lines.flatMap((line) =>
        line.startsWith('{"table":"freezes"')
          ? [JSON.stringify(['tok_none', 'USD', '5']), line]
          : [line.replace('"debts":1', '"debts":2')],
      ),
    );
    for (const open of Object.values(PLACES)) {
      const url = await open();

      await assert.rejects(restore(url, orphan), /the rows do not fit together/);

      assert.deepEqual(await tablesOf(url), []);
    }
  });
});
