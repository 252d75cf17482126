import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../../test/support/ends.ts';
import { loadConfig } from '../../config/config.ts';
import { packageManifest } from '../../package.ts';
import { main } from '../main.ts';

async function writ(...args: string[]) {
  const [out, err]: [string[], string[]] = [[], []];
  const status = await main(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    env: {},
  });
  return { status, out: out.join(''), err: err.join('') };
}

/** In bytes, on Linux. */
const PATH_MAX = 4_096;

const FILES = [
  'package.json',
  'src/service.ts',
  'test/service.test.ts',
  'writ.config.yaml',
  'tsconfig.json',
  'README.md',
  '.gitignore',
  'owner.key',
];

test('writ init makes a service in a new folder and prints the next commands', async () => {
  const folder = join(temporaryFolder(), 'made/for me');

  const { status, out, err } = await writ('init', folder);

  assert.deepEqual([status, err], [0, '']);
  const lines = out.trimEnd().split('\n');
  assert.equal(lines[0], `Made the service for-me in ${folder}:`);
  assert.deepEqual(
    lines.slice(1, 9),
    FILES.map((name) => `  ${name}`),
  );
  assert.deepEqual(lines.slice(10), [
    'Next:',
    `  cd '${folder}' && npm install`,
    '  npm test',
    '  npm start',
  ]);
  assert.match(
    readFileSync(join(folder, 'src/service.ts'), 'utf8'),
    /createService\(\{ id: 'for-me',/,
  );
  assert.match(readFileSync(join(folder, 'README.md'), 'utf8'), /^# for-me\n/);
});

test('writ init --json prints what it made', async () => {
  const folder = temporaryFolder();

  const { out } = await writ('init', folder, '--name', 'office', '--json');

  assert.deepEqual(JSON.parse(out), { name: 'office', folder, files: FILES });
});

test('writ init gives the owner a key that only this user can read, and the settings its hash', async () => {
  const [folder, other] = [temporaryFolder(), temporaryFolder()];
  await writ('init', folder, '--name', 'office');
  await writ('init', other, '--name', 'office');

  const text = readFileSync(join(folder, 'owner.key'), 'utf8');
  const { identities } = await loadConfig(folder, {}, {});

  assert.match(text, /^wk_[\w-]{43}\n$/);
  assert.notEqual(text, readFileSync(join(other, 'owner.key'), 'utf8'));
  assert.equal(statSync(join(folder, 'owner.key')).mode & 0o777, 0o600);
  const digest = createHash('sha256').update(text.trim()).digest('hex');
  assert.deepEqual(
    identities.map(({ key, key_sha256 }) => [key, key_sha256]),
    [[undefined, digest]],
  );
  assert.ok(readFileSync(join(folder, '.gitignore'), 'utf8').split('\n').includes('*.key'));
});

test('writ init depends on this version and on the tools that it is tested with', async () => {
  const [folder, other] = [temporaryFolder(), temporaryFolder()];
  await writ('init', folder, '--name', 'office');
  await writ('init', other, '--name', 'office', '--package', 'file:../writ.tgz');
  const read = (from: string) => JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'));
  const { version, engines, devDependencies } = packageManifest();

  assert.deepEqual(read(folder).dependencies, { writ: version });
  assert.deepEqual(read(other).dependencies, { writ: 'file:../writ.tgz' });
  assert.deepEqual(read(folder).engines, engines);
  for (const [name, exact] of Object.entries(read(folder).devDependencies)) {
    assert.match(String(exact), /^\d+\.\d+\.\d+$/);
    assert.equal(exact, devDependencies[name], name);
  }
});

test('writ init writes into the new repository of git, and into no other folder', async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, '.git'));
  assert.equal((await writ('init', folder, '--name', 'office')).status, 0);

  const { status, out, err } = await writ('init', folder, '--name', 'office');

  assert.deepEqual([status, out], [2, '']);
  const has = '.gitignore, README.md, owner.key, package.json, src and 3 more';
  assert.equal(
    err,
    `Cannot make a service: "${folder}" is not empty: it has ${has}; name a new folder\n`,
  );
});

test('writ init changes nothing in a folder that has a file', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'notes\u001b.txt'), 'mine');

  const { status, err } = await writ('init', folder, '--name', 'office');

  assert.equal(status, 2);
  assert.match(err, /is not empty: it has notes\\u\{1b\}\.txt; name a new folder\n$/);
  assert.deepEqual(readdirSync(folder), ['notes\u001b.txt']);
});

test('writ init refuses a file in the place of the folder', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'office'), '');

  const { status, err } = await writ('init', join(folder, 'office'));

  assert.equal(status, 2);
  assert.match(err, /^Cannot make a service: ".*" cannot be used \(it is not a folder\)\n$/);
});

test('writ init leaves nothing behind when a file cannot be written', async () => {
  const base = temporaryFolder();
  // The path of the longest file is longer than a path may be; the others are written first.
  const deep = `${base}/made${'/made'.repeat(900)}`.slice(
    0,
    PATH_MAX - '/src/service.ts'.length - 2,
  );

  const { status, err } = await writ('init', deep, '--name', 'office');

  assert.equal(status, 2);
  assert.match(err, /^Cannot make a service: ".*" cannot be written to \(ENAMETOOLONG\)\n$/);
  assert.deepEqual(readdirSync(base), []);
});

for (const name of [
  'Office',
  'writ',
  'a b',
  '-a',
  'a-',
  'a',
  '../a',
  'node_modules',
  'x'.repeat(65),
]) {
  test(`writ init refuses the name ${JSON.stringify(name)}`, async () => {
    const folder = temporaryFolder();

    const { status, err } = await writ('init', folder, `--name=${name}`);

    assert.equal(status, 2);
    assert.match(err, /is not a name of a service; expected 2 to 64 lower-case letters/);
    assert.deepEqual(readdirSync(folder), []);
  });
}

test('writ init asks for a name where that of the folder is none', async () => {
  const { status, err } = await writ('init', join(temporaryFolder(), '42'));

  assert.equal(status, 2);
  assert.match(
    err,
    /^Cannot make a service: the name of the folder is not a name of a service; give --name /,
  );
});
