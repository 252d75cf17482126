/**
 * The page of the last full run.
 *
 * @module
 */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Counted } from './counts.ts';
import type { Growth } from './growth.ts';
import { TAKEN_MAX } from './host.ts';
import { machine } from './machine.ts';
import { CONNECTIONS } from './measure.ts';
import type { Interleaved, Tally } from './rounds.ts';
import { NO_ANSWER } from './silence.ts';
import { countsTable, figuresTable, forPage, goalsTable, rowsTable } from './tables.ts';

/** The rows, and the slowest answers of a longer run. */
export interface UnderLoad extends Interleaved {
  /** Of a read on SQLite; undefined where it was not answered. */
  readonly steadyP99: number | undefined;
}

export interface Results {
  readonly loaded: UnderLoad;
  readonly counted: Counted | undefined;
  readonly grown: Growth;
  /** Of one sample. */
  readonly seconds: number;
}

/** The page of a full run. What bounds a figure that is not reached is told in the notes. */
export function pageOf({ loaded, counted, grown, seconds }: Results): string {
  const { rows, tally } = loaded;
  const { cores, cpu, memory, system, node, fsync } = machine();
  return `# Results of the last full run

Made by \`npm run bench\`; do not edit. ${new Date().toISOString().slice(0, 10)}, commit ${commit()},
${cores} x ${cpu}, ${memory}, ${system}, Node ${node},
fsync ${fsync.toFixed(2)} ms. ${CONNECTIONS} connections from one process, all processes on the same cores. Medians of interleaved rounds of ${seconds} s. The ratio is of requests in a
second to the baseline just before and just after: \`fastify POST echo\`, for documents a bare GET of as many
bytes, for two processes the same work of one. The CPU ratio is CPU time for an answer over that of the baseline, with the database
server's; on few cores it says more than rates, since the load generator takes its share of them. With a commit of 1 ms, the thread waits 1 ms more for each commit of SQLite, as it would for a slower disk. "unsure" stands where the rounds differ too much for a ratio.
${roundsLine(tally)}

${forPage(rowsTable(rows))}
${forPage(goalsTable(loaded.steadyP99, counted))}
## Counts

For one call on SQLite at ${CONNECTIONS} connections, in programs of their own because counting slows: promises and timers by \`async_hooks\`, under
which each wait makes a promise; what a call leaves on the heap while nothing is collected.

${counted ? forPage(countsTable(counted)) : `${NO_ANSWER}\n`}
## Growth

On SQLite, 64 calls at once, without a transport but for memory and start: CPU time, so what the disk takes is not in it, and
at the best speed that the machine had in this run, by a fixed piece of work measured beside each.

${forPage(figuresTable(grown.figures))}
![Cost against number of entries, of tokens and depth of delegation](growth.svg)

${readFileSync(new URL('notes.md', import.meta.url), 'utf8')}`;
}

/** What the host did to the rounds. */
export function roundsLine({ rounds, repeated, marked, isTold }: Tally): string {
  if (!isTold) return 'No round is marked: this system does not tell what its host takes.';
  const share = `${100 * TAKEN_MAX} % of the cores`;
  const again = `${repeated} were measured again because the host took more than ${share} away`;
  return `Of ${rounds} rounds, ${again}; ${marked} stayed so and are marked.`;
}

function commit(): string {
  const hash = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' });
  return hash.trim();
}
