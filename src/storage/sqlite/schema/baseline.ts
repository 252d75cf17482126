/**
 * The tables of a store. Until release 0.1.0 a change of the schema edits them and raises `BASELINE_VERSION`; from then
 * on it is a step (`migrations.ts`).
 *
 * Times are milliseconds since 1970, amounts are minor units, lists and objects that are never searched are
 * JSON text. Bytes that are hashed or sent again are stored unchanged. Rules that can be constraints are
 * constraints, so that a defect above is an error here and not a wrong row.
 *
 * @module
 */

import { APPROVALS } from './approvals.ts';
import { AUTHORITY } from './authority.ts';
import { CALLS } from './calls.ts';
import { LOG } from './log.ts';
import { PEOPLE } from './people.ts';

/** `row_seal` says under which row key the rows have their MACs (`storage/port/row-store.ts`). */
const STORE = `
  CREATE TABLE store (
    id       INTEGER PRIMARY KEY CHECK (id = 1),
    log_id   TEXT NOT NULL,
    row_seal TEXT
  ) STRICT;
`;

const PROCESSES = `
  CREATE TABLE instances (
    instance_id TEXT NOT NULL PRIMARY KEY,
    seen_at     INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE leads (
    job    TEXT NOT NULL PRIMARY KEY,
    holder TEXT NOT NULL,
    until  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE probes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL
  ) STRICT;
`;

export const BASELINE = [STORE, AUTHORITY, CALLS, APPROVALS, PEOPLE, LOG, PROCESSES].join('');
