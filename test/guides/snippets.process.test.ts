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

/** Pages that begin with `writ init` go on from this file. */
const STARTER = readFileSync('examples/starter/src/service.ts', 'utf8');

/** A file that a page shows twice, such as before and after a change, is compiled as it is last. */
const files = Object.fromEntries(pages.filter(existsSync).flatMap(filesOf));

function filesOf(path: string): [name: string, text: string][] {
  const [folder, page] = [basename(path, '.md'), readFileSync(path, 'utf8')];
  const shown = blocksOf(page)
    .filter(({ language }) => language === 'ts')
    .map(({ name, text }, index): [string, string] => [
      join(folder, name || `snippet-${index}.ts`),
      `${text}\nexport {};\n`,
    ]);
  return page.includes('npx writ init')
    ? [[join(folder, 'src/service.ts'), STARTER], ...shown]
    : shown;
}

const program = programOf(files);
afterAll(() => program.drop());

test('every piece of TypeScript in the guides compiles under strict', { timeout: SLOW }, () => {
  assert.equal(program.compile(), '');
});
