/**
 * A bounded map that forgets keys that were not used recently.
 *
 * It has two halves. Keys in use are in the newer half. When that is full it becomes the older half, and
 * the previous older half is dropped. Using a key again therefore costs no more than a lookup.
 *
 * @module
 */

export interface Recent<Key, Value> {
  get(key: Key): Value | undefined;
  set(key: Key, value: Value): void;
}

/** Keeps at most `max` keys, or keys of that total weight, and at least the most recent half of that. */
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
