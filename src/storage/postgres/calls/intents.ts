/**
 * Open calls and calls of unknown outcome: heartbeats, leases and reconciliation.
 *
 * @module
 */

import type { InvocationStore } from '../../port/invocation-store.ts';
import type { Row } from '../../tables/table.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { shareIndex } from '../log/blocks.ts';
import { enqueue } from '../log/entries.ts';
import { eraseLate } from '../log/erase.ts';
import type { LogSight } from '../log/sight.ts';
import { intentOf } from '../rows.ts';
import { endedActor } from './actor.ts';
import { insertOverrun } from './overruns.ts';

type Intents = Pick<
  InvocationStore,
  | 'renewLeases'
  | 'busyUntil'
  | 'releaseLeases'
  | 'heartbeat'
  | 'abandonedIntents'
  | 'openIntents'
  | 'indeterminate'
  | 'reconcile'
  | 'forgetKeys'
>;

export function createIntents(database: Database, now: () => Date, sight: LogSight): Intents {
  return {
    renewLeases: (operationId, until) =>
      database.transaction((session) => renew(session, operationId, until)),

    async busyUntil(tokenIds, at) {
      const [row] = await database.read<{ until: Date | null }>(BUSY_UNTIL, [tokenIds, at]);
      return row?.until ?? undefined;
    },

    async releaseLeases(operationId) {
      await database.write(RELEASE, [operationId]);
    },

    async heartbeat(instanceId, at) {
      await database.write(HEARTBEAT, [instanceId, at]);
    },

    async abandonedIntents(silentSince, limit) {
      const rows = await database.read<Row>(ABANDONED, [silentSince, limit]);
      return rows.map(intentOf);
    },

    async openIntents(rootPrincipal, limit) {
      const rows = await database.read<Row>(OPEN, [rootPrincipal, limit]);
      return rows.map(intentOf);
    },

    async indeterminate(limit, after) {
      const rows = await database.read<Row>(INDETERMINATE, [limit, after]);
      return rows.map(intentOf);
    },

    async forgetKeys(at, limit) {
      return (await database.write(FORGET_KEYS, [at, limit])).length;
    },

    reconcile: (invocationId, refund, entry, { actor, overrun } = {}) =>
      database.transaction(async (session) => {
        // Before the intent, as erasure does.
        await shareIndex(session);
        const ended = await endedActor(session, actor, now());
        if (ended) return ended;
        const [row] = await session.run<Row>(TO_RECONCILE, [invocationId]);
        if (row === undefined) return undefined;
        const intent = intentOf(row);
        if (refund) await session.run(REFUND, [intent.operation_id]);
        await session.run(RECONCILED, [intent.operation_id, now(), refund]);
        await enqueue(session, entry(intent));
        if (overrun) await insertOverrun(session, overrun);
        await eraseLate(session, sight, intent.operation_id);
        return intent;
      }),
  };
}

/** Locks the leases from root to leaf before it reads them, so that none is lost in between. */
async function renew(session: Session, operationId: string, until: Date): Promise<boolean> {
  const held = await session.run<{ token_id: string }>(HELD_LEASES, [operationId]);
  const [intent] = await session.run<{ leased: string[] }>(LEASES_TAKEN, [operationId]);
  if (intent === undefined || held.length !== intent.leased.length) return false;
  if (held.length > 0) await session.run(RENEW, [intent.leased, until]);
  return true;
}

export const INTENT_COLUMNS = `operation_id, invocation_id, token_id, subject, root_principal, capability,
  currency, amount, facts, instance_id, admitted_at`;

const HELD_LEASES: Statement = {
  name: 'held_leases',
  text: `SELECT l.token_id FROM intents i
      JOIN leases l ON l.token_id = ANY (i.leased) AND l.operation_id = i.operation_id
    WHERE i.operation_id = $1 ORDER BY array_position(i.leased, l.token_id) FOR UPDATE OF l`,
};

const LEASES_TAKEN: Statement = {
  name: 'leases_taken',
  text: `SELECT leased FROM intents WHERE operation_id = $1
      AND (state = 'admitted' OR cardinality(leased) > 0)`,
};

