/**
 * The commands of the repository as they are run: installing, exit codes, signals, the last line of CI.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';

const folder = temporaryFolder();

test('run.mjs refuses an older Node in one line', () => {
  const root = checkout({ engines: { node: '>=99.1' } });

  const done = runIn(root, 'build');

  assert.equal(done.status, 1);
  assert.equal(
    done.stderr,
    `Cannot run on Node ${process.versions.node}: Writ needs Node 99.1 or later\n`,
  );
});

test('run.mjs installs once for one lock file, and again when it changed', () => {
  const root = checkout();

  const first = runIn(root, 'build');
  const second = runIn(root, 'build');
  writeFileSync(join(root, 'package-lock.json'), '{ }');
  const third = runIn(root, 'build');

  assert.deepEqual([first.status, second.status, third.status], [0, 0, 0]);
  const installs = [first, second, third].map(({ stderr }) => stderr.includes('Installing'));
  assert.deepEqual(installs, [true, false, true]);
});

test('run.mjs installs what builds the site when the site is asked for, once for one lock file', () => {
  const root = checkout();
  const isInstalled = (...args: string[]) =>
    runIn(root, ...args).stderr.includes('what builds the site');

  const built = isInstalled('build');
  const first = isInstalled('--site', 'scripts/program.ts');
  const second = isInstalled('--site', 'scripts/program.ts');
  writeFileSync(join(root, 'site/package-lock.json'), '{ }');
  const changed = isInstalled('--site', 'scripts/program.ts');

  assert.deepEqual([built, first, second, changed], [false, true, false, true]);
});

test('run.mjs builds the pages once, and again when a source of theirs changed', () => {
  const root = checkout();
  const built = () => readFileSync(join(root, 'built.txt'), 'utf8');

  runIn(root, 'build');
  const first = built();
  runIn(root, 'build');
  const second = built();
  const later = new Date(Date.now() + 10_000);
  utimesSync(join(root, 'src/verify/source.ts'), later, later);
  runIn(root, 'build');

  assert.equal(first, 'verifier console ');
  assert.equal(second, first);
  assert.equal(built(), `${first}${first}`);
});

test('npm compiles into an empty folder before it packs', () => {
  const { scripts, files } = JSON.parse(readFileSync('package.json', 'utf8'));
  const { prepack } = scripts;
  const root = checkout(
    { name: 'packed', version: '1.0.0', scripts: { prepack }, files },
    '',
    COMPILE,
  );
  assert.equal(runIn(root, 'build').status, 0);
  writeFileSync(join(root, 'dist/src/removed.js'), '');

  const packed = spawnSync('npm', ['pack', '--silent'], { cwd: root, encoding: 'utf8' });

  assert.equal(packed.status, 0, packed.stderr);
  const listed = spawnSync('tar', ['-tf', 'packed-1.0.0.tgz'], { cwd: root, encoding: 'utf8' });
  const [made, removed] = ['made', 'removed'].map((name) => `package/dist/src/${name}.js\n`);
  assert.ok(listed.stdout.includes(`${made}`), listed.stdout);
  assert.ok(!listed.stdout.includes(`${removed}`), listed.stdout);
});

test('run.mjs returns the exit code of the tool, and builds before a program that asks for it', () => {
  const root = checkout({}, '', 'process.exit(7)');

  assert.equal(runIn(root, 'build').status, 7);
  assert.equal(runIn(root, '--build', 'scripts/program.ts').status, 7);
});

const TIERS: [verb: string, args: string[], run: string][] = [
  ['test', [], '--project=unit --project=smoke'],
  ['test', ['--reporter=verbose'], '--project=unit --project=smoke --reporter=verbose'],
  ['test', ['src/domain'], 'src/domain'],
  ['test', ['--project', 'long'], '--project long'],
  [
    'test:rest',
    ['--reporter=verbose'],
    '--project=long --project=process --project=alone --reporter=verbose',
  ],
];
for (const [verb, args, run] of TIERS) {
  test(`run.mjs runs the tests "${run}" for ${[verb, ...args].join(' ')}`, () => {
    const root = checkout();

    const { stdout } = runIn(root, verb, ...args);

    assert.equal(stdout, `run ${run}\n`);
  });
}

test('run.mjs names its verbs when it is asked for another word, or for a program that is not there', () => {
  const root = checkout();

  for (const name of ['sing', 'scripts/gone.ts']) {
    const done = runIn(root, name);
    assert.equal(done.status, 1);
    assert.match(done.stderr, /^Cannot run "[^"]+": the verbs are start, test, .*check, .*\n$/);
  }
});

test('run.mjs passes SIGTERM to the tool, and lets it answer', async () => {
  const tool = `process.on('SIGTERM', () => process.exit(9)); ${WAITING}`;
  const root = checkout({}, '', tool);
  const child = spawn(process.execPath, ['scripts/run.mjs', 'build'], {
    cwd: root,
    env: environmentOf(root),
  });
  await untilReady(child);

  child.kill('SIGTERM');

  assert.deepEqual(await once(child, 'exit'), [9, null]);
});

test('run.mjs ends when SIGKILL reaches npm alone, by a signal the tool can answer', async () => {
  // The colon keeps the shell from replacing itself by its last command.
  const root = checkout({ scripts: { build: 'node scripts/run.mjs build; :' } });
  assert.equal(runIn(root, 'build').status, 0);
  const tool = `process.on('SIGTERM', () => { console.log('closing'); process.exit(0); }); ${WAITING}`;
  writeFileSync(join(root, 'node_modules/typescript/bin/tsc'), tool);
  const npm = spawn('npm', ['run', 'build', '--silent'], { cwd: root });
  await untilReady(npm);

  npm.kill('SIGKILL');

  assert.equal(String((await once(npm.stdout, 'data'))[0]), 'closing\n');
});

const passing = { status: 'passed', assertionResults: [{ status: 'passed' }] };
const unloaded = { status: 'failed', assertionResults: [] };
const REPORTS: [name: string, report: string, line: string, code: number][] = [
  ['all passed', report(3, 0, [passing]), 'tests: 3 passed, 0 failed', 0],
  ['a file did not load', report(2, 0, [passing, unloaded]), 'tests: 2 passed, 1 failed', 1],
  ['there is no report', '', 'tests: 0 passed, 0 failed', 1],
];
for (const [name, content, line, code] of REPORTS) {
  test(`count-tests.mjs prints the line of CI when ${name}`, () => {
    const path = join(folder, 'report.json');
    writeFileSync(path, content);

    const done = spawnSync(process.execPath, ['scripts/count-tests.mjs', path], {
      encoding: 'utf8',
    });

    assert.deepEqual([done.stdout, done.status], [`${line}\n`, code]);
  });
}

function report(numPassedTests: number, numFailedTests: number, testResults: unknown[]): string {
  return JSON.stringify({ numPassedTests, numFailedTests, testResults });
}

/** A compiler that makes one file, and the page of the API. */
const COMPILE = `
import { mkdirSync, writeFileSync } from 'node:fs';
mkdirSync('dist/src/openapi', { recursive: true });
for (const name of ['made.js', 'openapi/page.json']) writeFileSync(\`dist/src/\${name}\`, '');`;

