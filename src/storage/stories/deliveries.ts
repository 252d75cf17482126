/**
 * Notifications: which are due, which process sends them, and the result.
 *
 * A lease keeps two processes from sending one notification at the same time. When a process dies after
 * sending and before recording it, the notification is sent again.
 *
 * @module
 */

import type { Steps } from '../../steps.ts';
import type { DeliveryRecord } from '../port/records.ts';
import type { ApprovalStore } from '../port/store.ts';
import type { SqlReader, SqlWriter } from '../sql/sql.ts';
import { columns, either, type Fragment, type Shape, statement } from '../sql/statement.ts';
import { DELIVERIES } from '../tables/approvals.ts';

type Answer<Name extends keyof ApprovalStore> = Steps<Awaited<ReturnType<ApprovalStore[Name]>>>;

/** Those due longest come first, and before them those without a time. */
export function* takeDeliveries(
  sql: SqlWriter,
  ...[now, leaseUntil, limit, except = []]: Parameters<ApprovalStore['takeDeliveries']>
): Answer<'takeDeliveries'> {
  const rows = yield* sql.all(TAKE, now, leaseUntil, limit, except);
  rows.sort((one, other) => dueAt(one) - dueAt(other) || one.place - other.place);
  return rows.map(({ place: _, ...delivery }) => delivery);
}

function dueAt({ next_attempt_at }: DeliveryRecord): number {
  return next_attempt_at?.getTime() ?? Number.NEGATIVE_INFINITY;
}

export function* finishDelivery(
  sql: SqlWriter,
  ...[{ delivery_id, state, error, nextAttempt, now }]: Parameters<ApprovalStore['finishDelivery']>
): Answer<'finishDelivery'> {
  yield* sql.run(FINISH, delivery_id, state, error, nextAttempt, now);
}

export function* listDeliveries(
  sql: SqlReader,
  ...[limit, before]: Parameters<ApprovalStore['listDeliveries']>
): Answer<'listDeliveries'> {
  return yield* sql.all(LIST, limit, before, Number.MAX_SAFE_INTEGER);
}

const UNLEASED = '(leased_until IS NULL OR leased_until <= $1)';

/** Of one target. Two queries: the index has one place for rows without a time, and a range for the others. */
function dueFor(condition: string): string {
  return `SELECT * FROM (
      SELECT place, next_attempt_at FROM deliveries INDEXED BY deliveries_due
      WHERE state = 'pending' AND target = targets.target AND ${condition} AND ${UNLEASED}
      ORDER BY next_attempt_at, place LIMIT $3)`;
}

/**
 * PostgreSQL reads in the order of time. SQLite steps from one target to the next in the index, so that it never reads
 * rows of an excluded target or of a later time.
 */
const DUE: Fragment = either({
  sqlite: `IN (
    WITH RECURSIVE targets (target) AS (
      SELECT min(target) FROM deliveries INDEXED BY deliveries_due WHERE state = 'pending'
      UNION ALL
      SELECT (SELECT min(d.target) FROM deliveries d INDEXED BY deliveries_due
        WHERE d.state = 'pending' AND d.target > targets.target)
      FROM targets WHERE targets.target IS NOT NULL
    )
    SELECT d.place FROM targets JOIN deliveries d ON d.place IN (
      SELECT place FROM (${dueFor('next_attempt_at IS NULL')}
        UNION ALL ${dueFor('next_attempt_at <= $1')}))
    WHERE targets.target NOT IN (SELECT value FROM json_each($4))
    ORDER BY d.next_attempt_at, d.place LIMIT $3)`,
  postgres: `= ANY (ARRAY(
    SELECT place FROM deliveries
    WHERE state = 'pending' AND (next_attempt_at IS NULL OR next_attempt_at <= $1)
      AND ${UNLEASED} AND target <> ALL ($4::text[])
    ORDER BY next_attempt_at NULLS FIRST, place LIMIT $3 FOR UPDATE SKIP LOCKED))`,
});

const TAKEN: Shape<DeliveryRecord & { readonly place: number }> = {
  fields: { ...DELIVERIES.fields, place: 'integer' },
};
const TAKE = statement('take_deliveries', TAKEN)`
  UPDATE deliveries SET leased_until = $2 WHERE place ${DUE} RETURNING ${columns(TAKEN)}`;

/** Changes nothing when the notification has already ended. */
const FINISH = statement('finish_delivery')`
  UPDATE deliveries SET state = $2, last_error = $3, next_attempt_at = $4,
    delivered_at = CASE WHEN $2 = 'delivered' THEN $5::timestamptz END,
    attempts = attempts + 1, leased_until = NULL
  WHERE delivery_id = $1 AND state = 'pending'`;

const LIST = statement('list_deliveries', DELIVERIES)`
  SELECT ${columns(DELIVERIES)} FROM deliveries
  WHERE place < coalesce((SELECT b.place FROM deliveries b WHERE b.delivery_id = $2), $3)
  ORDER BY place DESC LIMIT $1`;
