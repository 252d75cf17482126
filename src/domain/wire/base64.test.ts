import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { fromBase64, fromBase64url, toBase64, toBase64url } from './base64.ts';

test('toBase64() encodes every value like the platform, and fromBase64() reads it back', () => {
  return fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const text = toBase64(bytes);

      assert.equal(text, Buffer.from(bytes).toString('base64'));
      assert.deepEqual(fromBase64(text), bytes);
    }),
  );
});

test('toBase64url() encodes every value like the platform, and fromBase64url() reads it back', () => {
  return fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
      const text = toBase64url(bytes);

      assert.equal(text, Buffer.from(bytes).toString('base64url'));
      assert.deepEqual(fromBase64url(text), bytes);
    }),
  );
});

for (const text of [
  'AA',
  'AA=',
  'AAA',
  'AB==',
  'A A=',
  'AA==\n',
  'AA==AA==',
  '-_==',
  'A',
  '====',
]) {
  test(`fromBase64() refuses ${JSON.stringify(text)}, which is not a canonical spelling`, () => {
    assert.equal(fromBase64(text), undefined);
  });
}

for (const text of ['AA==', 'A', 'AB', 'A+', 'A/', 'AA\n']) {
  test(`fromBase64url() refuses ${JSON.stringify(text)}`, () => {
    assert.equal(fromBase64url(text), undefined);
  });
}
