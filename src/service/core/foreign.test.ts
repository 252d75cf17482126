import assert from 'node:assert/strict';
import { runInNewContext } from 'node:vm';
import { test } from 'vitest';
import { ask, type Heard } from './foreign.ts';

class Other<Value> extends Promise<Value> {}

const heardFrom = async (code: () => unknown): Promise<Heard> => ask(code, (heard) => heard);

/** So many thenables, each of which resolves with the next one, and then the end. */
function chained(count: number, end: unknown): unknown {
  if (count === 0) return end;
  return thenable((resolve) => resolve(chained(count - 1, end)));
}

type Settle = (value: unknown) => void;

function thenable(then: (resolve: Settle, reject: Settle) => void): object {
  return Object.fromEntries([['then', then]]);
}

test.each<[string, () => unknown]>([
  ['a value', () => 'done'],
  ['a promise', async () => 'done'],
  ['a promise of another kind', () => Other.resolve('done')],
  ['a promise of another realm', () => runInNewContext('Promise.resolve("done")')],
  [
    'a promise with a `then` of its own',
    () => Object.assign(Promise.resolve(), chained(1, 'done')),
  ],
  ['eight thenables', () => chained(8, 'done')],
  ['eight thenables and a promise', () => chained(8, Promise.resolve('done'))],
])('ask() hears what %s holds', async (_what, code) => {
  assert.deepEqual(await heardFrom(code), { returned: 'done' });
});

const BROKEN = new Error('broken');

test.each<[string, () => unknown]>([
  ['rejects', () => Promise.reject(BROKEN)],
  ['is of another kind and rejects', () => Other.reject(BROKEN)],
  ['is reached through thenables and rejects', () => chained(8, Promise.reject(BROKEN))],
  ['throws in its `then`', () => thenable(() => thrown(BROKEN))],
])('ask() hears the error of a promise that %s', async (_what, code) => {
  assert.deepEqual(await heardFrom(code), { thrown: BROKEN });
});

function thrown(error: Error): never {
  throw error;
}

test('ask() gives up a chain after eight thenables, and handles a rejection of the ninth', async () => {
  const handlers: unknown[] = [];
  const ninth = thenable((...given) => void handlers.push(...given));

  const heard = await heardFrom(() => chained(8, ninth));

  assert.match(String('thrown' in heard && heard.thrown), /without an end/);
  assert.deepEqual(
    handlers.map((each) => typeof each),
    ['function', 'function'],
  );
});

test('ask() continues once, at once where nothing waits, and passes on what the next step throws', async () => {
  for (const code of [() => 1, () => thrown(BROKEN), () => chained(2, 1), async () => 1]) {
    let count = 0;
    const next = () => {
      count += 1;
      throw new Error('next');
    };
    await assert.rejects(async () => ask(code, next), /next/);
    assert.equal(count, 1);
  }
  assert.deepEqual(
    ask(
      () => 1,
      (heard) => heard,
    ),
    { returned: 1 },
  );
});
