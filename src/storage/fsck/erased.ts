/**
 * Whether retention explains that an entry says nothing any more.
 *
 * Who may write the store can also write what explains it: this finds what was taken out by hand, not
 * what was taken out with care.
 *
 * @module
 */

import type { StoredEntry } from '../../domain/log/entry.ts';

export interface Erased {
  /** Below which place each policy has erased. */
  readonly below: ReadonlyMap<string, number>;
  readonly now: Date;
}

/** `erased` must be read after the entry: erasing goes on meanwhile. */
export function erasureFault(stored: StoredEntry, erased: Erased): string | undefined {
  if (stored.leaf !== undefined) {
    if (stored.personal !== undefined || isBelow(stored, 'personal', erased)) return undefined;
    return 'its personal fields are gone, and retention has not come so far';
  }
  const { retain_until, event_class } = stored;
  if (retain_until === undefined) {
    if (isBelow(stored, event_class, erased)) return undefined;
    return `its contents are gone, and retention of ${event_class} has not come so far`;
  }
  if (retain_until <= erased.now) return undefined;
  return `its contents are gone, and it is kept until ${retain_until.toISOString()}`;
}

function isBelow({ sequence }: StoredEntry, policy: string, { below }: Erased): boolean {
  return sequence < (below.get(policy) ?? 0);
}
