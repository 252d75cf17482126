/**
 * The tables of promises and of long runs in SECURITY.md, which people write: what they name exists.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'vitest';

const page = readFileSync('SECURITY.md', 'utf8');
const results = readFileSync('bench/RESULTS.md', 'utf8');
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));

/** The cells of each row of the table whose first column has this title. */
function rowsOf(title: string): string[][] {
  const [, table = ''] = page.split(new RegExp(`^\\| ${title} \\| .*\n\\|[-|]+\n`, 'm'));
  const [rows = ''] = table.split('\n\n');
  return rows.split('\n').map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\((\S+)\)/g)].map(([, link = '']) => link);
}

/** A test, or a folder that has one. */
function hasTests(path: string): boolean {
  if (!existsSync(path)) return false;
  if (!statSync(path).isDirectory()) return path.endsWith('.test.ts');
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).some((name) =>
    name.endsWith('.test.ts'),
  );
}

const promises = rowsOf('promise');
const runs = rowsOf('run');

test('every promise has four cells, and links tests that exist or says what is open', () => {
  const faulty = promises.filter(([, tests = '', , open = '', ...more]) => {
    const links = linksIn(tests);
    const isSilent = links.length === 0 && !/\w/.test(open);
    return more.length > 0 || isSilent || !links.every(hasTests);
  });

  assert.ok(promises.length > 20);
  assert.deepEqual(faulty, []);
});

test('every long run of a promise is a row of the second table, or of the benchmark', () => {
  const named = promises.flatMap(([, , tried = '']) =>
    tried.replace(/\[benchmark\].*/, '').split(','),
  );
  const measured = promises.flatMap(([, , tried = '']) => [...tried.matchAll(/"([^"]+)"/g)]);
  const known = runs.map(([name]) => name);

  assert.deepEqual(
    named.map((name) => name.trim()).filter((name) => /\w/.test(name) && !known.includes(name)),
    [],
  );
  assert.ok(measured.length > 0);
  assert.deepEqual(
    measured.map(([, row]) => row).filter((row) => !results.includes(`\n| ${row} |`)),
    [],
  );
});

test('every long run has its command, its short form in the suite, a date, a commit and counts', () => {
  assert.ok(runs.length > 5);
  for (const [name, , command = '', suite = '', last = '', figures = '', ...more] of runs) {
    assert.ok((/^`npm run ([\w:]+)/.exec(command)?.[1] ?? '') in scripts, name);
    assert.deepEqual(linksIn(suite).map(hasTests), [true], name);
    assert.match(last, /^\d{4}-\d{2}-\d{2}, `[0-9a-f]{12}\+?`$/, name);
    assert.match(figures, /^\d[\d,]* \w/, name);
    assert.deepEqual(more, [], name);
  }
});

test('docs/threat-model.md names tests that exist, at every boundary', () => {
  const text = readFileSync('docs/threat-model.md', 'utf8');
  const [, boundaries = ''] = /^## Boundaries\n([\s\S]*?)^## /m.exec(text) ?? [];
  const [, ...sections] = boundaries.split(/^### /m);

  assert.ok(sections.length > 5);
  for (const section of sections) {
    const links = linksIn(section).filter((link) => link.endsWith('.test.ts'));
    assert.ok(links.length > 3, section);
    assert.deepEqual(
      links.filter((link) => !existsSync(posix.join('docs', link))),
      [],
    );
  }
});
