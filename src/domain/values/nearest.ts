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
  let row = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (letter === other[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
