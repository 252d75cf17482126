/**
 * Calls that end late: release of their leases, and reconciliation.
 *
 * @module
 */

import { run } from '../../../steps.ts';
import { SHARE_INDEX } from '../../log/block-index.ts';
import { eraseLate } from '../../log/erase.ts';
import { findEntry, type LogSight } from '../../log/search.ts';
import type { InvocationStore } from '../../port/invocation-store.ts';
import { TO_RECONCILE } from '../../stories/calls.ts';
import { insertOverrun } from '../../stories/overruns.ts';
import type { Database, Statement } from '../connection.ts';
import { enqueue } from '../log/entries.ts';
import { rowsOn } from '../sql.ts';
import { storyIn } from '../story.ts';
import { endedActor } from './actor.ts';

export function createIntents(
  database: Database,
  now: () => Date,
  sight: LogSight,
): Pick<InvocationStore, 'releaseLeases' | 'reconcile'> {
  return {
    async releaseLeases(operationId) {
      await database.write(RELEASE, [operationId]);
    },

    reconcile: (invocationId, refund, entry, { actor, overrun } = {}) =>
      database.transaction(async (session) => {
        // Before the intent, as erasure does.
        await session.run(SHARE_INDEX);
        const ended = await endedActor(session, actor, now());
        if (ended) return ended;
        const row = await run(rowsOn(session).one(TO_RECONCILE, invocationId));
        if (row === undefined) return undefined;
        const { consumed, entry_id, ...intent } = row;
        if (refund) await session.run(REFUND, [intent.operation_id]);
        await session.run(RECONCILED, [intent.operation_id, now(), refund]);
        await enqueue(session, entry(intent));
        return storyIn(session, function* (sql) {
          if (overrun) yield* insertOverrun(sql, overrun);
          yield* eraseLate(sql, yield* findEntry(sql, sight, { entry_id }));
          return intent;
        });
      }),
  };
}

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
