/**
 * The tables and functions of a store. Until release 0.1.0 a change of the schema edits them and raises
 * `BASELINE_VERSION`; from then on it is a step (`migrations.ts`).
 *
 * Rules that can be constraints are constraints: the database checks our statements a second time. On the
 * tables that every call writes to, a condition on one column belongs to its type: the server reads a table's
 * own checks anew for each statement, which cost more than the statement in a measurement. Times are
 * milliseconds, as in every record; amounts are minor units.
 *
 * @module
 */

import { APPROVALS } from './approvals.ts';
import { AUTHORITY } from './authority.ts';
import { BATCHES } from './batches.ts';
import { CALLS } from './calls.ts';
import { FUNCTIONS } from './functions.ts';
import { LOG } from './log.ts';
import { PEOPLE } from './people.ts';

const TYPES = `
CREATE DOMAIN minor_units AS bigint CHECK (VALUE >= 0);
CREATE DOMAIN hash_bytes AS bytea CHECK (length(VALUE) = 32);
CREATE DOMAIN intent_state AS text CHECK (VALUE IN ('admitted', 'aborted', 'settled'));
CREATE DOMAIN intent_outcome AS text
  CHECK (VALUE IN ('completed', 'failed', 'no_effect', 'indeterminate'));
`;

/** `row_seal` says under which row key the rows have their MACs (`storage/port/row-store.ts`). */
const STORE = `
CREATE TABLE meta (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL,
  log_id text NOT NULL DEFAULT gen_random_uuid()::text,
  row_seal text
);
`;

const PROCESSES = `
CREATE TABLE instances (
  instance_id text PRIMARY KEY,
  seen_at timestamptz(3) NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE leads (
  job text PRIMARY KEY,
  holder text NOT NULL,
  until timestamptz(3) NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE probes (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  at timestamptz(3) NOT NULL
) WITH (fillfactor = 50);
`;

export const BASELINE = [
  ...[TYPES, STORE, AUTHORITY, CALLS, APPROVALS, PEOPLE, LOG, PROCESSES],
  ...[FUNCTIONS, BATCHES],
].join('');
