/**
 * A number with what it counts, in a sentence.
 *
 * @module
 */

/** "1 entry", "12 entries". */
export function countText(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 || count === 1n ? one : many}`;
}
