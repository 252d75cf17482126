import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'vitest';
import { endOfTurn } from './turn.ts';

test('endOfTurn() lets all that wait go on together, after what was already under way', async () => {
  const order: string[] = [];
  const first = endOfTurn().then(() => order.push('first'));
  await Promise.resolve().then(() => order.push('work of the same turn'));
  const second = endOfTurn().then(() => order.push('second'));

  await Promise.all([first, second]);

  assert.deepEqual(order, ['work of the same turn', 'first', 'second']);
});

test('endOfTurn() begins a new turn for those that come later', async () => {
  const before = endOfTurn();
  await before;

  assert.notEqual(endOfTurn(), before);
  await turn();
});
