/**
 * The client's guide, run word for word with the package as it ships.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, test } from 'vitest';
import { type Desk, openDesk } from './desk.ts';

const SLOW = 60_000;

const guide = readFileSync('docs/client.md', 'utf8');
const code = [...guide.matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join('\n');

let desk: Desk;

beforeAll(async () => {
  desk = await openDesk();
}, SLOW);
afterAll(() => desk.service.close());

test('docs/client.md: every example runs as documented', { timeout: SLOW }, async () => {
  const program = code.replaceAll('http://127.0.0.1:8420', desk.url);

  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    program,
  ]);

  const lines = stdout.trim().split('\n');
  assert.deepEqual(lines.slice(0, 4), [
    '3',
    'non_delegable_action true',
    "[ 'binding_invalid' ] true undefined",
    'started',
  ]);
  assert.equal(lines.at(-1), 'completed');
});
