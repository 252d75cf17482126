import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { wrongType } from './inputs.ts';

const ENFORCED = ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'array', 'object'];

const admitted: Record<string, unknown[]> = {
  string: ['', 'a', '2026-02-30'],
  integer: [0, -0, 1, -1, 1.0, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER],
  number: [0, 1.5, -2, 1e308, 2 ** 53, 5e-324],
  boolean: [true, false],
  date: ['2026-02-28', '2024-02-29', '2000-02-29', '2026-12-31', '0001-01-01', '9999-12-31'],
  datetime: [
    '2026-02-28T00:00:00Z',
    '2024-02-29T23:59:59Z',
    '2026-02-28T12:30:00.5Z',
    '2026-02-28T12:30:00.123456789Z',
    '2026-02-28T12:30:00+01:00',
    '2026-02-28T12:30:00-23:59',
    '2026-02-28T12:30:00+00:00',
  ],
  array: [[], [1, 'a', null]],
  object: [{}, { a: 1 }, Object.create(null)],
};

const refused: Record<string, unknown[]> = {
  string: [1, null, true, ['a'], {}],
  integer: [
    1.5,
    '1',
    null,
    true,
    Number.MAX_SAFE_INTEGER + 1,
    Number.MIN_SAFE_INTEGER - 1,
    1e21,
    Number.POSITIVE_INFINITY,
    Number.NaN,
    [1],
  ],
  number: ['1', null, true, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, [1]],
  boolean: [0, 1, 'true', null, []],
  date: [
    '2026-02-29',
    '2026-02-30',
    '1900-02-29',
    '2026-04-31',
    '2026-13-01',
    '2026-00-10',
    '2026-01-00',
    '2026-01-32',
    '2026-1-1',
    '20260101',
    '2026-01-01T00:00:00Z',
    ' 2026-01-01',
    '2026-01-01\n',
    '+002026-01-01',
    '٢٠٢٦-01-01',
    '',
    20260101,
    null,
    ['2026-01-01'],
  ],
  datetime: [
    '2026-02-30T00:00:00Z',
    '2023-02-29T00:00:00Z',
    '2026-02-28T00:00:00',
    '2026-02-28',
    '2026-02-28 00:00:00Z',
    '2026-02-28T24:00:00Z',
    '2026-02-28T23:60:00Z',
    '2026-02-28T23:59:60Z',
    '2026-02-28T12:30Z',
    '2026-02-28T12:30:00.Z',
    '2026-02-28T12:30:00.1234567890Z',
    '2026-02-28T12:30:00+24:00',
    '2026-02-28T12:30:00+01:60',
    '2026-02-28T12:30:00+0100',
    '2026-02-28T12:30:00+01',
    '2026-02-28T12:30:00Z\n',
    1_772_280_000,
    null,
  ],
  array: [{}, 'a', null, { length: 0 }],
  object: [[], 'a', 1, null],
};

for (const type of ENFORCED) {
  test(`wrongType() accepts values of type ${type}`, () => {
    for (const value of admitted[type] ?? assert.fail('no values')) {
      assert.equal(wrongType(type, value), undefined, JSON.stringify(value));
    }
  });

  test(`wrongType() refuses values that are not of type ${type}, and names the type`, () => {
    for (const value of refused[type] ?? assert.fail('no values')) {
      assert.equal(wrongType(type, value), `${JSON.stringify(value)} is not of type "${type}"`);
    }
  });
}

/** Days of a month by the rule of the Gregorian calendar. */
function daysOf(year: number, month: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
}

test('wrongType() knows the days of every month of any year', () => {
  return fc.assert(
    fc.property(fc.integer({ min: 0, max: 9_999 }), (year) => {
      for (let month = 0; month <= 13; month += 1) {
        for (const day of [0, 1, 28, 29, 30, 31, 32]) {
          const digits = (value: number, length: number) => String(value).padStart(length, '0');
          const text = `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}`;
          const exists = day >= 1 && day <= daysOf(year, month);
          assert.equal(wrongType('date', text) === undefined, exists, text);
          assert.equal(wrongType('datetime', `${text}T00:00:00Z`) === undefined, exists, text);
        }
      }
    }),
  );
});

test('wrongType() accepts any value for a type that is only a hint', () => {
  const hints = ['currency', 'String', 'int', 'constructor', '__proto__', 'toString', ''];

  return fc.assert(
    fc.property(fc.constantFrom(...hints), fc.jsonValue(), (type, value) => {
      assert.equal(wrongType(type, value), undefined);
    }),
  );
});

test('wrongType() repeats a value up to its bound, and cuts a longer one', () => {
  assert.equal(wrongType('date', 'a'.repeat(58)), `"${'a'.repeat(58)}" is not of type "date"`);
  assert.equal(wrongType('date', 'a'.repeat(59)), `"${'a'.repeat(59)}… is not of type "date"`);
});

test('wrongType() never cuts a character in half', () => {
  return fc.assert(
    fc.property(fc.nat(70), (before) => {
      const words = wrongType('date', 'a'.repeat(before) + '🛫'.repeat(40)) ?? '';

      assert.doesNotMatch(words, /\p{Surrogate}/u);
      assert.match(words, /^"a*🛫*… is not of type "date"$/u);
    }),
  );
});
