import assert from 'node:assert/strict';
import { test } from 'vitest';
import { system } from '../../platform.ts';
import { startRepeating } from './repeated.ts';

/** Longer than any test: only a nudge runs the task. */
const NEVER_MS = 3_600_000;

/** A task whose runs end on request. */
function gated() {
  const open: (() => void)[] = [];
  let beside = 0;
  let most = 0;
  const task = async () => {
    beside += 1;
    most = Math.max(most, beside);
    await new Promise<void>((resolve) => open.push(resolve));
    beside -= 1;
  };
  return { task, open, most: () => most };
}

const unexpected = (error: unknown) => assert.fail(String(error));

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('nudge() during a run starts one more run after it, never a parallel one', async () => {
  const { task, open, most } = gated();
  const job = startRepeating(system, task, NEVER_MS, unexpected);

  job.nudge();
  job.nudge();
  job.nudge();
  assert.equal(open.length, 1);
  open[0]?.();
  await turn();
  assert.equal(open.length, 2);
  open[1]?.();
  await turn();

  assert.equal(open.length, 2);
  assert.equal(most(), 1);
  await job.stop();
});

test('startRepeating() reports a failed run and goes on', async () => {
  const errors: unknown[] = [];
  let runs = 0;
  const failing = async () => {
    runs += 1;
    throw new Error('once');
  };
  const job = startRepeating(system, failing, NEVER_MS, (error) => errors.push(error));

  job.nudge();
  await turn();
  job.nudge();
  await turn();

  assert.equal(runs, 2);
  assert.equal(errors.length, 2);
  await job.stop();
});

test('stop() waits for the current run and starts no other', async () => {
  const { task, open } = gated();
  const job = startRepeating(system, task, 1, unexpected);
  job.nudge();
  job.nudge();
  let isStopped = false;

  const stopping = job.stop().then(() => {
    isStopped = true;
  });
  await turn();
  assert.equal(isStopped, false);
  open[0]?.();
  await stopping;
  job.nudge();
  await turn();

  assert.equal(open.length, 1);
});
