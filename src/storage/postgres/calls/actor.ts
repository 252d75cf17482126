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

/** Checks an actor whose gate is held. An unknown actor has no authority, like a revoked one. */
export async function judgedActor(
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

const JUDGE: Statement = {
  name: 'judge_actor',
  text: `SELECT j.fault FROM tokens t, LATERAL writ_judge(t.lineage, $2) j WHERE t.token_id = $1`,
};
