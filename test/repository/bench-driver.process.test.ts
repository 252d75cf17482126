/**
 * The driver of SQLite that the benchmark gives to a program.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'vitest';

const COMMIT_MS = 20;
const COMMITS = 5;

/** Commits changes some times, then reads as many times in transactions of their own. */
const PROGRAM = `
  import { DatabaseSync } from '@photostructure/sqlite';
  const { executed } = await import(process.cwd() + '/bench/driver.mjs');
  const database = new DatabaseSync(process.argv[1]);
  database.exec('CREATE TABLE kept (value)');
  const insert = database.prepare('INSERT INTO kept VALUES (?)');
  const [begin, commit] = ['BEGIN IMMEDIATE', 'COMMIT'].map((sql) => database.prepare(sql));
  const begun = performance.now();
  for (let turn = 0; turn < ${COMMITS}; turn += 1) {
    begin.get();
    insert.run(turn);
    commit.get();
  }
  const took = performance.now() - begun;
  for (let turn = 0; turn < ${COMMITS}; turn += 1) {
    database.exec('BEGIN');
    commit.get();
  }
  const { count } = database.prepare('SELECT count(*) AS count FROM kept').get();
  console.log(JSON.stringify({ took, count, ...executed }));
`;

test('bench/driver.mjs waits at each commit of changes, and counts statements', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-test-driver-'));
  try {
    const args = ['--import', './bench/driver.mjs', '--input-type=module', '-e', PROGRAM];
    const env = { ...process.env, BENCH_COMMIT_MS: String(COMMIT_MS), BENCH_COUNT: 'work' };
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, [...args, join(folder, 'a.db')], { env });

    const { took, ...counted } = JSON.parse(stdout);

    assert.ok(took >= COMMITS * COMMIT_MS, `${took} ms`);
    const statements = 1 + 3 * COMMITS + 2 * COMMITS + 1;
    assert.deepEqual(counted, { count: COMMITS, commits: COMMITS, statements });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
