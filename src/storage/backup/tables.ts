/**
 * The tables of a backup: the columns of each with their kinds, the same for both databases.
 *
 * Described tables come from `tables.ts`; the tables that each adapter describes itself have their common form
 * here. The order satisfies every reference between rows. A backup has one row for each entry of the log, and
 * leaves out what a restore computes again (segments, tiles of the tree, the head, the index), and what
 * only running processes know (heartbeats, elections, probes).
 *
 * @module
 */

import * as described from '../tables/tables.ts';

/** `flag` is true or false. In a file, lists and JSON are texts, amounts are digits, bytes are base64. */
export type CopiedKind = Exclude<described.Kind, 'charge'> | 'flag';

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

type Kinds = Readonly<Record<string, string>>;

const ENTRY: Kinds = {
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
const INTENT: Kinds = {
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
  composing: 'json?',
};

export const ORIGINS = tableOf('origins', { first: 'integer', log_id: 'text' });
export const LOG = tableOf('log', { sequence: 'integer', ...ENTRY });
/** Entries that have no place yet, in the order in which they get one. Only PostgreSQL has some. */
export const QUEUE = tableOf('queue', ENTRY);
export const CHECKPOINTS = describedTable(described.CHECKPOINTS);
export const TOKENS = describedTable(described.TOKENS);
const INTENTS = tableOf('intents', INTENT);

/** In the order in which a backup has them. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  ORIGINS,
  LOG,
  QUEUE,
  tableOf('erasures', { policy: 'text', below: 'integer' }),
  CHECKPOINTS,
  tableOf('cosignatures', { checkpoint_id: 'text', line: 'text' }),
  TOKENS,
  INTENTS,
  tableOf('leases', { token_id: 'text', operation_id: 'text?', fence: 'integer', until: 'time' }),
  tableOf('permits', { key: 'text', window_start: 'time', taken: 'integer', granted: 'integer' }),
  ...Object.values(described)
    .filter(({ name }) => name !== 'tokens' && name !== 'checkpoints')
    .map((table) => describedTable(table as described.Description<object>)),
];

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

function describedTable<Kept>({ name, fields, beside = {} }: described.Description<Kept>) {
  return tableOf(name, {
    ...(fields as Kinds),
    ...beside.both,
    ...beside.sqlite,
    ...beside.postgres,
  });
}

function tableOf(name: string, kinds: Kinds): CopiedTable {
  const columns = Object.entries(kinds).flatMap(([column, described]): CopiedColumn[] => {
    const isOptional = described.endsWith('?');
    const kind = described.replace('?', '');
    if (kind !== 'charge') return [{ name: column, kind: kind as CopiedKind, isOptional }];
    return [
      { name: `${column}_currency`, kind: 'text', isOptional },
      { name: `${column}_amount`, kind: 'amount', isOptional },
    ];
  });
  return { name, columns };
}
