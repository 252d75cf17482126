/**
 * How the columns of a backup stand in SQLite: the expression that reads each, and the column that takes it.
 *
 * @module
 */

import type { CopiedColumn, CopiedTable } from '../../backup/tables.ts';

/** Absent: the column has the same name. Null: nothing takes the value. */
interface Place {
  readonly read: string;
  readonly write?: string | null;
}

/** The tokens of the lineage that the call of intent `i` was charged on, or that it leased. */
const LINEAGE = 'json_each((SELECT t.lineage FROM tokens t WHERE t.token_id = i.token_id)) l';
const CHARGED = `CASE WHEN i.reserved IS NULL THEN '[]' ELSE (
  SELECT json_group_array(l.value ORDER BY l.key) FROM ${LINEAGE}
  JOIN budgets b ON b.token_id = l.value AND b.currency = i.charge_currency) END`;
const LEASED = `CASE WHEN i.leases = 0 THEN '[]' ELSE (
  SELECT json_group_array(l.value ORDER BY l.key) FROM ${LINEAGE}
  JOIN tokens x ON x.token_id = l.value AND x.concurrent_branches = 'exclusive') END`;
const IS_KEYED = 'EXISTS (SELECT 1 FROM idempotency k WHERE k.operation_id = i.operation_id)';

/** PostgreSQL remembers which pending request answers an equal question: the newest one here. */
const IS_ASKED = `i.status = 'pending' AND NOT EXISTS (
  SELECT 1 FROM approval_requests o WHERE o.status = 'pending' AND o.chain = i.chain
    AND o.capability = i.capability AND o.contract_version = i.contract_version
    AND o.parameters_digest = i.parameters_digest AND o.session_id IS i.session_id
    AND o.declaration_digest IS i.declaration_digest
    AND (o.created_at, o.approval_request_id) > (i.created_at, i.approval_request_id))`;

const PLACES: Readonly<Record<string, Place>> = {
  'approval_requests.is_asked': { read: IS_ASKED, write: null },
  'steps.place': { read: 'i.rowid', write: 'rowid' },
  'permits.granted': { read: '0', write: null },
  'intents.charged': { read: CHARGED, write: null },
  'intents.leased': { read: LEASED, write: 'leases' },
  'intents.is_keyed': { read: IS_KEYED, write: null },
  'intents.result': { read: 'NULL', write: null },
};

/** Parents before children, entries by their places; the rest as SQLite stores it. */
const ORDERS: Readonly<Record<string, string>> = {
  origins: 'i.first',
  log: 'i.sequence',
  tokens: 'i.depth, i.token_id',
  approvals: 'i.approval_request_id, i.place',
  deliveries: 'i.place',
  steps: 'i.rowid',
};

export function readingOf({ name, columns }: CopiedTable): string {
  const list = columns.map((column) => `${readExpression(name, column)} AS "${column.name}"`);
  const order = ORDERS[name];
  return `SELECT ${list.join(', ')} FROM ${name} i${order ? ` ORDER BY ${order}` : ''}`;
}

function readExpression(table: string, { name }: CopiedColumn): string {
  return PLACES[`${table}.${name}`]?.read ?? `i."${name}"`;
}

/** The column that takes the value; undefined when none does. */
export function targetOf(table: string, { name }: CopiedColumn): string | undefined {
  const place = PLACES[`${table}.${name}`];
  return place?.write === null ? undefined : (place?.write ?? name);
}
