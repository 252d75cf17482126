/**
 * Open calls and calls of unknown outcome: heartbeats, leases, keys and reconciliation.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import type { InvocationStore } from '../port/invocation-store.ts';
import type { IntentRecord } from '../port/records.ts';
import type { Sql, SqlReader, SqlWriter } from '../sql/sql.ts';
import { columns, either, GREATEST, part, type Shape, statement } from '../sql/statement.ts';
import { KEYS } from '../tables/calls.ts';

type Answer<Name extends keyof InvocationStore> = Steps<Awaited<ReturnType<InvocationStore[Name]>>>;

/** Locks the leases from root to leaf before it reads how many the call took, so that none is lost in between. */
export function* renewLeases(
  sql: Sql,
  ...[operationId, until]: Parameters<InvocationStore['renewLeases']>
): Answer<'renewLeases'> {
  const held = yield* sql.all(HELD_LEASES, operationId);
  const call = yield* sql.one(LEASES_TAKEN, operationId);
  if (held.length !== call?.leases) return false;
  const ids = held.map(({ token_id }) => token_id);
  if (ids.length > 0) yield* sql.run(RENEW, ids, until);
  return true;
}

export function* busyUntil(
  sql: SqlReader,
  ...[tokenIds, now]: Parameters<InvocationStore['busyUntil']>
): Answer<'busyUntil'> {
  return (yield* sql.one(BUSY_UNTIL, tokenIds, now))?.until;
}

export function* heartbeat(
  sql: SqlWriter,
  ...[instanceId, now]: Parameters<InvocationStore['heartbeat']>
): Answer<'heartbeat'> {
  yield* sql.run(HEARTBEAT, instanceId, now);
}

export function* abandonedIntents(
  sql: SqlReader,
  ...[silentSince, limit]: Parameters<InvocationStore['abandonedIntents']>
): Answer<'abandonedIntents'> {
  return yield* sql.all(ABANDONED, silentSince, limit);
}

export function* openIntents(
  sql: SqlReader,
  ...[rootPrincipal, limit]: Parameters<InvocationStore['openIntents']>
): Answer<'openIntents'> {
  return yield* sql.all(OPEN, rootPrincipal, limit);
}

export function* indeterminate(
  sql: SqlReader,
  ...[limit, after]: Parameters<InvocationStore['indeterminate']>
): Answer<'indeterminate'> {
  return yield* sql.all(INDETERMINATE, limit, after);
}

export function* forgetKeys(
  sql: SqlWriter,
  ...[now, limit]: Parameters<InvocationStore['forgetKeys']>
): Answer<'forgetKeys'> {
  return (yield* sql.all(FORGET_KEYS, now, limit)).length;
}

/** The databases have different columns beside these. */
export const INTENT: Shape<IntentRecord> = {
  fields: {
    operation_id: 'text',
    invocation_id: 'text',
    token_id: 'text',
    subject: 'text',
    root_principal: 'text',
    capability: 'text',
    charge: 'charge?',
    facts: 'json',
    instance_id: 'text',
    admitted_at: 'time',
  },
};

/** A call of unknown outcome, with what its settlement kept. */
const UNKNOWN: Shape<IntentRecord & { readonly consumed: bigint; readonly entry_id: string }> = {
  fields: { ...INTENT.fields, consumed: 'amount', entry_id: 'text' },
};

/** The oldest of an invocation. */
export const TO_RECONCILE = statement('to_reconcile', UNKNOWN)`
  SELECT ${columns(UNKNOWN)} FROM intents
  WHERE invocation_id = $1 AND outcome = 'indeterminate' AND reconciled_at IS NULL
  ORDER BY admitted_at, operation_id LIMIT 1 FOR UPDATE`;

const TOKEN_ID: Shape<{ readonly token_id: string }> = { fields: { token_id: 'text' } };

/** On PostgreSQL a call has the list of its leases, on SQLite their number. */
const LEASES = either({ sqlite: 'leases', postgres: 'cardinality(leased)' });

const HELD_LEASES = statement('held_leases', TOKEN_ID)`${either({
  sqlite: 'SELECT token_id FROM leases WHERE operation_id = $1',
  postgres: `SELECT l.token_id FROM intents i
      JOIN leases l ON l.token_id = ANY (i.leased) AND l.operation_id = i.operation_id
    WHERE i.operation_id = $1 ORDER BY array_position(i.leased, l.token_id) FOR UPDATE OF l`,
})}`;

const LEASES_TAKEN = statement('leases_taken', {
  fields: { leases: 'integer' },
} as Shape<{ readonly leases: number }>)`
  SELECT ${LEASES} AS leases FROM intents
  WHERE operation_id = $1 AND (state = 'admitted' OR ${LEASES} > 0)`;

const RENEW = statement('renew_leases')`
  UPDATE leases SET until = $2 WHERE token_id = ANY ($1::text[])`;

const UNTIL: Shape<{ readonly until?: Date | undefined }> = { fields: { until: 'time?' } };

const BUSY_UNTIL = statement('busy_until', UNTIL)`
  SELECT max(until) AS until FROM leases
  WHERE token_id = ANY ($1::text[]) AND operation_id IS NOT NULL AND until > $2`;

const HEARTBEAT = statement('heartbeat')`
  INSERT INTO instances (instance_id, seen_at) VALUES ($1, $2) ON CONFLICT (instance_id)
  DO UPDATE SET seen_at = ${GREATEST}(instances.seen_at, excluded.seen_at)`;

const OLDEST_FIRST = 'ORDER BY admitted_at, operation_id';

const ABANDONED = statement('abandoned_intents', INTENT)`
  SELECT ${columns(INTENT)} FROM intents i
  WHERE i.state = 'admitted' AND i.composing IS NULL AND NOT EXISTS (
    SELECT 1 FROM instances s WHERE s.instance_id = i.instance_id AND s.seen_at > $1)
  ${OLDEST_FIRST} LIMIT $2`;

const OPEN = statement('open_intents', INTENT)`
  SELECT ${columns(INTENT)} FROM intents WHERE state = 'admitted' AND root_principal = $1
  ${OLDEST_FIRST} LIMIT $2`;

const INDETERMINATE = statement('indeterminate', INTENT)`
  SELECT ${columns(INTENT)} FROM intents
  WHERE outcome = 'indeterminate' AND reconciled_at IS NULL
    AND ($2::text IS NULL OR (admitted_at, operation_id) >
      (SELECT a.admitted_at, a.operation_id FROM intents a WHERE a.operation_id = $2))
  ${OLDEST_FIRST} LIMIT $1`;

/**
 * Skips a key that another transaction has locked; it is deleted later. A join could walk through all intents; the
 * subquery looks up one for each key.
 */
const FORGET_KEYS = statement('forget_keys', part(KEYS, 'operation_id'))`
  DELETE FROM idempotency WHERE operation_id IN (
    SELECT k.operation_id FROM idempotency k
      ${either({ sqlite: 'INDEXED BY idempotency_by_age' })}
    WHERE k.keep_until <= $1
      AND (SELECT i.state FROM intents i WHERE i.operation_id = k.operation_id) = 'settled'
    ORDER BY k.keep_until LIMIT $2 FOR UPDATE SKIP LOCKED)
  RETURNING operation_id`;
