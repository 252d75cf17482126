/**
 * The table of promises in SECURITY.md: what it names exists, and its figures are those that runs recorded.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { test } from 'vitest';
import { PROMISES, RUNS } from '../../scripts/promises.ts';
import {
  FIGURE_NAMES,
  FIGURES_FILE,
  figuresIn,
  figuresText,
  recordFigures,
} from '../../scripts/security-figures.ts';
import { securityWithTable } from '../../scripts/security-table.ts';
import { temporaryFolder } from '../ends.ts';

const page = readFileSync('SECURITY.md', 'utf8');
const results = readFileSync('bench/RESULTS.md', 'utf8');
const recorded = figuresIn();
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));

test('every promise names tests that exist, or figures of the benchmark', () => {
  const named = PROMISES.flatMap(({ tests }) => tests);
  const bare = PROMISES.filter(({ tests, measured }) => tests.length === 0 && !measured);

  assert.deepEqual(
    named.filter((path) => !path.endsWith('.test.ts') || !existsSync(path)),
    [],
  );
  assert.deepEqual(
    bare.map(({ promise }) => promise),
    [],
  );
});

test('a promise without a test or without a run says what is open', () => {
  const silent = PROMISES.filter(({ tests, runs, open }) => {
    return (tests.length === 0 || runs.length === 0) && open === undefined;
  });

  assert.deepEqual(
    silent.map(({ promise }) => promise),
    [],
  );
});

test('no cell of a promise ends its cell in the table', () => {
  const texts = PROMISES.flatMap(({ promise, open = '' }) => [promise, open]);
  const words = Object.values(RUNS).flatMap(({ what, command }) => [what, command]);

  assert.deepEqual(
    [...texts, ...words].filter((text) => /[|\n]/.test(text)),
    [],
  );
});

test(`${FIGURES_FILE} has known runs only, each with a date, a commit and counts`, () => {
  assert.deepEqual(
    Object.keys(recorded).filter((name) => !(FIGURE_NAMES as readonly string[]).includes(name)),
    [],
  );
  for (const [name, { date, commit, figures }] of Object.entries(recorded)) {
    assert.match(date, /^\d{4}-\d{2}-\d{2}$/, name);
    assert.match(commit, /^[0-9a-f]{12}\+?$/, name);
    assert.ok(Object.values(figures).length > 0, name);
    assert.ok(Object.values(figures).every(Number.isFinite), name);
  }
  assert.equal(readFileSync(FIGURES_FILE, 'utf8'), figuresText(recorded));
});

test('every run that was recorded has its command, and its short form in the suite', () => {
  const names = FIGURE_NAMES.filter((name) => recorded[name]);
  const commands = names.map((name) => /^npm run ([\w:]+) -- /.exec(RUNS[name].command)?.[1] ?? '');

  assert.deepEqual(
    commands.filter((command) => !(command in scripts)),
    [],
  );
  assert.deepEqual(
    names.filter((name) => !hasTests(RUNS[name].suite)),
    [],
  );
});

test('every figure that a promise shows was counted by its run', () => {
  const tried = PROMISES.flatMap(({ runs }) => runs);
  const labelled = tried.flatMap((each) => (typeof each === 'string' ? [] : [each]));
  const uncounted = labelled.filter(([name, ...labels]) => {
    const { figures } = recorded[name] ?? {};
    return figures && labels.some((label) => !Object.hasOwn(figures, label));
  });

  assert.ok(labelled.length > 3);
  assert.deepEqual(uncounted, []);
});

test('docs/threat-model.md names tests that exist, at every boundary', () => {
  const text = readFileSync('docs/threat-model.md', 'utf8');
  const [, boundaries = ''] = /^## Boundaries\n([\s\S]*?)^## /m.exec(text) ?? [];
  const [, ...sections] = boundaries.split(/^### /m);

  assert.ok(sections.length > 5);
  for (const section of sections) {
    const links = [...section.matchAll(/\]\((\S+\.test\.ts)\)/g)].map(([, link = '']) => link);
    assert.ok(links.length > 3, section);
    assert.deepEqual(
      links.filter((link) => !existsSync(posix.join('docs', link))),
      [],
    );
  }
});

test('securityWithTable() shows a dash before a run, and its figures with date and commit after it', () => {
  const none = securityWithTable(page, {}, results);
  const common = { date: '2026-11-17', commit: '0123456789ab' };
  const stops = { stops: 50, requests: 12_345, cut: 0 };
  const some = securityWithTable(page, { rolling: { ...common, figures: stops } }, results);
  const rowIn = (text: string) =>
    text.split('\n').find((line) => /\| .*cuts no request/.test(line));

  assert.match(rowIn(none) ?? '', / \| – \| – \|$/);
  assert.match(
    rowIn(some) ?? '',
    /stops under load: 50 stops, 12,345 requests \(2026-11-17, `0123456789ab`\)/,
  );
  assert.match(
    some,
    /^\| stops under load \| `npm run rolling .* \| 50 stops, 12,345 requests, 0 cut \|$/m,
  );
  assert.equal(securityWithTable(some, {}, results), none);
  const fuzz = { 'hostile requests': 5, 'answers of 500': 0, 'digests compared': 7 };
  const chosen = securityWithTable(page, { fuzz: { ...common, figures: fuzz } }, results);
  assert.match(chosen, /^\| Equal parameters .* digests: 7 digests compared \(2026/m);
  assert.equal(none.match(/^\| run \|/m), null);
});

test('securityWithTable() shows what the benchmark measured, and refuses a row that it lacks', () => {
  const revoked =
    /^\| An acknowledged .* 10000 descendants\]\(bench\/RESULTS\.md\): [\d.]+ ms \(\d/m;

  assert.match(page, revoked);
  assert.throws(
    () => securityWithTable(page, {}, results.replace('| revoking 10000', '| revoking 9')),
    /bench\/RESULTS\.md has no row "revoking 10000 descendants"/,
  );
});

test('securityWithTable() refuses a page without marks', () => {
  assert.throws(() => securityWithTable('# Security\n', {}, results), /Cannot find the marks/);
});

test('recordFigures() replaces the figures of one run and keeps those of others', () => {
  const file = join(temporaryFolder(), 'figures.json');
  const place = {
    file,
    commit: () => '0123456789ab+',
    now: () => new Date('2026-11-17T23:59:59Z'),
  };

  recordFigures('rolling', { stops: 1 }, place);
  recordFigures('attack', { cases: 60, broken: 0 }, place);
  recordFigures('rolling', { stops: 50 }, place);

  const common = { date: '2026-11-17', commit: '0123456789ab+' };
  assert.deepEqual(figuresIn(file), {
    attack: { ...common, figures: { cases: 60, broken: 0 } },
    rolling: { ...common, figures: { stops: 50 } },
  });
  assert.ok(readFileSync(file, 'utf8').startsWith('{\n  "attack"'));
});

test('recordFigures() refuses a run that counted nothing, and a count that is none', () => {
  const file = join(temporaryFolder(), 'figures.json');
  const place = { file, commit: () => '0123456789ab', now: () => new Date(0) };

  assert.throws(() => recordFigures('fuzz', {}, place), /the run counted nothing/);
  for (const value of [Number.NaN, -1, Number.POSITIVE_INFINITY]) {
    assert.throws(() => recordFigures('fuzz', { requests: value }, place), /"requests" is/);
  }
  assert.equal(existsSync(file), false);
});

/** A test, or a folder that has one. */
function hasTests(path: string): boolean {
  if (!existsSync(path)) return false;
  if (!statSync(path).isDirectory()) return path.endsWith('.test.ts');
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).some((name) =>
    name.endsWith('.test.ts'),
  );
}
