/**
 * The README's walk, run word for word against the compiled travel desk.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'vitest';

interface Step {
  readonly script: string;
  /** Each must appear in what the script printed. */
  readonly expected: readonly string[];
}

const walk =
  readFileSync('README.md', 'utf8').split('## A walk with curl')[1]?.split('\n## ')[0] ?? '';
const steps: Step[] = [...walk.matchAll(/```sh\n([\s\S]*?)```(?:\n```text\n([\s\S]*?)```)?/g)].map(
  ([, script = '', expected = '']) => ({ script, expected: expected.split('\n').filter(Boolean) }),
);
const hasTools = ['bash', 'curl'].every((tool) => spawnSync(tool, ['--version']).status === 0);
const name = hasTools
  ? 'README.md walks through the desk as it says'
  : 'README.md walks through the desk as it says (not run: bash or curl is not installed)';

test.skipIf(!hasTools)(name, { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'writ-walk-'));
  const desk = spawn(process.execPath, [join(process.cwd(), 'dist/examples/travel/main.js')], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      XDG_STATE_HOME: process.env.XDG_STATE_HOME,
      PORT: '0',
      WRIT_LOG_LEVEL: 'silent',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const url = await addressOf(desk.stdout);
    // One shell for all steps, as a reader has one; the marks tell their outputs apart.
    const script = steps
      .map(
        (step, index) =>
          `${step.script.replace('http://127.0.0.1:8420', url)}\necho; echo "=== ${index}"`,
      )
      .join('\n');
    const shell = spawnSync('bash', ['-c', `set -euo pipefail\n${script}`], {
      cwd: folder,
      encoding: 'utf8',
    });
    assert.equal(shell.status, 0, shell.stderr);
    const outputs = shell.stdout.split(/=== \d+\n/);
    assert.ok(steps.length >= 7);
    for (const [index, { expected }] of steps.entries()) {
      for (const text of expected) {
        assert.ok(
          outputs[index]?.includes(text),
          `step ${index} lacks ${text}:\n${outputs[index]}`,
        );
      }
    }
  } finally {
    desk.kill('SIGTERM');
    await once(desk, 'exit');
    rmSync(folder, { recursive: true, force: true });
  }
});

async function addressOf(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdout })) {
    const url = /listening on (\S+)/.exec(line)?.[1];
    if (url) return url;
  }
  throw new Error('Cannot walk: the desk did not say where it listens');
}
