import assert from 'node:assert/strict';
import { test } from 'vitest';
import { hiddenFields, hiddenIn, hiddenWords, piecesOf } from './hidden.ts';

test('hiddenIn() names each character and counts the characters before it', () => {
  assert.deepEqual(hiddenIn('canc\u202eelled'), [
    { code: 'U+202E', name: 'RIGHT-TO-LEFT OVERRIDE', at: 4 },
  ]);
  assert.deepEqual(
    hiddenIn('😀\u200b\u0007a\u2003').map(({ code, at }) => [code, at]),
    [
      ['U+200B', 1],
      ['U+0007', 2],
      ['U+2003', 4],
    ],
  );
  assert.deepEqual(hiddenIn('Zürich → 250.00 €'), []);
});

test('hiddenIn() finds the bracket of a mark that somebody wrote', () => {
  const [first] = hiddenIn('⟨U+202E⟩');

  assert.deepEqual(first?.code, 'U+27E8');
  assert.equal(piecesOf('⟨U+202E⟩').join(''), '⟨U+27E8⟩U+202E⟨U+27E9⟩');
});

test('hiddenFields() finds texts and names at any depth', () => {
  const value = { a: [{ 'b\u200b': 'plain' }, 'x\u202e'], c: 1, d: null };

  assert.deepEqual(
    hiddenFields(value).map(({ path, text }) => [path, text]),
    [
      ['name of a.0.b\u200b', 'b\u200b'],
      ['a.1', 'x\u202e'],
    ],
  );
});

test('hiddenWords() says where each character is', () => {
  assert.equal(
    hiddenWords(hiddenIn('a\u202eb\u200c')),
    'U+202E RIGHT-TO-LEFT OVERRIDE, after character 1; U+200C ZERO WIDTH NON-JOINER, after character 3',
  );
});