const WAITING = "setInterval(() => {}, 1000); console.log('ready');";

/** Writes what it was called with, and the page that the script looks at. */
const BUILD_PAGES = `
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
mkdirSync('dist/src/console-page', { recursive: true });
appendFileSync('built.txt', process.argv.includes('verifier') ? 'verifier ' : 'console ');
writeFileSync('dist/src/console-page/index.html', '');`;

const PAGE_SOURCES = 'console verify client domain protocol openapi http/page'.split(' ');

/**
 * A checkout with nothing in it but the script, an npm that runs `install`, a compiler that runs `tool`, and
 * pages that are built of empty files.
 */
function checkout(manifest: object = {}, install = '', tool = ''): string {
  const root = mkdtempSync(join(folder, 'checkout-'));
  const files = {
    'package.json': JSON.stringify({ type: 'module', engines: { node: '>=20.20' }, ...manifest }),
    'package-lock.json': '{}',
    'site/package-lock.json': '{}',
    'site/node_modules/empty.txt': '',
    'npm-cli.js': install,
    'node_modules/typescript/bin/tsc': tool,
    'node_modules/vite/bin/vite.js': BUILD_PAGES,
    'node_modules/vitest/vitest.mjs': "console.log(process.argv.slice(2).join(' '));",
    'scripts/vite.config.ts': '',
    'scripts/api-page.ts': '',
    'scripts/program.ts': '',
    'dist/src/openapi/page.json': '',
    ...Object.fromEntries(PAGE_SOURCES.map((name) => [`src/${name}/source.ts`, ''])),
  };
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
  // Never stale: rendering it takes a loader, which these checkouts do not have.
  const later = new Date(Date.now() + 3_600_000);
  utimesSync(join(root, 'dist/src/openapi/page.json'), later, later);
  cpSync('scripts/run.mjs', join(root, 'scripts/run.mjs'));
  return root;
}

function runIn(root: string, ...args: string[]) {
  const env = environmentOf(root);
  return spawnSync(process.execPath, ['scripts/run.mjs', ...args], {
    cwd: root,
    env,
    encoding: 'utf8',
  });
}

function environmentOf(root: string): NodeJS.ProcessEnv {
  const { npm_lifecycle_event: _, ...env } = process.env;
  return { ...env, npm_execpath: join(root, 'npm-cli.js') };
}

async function untilReady({ stdout }: ChildProcess): Promise<void> {
  assert.ok(stdout);
  await once(stdout, 'data');
}
