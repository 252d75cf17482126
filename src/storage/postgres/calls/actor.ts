/**
 * Whether the caller's token is alive when a transition runs.
 *
 * Every revocation locks the gate of its token tree exclusively. A transaction that shares the gate reads a
 * state that no revocation changes until it ends. Gates come first in the lock order, so a transaction checks
 * its actor before anything else.
 *
 * @module
 */

import type { ActorEnded } from '../../port/records.ts';
import type { Session, Statement } from '../connection.ts';
import { GATE } from '../schema/functions.ts';

/** Shares the gate of the actor's tree, then checks the actor. */
export async function endedActor(
  session: Session,
  actor: string | undefined,
  now: Date,
): Promise<ActorEnded | undefined> {
  if (actor === undefined) return undefined;
  await session.run(JOIN_GATE, [actor]);
  return judgedActor(session, actor, now);
}

/**
 * Closes the gate of the revoked token, then checks the actor. The gate of the actor, if another, is only shared. Gates are
 * locked by number.
 */
export async function closeGate(
  session: Session,
  tokenId: string,
  { actor, now }: { readonly actor: string | undefined; readonly now: Date },
): Promise<ActorEnded | undefined> {
  await session.run(CLOSE_GATE, [tokenId, actor]);
  return actor === undefined ? undefined : judgedActor(session, actor, now);
}

/** Checks an actor whose gate is held. An unknown actor has no authority, like a revoked one. */
async function judgedActor(
  session: Session,
  actor: string,
  now: Date,
): Promise<ActorEnded | undefined> {
  const [row] = await session.run<{ fault: 'revoked' | 'expired' | null }>(JUDGE, [actor, now]);
  if (row === undefined) return 'actor_revoked';
  return row.fault === null ? undefined : `actor_${row.fault}`;
}

export const JOIN_GATE: Statement = {
  name: 'join_gate',
  text: `SELECT pg_advisory_xact_lock_shared(${GATE}, hashtext(lineage[1]))
    FROM tokens WHERE token_id = $1`,
};

const CLOSE_GATE: Statement = {
  name: 'close_gate',
  text: `SELECT CASE WHEN g.is_closed THEN pg_advisory_xact_lock(${GATE}, g.number)::text
      ELSE pg_advisory_xact_lock_shared(${GATE}, g.number)::text END
    FROM (
      SELECT hashtext(lineage[1]) AS number, bool_or(token_id = $1) AS is_closed
      FROM tokens WHERE token_id IN ($1, $2::text) GROUP BY 1 ORDER BY 1
    ) g`,
};

const JUDGE: Statement = {
  name: 'judge_actor',
  text: `SELECT j.fault FROM tokens t, LATERAL writ_judge(t.lineage, $2) j WHERE t.token_id = $1`,
};
