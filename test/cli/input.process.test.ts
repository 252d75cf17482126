/**
 * Standard input of the program: as long as the parameters of a call may be, and not without a bound.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';

const BIN = join(process.cwd(), 'dist/src/cli/bin.js');
const folder = temporaryFolder();

function invoked(length: number) {
  const args = ['invoke', 'x', '--service', 'http://127.0.0.1:9', '--parameters', '-'];
  return spawnSync(process.execPath, [BIN, ...args], {
    cwd: folder,
    encoding: 'utf8',
    input: JSON.stringify({ text: 'x'.repeat(length) }),
    env: { WRIT_CLIENT_CREDENTIAL: 'key', XDG_STATE_HOME: folder, HOME: folder },
  });
}

test('writ invoke --parameters - takes what a service takes, and refuses more', () => {
  const long = invoked(250_000);
  const longer = invoked(600_000);

  // No service is there.
  assert.equal(long.status, 5, long.stderr);
  assert.equal(longer.status, 2, longer.stderr);
  assert.match(longer.stderr, /^Cannot invoke: standard input has more than \d+ bytes\n$/);
});
