import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { freshDatabase, runSql } from '../../../test/support/postgres.ts';
import { POSTGRES } from '../postgres/rows.ts';
import { openPostgres } from '../postgres/store.ts';
import { openConnection } from '../sqlite/connection.ts';
import { SQLITE } from '../sqlite/rows.ts';
import { migrate } from '../sqlite/schema/migrations.ts';
import { readColumn } from './description.ts';
import { TABLES } from './tables.ts';

type Database = 'sqlite' | 'postgres';

/** The types that each kind may have, as the databases name them. */
const TYPES: Readonly<Record<Database, Readonly<Record<string, readonly string[]>>>> = {
  sqlite: {
    text: ['TEXT'],
    integer: ['INTEGER'],
    long: ['INTEGER'],
    amount: ['INTEGER'],
    time: ['INTEGER'],
    bytes: ['BLOB'],
    list: ['TEXT'],
    json: ['TEXT'],
    exact: ['TEXT'],
  },
  postgres: {
    text: ['text'],
    integer: ['integer'],
    long: ['bigint'],
    amount: ['bigint'],
    time: ['timestamp with time zone'],
    flag: ['boolean'],
    bytes: ['bytea'],
    list: ['ARRAY'],
    json: ['jsonb'],
    exact: ['json'],
  },
};

/** The tables of one database alone. */
const ALONE: Readonly<Record<Database, readonly string[]>> = {
  sqlite: ['store'],
  postgres: ['families', 'meta', 'queue', 'handed'],
};

interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly nullable: boolean;
}

test('ARCHITECTURE.md shows every table', () => {
  const page = readFileSync('ARCHITECTURE.md', 'utf8');
  const [, picture = ''] = /^## The tables\n[\s\S]*?^```\n([\s\S]*?)^```/m.exec(page) ?? [];
  const words = new Set(picture.match(/\w+/g));

  const names = [...TABLES.map(({ name }) => name), ...Object.values(ALONE).flat()];

  assert.deepEqual(
    names.filter((name) => !words.has(name)),
    [],
  );
});

test('a table comes after those that its rows name', () => {
  const made = new Set<string>();

  for (const { name, ...table } of TABLES) {
    made.add(name);
    for (const [, named = ''] of JSON.stringify(table).matchAll(/REFERENCES (\w+)/g)) {
      assert.ok(made.has(named), `${name} comes before ${named}`);
    }
  }
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

  test(`every table of a new ${database} store is described or is its own`, async () => {
    const columns = await columnsOf();

    const kept = [...new Set(columns.map(({ table }) => table))].sort();

    assert.deepEqual(kept, [...TABLES.map(({ name }) => name), ...ALONE[database]].sort());
  });

  test(`every described column has its kind's type in ${database}, and can be null where it is optional`, async () => {
    const found = new Map((await columnsOf()).map((column) => [keyOf(column), column]));

    for (const [key, kind] of describedColumns(database)) {
      const { type, nullable } = found.get(key) as Column;
      // A type of the database itself has no kind; the recorded schema has it (test/store).
      const types = TYPES[database][kind.replace('?', '')] ?? [type];
      assert.ok(types.includes(type), `${key} is ${type}, described as ${kind}`);
      assert.ok(nullable || !kind.endsWith('?'), `${key} is described as optional`);
    }
  });
}

function keyOf({ table, name }: Column): string {
  return `${table}.${name}`;
}

/** The columns that both databases have, with their kinds: the others are texts of one database alone. */
function describedColumns(database: Database): Map<string, string> {
  const { chargeColumns } = database === 'sqlite' ? SQLITE : POSTGRES;
  return new Map(
    TABLES.flatMap(({ name, fields, beside, ...own }) =>
      Object.entries({ ...own[database]?.columns, ...fields, ...beside }).flatMap(
        ([field, text]) => {
          const { kind, isOptional } = readColumn(text);
          const mark = isOptional ? '?' : '';
          if (kind !== 'charge') return [[`${name}.${field}`, `${kind}${mark}`]] as const;
          const [currency, amount] = chargeColumns(field);
          return [
            [`${name}.${currency}`, `text${mark}`],
            [`${name}.${amount}`, `amount${mark}`],
          ] as const;
        },
      ),
    ),
  );
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
