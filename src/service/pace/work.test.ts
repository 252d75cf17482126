import assert from 'node:assert/strict';
import { test } from 'vitest';
import { system } from '../../platform.ts';
import { run, type Steps, wait } from '../../steps.ts';
import { createWorkInProgress } from './work.ts';

test('finish() waits for work that other work started', async () => {
  const work = createWorkInProgress(system);
  let late = false;
  const first = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    void work.track(
      new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        late = true;
      }),
    );
  });
  void work.track(first);

  assert.equal(await work.finish(60_000), 0);
  assert.equal(late, true);
});

test('finish() returns the number of running calls when the time is up', async () => {
  const work = createWorkInProgress(system);
  void work.track(new Promise(() => undefined));

  assert.equal(await work.finish(1), 1);
});

test('finish() resolves when work has failed', async () => {
  const work = createWorkInProgress(system);
  work.track(Promise.reject(new Error('broken'))).catch(() => undefined);

  assert.equal(await work.finish(60_000), 0);
});

test('finish() waits for the steps of a call, whether they return or throw', async () => {
  const work = createWorkInProgress(system);
  const ends: (() => void)[] = [];
  const ended: string[] = [];
  function* call(name: string): Steps<void> {
    yield* wait(new Promise<void>((resolve) => void ends.push(resolve)));
    ended.push(name);
    if (name === 'broken') throw new Error(name);
  }
  const calls = ['whole', 'broken'].map(async (name) => run(work.during(call(name))));
  const finishing = work.finish(60_000).then((left) => ended.push(`${left} left`));

  assert.equal(await work.finish(1), 2);
  for (const end of ends) end();
  await Promise.allSettled(calls);
  await finishing;
  assert.deepEqual(ended, ['whole', 'broken', '0 left']);
});
