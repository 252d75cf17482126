/**
 * Which columns of a backup SQLite computes from others, and which it does not have.
 *
 * @module
 */

import type { StoredColumns } from '../../backup/columns.ts';

/** The tokens of the lineage that the call of intent `r` was charged on, or that it leased. */
const LINEAGE = 'json_each((SELECT t.lineage FROM tokens t WHERE t.token_id = r.token_id)) l';
const CHARGED = `CASE WHEN r.reserved IS NULL THEN '[]' ELSE (
  SELECT json_group_array(l.value ORDER BY l.key) FROM ${LINEAGE}
  JOIN budgets b ON b.token_id = l.value AND b.currency = r.charge_currency) END`;
const LEASED = `CASE WHEN r.leases = 0 THEN '[]' ELSE (
  SELECT json_group_array(l.value ORDER BY l.key) FROM ${LINEAGE}
  JOIN tokens x ON x.token_id = l.value AND x.concurrent_branches = 'exclusive') END`;
const IS_KEYED = 'EXISTS (SELECT 1 FROM idempotency k WHERE k.operation_id = r.operation_id)';

/** PostgreSQL remembers which pending request answers an equal question: the newest one here. */
const IS_ASKED = `r.status = 'pending' AND NOT EXISTS (
  SELECT 1 FROM approval_requests o WHERE o.status = 'pending' AND o.chain = r.chain
    AND o.capability = r.capability AND o.contract_version = r.contract_version
    AND o.parameters_digest = r.parameters_digest AND o.session_id IS r.session_id
    AND o.declaration_digest IS r.declaration_digest
    AND (o.created_at, o.approval_request_id) > (r.created_at, r.approval_request_id))`;

export const COLUMNS: StoredColumns = {
  expressions: {
    'approval_requests.is_asked': IS_ASKED,
    'steps.place': 'r.rowid',
    'permits.granted': '0',
    'intents.charged': CHARGED,
    'intents.leased': LEASED,
    'intents.is_keyed': IS_KEYED,
    'intents.result': 'NULL',
  },
  targets: {
    'approval_requests.is_asked': null,
    'steps.place': 'rowid',
    'permits.granted': null,
    'intents.charged': null,
    'intents.leased': 'leases',
    'intents.is_keyed': null,
    'intents.result': null,
  },
};
