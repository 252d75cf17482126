/**
 * What retention takes from entries, segments and index blocks. The same in every store.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';
import type { Erasure } from '../port/log-store.ts';
import type { BlockHead, Field } from './blocks.ts';
import { bucketNumber } from './numbers.ts';
import { bucketIn } from './query.ts';
import { type Erased, erasedFrom, hasPlace, type Segment } from './segment.ts';

/** Erases up to the first entry that is too recent. */
export type ErasureBelow = Exclude<Erasure, { what: 'stated' }>;

/** The name under which a store keeps how far this policy has come. */
export function policyName(policy: ErasureBelow): string {
  return policy.what === 'personal' ? 'personal' : policy.eventClass;
}

/** How far a policy comes in these entries, given in order of their places, and what it erases of them. */
export function dueIn(
  entries: readonly StoredEntry[],
  policy: ErasureBelow,
): { passed: StoredEntry[]; due: StoredEntry[] } {
  const recent = entries.findIndex(({ timestamp }) => timestamp > policy.until);
  const passed = recent === -1 ? [...entries] : entries.slice(0, recent);
  const due = passed.filter(({ personal, leaf, timestamp, retain_until, event_class }) => {
    if (policy.what === 'personal') return personal !== undefined;
    // An entry without a time is damaged, and its stub would have none.
    const isWhole = leaf !== undefined && !Number.isNaN(timestamp.getTime());
    return isWhole && retain_until === undefined && event_class === policy.eventClass;
  });
  return { passed, due };
}

/**
 * Divides entries by the time until which they say themselves that they are kept: a row of `retentions` only says
 * where to look, and may have been edited. An entry that is kept longer needs a row with its own time.
 */
export function dueByOwnWord(
  entries: readonly StoredEntry[],
  until: Date,
): { due: StoredEntry[]; later: StoredEntry[] } {
  const stating = entries.filter(({ retain_until }) => retain_until !== undefined);
  return {
    due: stating.filter(({ retain_until }) => (retain_until as Date) <= until),
    later: stating.filter(({ retain_until }) => (retain_until as Date) > until),
  };
}

/** A segment that loses bytes, and the first place that loses some. */
export interface Rewrite {
  readonly before: Segment;
  readonly after: Segment;
  readonly place: number;
}

/** The segments without what is erased of these entries. */
export function* rewritesOf(
  segments: Iterable<Segment>,
  due: readonly StoredEntry[],
  what: Erased,
): Generator<Rewrite> {
  for (const before of segments) {
    const own = due.map(({ sequence }) => sequence).filter((place) => hasPlace(before, place));
    const after = erasedFrom(before, new Map(own.map((place) => [place, what])));
    if (after) yield { before, after, place: own[0] as number };
  }
}

/** The indexed fields that an erased entry loses. */
const LOST: Readonly<Record<Erased, readonly Field[]>> = {
  personal: ['root_principal', 'client_reference_id', 'task_id'],
  contents: [
    ...(['root_principal', 'client_reference_id', 'task_id', 'capability'] as const),
    ...(['invocation_id', 'parent_invocation_id'] as const),
  ],
};

/**
 * For each bucket, by its number, the offsets that it loses with these entries, given as they were before. `headOf`
 * finds the block of a place.
 */
export function lostOffsets(
  due: readonly StoredEntry[],
  what: Erased,
  headOf: (place: number) => BlockHead | undefined,
): Map<number, Set<number>> {
  const lost = new Map<number, Set<number>>();
  for (const entry of due) {
    const head = headOf(entry.sequence);
    if (!head) continue;
    for (const field of LOST[what]) {
      const value = entry[field];
      if (value === undefined || value.length === 0) continue;
      const id = bucketNumber(bucketIn(head, field, value));
      lost.set(id, (lost.get(id) ?? new Set()).add(entry.sequence - head.first));
    }
  }
  return lost;
}
