/**
 * The nearest name: what a misspelt name probably means.
 *
 * @module
 */

/** The known name with the fewest different letters, or `undefined` when none is similar. */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  const [nearest] = [...known]
    .map((each) => ({ each, distance: distanceOf(name, each) }))
    .filter(({ distance }) => distance <= Math.max(2, name.length / 3))
    .sort((one, other) => one.distance - other.distance);
  return nearest?.each;
}

/** The Levenshtein distance: letters to insert, remove or replace. */
function distanceOf(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let place = 1; place <= other.length; place += 1) {
      const replaced = (row[place - 1] ?? 0) + (letter === other[place - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[place] ?? 0) + 1, (next[place - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
