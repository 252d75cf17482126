import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'vitest';
import { system } from '../../platform.ts';
import { createTurns } from './turn.ts';

const turns = createTurns(system);

test('end() comes after what took its place in the turn before it began', async () => {
  const order: string[] = [];
  const store = nextTurn().then(async () => {
    await Promise.resolve();
    order.push('what the store let go on');
  });
  turns.begin();
  const first = turns.end().then(() => order.push('first answer'));
  await Promise.resolve();
  turns.begin();
  const second = turns.end().then(() => order.push('second answer'));

  await Promise.all([store, first, second]);

  assert.deepEqual(order, ['what the store let go on', 'first answer', 'second answer']);
});

test('end() without a turn resolves when no promise job is left', async () => {
  const order: string[] = [];
  const answers = [1, 2, 3].map(async (steps) => {
    for (let step = 0; step < 5 * steps; step += 1) await Promise.resolve();
    order.push(`ready ${steps}`);
    await turns.end();
    order.push(`gone ${steps}`);
  });

  await Promise.all(answers);

  assert.deepEqual(order, ['ready 1', 'ready 2', 'ready 3', 'gone 1', 'gone 2', 'gone 3']);
});
