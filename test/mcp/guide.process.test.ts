/**
 * The MCP guide, run word for word.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { test } from 'vitest';
import { openDesk } from '../client/desk.ts';

const SLOW = 60_000;

const guide = readFileSync('docs/mcp.md', 'utf8');
const [, script = '', expected = ''] =
  /^```sh\n([\s\S]*?)^```\n```text\n([\s\S]*?)^```$/m.exec(guide) ?? [];

const desk = await openDesk();

test('docs/mcp.md: its command prints what the page shows', { timeout: SLOW }, async () => {
  const program = script.replaceAll('http://127.0.0.1:8420', desk.url);

  const { stdout } = await promisify(execFile)('bash', ['-euc', program]);

  assert.notEqual(expected, '');
  assert.equal(stdout, expected);
});
