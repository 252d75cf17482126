import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { equalBytes, fromHex, sha256, toHex } from './hash.ts';
import * as browser from './sha256-browser.ts';
import * as node from './sha256-node.ts';
import { sha256 as inNode } from './sha256-node.ts';

const ascii = (text: string) => new TextEncoder().encode(text);

// FIPS 180-4 examples and the longer messages of its validation suite.
const answers: [string, Uint8Array, string][] = [
  ['nothing', ascii(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['one block', ascii('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  [
    'two blocks',
    ascii('abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq'),
    '248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1',
  ],
  [
    '896 bits',
    ascii(
      'abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn' +
        'hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu',
    ),
    'cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1',
  ],
  [
    'a million letters',
    ascii('a'.repeat(1_000_000)),
    'cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0',
  ],
];

for (const [name, message, expected] of answers) {
  test(`sha256() gives the known answer for ${name} in Node and in browsers`, () => {
    assert.equal(toHex(inNode(message)), expected);
    assert.equal(toHex(browser.sha256(message)), expected);
  });
}

test('sha256() agrees in Node and in browsers on every length up to four blocks', () => {
  const fourBlocks = 4 * 64;

  return fc.assert(
    fc.property(fc.uint8Array({ minLength: fourBlocks, maxLength: fourBlocks }), (message) => {
      for (let length = 0; length <= fourBlocks; length++) {
        const start = message.subarray(0, length);
        assert.deepEqual(browser.sha256(start), inNode(start));
      }
    }),
    { numRuns: 20 },
  );
});

test('sha256() agrees in Node and in browsers on messages of any size', () => {
  return fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000, size: 'max' }), (message) => {
      assert.deepEqual(browser.sha256(message), inNode(message));
    }),
    // No shrinking: it takes minutes, and the test of short lengths localises a fault better.
    { endOnFailure: true },
  );
});

test('sha256() reads only the bytes of a view, and does not change them', () => {
  const whole = ascii('..abc..');
  const view = whole.subarray(2, 5);

  const digests = [browser.sha256(view), inNode(view)].map(toHex);

  assert.deepEqual(digests, [answers[1]?.[2], answers[1]?.[2]]);
  assert.deepEqual(whole, ascii('..abc..'));
});

test('sha256() uses the implementation for Node on Node', () => {
  assert.equal(sha256, inNode);
});

test('fromHex() gives back what toHex() wrote', () => {
  return fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const hex = toHex(bytes);

      assert.equal(hex, Buffer.from(bytes).toString('hex'));
      assert.deepEqual(fromHex(hex), bytes);
    }),
  );
});

for (const text of ['0', 'abc', 'AB', 'aB', '0x00', 'zz', ' 00', '00 ', '00\n', '+1', '-1', '٠٠']) {
  test(`fromHex() refuses ${JSON.stringify(text)}`, () => {
    assert.equal(fromHex(text), undefined);
  });
}

test('equalBytes() distinguishes a different byte, a longer and a shorter array', () => {
  const bytes = Uint8Array.of(1, 2, 3);

  assert.equal(equalBytes(bytes, Uint8Array.of(1, 2, 3)), true);
  assert.equal(equalBytes(bytes, Uint8Array.of(1, 2, 4)), false);
  assert.equal(equalBytes(bytes, Uint8Array.of(1, 2, 3, 0)), false);
  assert.equal(equalBytes(bytes, Uint8Array.of(1, 2)), false);
});

test('sha256Hex() and utf8() agree in Node and in browsers, for strings and for bytes', () => {
  return fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const bytes = new TextEncoder().encode(text);
      for (const { sha256, sha256Hex, utf8 } of [node, browser]) {
        assert.deepEqual(utf8(text), bytes);
        assert.deepEqual(sha256(text), sha256(bytes));
        assert.equal(sha256Hex(text), toHex(sha256(bytes)));
        assert.equal(sha256Hex(bytes), sha256Hex(text));
      }
    }),
  );
});
