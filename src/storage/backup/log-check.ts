/**
 * Checks the log of a backup while its rows pass: places without a gap, the tree of every log, and that no
 * checkpoint covers more than the log has.
 *
 * Grows the tree of each log from the leaf hashes. Holds the peaks of the trees only.
 *
 * @module
 */

import { appendLeaves, type Hash } from '../../domain/log/merkle.ts';
import { firstPlaceOf, leafIndexOf } from '../../domain/log/origin.ts';
import { countText } from '../../domain/values/count-text.ts';

export interface GrownTree {
  /** The place after the last entry. */
  readonly place: number;
  readonly peaks: readonly Hash[];
}

export interface LogCheck {
  /** The list of logs; the last one is the current one. */
  origin(first: number): void;
  /** Checks that the entries follow. */
  grow(entries: readonly PlacedLeaf[]): void;
  checkpoint(sequence: number, size: number): void;
  tree(): GrownTree;
}

export interface PlacedLeaf {
  readonly sequence: number;
  readonly hash: Hash;
}

/** A fault of the rows themselves. The message completes "Cannot …: ". */
export class CopyFault extends Error {
  override readonly name = 'CopyFault';
}

export function createLogCheck(): LogCheck {
  const sizes = new Map<number, number>();
  let current = 0;
  let peaks: readonly Hash[] = [];
  const sizeOf = (first: number) => sizes.get(first) ?? 0;

  /** Entries of one log. */
  function growOne(first: number, entries: readonly PlacedLeaf[]): void {
    if (first !== current) {
      if (first < current || !sizes.has(first)) {
        throw new CopyFault(`entry ${entries[0]?.sequence} belongs to no log of the store`);
      }
      current = first;
      peaks = [];
    }
    const size = sizeOf(first);
    entries.forEach(({ sequence }, index) => {
      if (leafIndexOf(sequence) !== size + index) {
        throw new CopyFault(`entry ${first + size + index} is missing before entry ${sequence}`);
      }
    });
    const grown = appendLeaves(
      size,
      peaks,
      entries.map(({ hash }) => hash),
    );
    sizes.set(first, grown.size);
    peaks = grown.peaks;
  }

  return {
    origin(first) {
      if (firstPlaceOf(first) !== first || sizes.has(first)) {
        throw new CopyFault(`the list of logs has ${first}, which is no first place of a log`);
      }
      sizes.set(first, 0);
    },
    grow(entries) {
      for (let from = 0; from < entries.length; ) {
        const first = firstPlaceOf((entries[from] as PlacedLeaf).sequence);
        let to = from + 1;
        while (to < entries.length && firstPlaceOf((entries[to] as PlacedLeaf).sequence) === first)
          to++;
        growOne(first, entries.slice(from, to));
        from = to;
      }
    },
    checkpoint(sequence, size) {
      const has = sizeOf(firstPlaceOf(sequence));
      if (size <= has) return;
      throw new CopyFault(
        `checkpoint ${sequence} covers ${countText(size, 'entry', 'entries')}, the log has ${has}`,
      );
    },
    tree: () => {
      // A log that was begun has its first entry, so the last one with entries is the current one.
      return { place: current + sizeOf(current), peaks };
    },
  };
}
