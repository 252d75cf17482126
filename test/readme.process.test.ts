/**
 * The README's walk, run word for word against the compiled travel desk, in each shell that people use.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, test } from 'vitest';
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

describe('shellTraps()', () => {
  const traps = {
    'a question mark': 'ask /svc/audit?since=1 "$TOKEN"',
    'a place in a list': 'field .entries[1].leaf_hash',
    'a star': 'cat *.json',
    'a comment': 'npm start # in another terminal',
    'a comment of its own line': 'ls\n# and then\nls',
    'an event of the history': 'echo hello!',
    'a star after a quotation': `echo 'a\nb' *`,
  };
  for (const [name, script] of Object.entries(traps)) {
    test(`finds ${name}`, () => assert.equal(shellTraps(script).length, 1));
  }

  test('finds nothing in quoted text', () => {
    const script = `ask "/a?b=\\"*" '[1]' -d '{\n  "a": [1]\n}' "\${@:3}"; echo $? a#b \\*`;

    assert.deepEqual(shellTraps(script), []);
  });
});

async function walkIn(name: string, options: readonly string[]): Promise<void> {
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
}

async function addressOf(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: stdout })) {
    const url = /listening on (\S+)/.exec(line)?.[1];
    if (url) return url;
  }
  throw new Error('Cannot walk: the desk did not say where it listens');
}

function pagesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}
