/**
 * The reference page of verification, run word for word against the compiled travel desk: by hand, and with Node alone.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { blocksOf, missingTool, walk } from '../guides/walk.ts';
import { temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, launch } from '../support/launch.ts';

const SLOW = 60_000;
const PAGE = 'docs/verify.md';

const folder = temporaryFolder();
const url = await addressOf(launch([DESK], folder, { WRIT_LOG_LEVEL: 'silent' }));

for (const shell of ['bash', 'zsh'] as const) {
  const missing = missingTool(shell, 'curl', 'jq', 'openssl', 'xxd', 'sha256sum', 'base64');
  const name = missing
    ? `${PAGE} by hand is shown by Node alone (in ${shell}; not installed: ${missing})`
    : `${PAGE} verifies by hand with standard tools in ${shell} as it says`;
  const port = Number(new URL(url).port);
  test(name, { timeout: SLOW }, async () =>
    missing ? runNode() : walk(PAGE, { shell, port, section: 'By hand' }),
  );
}

test(`${PAGE}: the manual verification works with Node alone`, { timeout: SLOW }, runNode);

function runNode(): void {
  const blocks = blocksOf(readFileSync(PAGE, 'utf8'));
  const program = blocks.find(({ language }) => language === 'js');
  writeFileSync(join(folder, 'verify.mjs'), program?.text ?? '');
  const ran = spawnSync(process.execPath, ['verify.mjs'], {
    cwd: folder,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, DESK: url },
  });

  assert.equal(ran.status, 0, ran.stderr);
  assert.deepEqual(ran.stdout.trim().split('\n'), program?.expected);
}
