/**
 * The schema of a store as text: one line for each column, constraint, index, trigger and function, sorted by name.
 *
 * Says nothing of the order of columns and of the layout of statements, which no statement of a store depends on.
 * Functions are lines with a digest of their definition.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import type { Connection } from '../../src/storage/sqlite/connection.ts';
import { runSql } from '../support/postgres.ts';

/** Of a new store: the schema, then its rows. */
export function sqliteSchema(store: Connection): string {
  const made = store.all<{ type: string; name: string; sql: string }>(
    `SELECT type, name, sql FROM sqlite_schema
     WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name`,
  );
  const tables = made.filter(({ type }) => type === 'table');
  return textOf([
    ...tables.map(({ name, sql }) => section(`table ${name}`, partsOf(sql))),
    section(
      'indexes and triggers',
      made.filter(({ type }) => type !== 'table').map(({ sql }) => plain(sql)),
    ),
    section(
      'rows',
      rowsOf(tables, (name) => store.all<object>(`SELECT * FROM ${name}`)),
    ),
    section(
      'settings',
      ['application_id', 'user_version'].map((name) => jsonOf(store.get(`PRAGMA ${name}`))),
    ),
  ]);
}

/** The columns and constraints of a table, and its options. Columns that were added later come in any order. */
function partsOf(sql: string): string[] {
  const text = plain(sql);
  const [from, to] = [text.indexOf('('), text.lastIndexOf(')')];
  const parts: string[] = [];
  let [depth, start] = [0, from + 1];
  for (let at = start; at < to; at++) {
    if (text[at] === '(') depth += 1;
    else if (text[at] === ')') depth -= 1;
    else if (text[at] === ',' && depth === 0) {
      parts.push(text.slice(start, at).trim());
      start = at + 1;
    }
  }
  parts.push(text.slice(start, to).trim());
  return [...parts.sort(), text.slice(to + 1).trim()];
}

/** Without layout and without the quotes that a rename leaves. */
function plain(sql: string): string {
  return sql.replaceAll(/\s+/g, ' ').replaceAll(/"(\w+)"/g, '$1');
}

/** Of a new store: the schema, then its rows. */
export async function postgresSchema(url: string): Promise<string> {
  const tables = await runSql<{ name: string }>(url, TABLES);
  const sections: string[] = [];
  for (const { name } of tables) {
    const lines = await runSql<{ line: string }>(url, TABLE.replaceAll('$1', `'${name}'`));
    sections.push(section(`table ${name}`, lines.map(lineOf)));
  }
  const rows = await Promise.all(
    tables.map(({ name }) => runSql<object>(url, `SELECT * FROM ${name}`)),
  );
  return textOf([
    ...sections,
    section('types', (await runSql<{ line: string }>(url, OTHER_TYPES)).map(lineOf)),
    section(
      'functions',
      (await runSql<{ line: string; definition: string }>(url, FUNCTIONS)).map(
        ({ line, definition }) =>
          `${line} ${createHash('sha256').update(definition).digest('hex').slice(0, 16)}`,
      ),
    ),
    section(
      'rows',
      rowsOf(tables, (name) => rows[tables.findIndex((each) => each.name === name)] ?? []),
    ),
  ]);
}

const lineOf = ({ line }: { line: string }) => line;

const OURS = `relnamespace = current_schema()::regnamespace`;

const TABLES = `SELECT relname::text AS name FROM pg_class WHERE ${OURS} AND relkind = 'r' ORDER BY relname::text COLLATE "C"`;

const TABLE = `
  SELECT line FROM (
    SELECT 1 AS kind, a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || CASE WHEN a.attcollation NOT IN (0, 100) THEN ' collate ' || (SELECT collname FROM pg_collation l WHERE l.oid = a.attcollation) ELSE '' END
      || CASE WHEN a.attstorage <> t.typstorage THEN ' storage ' || a.attstorage::text ELSE '' END
      || CASE WHEN a.attidentity <> '' THEN ' identity ' || a.attidentity::text ELSE '' END
      || CASE WHEN a.attnotnull THEN ' not null' ELSE '' END
      || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') AS line
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT 2, 'options ' || array_to_string(reloptions, ', ') FROM pg_class
    WHERE oid = $1::regclass AND reloptions IS NOT NULL
    UNION ALL
    SELECT 3, 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
    WHERE conrelid = $1::regclass AND contype <> 'n'
    UNION ALL
    SELECT 4, pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = $1::regclass
      AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
    UNION ALL
    SELECT 5, pg_get_triggerdef(oid) || ' enabled ' || tgenabled::text FROM pg_trigger
    WHERE tgrelid = $1::regclass AND NOT tgisinternal
  ) AS lines ORDER BY kind, line COLLATE "C"`;

const OTHER_TYPES = `
  SELECT line FROM (
    SELECT 'domain ' || t.typname || ' ' || format_type(t.typbasetype, t.typtypmod) || ' '
      || (SELECT string_agg(pg_get_constraintdef(c.oid), ' ' ORDER BY c.conname) FROM pg_constraint c WHERE c.contypid = t.oid) AS line
    FROM pg_type t WHERE t.typnamespace = current_schema()::regnamespace AND t.typtype = 'd'
    UNION ALL
    SELECT 'type ' || c.relname || ' (' || string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY a.attnum) || ')'
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.${OURS} AND c.relkind = 'c' AND a.attnum > 0 AND NOT a.attisdropped GROUP BY c.relname
    UNION ALL
    SELECT 'relation ' || c.relname || ' of kind ' || c.relkind::text FROM pg_class c
    WHERE c.${OURS} AND c.relkind NOT IN ('r', 'i', 'c')
  ) AS lines ORDER BY line COLLATE "C"`;

const FUNCTIONS = `
  SELECT p.proname || '(' || pg_get_function_arguments(p.oid) || ') returns ' || pg_get_function_result(p.oid) AS line,
    pg_get_functiondef(p.oid) AS definition
  FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace ORDER BY proname::text COLLATE "C"`;

/** The rows that a new store has, without its ids. */
function rowsOf(
  tables: readonly { name: string }[],
  read: (name: string) => readonly object[],
): string[] {
  return tables.flatMap(({ name }) => read(name).map((row) => `${name} ${jsonOf(row)}`));
}

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

function jsonOf(row: object | undefined): string {
  const sorted = Object.entries(row ?? {}).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify(Object.fromEntries(sorted), (_, value) =>
    typeof value === 'bigint' ? String(value) : value,
  ).replaceAll(ID, '<id>');
}

function section(title: string, lines: readonly string[]): string {
  return [title, ...lines.map((line) => `  ${line}`), ''].join('\n');
}

function textOf(sections: readonly string[]): string {
  return sections.join('\n');
}
