import assert from 'node:assert/strict';
import { test } from 'vitest';
import { sentenceOf } from './sentence.ts';

const table: [progress: unknown, sentence: string][] = [
  [{ month: 1, of: 3 }, 'Month 1 of 3.'],
  [{ rows_written: 40, total: 100 }, 'Rows written 40 of 100.'],
  [{ message: 'Searching', found: 12 }, 'Searching, found 12.'],
  [{ total: 5 }, 'Total 5.'],
  [{ flights: ['a', 'b'], cached: true, error: null }, '2 flights, cached yes.'],
  [{ step: { name: 'book', at: 2, of: 4 } }, 'Step name book, at 2 of 4.'],
  ['Almost there!', 'Almost there!'],
  [0.5, '0.5.'],
  [{}, 'Step 7.'],
  [null, 'Step 7.'],
  [{ note: 'two\nlines\u0007 and\u001b[31m more' }, 'Note two lines and [31m more.'],
  [{ a: { b: { c: { d: 1 } } } }, 'Step 7.'],
];
for (const [progress, sentence] of table) {
  test(`sentenceOf() says "${sentence}" of ${JSON.stringify(progress)}`, () => {
    assert.equal(sentenceOf(progress, 7), sentence);
  });
}

test('sentenceOf() cuts what is too long between characters', () => {
  const long = sentenceOf(`x${'😀'.repeat(1_000)}`, 1);

  assert.ok(long.length <= 1_001);
  assert.equal(Buffer.from(long).toString(), long);
});

test('sentenceOf() tells of the first members of a wide event', () => {
  const wide = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`n${n}`, n]));

  assert.equal(sentenceOf(wide, 1).split(', ').length, 12);
});
