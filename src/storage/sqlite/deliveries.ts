/**
 * Notifications in SQLite: which are due, which process sends them, and the result.
 *
 * A lease keeps two processes from sending one notification at the same time. When a process dies after
 * sending and before recording it, the notification is sent again.
 *
 * @module
 */

import type { DeliveryRecord } from '../port/records.ts';
import type { ApprovalStore, DeliveryResult } from '../port/store.ts';
import type { Row } from '../tables/table.ts';
import type { Connection } from './connection.ts';
import { DELIVERIES } from './rows.ts';

/** Reads one target after the other, so that it never reads rows of an excluded target or of a later time. */
export function takeDeliveries(
  connection: Connection,
  ...[now, leaseUntil, limit, except = []]: Parameters<ApprovalStore['takeDeliveries']>
): DeliveryRecord[] {
  const targets = [...pendingTargets(connection)].filter((target) => !except.includes(target));
  const due = targets.flatMap((target) => dueFor(connection, target, { now, limit }));
  due.sort((one, other) => timeNumber(one) - timeNumber(other) || Number(one.place - other.place));
  return due.slice(0, limit).map((row) => {
    connection.run('UPDATE deliveries SET leased_until = ? WHERE place = ?', leaseUntil, row.place);
    return DELIVERIES.read(row);
  });
}

type DueRow = Row & { readonly place: bigint; readonly next_attempt_at: bigint | null };

/** A notification without a time is always due. */
function timeNumber({ next_attempt_at }: DueRow): number {
  return Number(next_attempt_at ?? Number.NEGATIVE_INFINITY);
}

/** Steps from one target to the next in the index. */
function* pendingTargets(connection: Connection): Generator<string> {
  for (let last = ''; ; ) {
    const row = connection.get<{ target: string | null }>(
      `SELECT min(target) AS target FROM deliveries INDEXED BY deliveries_due
       WHERE state = 'pending' AND target > ?`,
      last,
    );
    if (row?.target == null) return;
    yield row.target;
    last = row.target;
  }
}

function dueFor(
  connection: Connection,
  target: string,
  { now, limit }: { now: Date; limit: number },
): DueRow[] {
  // Two queries: the index has one place for rows without a time, and a range for the others.
  return ['next_attempt_at IS NULL', 'next_attempt_at <= ?2'].flatMap((condition) =>
    connection.all<DueRow>(
      `SELECT * FROM deliveries INDEXED BY deliveries_due
       WHERE state = 'pending' AND target = ?1 AND ${condition}
         AND (leased_until IS NULL OR leased_until <= ?2)
       ORDER BY next_attempt_at, place LIMIT ?3`,
      target,
      now,
      limit,
    ),
  );
}

/** Changes nothing when the notification has already ended. */
export function finishDelivery(connection: Connection, result: DeliveryResult): void {
  connection.run(
    `UPDATE deliveries
     SET state = ?, attempts = attempts + 1, last_error = ?, next_attempt_at = ?,
       delivered_at = ?, leased_until = NULL
     WHERE delivery_id = ? AND state = 'pending'`,
    result.state,
    result.error,
    result.nextAttempt,
    result.state === 'delivered' ? result.now : undefined,
    result.delivery_id,
  );
}

export function listDeliveries(
  connection: Connection,
  limit: number,
  before?: string,
): DeliveryRecord[] {
  const rows = connection.all<Row>(
    `SELECT * FROM deliveries
     WHERE place < coalesce((SELECT place FROM deliveries WHERE delivery_id = ?2), ?3)
     ORDER BY place DESC LIMIT ?1`,
    limit,
    before,
    Number.MAX_SAFE_INTEGER,
  );
  return rows.map(DELIVERIES.read);
}
