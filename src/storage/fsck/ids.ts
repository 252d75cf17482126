/**
 * Finds repeated and unknown texts, such as entry ids, among more than memory can hold.
 *
 * @module
 */

import { sha256 } from '../../domain/wire/hash.ts';

/** A fingerprint of eight bytes for each id: whole ids of a long log would not fit into memory. */
export interface Ids {
  add(id: string): void;
  repeated(): ReadonlySet<bigint>;
  /** For many questions after the last id. */
  has(id: string): boolean;
}

export function createIds(): Ids {
  let seen = new BigUint64Array(1_024);
  let count = 0;
  let sorted: BigUint64Array | undefined;
  const inOrder = () => {
    sorted ??= seen.slice(0, count).sort();
    return sorted;
  };
  return {
    add(id) {
      sorted = undefined;
      if (count === seen.length) {
        const larger = new BigUint64Array(2 * seen.length);
        larger.set(seen);
        seen = larger;
      }
      seen[count] = fingerprintOf(id);
      count += 1;
    },
    repeated() {
      const prints = inOrder();
      return new Set(prints.filter((print, place) => place > 0 && print === prints[place - 1]));
    },
    has(id) {
      const [prints, wanted] = [inOrder(), fingerprintOf(id)];
      let [low, high] = [0, prints.length];
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((prints[middle] as bigint) < wanted) low = middle + 1;
        else high = middle;
      }
      return prints[low] === wanted;
    },
  };
}

export function fingerprintOf(id: string): bigint {
  const digest = sha256(id);
  return new DataView(digest.buffer, digest.byteOffset).getBigUint64(0);
}
