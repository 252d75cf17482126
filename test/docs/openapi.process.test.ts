/**
 * The API description under a linter that others use.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'vitest';

const LINTER = 'node_modules/@redocly/cli/bin/cli.js';

/** Asks nobody: it must neither report what it does nor look for a newer one. */
const ENVIRONMENT = {
  PATH: process.env.PATH,
  XDG_STATE_HOME: process.env.XDG_STATE_HOME,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  REDOCLY_SUPPRESS_NOTIFICATIONS: 'true',
};

function lint(path: string): { errors: number; warnings: number; said: string } {
  const args = [LINTER, 'lint', path, '--format=json', '--max-problems=1000'];
  const { stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: ENVIRONMENT,
  });
  assert.match(stdout, /^\{/, stderr);
  const { totals } = JSON.parse(stdout);
  return { errors: totals.errors, warnings: totals.warnings, said: stdout };
}

test('docs/openapi.json has no linter fault', () => {
  const { errors, warnings, said } = lint('docs/openapi.json');

  assert.deepEqual([errors, warnings], [0, 0], said);
});
