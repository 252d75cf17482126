/**
 * Retention: erases the contents of entries; their hashes and places stay.
 *
 * @module
 */

import type { Erasure } from '../../port/store.ts';
import type { Database, Session, Statement } from '../connection.ts';

export function erase(database: Database, policy: Erasure): Promise<number> {
  return database.transaction((session) => {
    return policy.what === 'stated' ? eraseStated(session, policy) : eraseBelow(session, policy);
  });
}

export async function erasures(database: Database): Promise<Map<string, number>> {
  const rows = await database.read<{ policy: string; below: bigint }>(ERASURES);
  return new Map(rows.map(({ policy, below }) => [policy, Number(below)]));
}

async function eraseStated(session: Session, { until, limit }: Erasure): Promise<number> {
  const erased = await session.run<ErasedRow>(STATED, [until, limit]);
  await eraseIntents(session, erased, true);
  return erased.length;
}

async function eraseBelow(
  session: Session,
  policy: Exclude<Erasure, { what: 'stated' }>,
): Promise<number> {
  const { until, limit } = policy;
  const wholly = policy.what === 'contents';
  const name = wholly ? policy.eventClass : 'personal';
  // The row is the lock: of two processes that erase by one policy the second waits for the first.
  await session.run(BEGIN, [name]);
  const [range] = await session.run<RangeRow>(RANGE, [name, limit, until]);
  const { below, passed, last } = range as RangeRow;
  if (last === null) return 0;
  const end = last + 1n;
  const erased = wholly
    ? await session.run<ErasedRow>(CONTENTS, [below, end, policy.eventClass])
    : await session.run<ErasedRow>(PERSONAL, [below, end]);
  await eraseIntents(session, erased, wholly);
  await session.run(ADVANCE, [name, end]);
  return Number(passed);
}

/**
 * Empties the intents of calls whose entries are erased, unless their outcome is still unknown. Runs after
 * the entries, in its own statement, so that it sees what was reconciled while it waited.
 */
async function eraseIntents(
  session: Session,
  erased: readonly ErasedRow[],
  wholly: boolean,
): Promise<void> {
  const ids = erased.map(({ entry_id }) => entry_id);
  await session.run(wholly ? INTENT_CONTENTS : INTENT_PERSONAL, [ids]);
}

/** The same for one call that was just reconciled, if retention skipped it before. */
export async function eraseLate(session: Session, operationId: string): Promise<void> {
  // The lock waits for a running erasure, which has not seen that the call is reconciled.
  const [entry] = await session.run<LateRow>(LATE, [operationId]);
  if (entry?.is_erased) await eraseIntents(session, [entry], entry.is_wholly);
}

interface ErasedRow {
  readonly entry_id: string;
}

interface LateRow extends ErasedRow {
  readonly is_erased: boolean;
  readonly is_wholly: boolean;
}

interface RangeRow {
  readonly below: bigint;
  readonly passed: bigint;
  readonly last: bigint | null;
}

const PERSONAL_CHANGE = `personal = NULL, actor_key = '', root_principal = '',
  client_reference_id = NULL, task_id = NULL`;
const CONTENTS_CHANGE = `${PERSONAL_CHANGE}, leaf = NULL, capability = NULL, invocation_id = NULL,
  parent_invocation_id = NULL`;

const STATED: Statement = {
  name: 'erase_stated',
  text: `UPDATE log SET ${CONTENTS_CHANGE} WHERE sequence IN (
      SELECT sequence FROM log WHERE leaf IS NOT NULL AND retain_until <= $1
      ORDER BY retain_until LIMIT $2)
    RETURNING entry_id`,
};

const ERASURES: Statement = { name: 'erasures', text: 'SELECT policy, below FROM erasures' };

const BEGIN: Statement = {
  name: 'erase_begin',
  text: `INSERT INTO erasures (policy, below) VALUES ($1, 0)
    ON CONFLICT (policy) DO UPDATE SET below = erasures.below`,
};

/** From where it stopped to the first entry that is too recent. */
const RANGE: Statement = {
  name: 'erase_range',
  text: `WITH due AS (SELECT e.below FROM erasures e WHERE e.policy = $1), next AS (
      SELECT l.sequence, l.timestamp FROM log l WHERE l.sequence >= (SELECT below FROM due)
      ORDER BY l.sequence LIMIT $2
    )
    SELECT d.below, count(n.sequence) AS passed, max(n.sequence) AS last
    FROM due d LEFT JOIN next n ON n.sequence < coalesce(
      (SELECT min(sequence) FROM next WHERE timestamp > $3), 9223372036854775807)
    GROUP BY d.below`,
};

const PERSONAL: Statement = {
  name: 'erase_personal',
  text: `UPDATE log SET ${PERSONAL_CHANGE}
    WHERE sequence >= $1 AND sequence < $2 AND personal IS NOT NULL
    RETURNING entry_id`,
};

const CONTENTS: Statement = {
  name: 'erase_contents',
  text: `UPDATE log SET ${CONTENTS_CHANGE}
    WHERE sequence >= $1 AND sequence < $2 AND leaf IS NOT NULL AND retain_until IS NULL
      AND event_class = $3
    RETURNING entry_id`,
};

const INTENT_CHANGE = `subject = '', root_principal = '', facts = '{}'`;
const SETTLED = `entry_id = ANY ($1::text[])
  AND (outcome <> 'indeterminate' OR reconciled_at IS NOT NULL)`;

const INTENT_PERSONAL: Statement = {
  name: 'erase_intent_personal',
  text: `UPDATE intents SET ${INTENT_CHANGE} WHERE ${SETTLED}`,
};

const INTENT_CONTENTS: Statement = {
  name: 'erase_intent_contents',
  text: `UPDATE intents SET ${INTENT_CHANGE}, capability = '', invocation_id = '' WHERE ${SETTLED}`,
};

const LATE: Statement = {
  name: 'erase_late',
  text: `SELECT l.entry_id, l.personal IS NULL AS is_erased, l.leaf IS NULL AS is_wholly FROM log l
    WHERE l.entry_id = (SELECT i.entry_id FROM intents i WHERE i.operation_id = $1) FOR SHARE`,
};

const ADVANCE: Statement = {
  name: 'erase_advance',
  text: 'UPDATE erasures SET below = $2 WHERE policy = $1',
};
