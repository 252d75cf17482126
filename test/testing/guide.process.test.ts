/**
 * The guide to testing a service, run word for word with the package as it ships.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { test } from 'vitest';

const SLOW = 60_000;

test('docs/testing.md: every example runs as documented', { timeout: SLOW }, async () => {
  const guide = readFileSync('docs/testing.md', 'utf8');
  const code = [...guide.matchAll(/^```js\n([\s\S]*?)^```$/gm)]
    .map(([, block]) => block)
    .join('\n');

  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '-e',
    code,
  ]);

  assert.deepEqual([stdout, stderr], ['', '']);
});
