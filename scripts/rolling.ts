/**
 * Replaces replicas under load, and every client must notice nothing:
 *
 *     npm run rolling -- [--stops 50] [--rotations 2] [--rounds 3] [--older <commit>] [--minutes 60]
 *
 * Stops by SIGTERM, rotations of every key, and replicas of an older build beside those of this one on one database.
 * The older build is made from git: by default the oldest commit with the schema of this one. Each part runs on
 * SQLite and on PostgreSQL. Everything is on loopback and in temporary folders. It ends by itself. SECURITY.md has
 * the figures of the last run that found nothing.
 *
 * @module
 */

import { parseArgs } from 'node:util';
import { buildOlder, oldestOfSchema } from '../test/kills/older-build.ts';
import {
  type Counts,
  type RollingOptions,
  runRotations,
  runStops,
  runVersions,
} from '../test/kills/rolling.ts';
import { atEnd } from '../test/support/ends.ts';
import { makeDatabase, startPostgres } from '../test/support/postgres.ts';
import { numberOf, printFigures, runLong, sayWithTime } from './long-run.ts';

const { values } = parseArgs({
  options: {
    stops: { type: 'string', default: '50' },
    rotations: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    older: { type: 'string' },
    minutes: { type: 'string', default: '60' },
  },
});

const stops = numberOf('stops', values.stops, 1_000);
const rotations = numberOf('rotations', values.rotations, 20);
const rounds = numberOf('rounds', values.rounds, 100);

await runLong({
  minutesMax: numberOf('minutes', values.minutes, 600),
  async work() {
    const { url, stop } = await startPostgres();
    atEnd(stop);
    const older = buildOlder(values.older ?? oldestOfSchema());
    /** Half of the work on each store, and the sum of what clients found. */
    const onBoth = async (name: string, part: (options: RollingOptions) => Promise<Counts>) => {
      const found: Counts[] = [];
      for (const store of [undefined, (await makeDatabase(url)).url]) {
        const kind = store === undefined ? 'SQLite' : 'PostgreSQL';
        found.push(await part({ store, say: (line) => sayWithTime(`${name}, ${kind}: ${line}`) }));
      }
      return sumOf(found);
    };
    const done = {
      rolling: {
        stops,
        ...(await onBoth('stops', (options) => runStops(Math.ceil(stops / 2), options))),
      },
      rotation: {
        rotations: 2 * rotations,
        ...(await onBoth('rotations', (options) => runRotations(rotations, options))),
      },
      versions: {
        replacements: 4 * rounds,
        ...(await onBoth('versions', (options) => runVersions(older.desk, rounds, options))),
      },
    };
    for (const [name, figures] of Object.entries(done)) printFigures(name, figures);
    sayWithTime(`the older version was ${older.commit}`);
  },
});

function sumOf(all: readonly Counts[]): Counts {
  const total = (name: keyof Counts) => all.reduce((sum, each) => sum + each[name], 0);
  return {
    calls: total('calls'),
    cut: total('cut'),
    refused: total('refused'),
    renewed: total('renewed'),
  };
}
