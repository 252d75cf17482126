import assert from 'node:assert/strict';
import { runInNewContext } from 'node:vm';
import { test } from 'vitest';
import { run, type Steps } from '../../steps.ts';
import { callForeign, type Heard } from './foreign.ts';

class Other<Value> extends Promise<Value> {}

const heardFrom = async (code: () => unknown): Promise<Heard> => run(callForeign(code));

const LATER = Object.fromEntries([['then', (resolve: (value: string) => void) => resolve('done')]]);

test.each<[string, () => unknown]>([
  ['a value', () => 'done'],
  ['a promise', async () => 'done'],
  ['a promise of another kind', () => Other.resolve('done')],
  ['a promise of another realm', () => runInNewContext('Promise.resolve("done")')],
  ['a thenable', () => LATER],
])('callForeign() hears what %s holds', async (_what, code) => {
  assert.deepEqual(await heardFrom(code), { returned: 'done' });
});

const BROKEN = new Error('broken');

test.each<[string, () => unknown]>([
  ['rejects', () => Promise.reject(BROKEN)],
  ['is of another kind and rejects', () => Other.reject(BROKEN)],
])('callForeign() hears the error of a promise that %s', async (_what, code) => {
  assert.deepEqual(await heardFrom(code), { thrown: BROKEN });
});

function thrown(error: Error): never {
  throw error;
}

test('callForeign() hears at once what does not wait, and reports no error of the steps after it', async () => {
  function* next(code: () => unknown): Steps<never> {
    yield* callForeign(code);
    throw new Error('next');
  }

  for (const code of [() => 1, () => thrown(BROKEN), () => LATER, async () => 1]) {
    await assert.rejects(async () => run(next(code)), /next/);
  }
  assert.deepEqual(run(callForeign(() => 1)), { returned: 1 });
});
