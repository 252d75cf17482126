import assert from 'node:assert/strict';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../test/support/ends.ts';
import { holdLock } from './file-lock.ts';

test('holdLock() gives a lock to one holder, and to the next when it ends', () => {
  const file = join(temporaryFolder(), 'state.lock');
  const first = holdLock(file);
  const second = holdLock(file);
  first?.();
  const third = holdLock(file);

  assert.ok(first);
  assert.equal(second, undefined);
  assert.ok(third);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  third();
});

test('holdLock() throws on a file that is no lock', () => {
  const file = join(temporaryFolder(), 'state.lock');
  writeFileSync(
    file,
    'something else, long enough to be read as the header of a database'.repeat(20),
  );

  assert.throws(() => holdLock(file));
});
