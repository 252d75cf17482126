import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { freshDatabase, runSql } from '../../../test/support/postgres.ts';
import * as postgres from '../postgres/rows.ts';
import { openPostgres } from '../postgres/store.ts';
import { openConnection } from '../sqlite/connection.ts';
import * as sqlite from '../sqlite/rows.ts';
import { migrate } from '../sqlite/schema/migrations.ts';
import * as described from './tables.ts';

type Database = 'sqlite' | 'postgres';

/** The types that each kind may have, as the databases name them. */
const TYPES: Readonly<Record<Database, Readonly<Record<string, readonly string[]>>>> = {
  sqlite: {
    text: ['TEXT'],
    integer: ['INTEGER'],
    amount: ['INTEGER'],
    time: ['INTEGER'],
    bytes: ['BLOB'],
    list: ['TEXT'],
    json: ['TEXT'],
  },
  postgres: {
    text: ['text'],
    integer: ['integer', 'bigint'],
    amount: ['bigint'],
    time: ['timestamp with time zone'],
    flag: ['boolean'],
    bytes: ['bytea'],
    list: ['ARRAY'],
    json: ['jsonb', 'json'],
  },
};

/** The tables that are kept in a form of each adapter's own, or by one statement. */
const APART: Readonly<Record<Database, readonly string[]>> = {
  sqlite: ['store'],
  postgres: ['families', 'meta', 'queue', 'handed'],
};
const APART_IN_BOTH = [
  ...['segments', 'tiles', 'blocks', 'buckets', 'retentions'],
  ...['intents', 'head', 'origins', 'erasures', 'cosignatures'],
  ...['leases', 'permits', 'instances', 'leads', 'probes'],
];

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
}

const TABLES = Object.values(described);

test('ARCHITECTURE.md shows every table', () => {
  const page = readFileSync('ARCHITECTURE.md', 'utf8');
  const [, picture = ''] = /^## The tables\n[\s\S]*?^```\n([\s\S]*?)^```/m.exec(page) ?? [];
  const words = new Set(picture.match(/\w+/g));

  const names = [
    ...TABLES.map(({ name }) => name),
    ...APART_IN_BOTH,
    ...Object.values(APART).flat(),
  ];

  assert.deepEqual(
    names.filter((name) => !words.has(name)),
    [],
  );
});

for (const [database, columnsOf] of [
  ['sqlite', sqliteColumns],
  ['postgres', postgresColumns],
] as const) {
  test(`every column of a new ${database} store is described, and every described column exists`, async () => {
    const columns = await columnsOf();
    const tables = TABLES.map(({ name }) => name);

    const names = columns.filter(({ table }) => tables.includes(table)).map(keyOf);

    assert.deepEqual(names.sort(), [...describedColumns(database).keys()].sort());
  });

  test(`every table of a new ${database} store is described or stands apart`, async () => {
    const columns = await columnsOf();

    const kept = [...new Set(columns.map(({ table }) => table))].sort();

    const apart = [...APART_IN_BOTH, ...APART[database]];
    assert.deepEqual(kept, [...TABLES.map(({ name }) => name), ...apart].sort());
  });

  test(`every described column has its kind's type in ${database}, and can be null where it is optional`, async () => {
    const found = new Map((await columnsOf()).map((column) => [keyOf(column), column]));

    for (const [key, kind] of describedColumns(database)) {
      const { type, nullable } = found.get(key) as Column;
      const types = TYPES[database][kind.replace('?', '')] ?? [];
      assert.ok(types.includes(type), `${key} is ${type}, described as ${kind}`);
      assert.ok(nullable || !kind.endsWith('?'), `${key} is described as optional`);
    }
  });
}

function keyOf({ table, name }: Column): string {
  return `${table}.${name}`;
}

/** The kinds by table and column, as the adapter names the columns. */
function describedColumns(database: Database): Map<string, string> {
  const adapter: Record<string, unknown> = database === 'sqlite' ? sqlite : postgres;
  const bound = Object.values(adapter).filter(isTable);
  return new Map(
    TABLES.flatMap(({ name, fields, beside = {} }) => {
      const table = bound.find((each) => each.name === name);
      assert.ok(table, `${database} has no table "${name}"`);
      const others = { ...beside.both, ...beside[database] };
      const kinds: Record<string, string> = { ...fields, ...others };
      return [...table.columns, ...Object.keys(others)].map((column): [string, string] => {
        const part = column.endsWith('currency') ? 'text?' : 'amount?';
        return [`${name}.${column}`, kinds[column] ?? part];
      });
    }),
  );
}

function isTable(value: unknown): value is { name: string; columns: readonly string[] } {
  return typeof value === 'object' && value !== null && 'columns' in value;
}

function sqliteColumns(): Column[] {
  const connection = openConnection(':memory:');
  migrate(connection);
  const rows = connection.all<Column & { required: bigint }>(
    `SELECT t.name AS "table", c.name, c.type, c."notnull" AS required
     FROM sqlite_schema t, pragma_table_info(t.name) c
     WHERE t.type = 'table' AND substr(t.name, 1, 7) <> 'sqlite_'`,
  );
  connection.close();
  return rows.map(({ required, ...row }) => ({ ...row, nullable: required === 0n }));
}

async function postgresColumns(): Promise<Column[]> {
  const { url } = await freshDatabase();
  await (await openPostgres(url, { poolSize: 1 })).close();
  const rows = await runSql<Column>(
    url,
    `SELECT table_name AS table, column_name AS name, data_type AS type,
       is_nullable = 'YES' AS nullable
     FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = current_schema AND table_type = 'BASE TABLE'`,
  );
  return rows;
}
