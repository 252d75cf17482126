/**
 * Runs some tests of the suite and says what became of each, for scripts that count what held.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One test of the report of vitest. */
export interface Tested {
  readonly title: string;
  readonly status: string;
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Rejects where a file is absent or a test fails. A test that did not run has another status than "passed". When this
 * process is asked to end, the tests end with it.
 */
export async function runTests(files: readonly string[]): Promise<Tested[]> {
  const absent = files.find((file) => !existsSync(file));
  if (absent) throw new Error(`Cannot run the tests: ${absent} is absent`);
  const folder = mkdtempSync(join(tmpdir(), 'writ-counted-'));
  try {
    const report = join(folder, 'report.json');
    const args = ['run', '--project', 'unit', '--reporter=json', `--outputFile=${report}`];
    const status = await endOf(['node_modules/vitest/vitest.mjs', ...args, ...files]);
    if (status !== 0) throw new Error(`Cannot count tests: vitest ended with exit code ${status}`);
    const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
    return testResults.flatMap((file: { assertionResults: Tested[] }) => file.assertionResults);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The exit code of a program of Node; null when a signal ended it. */
async function endOf(args: readonly string[]): Promise<number | null> {
  const env = { ...process.env, NODE_ENV: 'test' };
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'], env });
  const end = (signal: NodeJS.Signals) => void child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, end);
  try {
    const [status] = await once(child, 'close');
    return status;
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
  }
}
