import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createVerifiedTexts, type Verified } from './verified-texts.ts';

const one: Verified = { kid: 'a', use: 'token', typ: 'svc-delegation+jwt' };
const two: Verified = { kid: 'b', use: 'token', typ: 'svc-delegation+jwt' };

test('get() knows exactly the texts that were added', () => {
  const texts = createVerifiedTexts();
  texts.add('text', one);

  assert.equal(texts.get('text'), one);
  assert.equal(texts.get('Text'), undefined);
  assert.equal(texts.get('text '), undefined);
});

test('add() forgets the text that was used longest ago when there are too many', () => {
  const texts = createVerifiedTexts({ texts: 2, characters: 100 });
  texts.add('first', one);
  texts.add('second', one);

  texts.get('first');
  texts.add('third', one);

  assert.equal(texts.get('second'), undefined);
  assert.equal(texts.get('first'), one);
  assert.equal(texts.get('third'), one);
});

test('add() forgets texts until the characters fit', () => {
  const texts = createVerifiedTexts({ texts: 100, characters: 10 });
  texts.add('aaaa', one);
  texts.add('bbbb', one);

  texts.add('cccccc', one);

  assert.equal(texts.get('aaaa'), undefined);
  assert.equal(texts.get('bbbb'), one);
  assert.equal(texts.get('cccccc'), one);
});

test('add() keeps no text that is longer than all may be', () => {
  const texts = createVerifiedTexts({ texts: 100, characters: 10 });
  texts.add('a'.repeat(11), one);

  assert.equal(texts.get('a'.repeat(11)), undefined);
});

test('add() counts a text once however often it is added or read', () => {
  const texts = createVerifiedTexts({ texts: 100, characters: 10 });
  for (let i = 0; i < 50; i += 1) {
    texts.add('aaaaa', two);
    texts.get('aaaaa');
  }
  texts.add('bbbbb', one);

  assert.equal(texts.get('aaaaa'), two);
  assert.equal(texts.get('bbbbb'), one);
});
