import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import { visibleObject, visibleText } from './visible-text.ts';

const table: [name: string, text: string, shown: string][] = [
  ['leaves plain text alone', 'Refund 100.00 USD, "late"', 'Refund 100.00 USD, "late"'],
  [
    'leaves words of one script alone',
    'Zürich 東京 Москва Ελλάδα café',
    'Zürich 東京 Москва Ελλάδα café',
  ],
  ['shows control characters', 'a\u0000b\nc\u001b[2J', 'a⟨U+0000⟩b⟨U+000A⟩c⟨U+001B⟩[2J'],
  ['shows bidirectional overrides', 'pay \u202E001\u202C', 'pay ⟨U+202E⟩001⟨U+202C⟩'],
  ['shows isolates and marks', '\u2066x\u2069\u200F', '⟨U+2066⟩x⟨U+2069⟩⟨U+200F⟩'],
  ['shows what has no width', 'al\u200Bice\uFEFF\u00AD', 'al⟨U+200B⟩ice⟨U+FEFF⟩⟨U+00AD⟩'],
  ['shows fillers and selectors', 'a\u3164\uFE0F', 'a⟨U+3164⟩⟨U+FE0F⟩'],
  ['shows spaces that are no space', 'a\u00A0b\u2003c', 'a⟨U+00A0⟩b⟨U+2003⟩c'],
  ['shows tags that nobody sees', '\u{E0041}', '⟨U+E0041⟩'],
  ['shows a Cyrillic letter in a Latin word', 'p\u0430ypal', 'p⟨U+0430⟩ypal'],
  ['shows a Greek letter among digits', '1\u03BF0', '1⟨U+03BF⟩0'],
  ['shows a word made only of twins', '\u0441\u0430\u0440', '⟨U+0441⟩⟨U+0430⟩⟨U+0440⟩'],
  ['shows styled copies of ASCII', '\uFF11\u{1D400}', '⟨U+FF11⟩⟨U+1D400⟩'],
  ['shows text that imitates a mark', '⟨U+202E⟩', '⟨U+27E8⟩U+202E⟩'],
];

for (const [name, text, shown] of table) {
  test(`visibleText() ${name}`, () => {
    assert.equal(visibleText(text), shown);
  });
}

test('visibleText() never makes two texts look the same', () => {
  const odd = fc.string({
    unit: fc.constantFrom('a', '⟨', '⟩', 'U', '+', '0', '\u202E', '\u0430'),
  });
  fc.assert(
    fc.property(odd, odd, (one, other) => {
      assert.equal(visibleText(one) === visibleText(other), one === other);
    }),
  );
});

test('visibleText() leaves nothing hidden in any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.doesNotMatch(visibleText(text), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

test('visibleObject() reaches names and texts at every depth, and keeps everything else', () => {
  const raw = { 'a\u200B': [{ b: '\u202E', n: 1.5, t: true, x: null }] };

  assert.deepEqual(visibleObject(raw), {
    'a⟨U+200B⟩': [{ b: '⟨U+202E⟩', n: 1.5, t: true, x: null }],
  });
});
