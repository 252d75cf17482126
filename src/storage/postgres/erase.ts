/**
 * Retention: erases what entries say, never that they were there.
 *
 * @module
 */

import type { Erasure } from '../store.ts';
import type { Database, Statement } from './connection.ts';

export async function erase(database: Database, policy: Erasure): Promise<number> {
  const { until, limit } = policy;
  if (policy.what === 'stated') return (await database.write(STATED, [until, limit])).length;

  const name = policy.what === 'personal' ? 'personal' : policy.eventClass;
  const [change, values] =
    policy.what === 'personal' ? [PERSONAL, []] : [CONTENTS, [policy.eventClass]];
  return database.transaction(async (session) => {
    // The row is the lock: of two processes that erase by one policy the second goes on after the first.
    await session.run(BEGIN, [name]);
    const [range] = await session.run<RangeRow>(RANGE, [name, limit, until]);
    const [below, end] = [Number(range?.below), Number(range?.end)];
    if (end <= below) return 0;
    await session.run(change, [below, end, ...values]);
    await session.run(ADVANCE, [name, end]);
    return end - below;
  });
}

interface RangeRow {
  readonly below: bigint;
  readonly end: bigint;
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
    RETURNING sequence`,
};

const BEGIN: Statement = {
  name: 'erase_begin',
  text: `INSERT INTO erasures (policy, below) VALUES ($1, 0)
    ON CONFLICT (policy) DO UPDATE SET below = erasures.below`,
};

/** From where it stopped to the first entry that is not old enough. */
const RANGE: Statement = {
  name: 'erase_range',
  text: `SELECT e.below, coalesce(
      (SELECT l.sequence FROM log l WHERE l.sequence >= e.below AND l.sequence < e.below + $2::bigint
        AND l.timestamp > $3 ORDER BY l.sequence LIMIT 1),
      least(e.below + $2::bigint, (SELECT size FROM head))) AS end
    FROM erasures e WHERE e.policy = $1`,
};

const PERSONAL: Statement = {
  name: 'erase_personal',
  text: `UPDATE log SET ${PERSONAL_CHANGE}
    WHERE sequence >= $1 AND sequence < $2 AND personal IS NOT NULL`,
};

const CONTENTS: Statement = {
  name: 'erase_contents',
  text: `UPDATE log SET ${CONTENTS_CHANGE}
    WHERE sequence >= $1 AND sequence < $2 AND leaf IS NOT NULL AND retain_until IS NULL
      AND event_class = $3`,
};

const ADVANCE: Statement = {
  name: 'erase_advance',
  text: 'UPDATE erasures SET below = $2 WHERE policy = $1',
};
