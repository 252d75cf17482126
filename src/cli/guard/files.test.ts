import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { guardFiles, refuseExposed } from './files.ts';

const folder = mkdtempSync(join(tmpdir(), 'writ-exposed-'));
const data = join(folder, 'data');
mkdirSync(join(folder, 'shared'));
mkdirSync(data);
symlinkSync(folder, join(folder, 'shared', 'up'));
const files = guardFiles(join(folder, 'writ-guard.yaml'));

test.each([
  '.',
  '..',
  '/',
  folder,
  './data',
  'data/',
  './shared/up',
  '--root=.',
  './writ-guard.yaml',
  'writ-guard.lock.json',
])('a command that gets %j could reach files of the guard', (word) => {
  const refused = () => refuseExposed(['node', 'server.js', word], files, [data]);
  assert.throws(refused, /files of the guard are there: ".*"\. Its tools could read the keys/);
});

test.each(['./shared', 'shared/', 'dat', '--root=./shared', '-y', '', '--flag=', '@scope/server'])(
  'a command may get %j',
  (word) => refuseExposed(['node', 'server.js', word], files, [data]),
);
