/**
 * The README's walk, run word for word against the compiled travel desk, in each shell that people use.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from './ends.ts';
import { addressOf, DESK, launch } from './launch.ts';
import { shellTraps } from './shell-words.ts';

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

/** Each reads the walk on standard input, as a person types it, without a person's own settings. */
const SHELLS: Readonly<Record<string, readonly string[]>> = {
  bash: ['--noprofile', '--norc', '-s'],
  zsh: ['--no-rcs', '--interactive', '-s'],
};
for (const [shell, options] of Object.entries(SHELLS)) {
  const missing = [shell, 'curl'].find((tool) => spawnSync(tool, ['--version']).status !== 0);
  const name = `README.md walks through the desk as it says in ${shell}`;
  test.skipIf(missing)(
    missing ? `${name} (not run: ${missing} is not installed)` : name,
    { timeout: 60_000 },
    () => walkIn(shell, options),
  );
}

test('README.md has no command that zsh reads differently', () => {
  assert.deepEqual(
    steps.flatMap(({ script }) => shellTraps(script)),
    [],
  );
});

const PAGES = ['README.md', 'CONTRIBUTING.md', ...pagesIn('docs')];
for (const page of PAGES) {
  test(`${page} has no comment in a command, which an interactive zsh refuses`, () => {
    const scripts = readFileSync(page, 'utf8').matchAll(/```sh\n([\s\S]*?)```/g);

    const traps = [...scripts].flatMap(([, script = '']) => shellTraps(script));
    assert.deepEqual(
      traps.filter((trap) => trap.startsWith('a comment')),
      [],
    );
  });
}

async function walkIn(name: string, options: readonly string[]): Promise<void> {
  const folder = temporaryFolder();
  const url = await addressOf(launch([DESK], folder, { WRIT_LOG_LEVEL: 'silent' }));
  // One shell for all steps, as a reader has one; the marks tell their outputs apart.
  const script = steps
    .map(
      (step, index) =>
        `${step.script.replace('http://127.0.0.1:8420', url)}\necho; echo "=== ${index}"`,
    )
    .join('\n');
  const shell = spawnSync(name, options, {
    cwd: folder,
    input: `set -euo pipefail\n${script}\n`,
    encoding: 'utf8',
  });
  assert.equal(shell.status, 0, shell.stderr);
  const outputs = shell.stdout.split(/=== \d+\n/);
  assert.ok(steps.length >= 7);
  for (const [index, { expected }] of steps.entries()) {
    for (const text of expected) {
      assert.ok(outputs[index]?.includes(text), `step ${index} lacks ${text}:\n${outputs[index]}`);
    }
  }
}

function pagesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}
