import assert from 'node:assert/strict';
import { test } from 'vitest';
import { system } from '../../platform.ts';
import { createJobs } from './jobs.ts';

const timing = { platform: system, pauseMs: 1, restMs: 1 };

const unexpected = (error: unknown) => assert.fail(String(error));

function held() {
  let release = () => {};
  const done = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { done, release: () => release() };
}

test('run() runs one job at a time, and once more for all requests meanwhile', async () => {
  const first = held();
  let [runs, atOnce] = [0, 0];
  const jobs = createJobs(
    async () => {
      runs += 1;
      atOnce += 1;
      assert.equal(atOnce, 1);
      if (runs === 1) await first.done;
      atOnce -= 1;
    },
    unexpected,
    timing,
  );

  const asked = [jobs.run(), jobs.run(), jobs.run()];
  first.release();
  await Promise.all(asked);

  assert.equal(runs, 2);
});

test('run() goes on after a job that failed', async () => {
  const errors: unknown[] = [];
  let runs = 0;
  const jobs = createJobs(
    async () => {
      runs += 1;
      if (runs === 1) throw new Error('once');
    },
    (error) => errors.push(error),
    timing,
  );

  await jobs.run();
  await jobs.run();

  assert.equal(runs, 2);
  assert.equal(errors.length, 1);
});

test('close() waits for the job that runs, and drops requests that wait', async () => {
  const first = held();
  let runs = 0;
  const jobs = createJobs(
    async () => {
      runs += 1;
      await first.done;
    },
    unexpected,
    timing,
  );
  void jobs.run();
  void jobs.run();
  jobs.soon();

  const closing = jobs.close();
  first.release();
  await closing;

  assert.equal(runs, 1);
});
