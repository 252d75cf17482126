/**
 * Reads calls in SQLite: everything that the rules of one call need, and the calls left open.
 *
 * @module
 */

import type { Loaded, LoadRequest } from '../../port/invocation-store.ts';
import type {
  BindingRecord,
  IdempotencyRecord,
  IntentRecord,
  TokenRecord,
} from '../../port/records.ts';
import type { Row } from '../../tables/table.ts';
import type { Connection } from '../connection.ts';
import { BINDINGS, type IntentRow, intentOf, KEYS } from '../rows.ts';
import type { TokensSeen } from '../token-rows.ts';
import { readLineage } from '../tokens.ts';
import { readFreezes, readGrant } from './admission.ts';

export const INTENT_COLUMNS = `operation_id, invocation_id, token_id, subject, root_principal, capability,
  charge_currency, charge_amount, facts, instance_id, admitted_at`;

export function load(
  connection: Connection,
  request: LoadRequest,
  now: Date,
  seen?: TokensSeen,
): Loaded {
  const { tokenId, capability, grantId, bindingIds = [], idempotency } = request;
  const lineage = readLineage(connection, tokenId, seen);
  const own = lineage.at(-1);
  const token = own?.token;
  const root_principal = token?.root_principal;
  return {
    token,
    lineage: lineage.map(({ link }) => link),
    freezes:
      own?.anyFreeze === false ? [] : readFreezes(connection, { capability, root_principal }),
    grant: grantId === undefined ? undefined : readGrant(connection, grantId),
    bindings: readBindings(connection, bindingIds),
    idempotency: token && idempotency ? readKey(connection, token, idempotency, now) : undefined,
  };
}

export function heartbeat(connection: Connection, instanceId: string, now: Date): void {
  connection.run(
    `INSERT INTO instances (instance_id, seen_at) VALUES (?, ?)
     ON CONFLICT (instance_id) DO UPDATE SET seen_at = max(seen_at, excluded.seen_at)`,
    instanceId,
    now,
  );
}

export function abandonedIntents(
  connection: Connection,
  silentSince: Date,
  limit: number,
): IntentRecord[] {
  const rows = connection.all<IntentRow>(
    `SELECT ${INTENT_COLUMNS} FROM intents i
     WHERE state = 'admitted' AND composing IS NULL AND NOT EXISTS (
       SELECT 1 FROM instances WHERE instance_id = i.instance_id AND seen_at > ?
     )
     ORDER BY admitted_at, operation_id LIMIT ?`,
    silentSince,
    limit,
  );
  return rows.map(intentOf);
}

export function openIntents(
  connection: Connection,
  rootPrincipal: string,
  limit: number,
): IntentRecord[] {
  const rows = connection.all<IntentRow>(
    `SELECT ${INTENT_COLUMNS} FROM intents WHERE state = 'admitted' AND root_principal = ?
     ORDER BY admitted_at, operation_id LIMIT ?`,
    rootPrincipal,
    limit,
  );
  return rows.map(intentOf);
}

export function indeterminate(
  connection: Connection,
  limit: number,
  after?: string,
): IntentRecord[] {
  const rows = connection.all<IntentRow>(
    `SELECT ${INTENT_COLUMNS} FROM intents
     WHERE outcome = 'indeterminate' AND reconciled_at IS NULL
       AND (?2 IS NULL OR (admitted_at, operation_id) >
         (SELECT admitted_at, operation_id FROM intents WHERE operation_id = ?2))
     ORDER BY admitted_at, operation_id LIMIT ?1`,
    limit,
    after,
  );
  return rows.map(intentOf);
}

/** In the order requested, without those that do not exist. */
function readBindings(connection: Connection, ids: readonly string[]): BindingRecord[] {
  return ids.flatMap((id) => {
    const row = connection.get<Row>('SELECT * FROM bindings WHERE binding_id = ?', id);
    return row ? [BINDINGS.read(row)] : [];
  });
}

export function forgetKeys(connection: Connection, now: Date, limit: number): number {
  return connection.change(
    `DELETE FROM idempotency WHERE rowid IN (
       SELECT k.rowid FROM idempotency k INDEXED BY idempotency_by_age
         JOIN intents i USING (operation_id)
       WHERE keep_until <= ? AND i.state = 'settled' ORDER BY keep_until LIMIT ?)`,
    now,
    limit,
  );
}

/** A key that admission may give to a new call no longer counts for this one. */
function readKey(
  connection: Connection,
  { chain }: TokenRecord,
  { capability, key }: { capability: string; key: string },
  now: Date,
): IdempotencyRecord | undefined {
  const row = connection.get<Row>(
    `SELECT ${KEYS.list('k')}
     FROM idempotency k JOIN intents i USING (operation_id)
     WHERE chain = ? AND k.capability = ? AND key = ?
       AND (keep_until > ? OR i.state = 'admitted')`,
    chain,
    capability,
    key,
    now,
  );
  return row && KEYS.read(row);
}
