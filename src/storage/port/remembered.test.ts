import assert from 'node:assert/strict';
import { test } from 'vitest';
import { remembered } from './remembered.ts';

test('remembered() makes one value for a text, and returns it again', () => {
  const made: string[] = [];
  const lengthOf = remembered(2, (text) => {
    made.push(text);
    return { length: text.length };
  });

  assert.equal(lengthOf('abc'), lengthOf('abc'));
  assert.deepEqual(lengthOf('ab'), { length: 2 });
  assert.deepEqual(made, ['abc', 'ab']);
});

test('remembered() drops the oldest text beyond its bound', () => {
  const made: string[] = [];
  const shout = remembered(2, (text) => {
    made.push(text);
    return text.toUpperCase();
  });

  for (const text of ['a', 'b', 'c', 'b', 'c', 'a']) shout(text);

  assert.deepEqual(made, ['a', 'b', 'c', 'a']);
});
