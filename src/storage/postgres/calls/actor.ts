/**
 * Whether the token that a caller acts with is alive when the step is taken.
 *
 * Every revocation takes the gate of its tree exclusively. A transaction that has joined the gate
 * reads a state that no revocation changes until the transaction ends. Gates come first in the order
 * of locks, so a transaction judges its actor before it does anything else.
 *
 * @module
 */

import type { ActorEnded } from '../../port/records.ts';
import type { Session, Statement } from '../connection.ts';
import { GATE } from '../schema/functions.ts';

/** Joins the gate of the actor's tree, then judges the actor. */
export async function endedActor(
  session: Session,
  actor: string | undefined,
  now: Date,
): Promise<ActorEnded | undefined> {
  if (actor === undefined) return undefined;
  await session.run(JOIN_GATE, [actor]);
  return judgedActor(session, actor, now);
}

/** Judges an actor whose gate is held. An unknown one has no authority, like a revoked one. */
export async function judgedActor(
  session: Session,
  actor: string,
  now: Date,
): Promise<ActorEnded | undefined> {
  const [row] = await session.run<{ fault: 'revoked' | 'expired' | null }>(JUDGE, [actor, now]);
  if (row === undefined) return 'actor_revoked';
  return row.fault === null ? undefined : `actor_${row.fault}`;
}

const JOIN_GATE: Statement = {
  name: 'join_gate',
  text: `SELECT pg_advisory_xact_lock_shared(${GATE}, hashtext(lineage[1]))
    FROM tokens WHERE token_id = $1`,
};

const JUDGE: Statement = {
  name: 'judge_actor',
  text: `SELECT j.fault FROM tokens t, LATERAL writ_judge(t.lineage, $2) j WHERE t.token_id = $1`,
};
