import assert from 'node:assert/strict';
import type { Client } from 'pg';
import { test } from 'vitest';
import { fillLog, smallKeyring } from '../../../test/log/small-log.ts';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { connectedTo, freshDatabase } from '../../../test/support/postgres.ts';
import { createCheckpointCheck } from '../../keyring/checkpoint-check.ts';
import { openPostgres } from '../postgres/store.ts';
import { checkStore } from './fsck.ts';

// On SQLite `tampering.test.ts` changes every byte of some rows. Here each check costs a dozen round trips, so one byte
// of each column changes, in every row.
const TABLES = ['segments', 'head', 'checkpoints'];

/** Of a text, counted from 1. */
const middle = (column: string) => `(length(${column}) / 2 + 1)`;

/** Another value of the column, by its type: the next number, another moment, one bit of the middle byte. */
const CHANGES: Readonly<Record<string, (column: string) => string>> = {
  text: (
    column,
  ) => `overlay(${column} placing chr(ascii(substr(${column}, ${middle(column)}, 1)) # 1)
    from ${middle(column)})`,
  bytea: (column) =>
    `set_byte(${column}, length(${column}) / 2, get_byte(${column}, length(${column}) / 2) # 1)`,
  _bytea: (column) =>
    `ARRAY[set_byte(${column}[1], 0, get_byte(${column}[1], 0) # 1)] || ${column}[2:]`,
  bool: (column) => `NOT ${column}`,
  int4: (column) => `${column} + 10`,
  int8: (column) => `${column} + 10`,
  timestamptz: (column) => `${column} + interval '1 ms'`,
};

/** Of a column that is empty or not there. */
const PUT_IN: Readonly<Record<string, string>> = {
  text: "'x'",
  bytea: "'\\x00'",
  timestamptz: "'2030-01-01Z'",
  int8: '5',
  int4: '5',
};

interface Column {
  readonly column: string;
  readonly type: string;
}

interface Row {
  /** A change moves the row. */
  at: string;
  readonly kept: string;
}

for (const table of TABLES) {
  test(`checkStore() finds one byte changed in any column of any row of ${table} on PostgreSQL`, async () => {
    const { url } = await freshDatabase();
    const store = closedAtEnd(await openPostgres(url));
    const raw = await connectedTo(url);
    await fillLog(store);
    const signatures = createCheckpointCheck(smallKeyring.jwks().keys, smallKeyring.noteKeys);
    const isSound = async () => (await checkStore(store, signatures)).findingsCount === 0;
    assert.ok(await isSound());
    await raw.query(`CREATE TABLE kept AS TABLE ${table}`);

    const unseen: string[] = [];
    let changes = 0;
    const [columns, rows] = [await columnsOf(raw, table), await rowsOf(raw, table)];
    for (const row of rows) {
      for (const { column, type } of columns) {
        if (!(await isChanged(raw, row, `${table}.${column}`, type))) continue;
        changes += 1;
        if (await isSound()) unseen.push(`${column} of row ${row.kept}`);
        await putBack(raw, row, `${table}.${column}`);
      }
    }

    assert.deepEqual(unseen, []);
    assert.ok(changes > rows.length, `${changes} changes of ${rows.length} rows`);
    assert.ok(await isSound(), 'all was put back');
  }, 120_000);
}

async function columnsOf(raw: Client, table: string): Promise<Column[]> {
  const { rows } = await raw.query<Column>(
    `SELECT quote_ident(column_name) AS column, udt_name AS type FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position`,
    [table],
  );
  return rows;
}

async function rowsOf(raw: Client, table: string): Promise<Row[]> {
  const { rows } = await raw.query<Row>(
    `SELECT a.ctid::text AS at, k.ctid::text AS kept FROM ${table} a JOIN kept k
     ON a IS NOT DISTINCT FROM k ORDER BY k.ctid`,
  );
  return rows;
}

/** False where the database itself refuses the value. */
async function isChanged(raw: Client, row: Row, place: string, type: string): Promise<boolean> {
  const [table = '', column = ''] = place.split('.');
  const changed = CHANGES[type]?.(column);
  assert.ok(changed, `no change is known for ${place}, which is ${type}`);
  const isEmpty = ['text', 'bytea'].includes(type)
    ? `coalesce(length(${column}), 0) = 0`
    : `${column} IS NULL`;
  const value = `CASE WHEN ${isEmpty} THEN ${PUT_IN[type] ?? 'NULL'} ELSE ${changed} END`;
  try {
    await update(raw, row, table, `${column} = ${value}`);
    return true;
  } catch (error) {
    await raw.query('ROLLBACK');
    assert.match(String((error as { code?: string }).code), /^23/, String(error));
    return false;
  }
}

