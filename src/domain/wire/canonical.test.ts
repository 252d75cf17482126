import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import canonicalize from 'canonicalize';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { vectors } from '../../../test/support/vectors.ts';
import { CANONICAL_DEPTH_MAX, canonicalJson, canonicalRecord, digestOf } from './canonical.ts';

const folder = vectors('jcs');
test.skipIf(!folder)('canonicalJson() has the six published vectors of shared/vectors/jcs', () => {
  assert.equal(readdirSync(join(folder as string, 'input')).length, 6);
});

for (const name of folder ? readdirSync(join(folder, 'input')) : []) {
  test(`canonicalJson() writes the published vector ${name}`, () => {
    const input = readFileSync(join(folder as string, 'input', name), 'utf8');
    const output = readFileSync(join(folder as string, 'output', name), 'utf8');
    assert.equal(canonicalJson(JSON.parse(input)), output);
  });
}

// RFC 8785 appendix B: the bits of a double and its text.
const numbers: [bits: bigint, text: string][] = [
  [0x0000000000000000n, '0'],
  [0x8000000000000000n, '0'],
  [0x0000000000000001n, '5e-324'],
  [0x8000000000000001n, '-5e-324'],
  [0x7fefffffffffffffn, '1.7976931348623157e+308'],
  [0xffefffffffffffffn, '-1.7976931348623157e+308'],
  [0x4340000000000000n, '9007199254740992'],
  [0xc340000000000000n, '-9007199254740992'],
  [0x4430000000000000n, '295147905179352830000'],
  [0x44b52d02c7e14af5n, '9.999999999999997e+22'],
  [0x44b52d02c7e14af6n, '1e+23'],
  [0x44b52d02c7e14af7n, '1.0000000000000001e+23'],
  [0x444b1ae4d6e2ef4en, '999999999999999700000'],
  [0x444b1ae4d6e2ef4fn, '999999999999999900000'],
  [0x444b1ae4d6e2ef50n, '1e+21'],
  [0x3eb0c6f7a0b5ed8cn, '9.999999999999997e-7'],
  [0x3eb0c6f7a0b5ed8dn, '0.000001'],
  [0x41b3de4355555553n, '333333333.3333332'],
  [0x41b3de4355555554n, '333333333.33333325'],
  [0x41b3de4355555555n, '333333333.3333333'],
  [0x41b3de4355555556n, '333333333.3333334'],
  [0x41b3de4355555557n, '333333333.33333343'],
  [0xbecbf647612f3696n, '-0.0000033333333333333333'],
  [0x43143ff3c1cb0959n, '1424953923781206.2'],
];
for (const [bits, text] of numbers) {
  test(`canonicalJson() writes the double ${bits.toString(16).padStart(16, '0')} as ${text}`, () => {
    assert.equal(canonicalJson(new Float64Array(BigUint64Array.of(bits).buffer)[0]), text);
  });
}

test('canonicalJson() sorts keys by UTF-16 code units, not by code points', () => {
  assert.equal(
    canonicalJson({ '\ufb33': 1, '😂': 2, b: 3, B: 4, 10: 5, 9: 6 }),
    '{"10":5,"9":6,"B":4,"b":3,"😂":2,"\ufb33":1}',
  );
});

test('canonicalJson() reads objects without a prototype', () => {
  assert.equal(canonicalJson(Object.assign(Object.create(null), { b: 1, a: 2 })), '{"a":2,"b":1}');
});

const cycle: Record<string, unknown> = {};
cycle.left = cycle;
cycle.right = cycle;

