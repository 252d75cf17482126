/**
 * Retention in SQLite: erases the contents of entries; their hashes and places stay.
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
import { type Erased, entryIn, padded, type Segment } from '../../log/segment.ts';
import type { Erasure } from '../../port/store.ts';
import type { Connection } from '../connection.ts';
import { forget } from './blocks.ts';
import { paddingOf } from './cells.ts';
import { scanEntries } from './reader.ts';
import { readSegments } from './segments.ts';

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

function eraseStated(connection: Connection, { until, limit }: Erasure): number {
  const rows = connection.all<{ place: bigint }>(
    'DELETE FROM retentions WHERE (retain_until, place) IN (SELECT retain_until, place FROM retentions WHERE retain_until <= ? ORDER BY retain_until, place LIMIT ?) RETURNING place',
    until,
    limit,
  );
  const places = rows.map(({ place }) => Number(place)).sort((one, other) => one - other);
  const segments = readSegments(connection, places);
  const entries = places.map((place, index) => entryIn(segments[index] as Segment, place));
  const { due, later } = dueByOwnWord(entries, until);
  eraseEntries(connection, due, 'contents');
  for (const { retain_until, sequence } of later) connection.run(KEEP, retain_until, sequence);
  return places.length;
}

const KEEP = 'INSERT OR IGNORE INTO retentions (retain_until, place) VALUES (?, ?)';

/** Erases entries, given in order of their places, and what the blocks and the intents repeat of them. */
function eraseEntries(connection: Connection, due: readonly StoredEntry[], what: Erased): void {
  const places = due.map(({ sequence }) => sequence);
  const segments = new Set(readSegments(connection, places));
  const page = connection.get<{ page_size: bigint }>('PRAGMA page_size');
  for (const { before, after, place } of rewritesOf(segments, due, what)) {
    const padding = paddingOf(before, after, Number(page?.page_size));
    const { leaves, personal } = padded(after, place, padding);
    connection.run(REWRITE, leaves, personal, after.first);
  }
  forget(connection, due, what);
  for (const { entry_id } of due) eraseIntent(connection, entry_id, what === 'contents');
}

const REWRITE = 'UPDATE segments SET leaves = ?, personal = ? WHERE first = ?';

/** Continues where it stopped, up to the first entry that is too recent. */
function eraseBelow(connection: Connection, policy: ErasureBelow): number {
  const name = policyName(policy);
  const entries = scanEntries(connection, placeOf(connection, name), policy.limit);
  const { passed, due } = dueIn(entries, policy);
  const last = passed.at(-1);
  if (!last) return 0;
  eraseEntries(connection, due, policy.what);
  const end = last.sequence + 1;
  connection.run('INSERT OR REPLACE INTO erasures (policy, below) VALUES (?, ?)', name, end);
  return passed.length;
}

function placeOf(connection: Connection, policy: string): number {
  const row = connection.get<{ below: bigint }>(
    'SELECT below FROM erasures WHERE policy = ?',
    policy,
  );
  return Number(row?.below ?? 0);
}
