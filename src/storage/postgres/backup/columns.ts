/**
 * Which columns of a backup have other names in PostgreSQL, and the forms in which its driver sends and receives values.
 *
 * @module
 */

import { type StoredColumns, type Target, targetsOf } from '../../backup/columns.ts';
import type { CopiedKind, CopiedTable } from '../../backup/tables.ts';

/** What the driver would not return exactly. Lists and JSON are texts in a file. */
const READS: Partial<Record<CopiedKind, (column: string) => string>> = {
  integer: (column) => `${column}::text`,
  amount: (column) => `${column}::text`,
  time: (column) => `(extract(epoch FROM ${column}) * 1000)::bigint::text`,
  list: (column) => `array_to_json(${column})::text`,
  json: (column) => `${column}::text`,
  exact: (column) => `${column}::text`,
};

export const COLUMNS: StoredColumns = {
  expressions: {
    'bindings.price_currency': 'r.currency',
    'bindings.price_amount': 'r.amount',
    'intents.charge_currency': 'r.currency',
    'intents.charge_amount': 'r.amount',
    'tokens.children':
      'coalesce((SELECT f.children FROM families f WHERE f.token_id = r.token_id), 0)',
  },
  targets: {
    'bindings.price_currency': 'currency',
    'bindings.price_amount': 'amount',
    'intents.charge_currency': 'currency',
    'intents.charge_amount': 'amount',
    'tokens.children': null,
  },
  read: (kind, expression) => READS[kind]?.(expression) ?? expression,
};

/** From the text of a parameter. */
const WRITES: Partial<Record<CopiedKind, (value: string) => string>> = {
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

/** One statement that inserts many rows: a parameter of texts for each target. */
export function writingOf(table: CopiedTable): { targets: Target[]; text: string } {
  const targets = targetsOf(COLUMNS, table);
  const numbers = targets.map((_, at) => at);
  const values = targets.map(({ column: { name, kind } }, at) => {
    const filled = FILLED[`${table.name}.${name}`];
    const value = filled === undefined ? `n.v${at}` : `coalesce(n.v${at}, '${filled}')`;
    return WRITES[kind]?.(value) ?? value;
  });
  const text = `INSERT INTO ${table.name} (${targets.map(({ name }) => `"${name}"`).join(', ')}) OVERRIDING SYSTEM VALUE
    SELECT ${values.join(', ')}
    FROM unnest(${numbers.map((at) => `$${at + 1}::text[]`).join(', ')})
      WITH ORDINALITY AS n (${numbers.map((at) => `v${at}`).join(', ')}, place) ORDER BY n.place`;
  return { targets, text };
}
