/**
 * The scripts as they are run: exit codes, signals, the lock between processes, the last line of CI.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, test } from 'vitest';

const folder = mkdtempSync(join(tmpdir(), 'writ-scripts-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('run.mjs refuses a verb it does not know, and names those it does', () => {
  const done = spawnSync(process.execPath, ['scripts/run.mjs', 'strat'], { encoding: 'utf8' });

  assert.equal(done.status, 1);
  assert.match(done.stderr, /^Cannot run "strat": the verbs are start, test, check, /);
});

test('exitOf() hands on the exit code of the child', () => {
  const done = spawnSync(process.execPath, [wrapper('process.exit(7)')]);

  assert.equal(done.status, 7);
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  test(`exitOf() passes ${signal} to the child, and lets it answer`, async () => {
    const parent = spawn(process.execPath, [
      wrapper(`process.on('${signal}', () => process.exit(9)); setInterval(() => {}, 1000);`),
    ]);
    await untilReady(parent);

    parent.kill(signal);

    assert.deepEqual(await once(parent, 'exit'), [9, null]);
  });
}

test('exitOf() ends by the signal that ended the child', async () => {
  const parent = spawn(process.execPath, [wrapper('setInterval(() => {}, 1000)')]);
  await untilReady(parent);

  parent.kill('SIGTERM');

  assert.deepEqual(await once(parent, 'exit'), [null, 'SIGTERM']);
});

test('endWithParent() ends a process whose shell was killed, by a signal it can answer', async () => {
  const orphan = script(`import { endWithParent } from '${urlOf('scripts/child.mjs')}';
process.on('SIGTERM', () => { console.log('closing'); process.exit(0); });
endWithParent();
setInterval(() => {}, 1000);
console.log('ready');
`);
  // The colon keeps the shell from replacing itself by its last command.
  const shell = spawn('sh', ['-c', `"$0" "$1"; :`, process.execPath, orphan]);
  await untilReady(shell);

  shell.kill('SIGKILL');

  assert.equal(String((await once(shell.stdout, 'data'))[0]), 'closing\n');
});

test('withLock() lets one process at a time in', async () => {
  const root = join(folder, 'racing');
  const log = join(folder, 'racing.log');
  mkdirSync(root);
  writeFileSync(log, '');
  // A stale lock to begin with: breaking it must not let two in either.
  leaveLock(root, endedPid());

  const work = `
    appendFileSync(${JSON.stringify(log)}, 'in ');
    await new Promise((resolve) => setTimeout(resolve, 20));
    appendFileSync(${JSON.stringify(log)}, 'out ');`;
  const racers = Array.from({ length: 6 }, () => spawn(process.execPath, [locker(root, work)]));
  const ends = await Promise.all(racers.map((racer) => once(racer, 'exit')));

  assert.deepEqual(new Set(ends.map(([code]) => code)), new Set([0]));
  assert.equal(readFileSync(log, 'utf8'), 'in out '.repeat(6));
});

test('withLock() waits for an owner that runs, and says for whom', async () => {
  const root = join(folder, 'waiting');
  mkdirSync(root);
  leaveLock(root, process.pid);
  const waiter = spawn(process.execPath, [locker(root, '')]);
  const [line] = await once(waiter.stderr, 'data');

  leaveLock(root);

  assert.equal(String(line), `Waiting: process ${process.pid} is setting up here\n`);
  assert.deepEqual(await once(waiter, 'exit'), [0, null]);
});

const passing = { status: 'passed', assertionResults: [{ status: 'passed' }] };
const failing = { status: 'failed', assertionResults: [{ status: 'failed' }] };
const unloaded = { status: 'failed', assertionResults: [] };
const REPORTS: [name: string, report: string, line: string, code: number][] = [
  ['all passed', report(3, 0, [passing]), 'tests: 3 passed, 0 failed', 0],
  ['one failed', report(2, 1, [passing, failing]), 'tests: 2 passed, 1 failed', 1],
  ['a file did not load', report(2, 0, [passing, unloaded]), 'tests: 2 passed, 1 failed', 1],
  ['no test ran', report(0, 0, []), 'tests: 0 passed, 0 failed', 1],
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

/** A script that runs a child as run.mjs does; the child prints a line when it is ready. */
function wrapper(childSource: string): string {
  return script(`import { spawn } from 'node:child_process';
import { exitOf } from '${urlOf('scripts/child.mjs')}';
const source = ${JSON.stringify(`${childSource}; console.log('ready');`)};
process.exitCode = await exitOf(spawn(process.execPath, ['-e', source], { stdio: 'inherit' }));
`);
}

function locker(root: string, work: string): string {
  return script(`import { appendFileSync } from 'node:fs';
import { withLock } from '${urlOf('scripts/lock.mjs')}';
await withLock(${JSON.stringify(root)}, async () => { ${work} });
`);
}

let scripts = 0;
function script(source: string): string {
  scripts += 1;
  const path = join(folder, `${scripts}.mjs`);
  writeFileSync(path, source);
  return path;
}

function urlOf(path: string): string {
  return pathToFileURL(resolve(path)).href;
}

async function untilReady({ stdout }: ChildProcess): Promise<void> {
  assert.ok(stdout);
  await once(stdout, 'data');
}

/** A lock as its owner leaves it: held by these processes, or given back by the last. */
function leaveLock(root: string, ...pids: number[]): void {
  const lock = join(root, '.writ/setup.lock');
  mkdirSync(lock, { recursive: true });
  writeFileSync(join(lock, '7'), JSON.stringify({ pids, host: hostname() }));
}

/** The number of a process that is gone. */
function endedPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}
