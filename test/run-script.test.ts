/**
 * What set-up decides: when to refuse, to install, to build, and whose lock to break.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'vitest';
import { isFree, LOCK_AGE_MS_MAX, UNNAMED_LOCK_AGE_MS_MAX } from '../scripts/lock.mjs';
import {
  buildReason,
  buildStamp,
  installReason,
  installStamp,
  npmCommand,
  unsupportedNode,
} from '../scripts/setup.mjs';

const NODES: [version: string, isSupported: boolean][] = [
  ['18.20.8', false],
  ['20.19.9', false],
  ['20.20.0', true],
  ['20.20.2', true],
  ['22.0.0', true],
  ['24.1.0', true],
  ['9.99.9', false],
];
for (const [version, isSupported] of NODES) {
  test(`unsupportedNode() ${isSupported ? 'accepts' : 'refuses'} Node ${version}`, () => {
    const message = `Cannot run on Node ${version}: Writ needs Node 20.20 or later`;

    assert.equal(unsupportedNode(version), isSupported ? undefined : message);
  });
}

const machine = { platform: 'linux', arch: 'x64', node: '20.20.2' };
const wanted = installStamp('lock', machine);

const INSTALLS: [name: string, hasModules: boolean, stamp: string | undefined, reason?: RegExp][] =
  [
    ['finds nothing to do when the stamp fits', true, wanted],
    ['installs when node_modules is absent', false, undefined, /absent/],
    ['installs again after an interruption', true, undefined, /did not finish/],
    ['installs when the lock changed', true, installStamp('other', machine), /lock\.json changed/],
    [
      'installs when the platform changed',
      true,
      installStamp('lock', { ...machine, platform: 'darwin' }),
      /platform or Node changed/,
    ],
    [
      'installs when the processor changed',
      true,
      installStamp('lock', { ...machine, arch: 'arm64' }),
      /platform or Node changed/,
    ],
    [
      'installs when the major version of Node changed',
      true,
      installStamp('lock', { ...machine, node: '22.1.0' }),
      /platform or Node changed/,
    ],
    [
      'finds nothing to do when only the minor version of Node changed',
      true,
      installStamp('lock', { ...machine, node: '20.21.0' }),
    ],
  ];
for (const [name, hasModules, stamp, reason] of INSTALLS) {
  test(`installReason() ${name}`, () => {
    const found = installReason({ hasModules, stamp, wanted });

    if (reason === undefined) assert.equal(found, undefined);
    else assert.match(found ?? '', reason);
  });
}

test('buildReason() builds without a stamp, and when the stamp is another', () => {
  assert.equal(buildReason({ stamp: 'a', wanted: 'a' }), undefined);
  assert.match(buildReason({ stamp: 'b', wanted: 'a' }) ?? '', /changed/);
  assert.match(buildReason({ stamp: undefined, wanted: 'a' }) ?? '', /no finished build/);
});

const BUILDS: [name: string, files: Record<string, string>, isSame: boolean][] = [
  ['is the same for the same content', {}, true],
  ['changes with a source', { 'src/a.ts': 'changed' }, false],
  ['changes with a new source', { 'src/deep/b.ts': '' }, false],
  ['changes with an example', { 'examples/travel/main.ts': 'changed' }, false],
  ['changes with the settings of the compiler', { 'tsconfig.build.json': '{ }' }, false],
  ['changes with the manifest', { 'package.json': '{ }' }, false],
  ['does not change with a test', { 'src/a.test.ts': 'changed' }, true],
  ['does not change with a page', { 'README.md': 'changed' }, true],
];
for (const [name, files, isSame] of BUILDS) {
  test(`buildStamp() ${name}`, () => {
    const before = {
      'src/a.ts': 'a',
      'examples/travel/main.ts': 'm',
      'package.json': '{}',
      'tsconfig.json': '{}',
      'tsconfig.build.json': '{}',
    };

    const [one, other] = [before, { ...before, ...files }].map(stampOf);

    assert.equal(one === other, isSame);
  });
}

test('buildStamp() tells content moved between files', () => {
  const one = stampOf({ 'src/a.ts': 'ab', 'src/b.ts': 'c' });
  const other = stampOf({ 'src/a.ts': 'a', 'src/b.ts': 'bc' });

  assert.notEqual(one, other);
});

test('npmCommand() takes the npm that started us, and no other package manager', () => {
  const cli = '/opt/npm/bin/npm-cli.js';

  assert.deepEqual(npmCommand(cli), [process.execPath, cli]);
  assert.deepEqual(npmCommand('/opt/pnpm/bin/pnpm.cjs'), ['npm']);
  assert.deepEqual(npmCommand(undefined), ['npm']);
});

const owner = { pids: [10, 11], host: 'here' };
const LOCKS: [
  name: string,
  lock: Parameters<typeof isFree>[0],
  running: number[],
  expected: boolean,
][] = [
  ['keeps a lock whose owner runs', { owner, ageMs: 0, host: 'here' }, [10], false],
  ['keeps a lock whose child still runs', { owner, ageMs: 0, host: 'here' }, [11], false],
  ['takes over a lock whose owner is gone', { owner, ageMs: 0, host: 'here' }, [12], true],
  ['keeps a lock of another machine', { owner, ageMs: 0, host: 'there' }, [], false],
  ['takes over a lock older than any install', at(LOCK_AGE_MS_MAX + 1), [10], true],
  ['keeps a lock as old as an install may be', at(LOCK_AGE_MS_MAX), [10], false],
  ['takes a lock that was given back, on any machine', givenBack(), [], true],
  ['keeps a lock being named', unnamed(UNNAMED_LOCK_AGE_MS_MAX), [], false],
  ['takes over a lock that was never named', unnamed(UNNAMED_LOCK_AGE_MS_MAX + 1), [], true],
];
for (const [name, lock, running, expected] of LOCKS) {
  test(`isFree() ${name}`, () => {
    assert.equal(
      isFree(lock, (pid) => running.includes(pid)),
      expected,
    );
  });
}

function at(ageMs: number) {
  return { owner, ageMs, host: 'here' };
}

function givenBack() {
  return { owner: { pids: [], host: 'there' }, ageMs: 0, host: 'here' };
}

function unnamed(ageMs: number) {
  return { owner: undefined, ageMs, host: 'here' };
}

function stampOf(files: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'writ-stamp-'));
  try {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), content);
    }
    return buildStamp(root);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
