/**
 * The verification guide, run word for word against the compiled travel desk.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../ends.ts';
import { addressOf, DESK, launch } from '../launch.ts';

const SLOW = 60_000;
const ADDRESS = 'http://127.0.0.1:8420';

const guide = readFileSync('docs/verify.md', 'utf8');
const TOOLS = ['curl', 'jq', 'openssl', 'xxd', 'sha256sum', 'base64'];
const missing = TOOLS.filter((tool) => spawnSync(tool, ['--help']).error !== undefined);

const folder = temporaryFolder();
const url = await addressOf(launch([DESK], folder, { WRIT_LOG_LEVEL: 'silent' }));

/** Each fence of the language, with what the text after it says that it prints. */
function steps(language: string): { script: string; expected: string[] }[] {
  const fence = new RegExp(
    `^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`\\n(?:\`\`\`text\\n([\\s\\S]*?)^\`\`\`\\n)?`,
    'gm',
  );
  return [...guide.matchAll(fence)].map(([, script = '', text = '']) => ({
    script,
    expected: text.split('\n').filter(Boolean),
  }));
}

/** Each reads the guide on standard input, as a person types it, without a person's own settings. */
const SHELLS: Readonly<Record<string, readonly string[]>> = {
  bash: ['--noprofile', '--norc', '-s'],
  zsh: ['--no-rcs', '--interactive', '-s'],
};
for (const [shell, options] of Object.entries(SHELLS)) {
  const lacking = [shell, ...missing].filter((tool) => spawnSync(tool, ['--help']).error);
  const name =
    lacking.length === 0
      ? `docs/verify.md verifies by hand with standard tools in ${shell} as it says`
      : `docs/verify.md by hand is shown by Node alone (not installed: ${lacking.join(', ')})`;
  test(name, { timeout: SLOW }, () =>
    lacking.length === 0 ? runShell(shell, options) : runNode(),
  );
}

function runShell(shell: string, options: readonly string[]): void {
  const all = steps('sh');
  const marked = all.map(({ script }, i) => `${script.replace(ADDRESS, url)}\necho "=== ${i}"`);
  const ran = spawnSync(shell, options, {
    cwd: folder,
    input: `set -euo pipefail\n${marked.join('\n')}\n`,
    encoding: 'utf8',
  });

  assert.equal(ran.status, 0, ran.stderr + ran.stdout);
  const outputs = ran.stdout.split(/=== \d+\n/);
  assert.ok(all.length >= 9);
  for (const [index, { expected }] of all.entries()) {
    const lines = new Set(outputs[index]?.trim().split('\n').filter(Boolean));
    assert.deepEqual([...lines], expected, `step ${index}`);
  }
}

test('docs/verify.md: the manual verification works with Node alone', { timeout: SLOW }, runNode);

function runNode(): void {
  const [step] = steps('js');
  writeFileSync(join(folder, 'verify.mjs'), step?.script ?? '');
  const ran = spawnSync(process.execPath, ['verify.mjs'], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, DESK: url },
  });

  assert.equal(ran.status, 0, ran.stderr);
  assert.deepEqual(ran.stdout.trim().split('\n'), step?.expected);
}
