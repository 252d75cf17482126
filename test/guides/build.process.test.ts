/**
 * The guides for authors of a service, walked from an empty folder to their last command.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { blocksOf, missingTool, walk } from './walk.ts';

/** Only to end a test that hangs: a guide starts dozens of processes. */
const SLOW = 300_000;

const FIRST = 'docs/guides/first-service.md';
// In a package of util-linux: a terminal at which the command asks.
const missing = missingTool('script');

test.skipIf(missing)(
  `${FIRST} goes as it says${missing ? ` (not run: ${missing} is not installed)` : ''}`,
  { timeout: SLOW },
  () => walk(FIRST),
);

const OTHERS = [
  'describe-by-schemas',
  'quote-and-bind',
  'limit-rates',
  'stream-progress',
  'set-budgets-and-prices',
  'compose-and-compensate',
  'test-your-service',
];
for (const name of OTHERS) {
  const path = `docs/guides/${name}.md`;
  test(`${path} goes as it says`, { timeout: SLOW }, () => walk(path));
}

test(`${FIRST} shows the capability of the starter as it is`, () => {
  const [shown] = blocksOf(readFileSync(FIRST, 'utf8')).filter(({ kind }) => kind === 'shown');
  const starter = readFileSync('examples/starter/src/service.ts', 'utf8').split('\n');

  const lines = shown?.text.split('\n') ?? [];
  assert.ok(lines.length > 20);
  assert.deepEqual(
    lines.filter((line) => !starter.includes(line)),
    [],
  );
});
