/**
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../test/support/ends.ts';
import { makeFolder } from './folder.ts';

const root = temporaryFolder();

test('makeFolder() makes every folder that is missing, for its user alone', () => {
  makeFolder(join(root, 'a/b/c'));

  for (const path of ['a', 'a/b', 'a/b/c']) {
    assert.equal(statSync(join(root, path)).mode & 0o777, 0o700, path);
  }
});

test('makeFolder() leaves a folder as it is, also behind a link', () => {
  const link = join(root, 'link');
  symlinkSync(root, link);

  makeFolder(link);
  makeFolder(join(link, 'below'));

  assert.ok(statSync(join(root, 'below')).isDirectory());
});

test('makeFolder() names the file that stands in the way', () => {
  const file = join(root, 'file');
  writeFileSync(file, '');

  const message = `Cannot make folder "${file}": a file or link of this name exists`;
  assert.throws(() => makeFolder(file), { message });
  assert.throws(() => makeFolder(join(file, 'a/b')), { message });
});

test('makeFolder() refuses a link that leads nowhere', () => {
  const link = join(root, 'dangling');
  symlinkSync(join(root, 'nowhere'), link);

  assert.throws(
    () => makeFolder(link),
    /^Error: Cannot make folder .* a file or link of this name exists$/,
  );
});

test.skipIf(!existsSync('/proc/self'))(
  'makeFolder() ends where a file system takes no folder',
  () => {
    assert.throws(() => makeFolder('/proc/writ/keys'), {
      message: 'Cannot make folder "/proc/writ": the file system does not allow a folder there',
    });
  },
);
