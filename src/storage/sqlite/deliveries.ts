/**
 * Notifications in SQLite: which are due, who sends them, how it ended.
 *
 * A lease keeps two processes from sending one notification at the same time. Nothing more: when a
 * process dies after sending and before saying so, it is sent again.
 *
 * @module
 */

import type { DeliveryRecord } from '../records.ts';
import type { ApprovalStore, DeliveryResult } from '../store.ts';
import type { Connection } from './connection.ts';
import { deliveryOf, type Row } from './rows.ts';

const COLUMNS = `delivery_id, event, approval_request_id, target, payload, state, attempts,
  last_error, next_attempt_at, delivered_at`;

export function insertDeliveries(
  connection: Connection,
  deliveries: readonly DeliveryRecord[],
): void {
  for (const delivery of deliveries) {
    connection.run(
      `INSERT INTO deliveries (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      delivery.delivery_id,
      delivery.event,
      delivery.approval_request_id,
      delivery.target,
      JSON.stringify(delivery.payload),
      delivery.state,
      delivery.attempts,
      delivery.last_error,
      delivery.next_attempt_at,
      delivery.delivered_at,
    );
  }
}

/** SQLite puts those without a time first, as the port wants it. */
export function takeDeliveries(
  connection: Connection,
  [now, leaseUntil, limit, except = []]: Parameters<ApprovalStore['takeDeliveries']>,
): DeliveryRecord[] {
  const rows = connection.all<Row<DeliveryRecord> & { place: bigint }>(
    `SELECT place, ${COLUMNS} FROM deliveries
     WHERE state = 'pending' AND (next_attempt_at IS NULL OR next_attempt_at <= ?1)
       AND (leased_until IS NULL OR leased_until <= ?1)
       AND target NOT IN (SELECT value FROM json_each(?3))
     ORDER BY next_attempt_at, place LIMIT ?2`,
    now,
    limit,
    JSON.stringify(except),
  );
  return rows.map(({ place, ...row }) => {
    connection.run('UPDATE deliveries SET leased_until = ? WHERE place = ?', leaseUntil, place);
    return deliveryOf(row);
  });
}

/** A late word on a notification that has ended changes nothing. */
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
  const rows = connection.all<Row<DeliveryRecord>>(
    `SELECT ${COLUMNS} FROM deliveries
     WHERE place < coalesce((SELECT place FROM deliveries WHERE delivery_id = ?2), ?3)
     ORDER BY place DESC LIMIT ?1`,
    limit,
    before,
    Number.MAX_SAFE_INTEGER,
  );
  return rows.map(deliveryOf);
}
