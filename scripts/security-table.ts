/**
 * The table of promises in SECURITY.md: each promise, its tests, the figures of its last long runs, and what is open.
 *
 * @module
 */

import { PROMISES, type Promised, RUNS, type Tried } from './promises.ts';
import { rowCells } from './readme-figures.ts';
import { FIGURE_NAMES, type FigureName, type SecurityFigures } from './security-figures.ts';

const MARKS = /(<!-- promises -->\n)[\s\S]*?(<!-- end of promises -->)/;

/** At most so many figures of a run are in a row; the table of runs has all of them. */
const FIGURES_IN_A_ROW = 2;

const NONE = '–';

/** SECURITY.md with both tables between its marks. `results` is the page of the benchmark. */
export function securityWithTable(page: string, figures: SecurityFigures, results: string): string {
  if (!MARKS.test(page)) throw new Error('Cannot find the marks of the promises in SECURITY.md');
  const tables = [promiseTable(figures, results), ...runsTable(figures)].join('\n\n');
  return page.replace(MARKS, (_, begin, end) => `${begin}\n${tables}\n\n${end}`);
}

function promiseTable(figures: SecurityFigures, results: string): string {
  return [
    '| promise | tests | last figures | open |',
    '|---|---|---|---|',
    ...PROMISES.map((promised) => rowOf(promised, figures, results)),
  ].join('\n');
}

function rowOf(promised: Promised, figures: SecurityFigures, results: string): string {
  const { promise, tests, runs, measured, open } = promised;
  const cells = [
    promise,
    tests.map((path) => `\`${path}\``).join(', '),
    [
      ...runs.flatMap((tried) => shortFigures(tried, figures)),
      ...measuredIn(results, measured),
    ].join('; '),
    open ?? '',
  ];
  return `| ${cells.map((cell) => cell || NONE).join(' | ')} |`;
}

function shortFigures(tried: Tried, figures: SecurityFigures): string[] {
  const [name, ...labels] = typeof tried === 'string' ? [tried] : tried;
  const recorded = figures[name];
  if (!recorded) return [];
  const { date, commit } = recorded;
  const all = Object.entries(recorded.figures);
  const chosen = labels.length > 0 ? all.filter(([label]) => labels.includes(label)) : all;
  const counted = listed(chosen.slice(0, FIGURES_IN_A_ROW));
  return [`${RUNS[name].what}: ${counted} (${date}, \`${commit}\`)`];
}

function measuredIn(results: string, rows: Promised['measured'] = {}): string[] {
  const [, date, commit] = /(\d{4}-\d\d-\d\d), commit (\w+),/.exec(results) ?? [];
  return Object.entries(rows).map(([name, unit]) => {
    const [figure] = rowCells(results, name);
    return `[${name}](bench/RESULTS.md): ${figure}${unit} (${date}, \`${commit}\`)`;
  });
}

/** None before the first run is recorded. */
function runsTable(figures: SecurityFigures): string[] {
  const rows = FIGURE_NAMES.flatMap((name) => runRow(name, figures));
  if (rows.length === 0) return [];
  const head = [
    '| run | command | in the suite | date | commit | figures |',
    '|---|---|---|---|---|---|',
  ];
  return [[...head, ...rows].join('\n')];
}

/** Only runs that were recorded: a command is shown when it has shown something. */
function runRow(name: FigureName, figures: SecurityFigures): string[] {
  const recorded = figures[name];
  if (!recorded) return [];
  const { what, command, suite } = RUNS[name];
  const { date, commit } = recorded;
  const counted = listed(Object.entries(recorded.figures));
  return [`| ${what} | \`${command}\` | \`${suite}\` | ${date} | \`${commit}\` | ${counted} |`];
}

function listed(figures: readonly (readonly [string, number])[]): string {
  return figures.map(([label, value]) => `${value.toLocaleString('en-US')} ${label}`).join(', ');
}
