/**
 * The tables and functions of a store. Until release 0.1.0 a change of the schema edits them and raises
 * `BASELINE_VERSION`; from then on it is a step (`migrations.ts`), and what the step adds does not come into the baseline.
 *
 * Rules that can be constraints are constraints: the database checks our statements a second time. On the
 * tables that every call writes to, a condition on one column belongs to its type: the server reads a table's
 * own checks anew for each statement, which cost more than the statement in a measurement. Times are
 * milliseconds, as in every record; amounts are minor units.
 *
 * @module
 */

import type { Kind } from '../../tables/description.ts';
import { type SchemaDialect, schemaOf } from '../../tables/schema.ts';
import { TABLES } from '../../tables/tables.ts';
import { POSTGRES } from '../rows.ts';
import { BATCHES } from './batches.ts';
import { FUNCTIONS } from './functions.ts';
import { LOG } from './log.ts';

const DOMAINS = `
CREATE DOMAIN minor_units AS bigint CHECK (VALUE >= 0);
CREATE DOMAIN hash_bytes AS bytea CHECK (length(VALUE) = 32);
CREATE DOMAIN intent_state AS text CHECK (VALUE IN ('admitted', 'aborted', 'settled'));
CREATE DOMAIN intent_outcome AS text
  CHECK (VALUE IN ('completed', 'failed', 'no_effect', 'indeterminate'));
`;

const TYPES: Partial<Record<Kind, string>> = {
  long: 'bigint',
  amount: 'minor_units',
  time: 'timestamptz(3)',
  flag: 'boolean',
  bytes: 'bytea',
  list: 'text[]',
  json: 'jsonb',
  exact: 'json',
};

const SCHEMA: SchemaDialect = {
  name: 'postgres',
  chargeColumns: POSTGRES.chargeColumns,
  column(name, { kind, isNullable, clauses }, isPlain) {
    const type = isPlain && kind === 'time' ? 'timestamptz' : (TYPES[kind] ?? kind);
    return [name, type, !isNullable && 'NOT NULL', clauses].filter(Boolean).join(' ');
  },
  options: (options) => (options ? ` WITH (${options})` : ''),
};

/** `row_seal` says under which row key the rows have their MACs (`storage/port/row-store.ts`). */
const STORE = `
CREATE TABLE meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL,
  log_id text NOT NULL DEFAULT gen_random_uuid()::text,
  row_seal text
);
`;

/** Apart from the token's own row: admissions hold that one, and delegation must not wait for them. */
const FAMILIES = `
CREATE TABLE families (
  token_id text PRIMARY KEY REFERENCES tokens,
  children integer NOT NULL CHECK (children > 0)
);
`;

export const BASELINE = [
  DOMAINS,
  STORE,
  schemaOf(SCHEMA, TABLES),
  FAMILIES,
  LOG,
  FUNCTIONS,
  BATCHES,
].join('');
