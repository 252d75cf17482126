import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { HOSTILE_VALUES } from '../../../test/support/hostile-values.ts';
import {
  foreignMember,
  foreignText,
  foreignTime,
  isForeignError,
  readForeign,
  readForeignName,
  readForeignObject,
} from './foreign.ts';
import { type JsonLimits, readJson } from './json.ts';

const LIMITS: JsonLimits = { bytes: 4_096, depth: 8, keys: 200 };

type Make = () => unknown;

const made = (value: unknown): Make => {
  return () => value;
};

/** Values as a handler could make them. Each is made when it is needed, because some cannot be inspected. */
const anyValue = fc.letrec<{ value: Make }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    fc.string({ unit: 'binary' }).map(made),
    fc.string({ unit: 'grapheme' }).map(made),
    fc.double().map(made),
    fc.bigInt().map(made),
    fc.boolean().map(made),
    fc.constantFrom<Make>(() => new Date(0), made(Symbol('x')), made(made), made(undefined)),
    fc.constantFrom(...HOSTILE_VALUES).map(({ make }): Make => make),
    fc.array(tie('value'), { maxLength: 5 }).map((items): Make => {
      return () => items.map((make) => make());
    }),
    fc
      .dictionary(fc.string({ unit: 'binary', maxLength: 6 }), tie('value'), { maxKeys: 5 })
      .map((members): Make => {
        return () =>
          Object.fromEntries(Object.entries(members).map(([name, make]) => [name, make()]));
      }),
  ),
})).value;

test('readForeign() never throws, and returns only values that strict readers accept within the limits', () => {
  fc.assert(
    fc.property(anyValue, (make) => {
      const reading = readForeign(make(), LIMITS);
      if ('fault' in reading) return;
      const text = JSON.stringify(reading.value);
      const again = readJson(text, LIMITS);
      assert.ok('value' in again, `${JSON.stringify(again)} ${text}`);
      assert.deepEqual(again.value, reading.value);
    }),
  );
});

test('readForeign() reads what JSON writes exactly as JSON does', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const before = readJson(JSON.stringify(value), LIMITS);
      const reading = readForeign(value, LIMITS);
      assert.equal('fault' in reading, 'fault' in before);
      if ('value' in reading && 'value' in before) assert.deepEqual(reading.value, before.value);
    }),
  );
});

for (const { name, make } of HOSTILE_VALUES) {
  test(`no reader throws at ${name}`, () => {
    const value = make();

    const readings = [
      readForeign(value, LIMITS),
      readForeign({ inside: [value] }, LIMITS),
      readForeignObject(value, LIMITS),
      readForeignName(value, 64),
      foreignText(value, 64),
      foreignMember(value, 'message'),
      foreignTime(value),
      isForeignError(value),
    ];

    assert.equal(readings.length, 8);
  });
}

test('readForeign() accepts exactly as many bytes, levels and keys as the limits allow', () => {
  const limits = { bytes: 20, depth: 2, keys: 2 };
  const isTaken = (value: unknown) => 'value' in readForeign(value, limits);

  assert.deepEqual(['x'.repeat(18), 'x'.repeat(19)].map(isTaken), [true, false]);
  assert.deepEqual(['ä'.repeat(9), 'ä'.repeat(10)].map(isTaken), [true, false]);
  assert.deepEqual(
    [
      { a: 1, b: 2 },
      { a: 1, b: 2, c: 3 },
    ].map(isTaken),
    [true, false],
  );
  assert.deepEqual([[[]], [[[]]]].map(isTaken), [true, false]);
  assert.deepEqual(
    [
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 1],
    ].map(isTaken),
    [true, false],
  );
});

test('readForeign() reads each member once, so that a changing getter has no effect', () => {
  let asked = 0;
  const value = {
    get price() {
      asked += 1;
      return asked;
    },
  };

  assert.deepEqual(readForeign(value, LIMITS), { value: { price: 1 } });
});

test('foreignText() is bounded and well-formed, for any value', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.nat(50), (text, lengthMax) => {
      const shown = foreignText(text, lengthMax);
      assert.ok(shown.length <= lengthMax + 1);
      assert.ok(!/\0|\p{Surrogate}/u.test(shown));
    }),
  );
  assert.equal(foreignText('a\u{1f600}b', 2), 'a…');
  assert.equal(foreignText({ toString: () => 'words' }, 9), '[unreadable]');
});

test('foreignTime() accepts a real date and nothing that only looks like one', () => {
  assert.equal(foreignTime(new Date(5)), 5);
  for (const value of [new Date(Number.NaN), '2030-01-01', 5, { getTime: () => 5 }, null]) {
    assert.equal(foreignTime(value), undefined);
  }
});
