/**
 * Retention in SQLite: erases the contents of entries; their hashes and places stay.
 *
 * @module
 */

import type { Erasure } from '../../port/store.ts';
import type { Connection, Value } from '../connection.ts';

export function erase(connection: Connection, policy: Erasure): number {
  return policy.what === 'stated'
    ? eraseStated(connection, policy)
    : eraseBelow(connection, policy);
}

export function erasures(connection: Connection): Map<string, number> {
  const rows = connection.all<{ policy: string; below: bigint }>('SELECT * FROM erasures');
  return new Map(rows.map(({ policy, below }) => [policy, Number(below)]));
}

/** Empties the intent of a call whose entry is erased, unless its outcome is still unknown. */
export function eraseIntent(connection: Connection, entryId: string, wholly: boolean): void {
  connection.run(
    `UPDATE intents SET subject = '', root_principal = '', facts = '{}'
       ${wholly ? ", capability = '', invocation_id = ''" : ''}
     WHERE entry_id = ? AND (outcome <> 'indeterminate' OR reconciled_at IS NOT NULL)`,
    entryId,
  );
}

const PERSONAL = `personal = NULL, actor_key = '', root_principal = '', client_reference_id = NULL,
  task_id = NULL`;
const CONTENTS = `${PERSONAL}, leaf = NULL, capability = NULL, invocation_id = NULL,
  parent_invocation_id = NULL`;

function eraseStated(connection: Connection, { until, limit }: Erasure): number {
  const condition = `sequence IN (
    SELECT sequence FROM log INDEXED BY log_by_retention
    WHERE leaf IS NOT NULL AND retain_until <= ? ORDER BY retain_until LIMIT ?)`;
  return eraseWhere(connection, CONTENTS, condition, [until, limit]);
}

/** Erases the entries and the columns that repeat them. Returns the number of entries. */
function eraseWhere(
  connection: Connection,
  change: string,
  condition: string,
  values: readonly Value[],
): number {
  const erased = connection.all<{ entry_id: string }>(
    `UPDATE log SET ${change} WHERE ${condition} RETURNING entry_id`,
    ...values,
  );
  for (const { entry_id } of erased) eraseIntent(connection, entry_id, change === CONTENTS);
  return erased.length;
}

/** Continues where it stopped, up to the first entry that is too recent. */
function eraseBelow(connection: Connection, policy: Exclude<Erasure, { what: 'stated' }>): number {
  const { until, limit } = policy;
  const [name, change, condition, ...values]: [string, string, string, ...Value[]] =
    policy.what === 'personal'
      ? ['personal', PERSONAL, 'personal IS NOT NULL']
      : [policy.eventClass, CONTENTS, CLASS, policy.eventClass];
  const below = placeOf(connection, name);
  const { passed, end } = passedFrom(connection, below, { until, limit });
  if (passed === 0) return 0;
  const range = `sequence >= ? AND sequence < ? AND ${condition}`;
  eraseWhere(connection, change, range, [below, end, ...values]);
  connection.run('INSERT OR REPLACE INTO erasures (policy, below) VALUES (?, ?)', name, end);
  return passed;
}

const CLASS = 'leaf IS NOT NULL AND retain_until IS NULL AND event_class = ?';

function placeOf(connection: Connection, policy: string): number {
  const row = connection.get<{ below: bigint }>(
    'SELECT below FROM erasures WHERE policy = ?',
    policy,
  );
  return Number(row?.below ?? 0);
}

/** The entries from `below` on that are old enough, at most `limit`, and the place after the last. */
function passedFrom(
  connection: Connection,
  below: number,
  { until, limit }: { until: Date; limit: number },
): { passed: number; end: number } {
  const row = connection.get<{ passed: bigint; last: bigint | null }>(
    `WITH next AS (SELECT sequence, timestamp FROM log WHERE sequence >= ?1 ORDER BY sequence LIMIT ?2)
     SELECT count(*) AS passed, max(sequence) AS last FROM next
     WHERE sequence < coalesce((SELECT min(sequence) FROM next WHERE timestamp > ?3), ${PLACE_MAX})`,
    below,
    limit,
    until,
  );
  return { passed: Number(row?.passed), end: Number(row?.last ?? below) + 1 };
}

/** Greater than every place. */
const PLACE_MAX = Number.MAX_SAFE_INTEGER;
