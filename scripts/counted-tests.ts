/**
 * Runs some tests of the suite and says what became of each, for scripts that count what held.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One test of the report of vitest. */
export interface Tested {
  readonly title: string;
  readonly status: string;
}

/** Throws where a file is absent or a test fails. A test that did not run has another status than "passed". */
export function runTests(files: readonly string[]): Tested[] {
  const absent = files.find((file) => !existsSync(file));
  if (absent) throw new Error(`Cannot run the tests: ${absent} is absent`);
  const folder = mkdtempSync(join(tmpdir(), 'writ-counted-'));
  try {
    const report = join(folder, 'report.json');
    const args = ['run', '--project', 'unit', '--reporter=json', `--outputFile=${report}`];
    const { status } = spawnSync(
      process.execPath,
      ['node_modules/vitest/vitest.mjs', ...args, ...files],
      { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, NODE_ENV: 'test' } },
    );
    if (status !== 0) throw new Error(`Cannot count tests: vitest ended with exit code ${status}`);
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
    return testResults.flatMap((file: { assertionResults: Tested[] }) => file.assertionResults);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
