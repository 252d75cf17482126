/**
 * A number with its unit.
 *
 * @module
 */

/** "1 entry", "1,200 entries". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}
