/**
 * Every piece of TypeScript on a page compiles under `strict`, with the package as it ships.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, test } from 'vitest';
import { programOf } from '../client/strict.ts';
import { blocksOf } from './walk.ts';

const SLOW = 120_000;

const pages = [
  'README.md',
  ...readdirSync('docs/guides')
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs/guides', name)),
];

/** A file that a page shows twice, such as before and after a change, is compiled as it is last. */
const files = Object.fromEntries(
  pages.filter(existsSync).flatMap((page) =>
    blocksOf(readFileSync(page, 'utf8'))
      .filter(({ language }) => language === 'ts')
      .map(({ name, text }, index) => [
        join(basename(page, '.md'), name || `snippet-${index}.ts`),
        `${text}\nexport {};\n`,
      ]),
  ),
);
const program = programOf(files);
afterAll(() => program.drop());

test('every piece of TypeScript in the guides compiles under strict', { timeout: SLOW }, () => {
  assert.equal(program.compile(), '');
});
