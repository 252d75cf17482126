/**
 * Notifications: queued with their transition, claimed by one process at a time.
 *
 * @module
 */

import type { ApprovalStore } from '../port/store.ts';
import type { Row } from '../tables/table.ts';
import type { Database, Statement } from './connection.ts';
import { DELIVERIES } from './rows.ts';

type Deliveries = Pick<ApprovalStore, 'takeDeliveries' | 'finishDelivery' | 'listDeliveries'>;

export function createDeliveries(database: Database): Deliveries {
  return {
    async takeDeliveries(now, leaseUntil, limit, except = []) {
      const rows = await database.write<Row>(TAKE, [now, leaseUntil, limit, except]);
      return rows.map(DELIVERIES.read);
    },

    async finishDelivery({ delivery_id, state, error, nextAttempt, now }) {
      await database.write(FINISH, [delivery_id, state, error, nextAttempt, now]);
    },

    async listDeliveries(limit, before) {
      const rows = await database.read<Row>(LIST, [limit, before, Number.MAX_SAFE_INTEGER]);
      return rows.map(DELIVERIES.read);
    },
  };
}

const TAKE: Statement = {
  name: 'take_deliveries',
  text: `WITH due AS (
      SELECT d.delivery_id AS due_id FROM deliveries d
      WHERE d.state = 'pending' AND (d.next_attempt_at IS NULL OR d.next_attempt_at <= $1)
        AND (d.leased_until IS NULL OR d.leased_until <= $1)
        AND d.target <> ALL ($4::text[])
      ORDER BY d.next_attempt_at NULLS FIRST, d.place LIMIT $3 FOR UPDATE SKIP LOCKED
    ), taken AS (
      UPDATE deliveries SET leased_until = $2 FROM due WHERE delivery_id = due_id
      RETURNING ${DELIVERIES.list()}, place
    )
    SELECT ${DELIVERIES.list()} FROM taken ORDER BY next_attempt_at NULLS FIRST, place`,
};

/** Changes nothing when the notification has already ended. */
const FINISH: Statement = {
  name: 'finish_delivery',
  text: `UPDATE deliveries SET state = $2, last_error = $3, next_attempt_at = $4,
      delivered_at = CASE WHEN $2 = 'delivered' THEN $5::timestamptz END,
      attempts = attempts + 1, leased_until = NULL
    WHERE delivery_id = $1 AND state = 'pending'`,
};

const LIST: Statement = {
  name: 'list_deliveries',
  text: `SELECT ${DELIVERIES.list()} FROM deliveries
    WHERE place < coalesce((SELECT b.place FROM deliveries b WHERE b.delivery_id = $2), $3)
    ORDER BY place DESC LIMIT $1`,
};
