/**
 * The files of `examples/starter` as a module, from which `writ init` writes them. The folder is compiled, linted and
 * tested like every other example.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = 'examples/starter';

/** In the order in which `writ init` prints them. */
const NAMES = [
  'src/service.ts',
  'test/service.test.ts',
  'writ.config.yaml',
  'tsconfig.json',
  'README.md',
  '.gitignore',
];

export function starterModule(root: string): string {
  const rows = NAMES.map((name) => {
    const text = readFileSync(join(root, FOLDER, name), 'utf8');
    return `  ${JSON.stringify(name)}: ${JSON.stringify(text)},\n`;
  });
  return `/**
 * Made by \`npm run generate\` from ${FOLDER}.
 *
 * @module
 */

export const STARTER: Readonly<Record<string, string>> = {
${rows.join('')}};
`;
}
