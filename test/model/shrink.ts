/**
 * Makes a failed run short: leaves out acts as long as some answer still differs, and says what is left.
 *
 * @module
 */

import { dropActs } from '../simulation/shrink.ts';
import type { Act } from './acts.ts';
import type { Place } from './place.ts';
import { type Difference, runActs } from './run.ts';

/** Runs that one shrinking may take. */
const RUNS_MAX = 300;

/** The shortest run that was found. Acts of one turn may end otherwise each time, so such a run is tried twice. */
export async function shrink(place: Place, found: Difference): Promise<Difference> {
  let best = found;
  let runs = 0;
  const tried = async (acts: readonly Act[]) => {
    if (runs >= RUNS_MAX) return false;
    runs += 1;
    const isChancy = acts.some(({ kind }) => kind === 'together' || kind === 'burst');
    const smaller =
      (await runActs(place, acts)) ?? (isChancy ? await runActs(place, acts) : undefined);
    if (smaller) best = smaller;
    return smaller !== undefined;
  };
  await dropActs(() => best.acts, tried);
  await dropActs(() => best.acts, tried);
  return best;
}

/** The acts one a line, then both answers to the last of them. */
export function differenceText({ acts, observed, allowed }: Difference): string {
  const lines = acts.map((act) => `  ${JSON.stringify(act)}`);
  const expected = [...new Set(allowed.map((answer) => JSON.stringify(answer)))];
  return [
    'The service and the model answer the last of these acts differently:',
    ...lines,
    `service: ${JSON.stringify(observed)}`,
    ...expected.map((answer) => `model:   ${answer}`),
  ].join('\n');
}
