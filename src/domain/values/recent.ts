/**
 * A map that forgets what was not used lately, so that it stays within a bound.
 *
 * It has two halves. What is used stands in the newer one; when that is full it becomes the older, and
 * what the older had is forgotten. So to use a key again costs no more than to look it up.
 *
 * @module
 */

export interface Recent<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
}

/** Keeps at most `max` keys, or keys of that weight together, and at least the last half as many. */
export function createRecent<Key, Value>(
  max: number,
  weightOf: (key: Key) => number = () => 1,
): Recent<Key, Value> {
  const half = max / 2;
  let newer = new Map<Key, Value>();
  let older = new Map<Key, Value>();
  let weight = 0;

  function set(key: Key, value: Value): void {
    if (!newer.has(key)) {
      const added = weightOf(key);
      if (added > half) return;
      if (weight + added > half) {
        older = newer;
        newer = new Map();
        weight = 0;
      }
      weight += added;
    }
    newer.set(key, value);
  }

  return {
    set,
    get(key) {
      const used = newer.get(key);
      if (used !== undefined) return used;
      const found = older.get(key);
      if (found !== undefined) set(key, found);
      return found;
    },
  };
}
