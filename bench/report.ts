/**
 * Tells the results: a table for people, JSON for programs, and the page of the last full run.
 *
 * @module
 */

import { execFileSync } from 'node:child_process';
import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import type { Growth } from './growth.ts';
import { TAKEN_MAX } from './host.ts';
import { CONNECTIONS } from './measure.ts';
import { storeFolder } from './processes.ts';
import type { Interleaved, Measured, Tally } from './rounds.ts';
import { NO_ANSWER } from './silence.ts';

export interface Machine {
  readonly cores: number;
  readonly cpu: string;
  readonly memory: string;
  readonly system: string;
  readonly node: string;
  /** In milliseconds. The median of a small write that is flushed to the disk of the stores. */
  readonly fsync: number;
}

export function machine(): Machine {
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    system: `${process.platform} ${release()}`,
    node: process.version,
    fsync: medianFsync(),
  };
}

const FLUSHES = 101;
/** Bytes. As much as SQLite appends for one page. */
const PAGE = 4_096;

function medianFsync(): number {
  const folder = storeFolder();
  const file = openSync(join(folder, 'pages'), 'w');
  try {
    const times = Array.from({ length: FLUSHES }, () => {
      const began = performance.now();
      writeSync(file, Buffer.alloc(PAGE, 1));
      fdatasyncSync(file);
      return performance.now() - began;
    });
    return times.sort((a, b) => a - b)[Math.floor(FLUSHES / 2)] as number;
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
}

const HEAD = [
  ...['', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs', 'database CPU µs', 'CPU ratio'],
  ...['ratio', 'reach', 'aim', 'remarks'],
];

export function tableOf(rows: readonly Measured[]): string {
  const lines = [HEAD, ...rows.map(cellsOf)];
  const widths = HEAD.map((_, place) => Math.max(...lines.map((line) => line[place]?.length ?? 0)));
  const told = lines.map((line) => {
    const [name = '', ...cells] = line;
    const rest = cells.map((cell, place) => cell.padStart(widths[place + 1] ?? 0));
    return `${name.padEnd(widths[0] ?? 0)}  ${rest.join('  ')}`.trimEnd();
  });
  return `${told.join('\n')}\n`;
}

/** The figures that a row without an answer lacks, from the second to the ratio. */
const SILENT = Array.from({ length: HEAD.indexOf('ratio') - 1 }, () => '');

function cellsOf(row: Measured): string[] {
  const goals = [row.reach?.toFixed(2) ?? '', row.aim?.toFixed(2) ?? '', remarksOf(row)];
  if (row.silent === row.rounds) return [row.name, NO_ANSWER, ...SILENT, ...goals];
  const ratio = row.isUnsure ? 'unsure' : (row.ratio?.toFixed(2) ?? '');
  const cpuRatio = row.cpuRatio?.toFixed(2) ?? '';
  const figures = [row.rate, row.p50, row.p99, row.cpu, row.databaseCpu];
  const told = figures.map((figure) => figure?.toFixed(0) ?? '');
  return [row.name, ...told, cpuRatio, ratio, ...goals];
}

function remarksOf({ rounds, silent, marked }: Measured): string {
  return [
    ...(silent > 0 ? [`${NO_ANSWER} in ${silent} of ${rounds} rounds`] : []),
    ...(marked > 0 ? [`${marked} of ${rounds} rounds marked`] : []),
  ].join(', ');
}

/** What the host did to the rounds. */
export function roundsLine({ rounds, repeated, marked, isTold }: Tally): string {
  if (!isTold) return 'No round is marked: this system does not tell what its host takes.';
  const share = `${100 * TAKEN_MAX} % of the cores`;
  const again = `${repeated} were measured again because the host took more than ${share} away`;
  return `Of ${rounds} rounds, ${again}; ${marked} stayed so and are marked.`;
}

/** The page of a full run. What bounds a figure that is not reached is told in the notes. */
export function pageOf({ rows, tally }: Interleaved, growth: Growth, seconds: number): string {
  const { cores, cpu, memory, system, node, fsync } = machine();
  return `# Results of the last full run

Made by \`npm run bench\`; do not edit. ${new Date().toISOString().slice(0, 10)}, commit ${commit()},
${cores} x ${cpu}, ${memory}, ${system}, Node ${node},
fsync ${fsync.toFixed(2)} ms. ${CONNECTIONS} connections from one process, all processes on the same cores. Medians of interleaved rounds of ${seconds} s. The ratio is of requests in a
second to the baseline just before and just after: \`fastify POST echo\`, for documents a bare GET of as many
bytes, for two processes the same work of one. The CPU ratio is CPU time for an answer over that of the baseline, with the database
server's; on few cores it says more than rates, since the load generator takes its share of them. With a commit of 1 ms, the thread waits 1 ms more for each commit of SQLite, as it would for a slower disk. "unsure" stands where the rounds differ too much for a ratio.
${roundsLine(tally)}

${markdown(HEAD, rows.map(cellsOf))}
## Growth

On SQLite, 64 calls at once, without a transport but for memory and start: CPU time, so what the disk takes is not in it, and
at the best speed that the machine had in this run, by a fixed piece of work measured beside each.

${markdown(
  ['', 'figure', 'wanted'],
  growth.figures.map(({ name, figure, wanted }) => [name, figure, wanted]),
)}
![Cost against number of entries, of tokens and depth of delegation](growth.svg)

${readFileSync(new URL('notes.md', import.meta.url), 'utf8')}`;
}

function markdown(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  const rule = `|${head.map((_, place) => (place === 0 ? '---' : '--:')).join('|')}|\n`;
  return `${line(head)}${rule}${lines.map(line).join('')}`;
}

function commit(): string {
  const hash = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' });
  return hash.trim();
}
