import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, test } from 'vitest';
import { temporaryFolder } from '../../test/support/ends.ts';
import { readSeen, storeSeenHead } from './state.ts';

const ORIGIN = 'desk/log/1';
let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
});

function head(size: number, origin = ORIGIN) {
  return { origin, size, root: new Uint8Array(32).fill(size) };
}

test('readSeen() knows nothing of a log at first, and then what was kept last', () => {
  const first = readSeen(folder, ORIGIN);
  assert.equal(storeSeenHead(folder, first, head(3)), true);
  assert.equal(storeSeenHead(folder, readSeen(folder, ORIGIN), head(5)), true);

  assert.equal(first.head, undefined);
  assert.deepEqual(readSeen(folder, ORIGIN).head, head(5));
  assert.equal(readdirSync(folder).length, 1);
});

test('readSeen() keeps logs apart, whatever their names', () => {
  for (const origin of ['a', 'A', '../a', 'a/log/2', 'é']) {
    assert.equal(storeSeenHead(folder, readSeen(folder, origin), head(1, origin)), true);
  }

  assert.equal(readdirSync(folder).length, 5);
  assert.equal(readSeen(folder, 'b').head, undefined);
});

test('keepSeen() lets one of two that read the same head keep the next', () => {
  const [mine, others] = [readSeen(folder, ORIGIN), readSeen(folder, ORIGIN)];

  assert.equal(storeSeenHead(folder, others, head(4)), true);
  assert.equal(storeSeenHead(folder, mine, head(3)), false);
  assert.deepEqual(readSeen(folder, ORIGIN).head, head(4));
});

test('keepSeen() refuses one that comes so late that its number is free again', () => {
  const late = readSeen(folder, ORIGIN);
  for (const size of [4, 5, 6]) storeSeenHead(folder, readSeen(folder, ORIGIN), head(size));

  assert.equal(storeSeenHead(folder, late, head(3)), false);
  assert.deepEqual(readSeen(folder, ORIGIN).head, head(6));
});

test('readSeen() takes the newer head when a crash left the older one too', () => {
  storeSeenHead(folder, readSeen(folder, ORIGIN), head(3));
  const [older = ''] = readdirSync(folder);
  writeFileSync(join(folder, older.replace('0001.json', '0002.json')), file(head(5)));
  writeFileSync(join(folder, 'part.unfinished'), '{');

  assert.deepEqual(readSeen(folder, ORIGIN).head, head(5));
});

test('readSeen() refuses to go on from a file that it cannot read', () => {
  storeSeenHead(folder, readSeen(folder, ORIGIN), head(3));
  const [name = ''] = readdirSync(folder);
  for (const text of ['', '{', '{}', file(head(3, 'other')), file({ ...head(3), size: -1 })]) {
    writeFileSync(join(folder, name), text);
    assert.throws(() => readSeen(folder, ORIGIN), /^Error: Cannot use ".*restore it/);
  }
});

function file({ root, ...rest }: ReturnType<typeof head>): string {
  return JSON.stringify({ ...rest, root: Buffer.from(root).toString('base64') });
}
