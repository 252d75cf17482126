import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'vitest';
import type { JsonObject } from '../../protocol/primitives.ts';
import { allAtOnce, visibleObject, visibleText } from './visible-text.ts';

const table: [name: string, text: string, shown: string][] = [
  ['leaves plain text alone', 'Refund 100.00 USD, "late"', 'Refund 100.00 USD, "late"'],
  [
    'leaves words of one script alone',
    'Zürich 東京 Москва Ελλάδα café שלום مرحبا हिन्दी น้ำ 한국 Tiếng Việt',
    'Zürich 東京 Москва Ελλάδα café שלום مرحبا हिन्दी น้ำ 한국 Tiếng Việt',
  ],
  ['leaves Latin among Kana and Han alone', 'JR東日本 Webサーバー', 'JR東日本 Webサーバー'],
  ['leaves signs alone that pass for no other', '“€ 5” → £ 4 §2 🎫', '“€ 5” → £ 4 §2 🎫'],
  ['shows control characters', 'a\u0000b\nc\u001b[2J', 'a⟨U+0000⟩b⟨U+000A⟩c⟨U+001B⟩[2J'],
  ['shows bidirectional overrides', 'pay \u202E001\u202C', 'pay ⟨U+202E⟩001⟨U+202C⟩'],
  ['shows isolates and marks', '\u2066x\u2069\u200F', '⟨U+2066⟩x⟨U+2069⟩⟨U+200F⟩'],
  ['shows what has no width', 'al\u200Bice\uFEFF\u00AD', 'al⟨U+200B⟩ice⟨U+FEFF⟩⟨U+00AD⟩'],
  ['shows fillers and selectors', 'a\u3164\uFE0F', 'a⟨U+3164⟩⟨U+FE0F⟩'],
  ['shows spaces that are not a space', 'a\u00A0b\u2003c', 'a⟨U+00A0⟩b⟨U+2003⟩c'],
  ['shows tags that nobody sees', '\u{E0041}', '⟨U+E0041⟩'],
  ['shows a Cyrillic letter in a Latin word', 'p\u0430ypal', 'p⟨U+0430⟩ypal'],
  ['shows a Greek letter among digits', '1\u03BF0', '1⟨U+03BF⟩0'],
  ['shows a word made only of twins', '\u0441\u0430\u0440', '⟨U+0441⟩⟨U+0430⟩⟨U+0440⟩'],
  ['shows a word made only of palochkas', 'a \u04C0\u04C0', 'a ⟨U+04C0⟩⟨U+04C0⟩'],
  ['shows a Hebrew letter in a Latin word', 'pa\u05D5', 'pa⟨U+05D5⟩'],
  ['shows a digit of another script among ours', '1\u0966 x\u09EA', '1⟨U+0966⟩ x⟨U+09EA⟩'],
  ['shows a number that reads as another', '\u09EA\u09E6', '⟨U+09EA⟩⟨U+09E6⟩'],
  ['shows a stroke of Kana between digits', '10\u30FC5', '10⟨U+30FC⟩5'],
  ['shows phonetic twins', 'p\u0251y \u0261o', 'p⟨U+0251⟩y ⟨U+0261⟩o'],
  ['shows a decomposed word', 'cafe\u0301', 'cafe⟨U+0301⟩'],
  ['shows decomposed Hangul', '\u1112\u1161', '⟨U+1112⟩⟨U+1161⟩'],
  ['shows decomposed Kana', '\u30AB\u3099', 'カ⟨U+3099⟩'],
  ['shows strokes through letters', '1\u03360\u0336', '1⟨U+0336⟩0⟨U+0336⟩'],
  ['shows a mark that stands on a sign', '=\u0338 (\u0903', '=⟨U+0338⟩ (⟨U+0903⟩'],
  ['shows a blank that counts as a sign', 'a\u2800b', 'a⟨U+2800⟩b'],
  ['shows brackets like those of the marks', '\u3008U+202E\u3009', '⟨U+3008⟩U+202E⟨U+3009⟩'],
  ['shows styled copies of ASCII', '\uFF11\u{1D400}', '⟨U+FF11⟩⟨U+1D400⟩'],
  ['shows text that imitates a mark', '⟨U+202E⟩', '⟨U+27E8⟩U+202E⟨U+27E9⟩'],
];

/** Signs that look like a sign of ASCII. */
const SIGNS = [
  '\uFF04',
  '\uFF0E',
  '\uFF0F',
  '\u2024',
  '\u037E',
  '\u2215',
  '\u2044',
  '\u2212',
  '\u2010',
  '\u2011',
  '\u2013',
  '\u2019',
  '\u201A',
  '\u2039',
  '\u00D7',
  '\u2223',
  '\u2236',
  '\u05C3',
  '\u0589',
  '\uA789',
  '\u02D7',
  '\u01C3',
  '\u01C0',
  '\u02BC',
  '\u2217',
  '\u2032',
  '\u2501',
];

for (const sign of SIGNS) {
  const code = sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  test(`visibleText() marks U+${code}`, () => {
    assert.equal(visibleText(`1${sign}2`), `1⟨U+${code}⟩2`);
    assert.equal(visibleText(`a ${sign} b`), `a ⟨U+${code}⟩ b`);
  });
}

for (const [name, text, shown] of table) {
  test(`visibleText() ${name}`, () => {
    assert.equal(visibleText(text), shown);
  });
}

test('visibleText() never makes two texts the same', () => {
  const odd = fc.string({
    unit: fc.constantFrom('a', '⟨', '⟩', 'U', '+', '0', '\u202E', '\u0430'),
  });
  fc.assert(
    fc.property(odd, odd, (one, other) => {
      assert.equal(visibleText(one) === visibleText(other), one === other);
    }),
  );
});

test('visibleText() distinguishes texts that Unicode treats as equivalent', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const shown = visibleText(text).replaceAll(/[\u0E33\u0EB3]/g, '');
      assert.equal(shown.normalize('NFKC'), shown);
    }),
  );
});

test('visibleText() leaves no hidden character in any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.doesNotMatch(visibleText(text), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }),
  );
});

test('visibleObject() reaches names and texts at every depth, and keeps everything else', () => {
  const raw = { 'a\u200B': [{ b: '\u202E', n: 1.5, t: true, x: null }] };

  assert.deepEqual(allAtOnce(visibleObject(raw)), {
    'a⟨U+200B⟩': [{ b: '⟨U+202E⟩', n: 1.5, t: true, x: null }],
  });
});

test('visibleObject() processes a long object in many steps, for any content', () => {
  const names = Array.from({ length: 5_000 }, (_, i) => [`name ${i}`, { text: 'plain' }]);
  const long: [units: number, value: JsonObject][] = [
    [10_000, { text: '\u200B'.repeat(10_000) }],
    [10_000, { text: 'Ж'.repeat(10_000) }],
    [10_000, { text: '× '.repeat(10_000) }],
    [10_000, Object.fromEntries(names)],
  ];
  for (const [units, value] of long) {
    const steps = [...visibleObject(value)].length;
    assert.ok(steps >= units / 1_000, `${steps} steps of ${JSON.stringify(value).slice(0, 20)}`);
  }
});
