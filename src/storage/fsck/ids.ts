/**
 * Finds repeated entry ids in a log with too many ids to hold in memory.
 *
 * @module
 */

import { sha256 } from '../../domain/wire/hash.ts';

/** A fingerprint of eight bytes for each id: whole ids of a long log would not fit into memory. */
export interface Ids {
  add(id: string): void;
  repeated(): ReadonlySet<bigint>;
}

export function createIds(): Ids {
  let seen = new BigUint64Array(1_024);
  let count = 0;
  return {
    add(id) {
      if (count === seen.length) {
        const larger = new BigUint64Array(2 * seen.length);
        larger.set(seen);
        seen = larger;
      }
      seen[count] = fingerprintOf(id);
      count += 1;
    },
    repeated() {
      const sorted = seen.slice(0, count).sort();
      return new Set(sorted.filter((print, place) => place > 0 && print === sorted[place - 1]));
    },
  };
}

export function fingerprintOf(id: string): bigint {
  const digest = sha256(new TextEncoder().encode(id));
  return new DataView(digest.buffer, digest.byteOffset).getBigUint64(0);
}
