import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createRecent } from './recent.ts';

test('get() finds exactly the keys that were set', () => {
  const recent = createRecent<string, number>(10);
  recent.set('text', 1);

  assert.equal(recent.get('text'), 1);
  assert.equal(recent.get('Text'), undefined);
  assert.equal(recent.get('text '), undefined);
});

test('set() forgets keys that were not used recently when there are too many', () => {
  const recent = createRecent<string, number>(2);
  recent.set('first', 1);
  recent.set('second', 2);

  recent.get('first');
  recent.set('third', 3);

  assert.equal(recent.get('second'), undefined);
  assert.equal(recent.get('first'), 1);
  assert.equal(recent.get('third'), 3);
});

test('set() never keeps more than the bound, and always the last half of it', () => {
  const max = 10;
  const recent = createRecent<number, number>(max);
  const keys = Array.from({ length: 97 }, (_, key) => key);
  for (const key of keys) recent.set(key, key);

  const lately = keys.slice(-max / 2);
  const earlier = keys.slice(0, -max);
  assert.deepEqual(lately.map(recent.get), lately);
  assert.deepEqual(
    earlier.filter((key) => recent.get(key) !== undefined),
    [],
  );
});

test('set() replaces a value in either half, and its old value never returns', () => {
  const recent = createRecent<string, number>(4);
  recent.set('a', 1);
  recent.set('b', 1);
  recent.set('c', 1);

  recent.set('a', 2);
  recent.set('d', 1);
  recent.set('e', 1);

  assert.notEqual(recent.get('a'), 1);
});

test('set() counts by weight, and refuses a key heavier than half of the bound', () => {
  const recent = createRecent<string, number>(10, (key) => key.length);
  recent.set('aaa', 1);
  recent.set('bbb', 2);
  recent.set('ccc', 3);
  recent.set('d'.repeat(6), 4);

  assert.equal(recent.get('aaa'), undefined);
  assert.equal(recent.get('bbb'), 2);
  assert.equal(recent.get('ccc'), 3);
  assert.equal(recent.get('d'.repeat(6)), undefined);
});

test('set() weighs a key once, for any number of sets and reads', () => {
  const recent = createRecent<string, number>(10, (key) => key.length);
  for (let i = 0; i < 50; i++) {
    recent.set('aaaaa', i);
    recent.get('aaaaa');
  }
  recent.set('bbbbb', 1);

  assert.equal(recent.get('aaaaa'), 49);
  assert.equal(recent.get('bbbbb'), 1);
});
