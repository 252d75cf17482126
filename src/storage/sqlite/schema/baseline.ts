/**
 * The tables of a store. Until release 0.1.0 a change of the schema edits them and raises `BASELINE_VERSION`; from then
 * on it is a step (`migrations.ts`), and what the step adds does not come into the baseline.
 *
 * Times are milliseconds since 1970, amounts are minor units, lists and objects that are never searched are
 * JSON text. Bytes that are hashed or sent again are stored unchanged. Rules that can be constraints are
 * constraints, so that a defect above is an error here and not a wrong row.
 *
 * @module
 */

import type { Kind } from '../../tables/description.ts';
import { type SchemaDialect, schemaOf } from '../../tables/schema.ts';
import { TABLES } from '../../tables/tables.ts';
import { SQLITE } from '../rows.ts';
import { TRIGGERS } from './triggers.ts';

const TYPES: Readonly<Record<Exclude<Kind, 'charge'>, string>> = {
  text: 'TEXT',
  integer: 'INTEGER',
  long: 'INTEGER',
  amount: 'INTEGER',
  time: 'INTEGER',
  flag: 'INTEGER',
  bytes: 'BLOB',
  list: 'TEXT',
  json: 'TEXT',
  exact: 'TEXT',
};

/** Of a column without a check of its own. */
const CHECKS: Partial<Record<Kind, (column: string) => string>> = {
  amount: (column) => `${column} >= 0`,
  list: (column) => `json_type(${column}) = 'array'`,
  json: (column) => `json_type(${column}) = 'object'`,
  exact: (column) => `json_type(${column}) = 'object'`,
};

const SCHEMA: SchemaDialect = {
  name: 'sqlite',
  chargeColumns: SQLITE.chargeColumns,
  column(name, { kind, isNullable, clauses }, isPlain) {
    const type = TYPES[kind as keyof typeof TYPES];
    const isKey = clauses.startsWith('PRIMARY KEY');
    // An integer that is the primary key is the id of the row, which is never null.
    const canBeNull = isNullable || (isKey && (isPlain || type === 'INTEGER'));
    const check = isPlain || clauses.includes('CHECK') ? undefined : CHECKS[kind]?.(name);
    return [name, type, !canBeNull && 'NOT NULL', clauses, check && `CHECK (${check})`]
      .filter(Boolean)
      .join(' ');
  },
  options: (options) => (options ? ` STRICT, ${options}` : ' STRICT'),
};

/** `row_seal` says under which row key the rows have their MACs (`storage/port/row-store.ts`). */
const STORE = `
  CREATE TABLE store (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    log_id   TEXT NOT NULL,
    row_seal TEXT
  ) STRICT;
`;

const EMPTY_TREE = "INSERT INTO head (id, size, peaks) VALUES (1, 0, x'');";

export const BASELINE = [STORE, schemaOf(SCHEMA, TABLES), EMPTY_TREE, TRIGGERS].join('');
