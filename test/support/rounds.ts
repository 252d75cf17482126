/**
 * How often a test repeats what chance decides: races, seeds, drawn cases. `WRIT_TEST_ROUNDS=5` repeats five times as
 * often.
 *
 * @module
 */

const FACTOR = Number(process.env.WRIT_TEST_ROUNDS ?? 1);

export function rounds(count: number): number {
  return Math.ceil(count * FACTOR);
}
