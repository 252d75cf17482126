/**
 * Chance: every choice of a simulation comes from one number.
 *
 * `fork` names a stream of its own. What one stream draws never shifts another, so a run without one of its
 * acts or faults draws the same for all the others, and the shrinker can remove them one by one.
 *
 * @module
 */

export interface Chance {
  /** An integer from 0 to `n` - 1. */
  below(n: number): number;
  is(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** A stream that depends on the seed and on the name, and on nothing drawn before. */
  fork(name: string): Chance;
  bytes(size: number): Uint8Array;
}

export function chanceOf(seed: number): Chance {
  return stream(mixed(seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0));
}

type State = readonly [number, number, number, number];

/** xoshiro128**, of Blackman and Vigna. */
function stream(state: State): Chance {
  let [a, b, c, d] = state;
  const next = (): number => {
    const drawn = Math.imul(rotated(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotated(d, 11);
    return drawn;
  };
  const below = (n: number) => Math.floor((next() / 2 ** 32) * n);
  return {
    below,
    is: (probability) => next() / 2 ** 32 < probability,
    pick(items) {
      if (items.length === 0) throw new Error('Cannot pick an item: the list is empty');
      return items[below(items.length)] as (typeof items)[number];
    },
    fork: (name) => stream(mixed(...forked(state, name))),
    bytes(size) {
      const bytes = new Uint8Array(size);
      for (let at = 0; at < size; at++) bytes[at] = next() >>> 24;
      return bytes;
    },
  };
}

function rotated(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

function forked([a, b]: State, name: string): [number, number] {
  let [low, high] = [a | 0, b | 0];
  for (let at = 0; at < name.length; at++) {
    low = Math.imul(low ^ name.charCodeAt(at), 0x01000193);
    high = Math.imul(high ^ low, 0x85ebca6b) ^ (high >>> 13);
  }
  return [low >>> 0, high >>> 0];
}

/** Spreads two words over the four of a state (splitmix32). No state is all zero. */
function mixed(low: number, high: number): State {
  let at = low ^ Math.imul(high, 0x9e3779b1);
  const word = () => {
    at = (at + 0x9e3779b9) | 0;
    let mix = Math.imul(at ^ (at >>> 16), 0x85ebca6b);
    mix = Math.imul(mix ^ (mix >>> 13), 0xc2b2ae35);
    return (mix ^ (mix >>> 16)) >>> 0;
  };
  return [word(), word() ^ high, word(), word() | 1];
}
