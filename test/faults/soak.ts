/**
 * How long the fault tests go on: briefly in every run, for as long as one likes when asked.
 *
 * @module
 */

import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** `WRIT_TEST_SOAK_SECONDS` makes each loop last at least so long. */
export const SOAK_MS = 1_000 * Number(process.env.WRIT_TEST_SOAK_SECONDS ?? 0);

/** For one loop. Only to end one that hangs. */
export const LOOP_TIMEOUT = { timeout: 120_000 + 2 * SOAK_MS };

/** Runs a round so many times, and goes on while the soak lasts. */
export async function repeat(rounds: number, round: (number: number) => Promise<void>) {
  const end = performance.now() + SOAK_MS;
  for (let number = 0; number < rounds || performance.now() < end; number++) await round(number);
}

/** Waits for a random time below the bound, so that what follows comes at any moment. */
export async function anyMoment(msMax: number): Promise<void> {
  await sleep(randomInt(msMax * 10) / 10);
}
