/**
 * The client's guide: its examples compile under `strict` with the types of the showcase, and run word
 * for word with the package as it ships.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'vitest';
import { atEnd } from '../support/ends.ts';
import { openDesk } from './desk.ts';
import { programOf } from './strict.ts';

const SLOW = 120_000;
const run = promisify(execFile);

const guide = readFileSync('docs/client.md', 'utf8');

const desk = await openDesk();
const program = programOf({ 'guide.ts': codeIn('ts') });
atEnd(() => program.drop());

/** The blocks of a language, as one text, with the address of the service under test. */
function codeIn(language: string): string {
  const blocks = guide.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm);
  const texts = [...blocks].flatMap(([, name, block]) => (name === language ? [block] : []));
  assert.notEqual(texts.length, 0);
  return texts.join('\n').replaceAll('http://127.0.0.1:8420', desk.url);
}

test('docs/client.md: its command writes the interface', { timeout: SLOW }, async () => {
  const [npx, writ, ...args] = codeIn('sh').trim().split(' ');
  assert.deepEqual([npx, writ], ['npx', 'writ']);

  const cwd = join(program.folder, 'src');
  await run(process.execPath, [resolve('dist/src/cli/bin.js'), ...args], { cwd });

  assert.match(readFileSync(join(cwd, 'travel-desk.ts'), 'utf8'), /export interface TravelDesk /);
});

test('docs/client.md: every example compiles under strict', { timeout: SLOW }, () => {
  assert.equal(program.compile(), '');
});

test('docs/client.md: every example runs as documented', { timeout: SLOW }, async () => {
  const file = join(program.folder, 'src/guide.ts');

  const { stdout } = await run(process.execPath, ['--import', 'tsx', file]);

  const lines = stdout.trim().split('\n');
  assert.deepEqual(lines.slice(0, 5), [
    '3',
    'invalid_parameters',
    'non_delegable_action Stop: this caller cannot make the call succeed',
    "[ 'binding_invalid' ] true undefined",
    'started',
  ]);
  assert.equal(lines.at(-1), 'completed 3');
});
