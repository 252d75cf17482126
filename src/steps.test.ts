import assert from 'node:assert/strict';
import { test } from 'vitest';
import { all, begunWith, run, type Steps, wait } from './steps.ts';

function* sum(...values: (number | Promise<number>)[]): Steps<number> {
  let total = 0;
  for (const value of values) total += yield* wait(value);
  return total;
}

test('steps that wait for nothing return at once, and throw at once', () => {
  function* broken(): Steps<never> {
    throw new Error(`${yield* sum(1)} at once`);
  }

  assert.equal(run(sum(1, 2)), 3);
  assert.throws(() => run(broken()), /at once/);
});

test('steps wait for each promise in its place', async () => {
  assert.equal(await run(sum(1, Promise.resolve(2), 3, Promise.resolve(4))), 10);
});

test('a value with a member "then" that is no function is here', () => {
  const value: object = JSON.parse('{"then":"soon"}');

  assert.equal(run(wait(value)), value);
});

test('a rejection is thrown where the steps wait, and they may go on', async () => {
  function* mended(): Steps<string> {
    try {
      yield* sum(1, Promise.reject(new Error('lost')));
    } catch (error) {
      return `${(error as Error).message} ${yield* wait(Promise.resolve('and found'))}`;
    }
    return 'not lost';
  }

  assert.equal(await run(mended()), 'lost and found');
});

test('an error of the steps after a wait is the rejection, and runs no step twice', async () => {
  let runs = 0;
  function* broken(): Steps<never> {
    yield* wait(Promise.resolve());
    runs += 1;
    throw new Error('later');
  }

  await assert.rejects(async () => run(broken()), /later/);
  assert.equal(runs, 1);
});

test('all() begins every work, also after one that fails at once, and handles each rejection', async () => {
  const begun: string[] = [];
  function* failing(): Steps<never> {
    begun.push('failing');
    throw new Error(`first ${yield* sum()}`);
  }
  function* later(): Steps<never> {
    begun.push('later');
    return yield* wait(Promise.reject(new Error('second')));
  }

  await assert.rejects(async () => all([later(), failing(), later()]), /first|second/);
  assert.deepEqual(begun, ['later', 'failing', 'later']);
  assert.deepEqual(all([sum(1), sum(2)]), [1, 2]);
});

test('begunWith() calls when the steps first wait, or when they end without waiting', async () => {
  const order: string[] = [];
  function* work(...values: readonly (number | Promise<number>)[]) {
    order.push('work');
    const total = yield* sum(...values);
    order.push('end');
    return total;
  }
  const begun = () => void order.push('begun');

  assert.equal(run(begunWith(work(1, 2), begun)), 3);
  assert.deepEqual(order.splice(0), ['work', 'end', 'begun']);
  assert.equal(await run(begunWith(work(1, Promise.resolve(2), Promise.resolve(3)), begun)), 6);
  assert.deepEqual(order.splice(0), ['work', 'begun', 'end']);
});

test('begunWith() passes a rejection to its steps, and what they throw to its caller', async () => {
  function* caught() {
    try {
      return yield* wait(Promise.reject(new Error('late')));
    } catch (error) {
      return (error as Error).message;
    }
  }
  const ignore = () => undefined;

  assert.equal(await run(begunWith(caught(), ignore)), 'late');
  const failing = begunWith(sum(1, Promise.reject(new Error('lost'))), ignore);
  await assert.rejects(async () => run(failing), /lost/);
});
