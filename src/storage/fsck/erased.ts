/**
 * Checks whether a retention policy explains why an entry has no contents.
 *
 * An attacker with write access can also forge the record of the erasure: this check finds careless deletions
 * only.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';

export interface Erased {
  /** The place below which each policy has erased. */
  readonly below: ReadonlyMap<string, number>;
  readonly now: Date;
}

/** `erased` must be read after the entry: erasing goes on meanwhile. */
export function erasureFault(stored: StoredEntry, erased: Erased): string | undefined {
  if (stored.leaf !== undefined) {
    if (stored.personal !== undefined || isBelow(stored, 'personal', erased)) return undefined;
    return 'its personal fields are gone, and retention has not reached this entry';
  }
  const { retain_until, event_class } = stored;
  if (retain_until === undefined) {
    if (isBelow(stored, event_class, erased)) return undefined;
    return `its contents are gone, and retention of ${event_class} has not reached this entry`;
  }
  if (retain_until <= erased.now) return undefined;
  const isTime = !Number.isNaN(retain_until.getTime());
  return `its contents are gone, and it is kept until ${isTime ? retain_until.toISOString() : 'no time'}`;
}

function isBelow({ sequence }: StoredEntry, policy: string, { below }: Erased): boolean {
  return sequence < (below.get(policy) ?? 0);
}