const RENEW: Statement = {
  name: 'renew_leases',
  text: 'UPDATE leases SET until = $2 WHERE token_id = ANY ($1::text[])',
};

const BUSY_UNTIL: Statement = {
  name: 'busy_until',
  text: `SELECT max(until) AS until FROM leases
    WHERE token_id = ANY ($1::text[]) AND operation_id IS NOT NULL AND until > $2`,
};

const RELEASE: Statement = {
  name: 'release_leases',
  text: `WITH composed AS (
      UPDATE intents SET composing = NULL WHERE operation_id = $1 AND composing IS NOT NULL
      RETURNING operation_id
    ), trail AS (
      DELETE FROM steps s USING composed c WHERE s.operation_id = c.operation_id
    )
    SELECT writ_release_leases(leased, operation_id) FROM intents WHERE operation_id = $1`,
};

const HEARTBEAT: Statement = {
  name: 'heartbeat',
  text: `INSERT INTO instances (instance_id, seen_at) VALUES ($1, $2) ON CONFLICT (instance_id)
    DO UPDATE SET seen_at = greatest(instances.seen_at, EXCLUDED.seen_at)`,
};

/**
 * Skips a key that another transaction has locked; it is deleted later. A join could walk through all intents; the
 * subquery looks up one for each key.
 */
const FORGET_KEYS: Statement = {
  name: 'forget_keys',
  text: `DELETE FROM idempotency WHERE operation_id IN (
      SELECT k.operation_id FROM idempotency k WHERE k.keep_until <= $1
        AND (SELECT i.state FROM intents i WHERE i.operation_id = k.operation_id) = 'settled'
      ORDER BY k.keep_until LIMIT $2 FOR UPDATE OF k SKIP LOCKED)
    RETURNING operation_id`,
};

const ABANDONED: Statement = {
  name: 'abandoned_intents',
  text: `SELECT ${INTENT_COLUMNS} FROM intents i
    WHERE i.state = 'admitted' AND i.composing IS NULL AND NOT EXISTS (
      SELECT FROM instances s WHERE s.instance_id = i.instance_id AND s.seen_at > $1)
    ORDER BY admitted_at, operation_id LIMIT $2`,
};

const OPEN: Statement = {
  name: 'open_intents',
  text: `SELECT ${INTENT_COLUMNS} FROM intents WHERE state = 'admitted' AND root_principal = $1
    ORDER BY admitted_at, operation_id LIMIT $2`,
};

const INDETERMINATE: Statement = {
  name: 'indeterminate',
  text: `SELECT ${INTENT_COLUMNS} FROM intents
    WHERE outcome = 'indeterminate' AND reconciled_at IS NULL
      AND ($2::text IS NULL OR (admitted_at, operation_id) >
        (SELECT a.admitted_at, a.operation_id FROM intents a WHERE a.operation_id = $2))
    ORDER BY admitted_at, operation_id LIMIT $1`,
};

const TO_RECONCILE: Statement = {
  name: 'to_reconcile',
  text: `SELECT ${INTENT_COLUMNS} FROM intents WHERE invocation_id = $1
      AND outcome = 'indeterminate' AND reconciled_at IS NULL
    ORDER BY admitted_at, operation_id LIMIT 1 FOR UPDATE`,
};

/** As `refundOf` of `domain/invocation/settlement.ts`. */
const REFUND: Statement = {
  name: 'refund',
  text: `SELECT writ_spend(ARRAY(SELECT c FROM unnest(i.charged) c WHERE c = ANY (t.lineage)), 0,
      -least(i.consumed, coalesce(i.amount, 0)))
    FROM intents i JOIN tokens t USING (token_id) WHERE i.operation_id = $1`,
};

const RECONCILED: Statement = {
  name: 'reconciled',
  text: `UPDATE intents SET reconciled_at = $2,
      consumed = CASE WHEN $3::boolean THEN 0 ELSE consumed END WHERE operation_id = $1`,
};