function putBack(raw: Client, row: Row, place: string): Promise<void> {
  const [table = '', column] = place.split('.');
  const kept = `(SELECT ${column} FROM kept WHERE ctid = '${row.kept}')`;
  return update(raw, row, table, `${column} = ${kept}`);
}

/** Takes away what would stop an honest writer, and puts it back when the deed is done: checkStore() would miss it. */
async function update(raw: Client, row: Row, table: string, set: string): Promise<void> {
  const { rows: triggers } = await raw.query<{ name: string }>(
    'SELECT quote_ident(tgname) AS name FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal',
    [table],
  );
  await raw.query('BEGIN');
  await raw.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
  const { rows } = await raw.query<Row>(
    `UPDATE ${table} SET ${set} WHERE ctid = $1 RETURNING ctid::text AS at`,
    [row.at],
  );
  for (const { name } of triggers) {
    await raw.query(`ALTER TABLE ${table} ENABLE ALWAYS TRIGGER ${name}`);
  }
  await raw.query('COMMIT');
  assert.equal(rows.length, 1);
  row.at = rows[0]?.at ?? '';
}

/** Ways to change history, and where each must show. */
const POSTGRES_FORGERIES: [name: string, where: string, statement: string][] = [
  [
    'a word of a leaf changed',
    'entry',
    `UPDATE segments SET leaves = convert_to(replace(convert_from(leaves, 'UTF8'),
       'book_flight', 'book_hotels'), 'UTF8')`,
  ],
  [
    'personal fields changed',
    'entry',
    `UPDATE segments SET personal = convert_to(replace(convert_from(personal, 'UTF8'),
       'example.com', 'thieves.com'), 'UTF8')`,
  ],
  ['a byte of a leaf changed', 'entry', 'UPDATE segments SET leaves = set_byte(leaves, 9, 1)'],
  ['bytes that are no text', 'entry', 'UPDATE segments SET leaves = set_byte(leaves, 9, 255)'],
  [
    'a leaf hash changed',
    'entry',
    'UPDATE segments SET hashes = set_byte(hashes, 31, get_byte(hashes, 31) # 1)',
  ],
  ['lines cut off', 'entry', "UPDATE segments SET leaves = '' WHERE first = 0"],
  ['the first entries removed', 'entry', 'DELETE FROM segments WHERE first = 0'],
  [
    'the last entries removed',
    'head',
    'DELETE FROM segments WHERE first = (SELECT max(first) FROM segments)',
  ],
  ['the head grown', 'head', 'UPDATE head SET size = 8'],
  ['a peak changed', 'head', 'UPDATE head SET peaks[1] = set_byte(peaks[1], 0, 7)'],
  ['a root changed', 'checkpoint', 'UPDATE checkpoints SET root = set_byte(root, 0, 7)'],
];

const DISARM = 'ALTER TABLE segments DISABLE TRIGGER USER';
const REARM = `ALTER TABLE segments ENABLE ALWAYS TRIGGER segments_altered,
    ENABLE ALWAYS TRIGGER segments_inserted, ENABLE ALWAYS TRIGGER segments_deleted,
    ENABLE ALWAYS TRIGGER segments_truncated`;

test('checkStore() finds on PostgreSQL what was changed, and nothing before', async () => {
  const { url } = await freshDatabase();
  const store = closedAtEnd(await openPostgres(url));
  const raw = await connectedTo(url);
  await fillLog(store);
  assert.deepEqual((await checkStore(store)).findings, []);
  const tables = ['segments', 'head', 'checkpoints'];
  for (const table of tables) await raw.query(`CREATE TABLE kept_${table} AS TABLE ${table}`);
  const putBack = tables.map((table) => {
    return `DELETE FROM ${table}; INSERT INTO ${table} TABLE kept_${table}`;
  });
  const attackBy = (statements: string) =>
    raw.query(`BEGIN; ${DISARM}; ${statements}; ${REARM}; COMMIT`);

  for (const [name, where, statement] of POSTGRES_FORGERIES) {
    await attackBy(statement);
    const report = await checkStore(store);
    const isFound = report.findings.some(({ what }) => what === where);
    assert.equal(isFound, true, `${name}: in the ${where}`);
    await attackBy(putBack.join('; '));
  }

  assert.deepEqual((await checkStore(store)).findings, [], 'all was put back');
}, 60_000);
