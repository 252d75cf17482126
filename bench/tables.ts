/**
 * Tables of results, for a terminal and for the page.
 *
 * @module
 */

import { COUNTED, type Counted } from './counts.ts';
import type { Figure } from './figures.ts';
import { CONNECTIONS } from './measure.ts';
import type { Measured } from './rounds.ts';
import { NO_ANSWER } from './silence.ts';
import { READ_ON_SQLITE } from './targets.ts';

export interface Table {
  readonly head: readonly string[];
  readonly lines: readonly (readonly string[])[];
}

export function forTerminal({ head, lines }: Table): string {
  const all = [head, ...lines];
  const widths = head.map((_, place) => Math.max(...all.map((line) => line[place]?.length ?? 0)));
  const told = all.map((line) => {
    const [name = '', ...cells] = line;
    const rest = cells.map((cell, place) => cell.padStart(widths[place + 1] ?? 0));
    return `${name.padEnd(widths[0] ?? 0)}  ${rest.join('  ')}`.trimEnd();
  });
  return `${told.join('\n')}\n`;
}

/** In Markdown. */
export function forPage({ head, lines }: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |\n`;
  const rule = `|${head.map((_, place) => (place === 0 ? '---' : '--:')).join('|')}|\n`;
  return `${line(head)}${rule}${lines.map(line).join('')}`;
}

const HEAD = [
  '',
  'req/s',
  'p50 ms',
  'p99 ms',
  'CPU µs',
  'database CPU µs',
  'CPU ratio',
  'ratio',
  'reach',
  'aim',
  'remarks',
];

export function rowsTable(rows: readonly Measured[]): Table {
  return { head: HEAD, lines: rows.map(cellsOf) };
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

/**
 * For how long the slowest answers are looked for. The first request of a new connection is slower, and in a short
 * round these are more than one in a hundred.
 */
export const STEADY_SECONDS = 5;

/** Goals of a read on SQLite that are no ratios. */
export function goalsTable(steadyP99: number | undefined, counted: Counted | undefined): Table {
  const promises = counted?.lines.find(({ name }) => name === COUNTED.promises);
  const made = promises?.figures[counted?.calls.indexOf(READ_ON_SQLITE) ?? -1];
  return {
    head: ['', 'figure', 'reach', 'aim'],
    lines: [
      [
        `p99 of a read at ${CONNECTIONS} connections, over ${STEADY_SECONDS} s`,
        told(steadyP99, ' ms'),
        '40 ms',
        '20 ms',
      ],
      ['promises a read', told(made, ''), '10', '3'],
    ],
  };
}

function told(figure: number | undefined, unit: string): string {
  return figure === undefined || Number.isNaN(figure) ? NO_ANSWER : `${figure.toFixed(0)}${unit}`;
}

/** One column for each kind of call; `–` stands where nothing was counted, or it cannot be known. */
export function countsTable({ calls, lines }: Counted): Table {
  const cell = (figure: number) => (Number.isFinite(figure) ? figure.toFixed(1) : '–');
  return {
    head: ['', ...calls.map((name) => name.replace(/, SQLite$/, ''))],
    lines: lines.map(({ name, figures }) => [name, ...figures.map(cell)]),
  };
}

export function figuresTable(figures: readonly Figure[]): Table {
  return {
    head: ['', 'figure', 'wanted'],
    lines: figures.map(({ name, figure, wanted }) => [name, figure, wanted]),
  };
}