const refused: [name: string, value: unknown, why: RegExp][] = [
  ['undefined', undefined, /: undefined is not JSON$/],
  ['an undefined member', { a: { b: undefined } }, /: undefined is not JSON$/],
  ['an undefined element', [undefined], /: undefined is not JSON$/],
  // biome-ignore lint/suspicious/noSparseArray: the hole is what is tested.
  ['a hole', [1, , 2], /: undefined is not JSON$/],
  ['a function', { a: () => 1 }, /: function is not JSON$/],
  ['a symbol', [Symbol('s')], /: symbol is not JSON$/],
  ['a bigint', { a: 1n }, /: bigint is not JSON$/],
  ['NaN', [Number.NaN], /: NaN is not JSON$/],
  ['Infinity', { a: Number.NEGATIVE_INFINITY }, /: -Infinity is not JSON$/],
  ['a lone surrogate', ['\ud800'], /: a string has a lone surrogate$/],
  ['a lone surrogate in a key', { 'a\udc00': 1 }, /: a key has a lone surrogate$/],
  ['a date', { at: new Date(0) }, /: an object is neither plain nor an array$/],
  ['a map', new Map([['a', 1]]), /: an object is neither plain nor an array$/],
  ['bytes', Uint8Array.of(1), /: an object is neither plain nor an array$/],
  ['a toJSON method', { toJSON: () => 'other' }, /: function is not JSON$/],
  ['a cycle', cycle, /: nested deeper than 64 levels$/],
];
for (const [name, value, why] of refused) {
  test(`canonicalJson() throws on ${name} instead of omitting it`, () => {
    assert.throws(() => canonicalJson(value), why);
  });
}

const nested = (depth: number) => {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
};

test('canonicalJson() writes values of the largest depth and throws on one level more', () => {
  const depth = CANONICAL_DEPTH_MAX;
  assert.equal(canonicalJson(nested(depth)), `${'['.repeat(depth)}1${']'.repeat(depth)}`);
  assert.throws(() => canonicalJson(nested(depth + 1)), /nested deeper than 64 levels/);
});

test('canonicalJson() throws its own error, not a stack overflow, on a value 100,000 deep', () => {
  assert.throws(
    () => canonicalJson(nested(100_000)),
    /^Error: Cannot write canonical JSON: nested/,
  );
});

const json = fc.jsonValue({ maxDepth: 4 });

test('canonicalJson() writes what another implementation of the RFC writes', () => {
  return fc.assert(
    fc.property(json, (value) => assert.equal(canonicalJson(value), canonicalize(value))),
    { numRuns: 1_000 },
  );
});

test('canonicalJson() does not depend on key order, at any level', () => {
  return fc.assert(
    fc.property(json, (value) => {
      assert.equal(canonicalJson(reversed(value)), canonicalJson(value));
    }),
  );
});

test('canonicalJson() writes what JSON.parse reads back as the same value', () => {
  return fc.assert(
    fc.property(json, (value) => {
      const read: unknown = JSON.parse(canonicalJson(value));
      assert.deepEqual(read, JSON.parse(JSON.stringify(value)));
    }),
  );
});

// The texts were hashed with another program (sha256sum).
const digests: [value: unknown, digest: string][] = [
  [{}, '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a'],
  [{ a: 1 }, '015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862'],
  [{ b: '€', a: [1.5, null] }, '31480e17f4b7cd87a54f1d9527f6a90d96299089f67dde69c7c44d3c7e700d46'],
];
for (const [value, digest] of digests) {
  test(`digestOf() gives the known digest of ${JSON.stringify(value)}`, () => {
    assert.equal(digestOf(value), `sha256:${digest}`);
  });
}

/** The same value with the keys of every object in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, member]) => [key, reversed(member)]));
}

test('canonicalRecord() writes what canonicalJson() writes of the whole', () => {
  const whole = { b: [1, { z: null, a: 'é' }], a: { y: 1e21 }, '\u20ac': true, '': -0, '1': 'x' };
  const members = Object.entries(whole).map(
    ([name, value]) => [name, canonicalJson(value)] as const,
  );

  assert.equal(canonicalRecord(members), canonicalJson(whole));
  assert.equal(canonicalRecord([]), '{}');
});
