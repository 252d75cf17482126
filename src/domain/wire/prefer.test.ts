import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { PREFER_LENGTH_MAX } from '../../protocol/primitives.ts';
import { preferenceIn, prefersSignedReceipt } from './prefer.ts';

// RFC 7240, section 2: its grammar, and what lies beside it.
const table: [header: string | undefined, name: string, expected: string | undefined][] = [
  [undefined, 'wait', undefined],
  ['', 'wait', undefined],
  ['wait=10', 'wait', '10'],
  ['respond-async, wait=10', 'wait', '10'],
  ['respond-async,wait = "10" ; foo=bar', 'wait', '10'],
  ['Wait=10', 'wait', '10'],
  ['wait', 'wait', ''],
  ['wait=', 'wait', ''],
  ['wait=""', 'wait', ''],
  ['wait=10, wait=20', 'wait', '10'],
  ['foo="a, wait=10", wait=20', 'wait', '20'],
  ['foo="a \\", wait=10", wait=20', 'wait', '20'],
  ['foo; wait=10', 'wait', undefined],
  ['await=10', 'wait', undefined],
  ['wait=10 20', 'wait', undefined],
  ['foo="never closed, wait=10', 'wait', undefined],
  [',,;=, wait=10', 'wait', '10'],
  ['wait="1\\0"', 'wait', '10'],
  ['__proto__=1', '__proto__', '1'],
];

for (const [header, name, expected] of table) {
  test(`preferenceIn() reads ${JSON.stringify(expected)} from ${JSON.stringify(header)}`, () => {
    assert.equal(preferenceIn(header, name), expected);
  });
}

test('prefersSignedReceipt() is true for the exact value only, in a text only', () => {
  for (const header of ['receipt=signed', 'wait=3, receipt="signed"', 'Receipt = signed; v=1']) {
    assert.equal(prefersSignedReceipt(header), true, header);
  }
  for (const header of [
    'receipt',
    'receipt=Signed',
    'receipt=none, receipt=signed',
    3,
    ['a'],
    {},
  ]) {
    assert.equal(prefersSignedReceipt(header), false);
  }
});

test('preferenceIn() answers for every text, and finds what follows it', () => {
  return fc.assert(
    fc.property(fc.string({ maxLength: 256 }), (text) => {
      const closed = text.replaceAll(/["\\]/g, '');
      const isNamed = preferenceIn(closed, 'receipt') !== undefined;

      preferenceIn(text, 'wait');
      if (!isNamed) assert.equal(preferenceIn(`${closed}, receipt=signed`, 'receipt'), 'signed');
    }),
  );
});

test('preferenceIn() ignores a header that is too long', () => {
  const padding = ' '.repeat(PREFER_LENGTH_MAX - 'wait=10'.length);

  assert.equal(preferenceIn(`wait=10${padding}`, 'wait'), '10');
  assert.equal(preferenceIn(`wait=10${padding} `, 'wait'), undefined);
});
