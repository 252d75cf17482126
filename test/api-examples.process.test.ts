/**
 * Every name that an author imports has an example in its comment. The examples compile under `strict` and
 * run with the package as it ships.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, test } from 'vitest';
import { type Program, programOf } from './client/strict.ts';

const SLOW = 120_000;
const run = promisify(execFile);

/** The names that `src/index.ts` exports, with the file that declares each. */
function exportedNames(): [name: string, file: string][] {
  const text = readFileSync('src/index.ts', 'utf8');
  const passedOn = [...text.matchAll(/^export (?:type )?\{([^}]*)\} from '\.\/([^']+)';/gm)];
  const own = [...text.matchAll(/^export function (\w+)/gm)];
  return [
    ...passedOn.flatMap(([, names = '', file = '']) =>
      names
        .split(',')
        .map((each) => each.trim().replace(/^type /, ''))
        .filter(Boolean)
        .map((name): [string, string] => [name, `src/${file}`]),
    ),
    ...own.map(([, name = '']): [string, string] => [name, 'src/index.ts']),
  ];
}

/** The example in the comment right above a declaration. */
function exampleOf(name: string, file: string): string {
  const declared = `export (?:async )?(?:interface|type|class|const|function) ${name}\\b`;
  const comment = new RegExp(`/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\n${declared}`);
  const text = comment.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  const [, example = ''] = text.split('@example\n');
  return example.replaceAll(/^ \* ?/gm, '').trim();
}

const names = exportedNames();
const examples = Object.fromEntries(
  names.map(([name, file]) => [`${name}.ts`, `${exampleOf(name, file)}\n`]),
);
const program: Program = programOf(examples);
afterAll(() => program.drop());

test('every exported name has an example that imports it', () => {
  assert.ok(names.length > 20);
  const without = names
    .map(([name]) => name)
    .filter(
      (name) =>
        !new RegExp(`^import .*\\b${name}\\b.* from 'writ';`, 'm').test(
          examples[`${name}.ts`] ?? '',
        ),
    );

  assert.deepEqual(without, []);
});

test('every example compiles under strict', { timeout: SLOW }, () => {
  assert.equal(program.compile(), '');
});

test('every example runs', { timeout: SLOW }, async () => {
  const all = Object.keys(examples).map((file) => `await import('./src/${file}');`);
  const code = `${all.join('\n')}\nconsole.log('all of them');`;
  const env = { PATH: process.env.PATH, HOME: program.folder };
  const options = { cwd: program.folder, env };

  const { stdout } = await run(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', code],
    options,
  );

  assert.match(stdout, /all of them/);
});
