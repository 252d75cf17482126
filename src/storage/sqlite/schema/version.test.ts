import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isWalSafe } from './version.ts';

const SAFE = [
  '3.44.6',
  '3.44.9',
  '3.50.7',
  '3.50.10',
  '3.51.3',
  '3.52.0',
  '3.53.0',
  '3.100.0',
  '4.0.0',
];
const UNSAFE = [
  '3.40.1',
  '3.44.5',
  '3.45.0',
  '3.49.99',
  '3.50.6',
  '3.51.0',
  '3.51.2',
  '3.7.0',
  '2.99.0',
];

for (const version of SAFE) {
  test(`isWalSafe() trusts ${version}`, () => {
    assert.equal(isWalSafe(version), true);
  });
}

for (const version of [...UNSAFE, '', '3.53', 'v3.53.0', '3.53.0-beta']) {
  test(`isWalSafe() does not trust "${version}"`, () => {
    assert.equal(isWalSafe(version), false);
  });
}
