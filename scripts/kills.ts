/**
 * Kills real service processes under load and checks after each kill what they left:
 *
 *     npm run kills -- [--kills 20] [--store sqlite|postgresql|both] [--minutes 60]
 *
 * Everything is on loopback and in temporary folders. It ends by itself. SECURITY.md has the
 * figures of the last run that found nothing.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { type KillsStore, runKills } from '../test/kills/kills.ts';
import { numberOf, printFigures, runLong, sayWithTime } from './long-run.ts';

/** Of the settings: a run must end on the day on which it began. */
const KILLS_MAX = 10_000;
const MINUTES_MAX = 600;

const STORES: Readonly<Record<string, readonly KillsStore[]>> = {
  sqlite: ['sqlite'],
  postgresql: ['postgresql'],
  both: ['sqlite', 'postgresql'],
};

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    store: { type: 'string', default: 'both' },
    minutes: { type: 'string', default: '60' },
  },
});

const kills = numberOf('kills', values.kills, KILLS_MAX);
const stores = STORES[values.store];
if (!stores)
  throw new Error(`Cannot use --store ${values.store}: expected sqlite, postgresql or both`);

await runLong({
  minutesMax: numberOf('minutes', values.minutes, MINUTES_MAX),
  async work() {
    for (const store of stores) {
      const report = await runKills({
        kills,
        store,
        say: (line) => sayWithTime(`${store}: ${line}`),
      });
      printFigures(`${store}: nothing was lost, nothing happened twice`, { ...report });
    }
  },
});
