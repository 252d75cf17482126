import assert from 'node:assert/strict';
import { test } from 'vitest';
import { system } from '../../platform.ts';
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
