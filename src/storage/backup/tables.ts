/**
 * The tables of a backup: the columns of each with their kinds, the same for both databases.
 *
 * Columns come from `storage/tables`; the log and the intents, which differ in the two databases, have their common form
 * here. The order satisfies every reference between rows. A backup has one row for each entry of the log, and
 * leaves out what a restore computes again (segments, tiles of the tree, the head, the index), and what
 * only running processes know (heartbeats, elections, probes).
 *
 * @module
 */

import { TOKENS as TOKEN_ROWS } from '../tables/authority.ts';
import { type Columns, type Kind, readColumn, type TableSchema } from '../tables/description.ts';
import * as log from '../tables/log.ts';
import { TABLES } from '../tables/tables.ts';

/** `flag` is true or false. In a file, lists and JSON are texts, amounts are digits, bytes are base64. */
export type CopiedKind = Exclude<Kind, 'charge' | 'long'>;

export interface CopiedColumn {
  readonly name: string;
  readonly kind: CopiedKind;
  readonly isOptional: boolean;
}

export interface CopiedTable {
  readonly name: string;
  readonly columns: readonly CopiedColumn[];
}

/** A value in a file: text, whole number, flag, or null where a column is empty. */
export type CopiedValue = string | number | boolean | null;
export type CopiedRow = readonly CopiedValue[];

const ENTRY: Columns = {
  entry_id: 'text',
  entry_type: 'text',
  root_principal: 'text',
  actor_key: 'text',
  capability: 'text?',
  invocation_id: 'text?',
  client_reference_id: 'text?',
  task_id: 'text?',
  parent_invocation_id: 'text?',
  event_class: 'text',
  state: 'text',
  timestamp: 'time',
  retain_until: 'time?',
  leaf: 'bytes?',
  personal: 'bytes?',
  leaf_hash: 'bytes',
};

/** `charged` and `leased` are the tokens whose budgets and leases a call uses. */
const INTENT: Columns = {
  operation_id: 'text',
  state: 'text',
  invocation_id: 'text?',
  token_id: 'text?',
  subject: 'text?',
  root_principal: 'text?',
  capability: 'text?',
  charge_currency: 'text?',
  charge_amount: 'amount?',
  reserved: 'amount?',
  consumed: 'amount?',
  charged: 'list',
  leased: 'list',
  is_keyed: 'flag',
  facts: 'json?',
  instance_id: 'text?',
  admitted_at: 'time?',
  result: 'json?',
  outcome: 'text?',
  entry_id: 'text?',
  settled_at: 'time?',
  reconciled_at: 'time?',
  composing: 'exact?',
};

/** Tables that a backup leaves out, each with the reason. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  segments: 'the table `log` of a backup has their entries',
  tiles: 'computed from the leaf hashes',
  head: 'computed from the leaf hashes',
  blocks: 'computed from the entries',
  buckets: 'computed from the entries',
  retentions: 'computed from the entries',
  families: 'the column `children` of a token',
  store: 'the header has the id of the log and the seal of the rows',
  meta: 'the header has the id of the log and the seal of the rows',
  handed: 'attempts of running processes whose answers may be lost',
  instances: 'heartbeats of running processes',
  leads: 'elections of running processes',
  probes: 'checks of running processes',
};

export const ORIGINS = copied(log.ORIGINS);
export const LOG = tableOf('log', { sequence: 'integer', ...ENTRY });
/** Entries that have no place yet, in the order in which they get one. Only PostgreSQL has some. */
export const QUEUE = tableOf('queue', ENTRY);
export const CHECKPOINTS = copied(log.CHECKPOINTS);
export const TOKENS = copied(TOKEN_ROWS);

/** In the order in which a backup has them. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  ORIGINS,
  LOG,
  QUEUE,
  ...TABLES.filter(({ name }) => name !== ORIGINS.name && !(name in LEFT_OUT)).map(copied),
];

/** The columns of both databases, each of the kind that both have. */
function copied({ name, fields, beside, sqlite, postgres }: TableSchema): CopiedTable {
  if (name === 'intents') return tableOf(name, INTENT);
  const own = { ...fields, ...beside };
  return tableOf(name, { ...own, ...sqlite?.columns, ...postgres?.columns, ...own });
}

function tableOf(name: string, described: Columns): CopiedTable {
  const columns = Object.entries(described).flatMap(([column, text]): CopiedColumn[] => {
    const { kind, isOptional } = readColumn(text);
    if (kind === 'long') return [{ name: column, kind: 'integer', isOptional }];
    if (kind !== 'charge') return [{ name: column, kind, isOptional }];
    return [
      { name: `${column}_currency`, kind: 'text', isOptional },
      { name: `${column}_amount`, kind: 'amount', isOptional },
    ];
  });
  return { name, columns };
}
