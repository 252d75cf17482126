/**
 * The figures of README.md: a few rows of the last full run of the benchmark, in words that need no other page.
 *
 * @module
 */

const MARKS = /(<!-- figures -->\n)[\s\S]*?(<!-- end of figures -->)/;

/** The rows of the README by their names in bench/RESULTS.md. */
const ROWS = {
  'fastify POST echo': 'a web server that only echoes (fastify), for comparison',
  'invoke, read capability, SQLite': 'governed read, SQLite',
  'invoke, write with budget and admission, SQLite': 'governed write with a budget, SQLite',
  'invoke, read capability, PostgreSQL': 'governed read, PostgreSQL',
  'invoke, write with budget and admission, PostgreSQL': 'governed write with a budget, PostgreSQL',
  'refusal of a malformed token': 'refusal of a malformed token',
} as const;

/** The README with the figures of the page of results between its marks. */
export function readmeWithFigures(readme: string, results: string): string {
  if (!MARKS.test(readme)) throw new Error('Cannot find the marks of the figures in README.md');
  const figures = `${tableOf(results)}\n${runOf(results)}\n`;
  return readme.replace(MARKS, (_, begin, end) => `${begin}\n${figures}\n${end}`);
}

function tableOf(results: string): string {
  const lines = Object.entries(ROWS).map(([name, shown]) => {
    const [rate, ...waits] = rowCells(results, name);
    // A measurement without an answer has no times.
    const [p50, p99] = waits.map((ms) => ms && `${ms} ms`);
    return `| ${shown} | ${rate} | ${p50} | ${p99} |`;
  });
  return [
    '| | calls a second | median | 99 of 100 within |',
    '|---|--:|--:|--:|',
    ...lines,
    '',
  ].join('\n');
}

/** The figures of a row of bench/RESULTS.md. */
export function rowCells(results: string, name: string): string[] {
  const line = results.split('\n').find((each) => each.startsWith(`| ${name} |`));
  if (line === undefined) throw new Error(`bench/RESULTS.md has no row "${name}"`);
  return line
    .split('|')
    .slice(2)
    .map((cell) => cell.trim());
}

function runOf(results: string): string {
  const [, date, machine, fsync] =
    /(\d{4}-\d\d-\d\d), commit \w+,\n([\s\S]*?),\s+fsync ([\d.]+) ms\. \d+ connections/.exec(
      results,
    ) ?? [];
  if (!date || !machine) throw new Error('bench/RESULTS.md does not name its machine');
  return `Measured on ${date}: ${machine.replaceAll('\n', ' ')}. The load generator and the database run on the same cores. One fsync takes ${fsync} ms on its disk, and every answer to a write waits for one, which calls of the same moment share.`;
}
