/**
 * Races: what every `Store` guarantees when many callers want the same thing at once, also through several
 * instances on one database.
 *
 * For authors of stores. `open` returns the instances, all on one empty database; callers take turns on them,
 * and all start before the first is awaited.
 *
 * @module
 */

import type { Runner } from '../../src/conformance/runner.ts';
import type { RaceSize, Races, Stores } from './race.ts';
import { CLAIM_RACES, MONEY_RACES } from './races-admission.ts';
import { APPROVAL_RACES, TURN_RACES } from './races-decisions.ts';
import { SIGN_IN_RACES } from './races-sign-in.ts';

/**
 * Where the races run, and how many callers race for how many rounds.
 */
export interface RaceOptions extends Partial<RaceSize> {
  readonly runner: Runner;
}

/** In milliseconds: the rounds below on a slow disk under a full suite. */
const RACE_TIMEOUT_MS = 120_000;

const RACES: Races = {
  ...MONEY_RACES,
  ...CLAIM_RACES,
  ...APPROVAL_RACES,
  ...TURN_RACES,
  ...SIGN_IN_RACES,
};

/**
 * Defines one test for each race. `open` returns the instances, all on one empty database.
 */
export function storeRaces(
  name: string,
  open: () => Promise<Stores>,
  { runner, callers = 200, rounds = 1_000 }: RaceOptions,
): void {
  runner.describe(`${name} store races`, () => {
    for (const [sentence, race] of Object.entries(RACES)) {
      const run = () => withStores(open, (stores) => race(stores, { callers, rounds }));
      runner.test(sentence, run, RACE_TIMEOUT_MS);
    }
  });
}

async function withStores(
  open: () => Promise<Stores>,
  run: (stores: Stores) => Promise<void>,
): Promise<void> {
  const stores = await open();
  try {
    await run(stores);
  } finally {
    for (const store of stores) await store.close();
  }
}
