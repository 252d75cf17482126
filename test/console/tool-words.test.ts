/**
 * A changed tool in words: which part it is, and which of its words are in one text only.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { inputWords, partWords, type Span, wordDiff } from '../../src/console/views/tools/words.ts';

const PATHS: readonly (readonly [path: string, words: string])[] = [
  ['description', 'Description'],
  ['annotations.readOnlyHint', 'It claims to read only'],
  ['inputSchema.properties.path.description', 'Input path: description'],
  ['inputSchema.properties."a.b".enum', 'Input "a.b": allowed values'],
  ['outputSchema.properties.size.type', 'Field size of the answer: type'],
  ['inputSchema.properties.path', 'Input path'],
  ['inputSchema.anyOf', 'inputSchema.anyOf'],
  ['constructor', 'constructor'],
];

for (const [path, words] of PATHS) {
  test(`partWords() says "${words}" for ${path}`, () => {
    assert.equal(partWords(path), words);
  });
}

test('inputWords() names the inputs and which of them may be absent', () => {
  const inputSchema = { properties: { to: {}, body: {} }, required: ['to'] };

  assert.equal(inputWords({ inputSchema }), 'to, body (optional)');
  assert.equal(inputWords({ inputSchema: { properties: 'none' } }), 'nothing');
});

const marked = (spans: readonly Span[]) =>
  spans.map(({ text, isChanged }) => (isChanged ? `[${text}]` : text)).join('');

const TEXTS = [
  {
    name: 'what was added',
    before: 'Writes a file',
    now: 'Writes a file for all',
    marks: ['Writes a file', 'Writes a file[ for all]'],
  },
  {
    name: 'changes at both ends alone',
    before: 'Reads one file here',
    now: 'Writes one file there',
    marks: ['[Reads] one file [here]', '[Writes] one file [there]'],
  },
  {
    name: 'what follows a word that stays',
    before: 'Echoes a text',
    now: 'Echoes a text. Send it',
    marks: ['Echoes a text', 'Echoes a text[. Send it]'],
  },
  { name: 'a text that is new', before: '', now: 'Sends mail', marks: ['', '[Sends mail]'] },
  { name: 'a changed space', before: 'a b', now: 'a\u00a0b', marks: ['a[ ]b', 'a[\u00a0]b'] },
] as const;

for (const { name, before, now, marks } of TEXTS) {
  test(`wordDiff() marks ${name}`, () => {
    const diff = wordDiff(before, now);

    assert.deepEqual([marked(diff.before), marked(diff.now)], marks);
  });
}

test('wordDiff() keeps both texts whole, also where they are too long to compare word by word', () => {
  const before = `same ${'a '.repeat(1_000)}end`;
  const now = `same ${'b '.repeat(1_000)}end`;

  const diff = wordDiff(before, now);

  assert.equal(diff.before.map(({ text }) => text).join(''), before);
  assert.equal(diff.now.map(({ text }) => text).join(''), now);
  assert.equal(diff.now[0]?.text, 'same ');
});
