/**
 * How the columns of a backup stand in PostgreSQL: the expression that reads each, and the one that writes it.
 *
 * @module
 */

import type { CopiedColumn, CopiedKind, CopiedTable } from '../../backup/tables.ts';

/** The names of columns that differ; null: nothing takes the value. */
const NAMES: Readonly<Record<string, string | null>> = {
  'bindings.price_currency': 'currency',
  'bindings.price_amount': 'amount',
  'intents.charge_currency': 'currency',
  'intents.charge_amount': 'amount',
  'tokens.children': null,
};

const CHILDREN = `coalesce((SELECT f.children FROM families f WHERE f.token_id = r.token_id), 0)`;

/** In the form of a file. Lists and JSON are texts. */
const READS: Readonly<Record<CopiedKind, (column: string) => string>> = {
  text: (column) => column,
  flag: (column) => column,
  integer: (column) => `${column}::text`,
  amount: (column) => `${column}::text`,
  time: (column) => `(extract(epoch FROM ${column}) * 1000)::bigint::text`,
  bytes: (column) => `encode(${column}, 'base64')`,
  list: (column) => `array_to_json(${column})::text`,
  json: (column) => `${column}::text`,
  exact: (column) => `${column}::text`,
};

/** From the text of a parameter. */
const WRITES: Readonly<Record<CopiedKind, (value: string) => string>> = {
  text: (value) => value,
  flag: (value) => `${value}::boolean`,
  integer: (value) => `${value}::bigint`,
  amount: (value) => `${value}::bigint`,
  time: (value) => `to_timestamp(${value}::bigint / 1000.0)`,
  bytes: (value) => `decode(${value}, 'base64')`,
  list: (value) => `CASE WHEN ${value} IS NOT NULL THEN ARRAY(SELECT j.item
    FROM json_array_elements_text(${value}::json) WITH ORDINALITY AS j (item, place) ORDER BY j.place) END`,
  json: (value) => `${value}::jsonb`,
  exact: (value) => `${value}::json`,
};

/** Columns that are never empty here, with the value for one that SQLite leaves empty. */
const FILLED: Readonly<Record<string, string>> = {
  'intents.reserved': '0',
  'intents.consumed': '0',
};

/** Parents before children; the rest by its primary key. */
const ORDERS: Readonly<Record<string, string>> = {
  origins: 'r.first',
  checkpoints: 'r.sequence',
  tokens: 'r.depth, r.token_id',
  approvals: 'r.approval_request_id, r.place',
  deliveries: 'r.place',
  steps: 'r.place',
};

export function readingOf({ name, columns }: CopiedTable): string {
  const list = columns.map((column) => `${readExpression(name, column)} AS "${column.name}"`);
  const order = ORDERS[name];
  return `SELECT ${list.join(', ')} FROM ${name} r${order ? ` ORDER BY ${order}` : ''}`;
}

function readExpression(table: string, { name, kind }: CopiedColumn): string {
  const key = `${table}.${name}`;
  if (key === 'tokens.children') return READS.integer(CHILDREN);
  return READS[kind](`r."${NAMES[key] ?? name}"`);
}

/** One statement that inserts many rows: a parameter of texts for each column, in the order of `taken`. */
export function writingOf({ name: table, columns }: CopiedTable) {
  const taken = columns.flatMap((column, index) => {
    const target = NAMES[`${table}.${column.name}`];
    return target === null ? [] : [{ column, index, target: target ?? column.name }];
  });
  const names = taken.map(({ target }) => target);
  const values = taken.map(({ column }, at) => writeExpression(table, column, `n.v${at}`));
  const places = names.map((_, at) => at);
  return {
    taken: taken.map(({ index }) => index),
    text: `INSERT INTO ${table} (${names.map((name) => `"${name}"`).join(', ')}) OVERRIDING SYSTEM VALUE
      SELECT ${values.join(', ')}
      FROM unnest(${places.map((at) => `$${at + 1}::text[]`).join(', ')})
        WITH ORDINALITY AS n (${places.map((at) => `v${at}`).join(', ')}, place) ORDER BY n.place`,
  };
}

function writeExpression(table: string, { name, kind }: CopiedColumn, value: string): string {
  const key = `${table}.${name}`;
  const filled = FILLED[key];
  return WRITES[kind](filled === undefined ? value : `coalesce(${value}, '${filled}')`);
}
