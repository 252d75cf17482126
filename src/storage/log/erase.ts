/**
 * Retention: erases the contents of entries; their hashes and places stay.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import type { Steps } from '../../steps.ts';
import type { Erasure } from '../port/log-store.ts';
import type { SqlReader, SqlRows, SqlWriter } from '../sql/sql.ts';
import { columns, insertion, part, statement } from '../sql/statement.ts';
import { ERASURES, RETENTIONS } from '../tables/log.ts';
import { forget, HOLD_INDEX } from './block-index.ts';
import {
  dueByOwnWord,
  dueIn,
  type ErasureBelow,
  policyName,
  type Rewrite,
  rewritesOf,
} from './retention.ts';
import { scanEntries } from './search.ts';
import { type Erased, entryIn, type Segment } from './segment.ts';
import { segmentOfPlace, wholeSegments } from './segments.ts';

/** What a database stores in place of a segment. */
export type StoredAs = (rewrite: Rewrite) => Segment;

export function* erase(
  sql: SqlRows,
  policy: Erasure,
  storedAs: StoredAs = ({ after }) => after,
): Steps<number> {
  // One process erases at a time, and no block is made of what is being erased.
  yield* sql.lock(HOLD_INDEX);
  return policy.what === 'stated'
    ? yield* eraseStated(sql, policy, storedAs)
    : yield* eraseBelow(sql, policy, storedAs);
}

export function* erasures(sql: SqlReader): Steps<Map<string, number>> {
  const rows = yield* sql.all(REACHED);
  return new Map(rows.map(({ policy, below }) => [policy, below]));
}

function* eraseStated(sql: SqlRows, { until, limit }: Erasure, storedAs: StoredAs): Steps<number> {
  const rows = yield* sql.all(TAKE_STATED, until, limit);
  const places = rows.map(({ place }) => place).sort((one, other) => one - other);
  const segments = yield* wholeSegments(sql, places);
  const entries = places.map((place) => entryIn(segmentOfPlace(segments, place), place));
  const { due, later } = dueByOwnWord(entries, until);
  yield* eraseEntries(sql, segments, { due, what: 'contents', storedAs });
  const kept = later.map(({ retain_until, sequence }) => {
    return { retain_until: retain_until as Date, place: sequence };
  });
  yield* sql.put(KEEP_STATED, kept);
  return places.length;
}

/** Continues where it stopped, up to the first entry that is too recent. */
function* eraseBelow(sql: SqlRows, policy: ErasureBelow, storedAs: StoredAs): Steps<number> {
  const name = policyName(policy);
  const reached = yield* sql.one(REACHED_BY, name);
  const entries = yield* scanEntries(sql, reached?.below ?? 0, policy.limit);
  const { passed, due } = dueIn(entries, policy);
  const last = passed.at(-1);
  if (!last) return 0;
  const places = due.map(({ sequence }) => sequence);
  const segments = yield* wholeSegments(sql, places);
  yield* eraseEntries(sql, segments, { due, what: policy.what, storedAs });
  yield* sql.put(ADVANCE, [{ policy: name, below: last.sequence + 1 }]);
  return passed.length;
}

interface Erasing {
  readonly due: readonly StoredEntry[];
  readonly what: Erased;
  readonly storedAs: StoredAs;
}

/** Erases entries of these segments, and what the blocks and the intents repeat of them. */
function* eraseEntries(
  sql: SqlRows,
  segments: readonly Segment[],
  { due, what, storedAs }: Erasing,
): Steps<void> {
  for (const rewrite of rewritesOf(segments, due, what)) {
    const { first, leaves, personal } = storedAs(rewrite);
    yield* sql.run(REWRITE, first, leaves, personal);
  }
  yield* forget(sql, due, what);
  yield* eraseIntents(sql, due, what === 'contents');
}

/**
 * Empties the intents of calls whose entries are erased, unless their outcome is still unknown. Runs after the entries, in
 * its own statement, so that it sees what was reconciled while it waited.
 */
function* eraseIntents(
  sql: SqlWriter,
  erased: readonly Pick<StoredEntry, 'entry_id'>[],
  wholly: boolean,
): Steps<void> {
  if (erased.length === 0) return;
  const ids = erased.map(({ entry_id }) => entry_id);
  yield* sql.run(wholly ? INTENT_CONTENTS : INTENT_PERSONAL, ids);
}

/**
 * The same for a call that was just reconciled, if retention skipped its entry before. Only under the shared lock of the
 * index: a running erasure has not seen that the call is reconciled.
 */
export function* eraseLate(
  sql: SqlWriter,
  entry: Pick<StoredEntry, 'entry_id' | 'leaf' | 'personal'> | undefined,
): Steps<void> {
  if (entry && !entry.personal) yield* eraseIntents(sql, [entry], !entry.leaf);
}

const TAKE_STATED = statement('erase_stated', part(RETENTIONS, 'place'))`
  DELETE FROM retentions WHERE (retain_until, place) IN (
    SELECT retain_until, place FROM retentions WHERE retain_until <= $1
    ORDER BY retain_until, place LIMIT $2)
  RETURNING place`;

const KEEP_STATED = insertion('keep_stated', RETENTIONS, '(retain_until, place)');

const REACHED = statement('erasures', ERASURES)`SELECT ${columns(ERASURES)} FROM erasures`;

const REACHED_BY = statement('erased_below', part(ERASURES, 'below'))`
  SELECT below FROM erasures WHERE policy = $1`;

const ADVANCE = insertion('erase_advance', ERASURES, '(policy)');

const REWRITE = statement('rewrite_segment')`
  UPDATE segments SET leaves = $2, personal = $3 WHERE first = $1`;

const INTENT_CHANGE = `subject = '', root_principal = '', facts = '{}'`;
const SETTLED = `entry_id = ANY ($1::text[])
  AND (outcome <> 'indeterminate' OR reconciled_at IS NOT NULL)`;

const INTENT_PERSONAL = statement('erase_intent_personal')`
  UPDATE intents SET ${INTENT_CHANGE} WHERE ${SETTLED}`;

const INTENT_CONTENTS = statement('erase_intent_contents')`
  UPDATE intents SET ${INTENT_CHANGE}, capability = '', invocation_id = '' WHERE ${SETTLED}`;
