/**
 * Retention: erases the contents of entries; their hashes and places stay.
 *
 * @module
 */

import type { StoredEntry } from '../../../domain/log/entry.ts';
import {
  dueByOwnWord,
  dueIn,
  type ErasureBelow,
  policyName,
  rewritesOf,
} from '../../log/retention.ts';
import { type Erased, entryIn, hasPlace, type Segment } from '../../log/segment.ts';
import type { Erasure } from '../../port/store.ts';
import type { Database, Session, Statement } from '../connection.ts';
import { forget, holdIndex } from './blocks.ts';
import { scanEntries } from './log.ts';
import { wholeSegments } from './segments.ts';
import { findEntry, type LogSight } from './sight.ts';

export async function erase(database: Database, sight: LogSight, policy: Erasure): Promise<number> {
  const reached = await database.transaction(async (session) => {
    // One process erases at a time, and no block is made of what is being erased.
    await holdIndex(session);
    return policy.what === 'stated' ? eraseStated(session, policy) : eraseBelow(session, policy);
  });
  if (reached > 0) sight.clear();
  return reached;
}

export async function erasures(database: Database): Promise<Map<string, number>> {
  const rows = await database.read<{ policy: string; below: bigint }>(ERASURES);
  return new Map(rows.map(({ policy, below }) => [policy, Number(below)]));
}

async function eraseStated(session: Session, { until, limit }: Erasure): Promise<number> {
  const rows = await session.run<{ place: bigint }>(STATED, [until, limit]);
  const places = rows.map(({ place }) => Number(place)).sort((one, other) => one - other);
  const segments = await wholeSegments(session, places);
  const entries = places.map((place) => entryIn(segmentOfPlace(segments, place), place));
  const { due, later } = dueByOwnWord(entries, until);
  await eraseEntries(session, segments, due, 'contents');
  if (later.length > 0) {
    const times = later.map(({ retain_until }) => retain_until);
    await session.run(KEEP, [times, later.map(({ sequence }) => sequence)]);
  }
  return places.length;
}

function segmentOfPlace(segments: readonly Segment[], place: number): Segment {
  return segments.find((segment) => hasPlace(segment, place)) as Segment;
}

/** Continues where it stopped, up to the first entry that is too recent. */
async function eraseBelow(session: Session, policy: ErasureBelow): Promise<number> {
  const name = policyName(policy);
  const [row] = await session.run<{ below: bigint }>(BELOW, [name]);
  const entries = await scanEntries(session, Number(row?.below ?? 0), policy.limit);
  const { passed, due } = dueIn(entries, policy);
  const last = passed.at(-1);
  if (!last) return 0;
  const places = due.map(({ sequence }) => sequence);
  await eraseEntries(session, await wholeSegments(session, places), due, policy.what);
  await session.run(ADVANCE, [name, last.sequence + 1]);
  return passed.length;
}

/** Erases entries of these segments, and what the blocks and the intents repeat of them. */
async function eraseEntries(
  session: Session,
  segments: readonly Segment[],
  due: readonly StoredEntry[],
  what: Erased,
): Promise<void> {
  for (const { after } of rewritesOf(segments, due, what)) {
    await session.run(REWRITE, [after.first, after.leaves, after.personal]);
  }
  await forget(session, due, what);
  await eraseIntents(session, due, what === 'contents');
}

/**
 * Empties the intents of calls whose entries are erased, unless their outcome is still unknown. Runs after
 * the entries, in its own statement, so that it sees what was reconciled while it waited.
 */
async function eraseIntents(
  session: Session,
  erased: readonly Pick<StoredEntry, 'entry_id'>[],
  wholly: boolean,
): Promise<void> {
  if (erased.length === 0) return;
  const ids = erased.map(({ entry_id }) => entry_id);
  await session.run(wholly ? INTENT_CONTENTS : INTENT_PERSONAL, [ids]);
}

/**
 * The same for one call that was just reconciled, if retention skipped it before. Only in a transaction that
 * shares the index: a running erasure has not seen that the call is reconciled.
 */
export async function eraseLate(
  session: Session,
  sight: LogSight,
  operationId: string,
): Promise<void> {
  const [row] = await session.run<{ entry_id: string | null }>(LATE, [operationId]);
  if (!row?.entry_id) return;
  const entry = await findEntry(session, sight, { entry_id: row.entry_id });
  if (entry && !entry.personal) await eraseIntents(session, [entry], !entry.leaf);
}

const STATED: Statement = {
  name: 'erase_stated',
  text: `DELETE FROM retentions WHERE (retain_until, place) IN (
      SELECT retain_until, place FROM retentions WHERE retain_until <= $1
      ORDER BY retain_until, place LIMIT $2)
    RETURNING place`,
};

const KEEP: Statement = {
  name: 'keep_stated',
  text: `INSERT INTO retentions (retain_until, place)
    SELECT * FROM unnest($1::timestamptz[], $2::bigint[]) ON CONFLICT DO NOTHING`,
};

const ERASURES: Statement = { name: 'erasures', text: 'SELECT policy, below FROM erasures' };

const BELOW: Statement = {
  name: 'erased_below',
  text: 'SELECT below FROM erasures WHERE policy = $1',
};

const REWRITE: Statement = {
  name: 'rewrite_segment',
  text: 'UPDATE segments SET leaves = $2, personal = $3 WHERE first = $1',
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
  text: 'SELECT entry_id FROM intents WHERE operation_id = $1',
};

const ADVANCE: Statement = {
  name: 'erase_advance',
  text: `INSERT INTO erasures (policy, below) VALUES ($1, $2)
    ON CONFLICT (policy) DO UPDATE SET below = EXCLUDED.below`,
};
