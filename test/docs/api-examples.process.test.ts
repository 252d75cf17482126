/**
 * Every name that the package exports has an example in its comment. The examples compile under `strict` and
 * run with the package as it ships.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { promisify } from 'node:util';
import { parseSync } from 'vite';
import { afterAll, test } from 'vitest';
import { type Program, programOf } from '../client/strict.ts';

const SLOW = 120_000;
const run = promisify(execFile);

interface PublicName {
  /** The specifier that a user imports, such as `writ/client`. */
  readonly from: string;
  readonly name: string;
  readonly example: string;
}

const names = entryPoints().flatMap(([from, file]) =>
  exportsOf(file).map(
    ([name, declared]): PublicName => ({ from, name, example: exampleOf(name, declared) }),
  ),
);
const fileOf = ({ from, name }: PublicName) => `${from.replace('/', '-')}.${name}.ts`;
const program: Program = programOf(
  Object.fromEntries(names.map((each) => [fileOf(each), `${each.example}\n`])),
);
afterAll(() => program.drop());

test('every exported name has an example that imports it', () => {
  assert.deepEqual(
    entryPoints()
      .map(([from]) => from)
      .filter((from) => !names.some((each) => each.from === from)),
    [],
  );
  assert.deepEqual(
    names.filter((each) => !isImported(each)).map(({ from, name }) => `${name} of ${from}`),
    [],
  );
});

test('every example compiles under strict', { timeout: SLOW }, () => {
  assert.equal(program.compile(), '');
});

test('every example runs', { timeout: SLOW }, async () => {
  const code = `const failed = [];
    for (const file of ${JSON.stringify(names.map(fileOf))}) {
      await import('./src/' + file).catch((error) => failed.push([file, error.message]));
    }
    console.log('\\nfailed:', JSON.stringify(failed));`;
  const env = { PATH: process.env.PATH, HOME: program.folder };
  const options = { cwd: program.folder, env };

  const { stdout } = await run(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '--eval', code],
    options,
  );

  assert.equal(stdout.trimEnd().split('\n').at(-1), 'failed: []');
});

/** What users import, with the source of each, as the package declares it. */
function entryPoints(): [from: string, file: string][] {
  const { name, exports } = JSON.parse(readFileSync('package.json', 'utf8'));
  return Object.entries<{ 'writ-source': string }>(exports).map(([path, target]) => [
    posix.join(name, path),
    posix.normalize(target['writ-source']),
  ]);
}

/** The names that a file exports, with the file that declares each. */
function exportsOf(file: string): [name: string, file: string][] {
  const { module, errors } = parseSync(file, readFileSync(file, 'utf8'));
  assert.deepEqual(errors, [], file);
  return module.staticExports
    .flatMap(({ entries }) => entries)
    .map(({ exportName, moduleRequest }) => {
      assert.ok(exportName.name, `${file}: exports something without its name`);
      const declared = moduleRequest?.value ?? `./${posix.basename(file)}`;
      return [exportName.name, posix.join(posix.dirname(file), declared)];
    });
}

/** The example in the comment right above a declaration. */
function exampleOf(name: string, file: string): string {
  const declared = `export (?:async )?(?:interface|type|class|const|function) ${name}\\b`;
  const comment = new RegExp(`/\\*\\*((?:(?!\\*/)[\\s\\S])*)\\*/\\n${declared}`);
  const text = comment.exec(readFileSync(file, 'utf8'))?.[1] ?? '';
  const [, example = ''] = text.split('@example\n');
  return example.replaceAll(/^ \* ?/gm, '').trim();
}

function isImported({ from, name, example }: PublicName): boolean {
  return new RegExp(`^import .*\\b${name}\\b.* from '${from}';`, 'm').test(example);
}
