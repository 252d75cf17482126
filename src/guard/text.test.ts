import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { shownJson, shownLine, shownText } from './text.ts';

test('shownLine() stays in one line and hides nothing', () => {
  assert.equal(
    shownLine('a\nb\u2028c\u202ed\u{e0041}', 100),
    'a\\u{a}b\\u{2028}c\\u{202e}d\\u{e0041}',
  );
  assert.equal(shownLine('abc', 2), 'ab…');
  assert.equal(shownLine('a\u{1f600}', 2), 'a…');
});

test('shownText() keeps lines', () => {
  assert.equal(shownText('a\r\n\tb\u200bc', 100), 'a\n\tb\\u{200b}c');
});

test('shownJson() keeps the value of every text', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string({ unit: 'binary' }), (value, text) => {
      const json = JSON.stringify({ value, [text]: text }, null, 2);
      assert.deepEqual(JSON.parse(shownJson(json)), JSON.parse(json));
    }),
  );
});
