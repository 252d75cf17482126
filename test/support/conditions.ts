/**
 * Conditions and values by chance, over one small universe, so that they often meet.
 *
 * @module
 */

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { Condition } from '../../src/domain/conditions/condition.ts';
import { readConditions } from '../../src/domain/conditions/read.ts';
import { digestOf } from '../../src/domain/wire/canonical.ts';

export function readOne(written: unknown): Condition {
  const read = readConditions({ x: written });
  assert.ok('conditions' in read, JSON.stringify(read));
  return read.conditions.x as Condition;
}

const TEXTS = [
  'docs',
  'docs-secret',
  'Docs',
  'do',
  'dо',
  'docs/a',
  'docs/a/b',
  '/docs',
  'src',
  'ab',
  'abc',
  '',
];
const ADDRESSES = [
  'a@example.com',
  'a@eu.example.com',
  'a@evilexample.com',
  'A <a@example.com>',
  'a@EXAMPLE.com',
];
const URLS = [
  'https://example.com',
  'https://example.com/v1',
  'https://example.com/v10',
  'https://a.example.com/v1/x?q=1',
  'http://example.com/v1',
  'https://example.com:8443/v1',
  'https://user@example.com/v1',
];
const DATES = ['2026-01-01', '2026-02-28', '2026-02-30'];
const TIMES = [
  '2026-01-01T00:00:00Z',
  '2026-01-01T01:00:00+01:00',
  '2026-01-01T00:00:00.0001Z',
  '2026-01-01T00:00:00',
];
const NUMBERS = [-1, -0, 0, 1, 2, 50, 50.5, 2 ** 53];
const HOSTILE = [
  '../docs',
  'docs/../x',
  'docs//a',
  'docs/.',
  '~',
  'docs\\a',
  '50',
  '5e1',
  'do\u200bcs',
  'ｄｏｃｓ',
  ' docs',
];
const OTHERS = [true, false, null, [], ['docs'], {}, { x: 1 }];

/** Values that a call may have, many of them odd. */
export const anyValue: fc.Arbitrary<unknown> = fc.constantFrom<unknown>(
  undefined,
  ...TEXTS,
  ...ADDRESSES,
  ...URLS,
  ...DATES,
  ...TIMES,
  ...NUMBERS,
  ...HOSTILE,
  ...OTHERS,
);

const some = <Value>(values: readonly Value[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 3 });
const points = fc.constantFrom<readonly (number | string)[]>(
  NUMBERS,
  DATES.slice(0, 2),
  TIMES.slice(0, 2),
);
const range = points.chain((kind) =>
  fc.record(
    { at_least: fc.constantFrom(...kind), at_most: fc.constantFrom(...kind) },
    { requiredKeys: [] },
  ),
);
const lists = fc.record(
  {
    starts_with: some(['do', 'docs', 'ab', 'abc']),
    under: some(['docs', 'docs/a', 'src', '/docs']),
    email_domain: some(['example.com', '*.example.com', 'eu.example.com']),
    url_under: some([
      'https://example.com',
      'https://example.com/v1',
      'https://*.example.com/v1',
      'http://example.com',
    ]),
  },
  { requiredKeys: [] },
);
const listed = fc.oneof(
  some([...TEXTS, ...ADDRESSES, ...URLS, ...DATES].filter((each) => each !== '')),
  some(NUMBERS),
  some([true, false]),
);
const written: fc.Arbitrary<object> = fc.oneof(
  { arbitrary: range, weight: 3 },
  { arbitrary: lists, weight: 3 },
  { arbitrary: listed.map((one_of) => ({ one_of })), weight: 3 },
  {
    arbitrary: fc.tuple(listed, range).map(([one_of, bounds]) => ({ one_of, ...bounds })),
    weight: 1,
  },
  fc.constantFrom({ absent: true }, { any: true }, { same: digestOf('docs') }),
);

/** In canonical form. */
export const anyCondition: fc.Arbitrary<Condition> = fc
  .tuple(written, fc.boolean())
  .map(([each, orAbsent]) => readConditions({ x: orAbsent ? { ...each, or_absent: true } : each }))
  .filter((read) => 'conditions' in read)
  .map((read) => ('conditions' in read ? (read.conditions.x as Condition) : assert.fail()));
