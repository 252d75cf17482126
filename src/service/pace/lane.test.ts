import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'vitest';
import { Refusal } from '../../domain/failure.ts';
import { system } from '../../platform.ts';
import { createLane, type Lane, type LaneBounds } from './lane.ts';
import { createSlicer } from './slices.ts';

const BOUNDS: LaneBounds = {
  runningMax: 2,
  runningPerShareMax: 2,
  openMax: 4,
  openPerShareMax: 2,
  waitingMax: 4,
  waitingPerShareMax: 2,
  waitMs: 60_000,
};

interface Work {
  readonly result: Promise<string>;
  finish(): void;
  readonly client: { gone: AbortController; delivered: AbortController };
}

/** Work that runs until `finish()` is called, and records when it starts. */
function start(lane: Lane, share: string, started: string[], holdsUnread = false): Work {
  const client = { gone: new AbortController(), delivered: new AbortController() };
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const ask = {
    gone: () => client.gone.signal,
    ...(holdsUnread && { delivered: () => client.delivered.signal }),
  };
  const result = lane.run(share, ask, async () => {
    started.push(share);
    await finished;
    return share;
  });
  result.catch(() => undefined);
  return { result, finish, client };
}

async function isNoPlace(work: Work): Promise<void> {
  await assert.rejects(work.result, (error) => {
    assert.ok(error instanceof Refusal);
    assert.equal(error.failure.type, 'service_unavailable');
    assert.equal(error.failure.resolution.estimated_availability, 'PT1S');
    assert.match(error.failure.detail, /too many long queries/);
    return true;
  });
}

test('run() starts waiting work when running work ends', async () => {
  const started: string[] = [];
  const lane = createLane(system, createSlicer(system), BOUNDS);
  const [a, b] = ['a', 'b', 'c'].map((share) => start(lane, share, started));
  await setImmediate();
  assert.deepEqual(started, ['a', 'b']);

  a?.finish();

  assert.equal(await a?.result, 'a');
  await setImmediate();
  assert.deepEqual(started, ['a', 'b', 'c']);
  b?.finish();
});

test('run() refuses only the share that has used up its places', async () => {
  const started: string[] = [];
  const lane = createLane(system, createSlicer(system), BOUNDS);
  const greedy = Array.from({ length: 5 }, () => start(lane, 'greedy', started));
  const honest = start(lane, 'honest', started);

  await isNoPlace(greedy[4] as Work);
  greedy[0]?.finish();
  await setImmediate();

  // The last share to arrive is served before the rest of the greedy one.
  assert.deepEqual(started, ['greedy', 'greedy', 'honest']);
  honest.finish();
  await setImmediate();
  assert.deepEqual(started, ['greedy', 'greedy', 'honest', 'greedy']);
});

test('run() refuses every share when too many wait', async () => {
  const started: string[] = [];
  const lane = createLane(system, createSlicer(system), BOUNDS);
  for (const share of ['a', 'b', 'c', 'd', 'e', 'f']) start(lane, share, started);

  await isNoPlace(start(lane, 'g', started));
});

test('run() holds a place until the client has read the answer', async () => {
  const started: string[] = [];
  const lane = createLane(system, createSlicer(system), BOUNDS);
  const unread = [0, 1].map(() => start(lane, 'slow', started, true));
  for (const work of unread) work.finish();
  await Promise.all(unread.map(({ result }) => result));
  const waiting = start(lane, 'slow', started, true);
  const other = start(lane, 'other', started, true);
  await setImmediate();
  assert.deepEqual(started, ['slow', 'slow', 'other']);

  unread[0]?.client.delivered.abort();
  await setImmediate();

  assert.deepEqual(started, ['slow', 'slow', 'other', 'slow']);
  waiting.finish();
  other.finish();
});

test('run() bounds the unread answers of all shares together', async () => {
  const started: string[] = [];
  const lane = createLane(system, createSlicer(system), BOUNDS);
  const unread: Work[] = [];
  for (const share of ['a', 'b', 'c', 'd']) {
    const work = start(lane, share, started, true);
    work.finish();
    await work.result;
    unread.push(work);
  }
  const next = start(lane, 'e', started);
  await setImmediate();
  assert.deepEqual(started, ['a', 'b', 'c', 'd']);

  unread[2]?.client.delivered.abort();
  await setImmediate();

  assert.equal(started.at(-1), 'e');
  next.finish();
});

test('run() frees the place of failed work at once', async () => {
  const lane = createLane(system, createSlicer(system), { ...BOUNDS, runningMax: 1, openMax: 1 });
  const delivered = () => new AbortController().signal;
  for (let i = 0; i < 3; i++) {
    const failing = lane.run('a', { delivered }, async () => {
      throw new Error('broken');
    });
    await assert.rejects(failing, /broken/);
  }

  assert.equal(await lane.run('a', {}, async () => 'done'), 'done');
});

test('run() drops waiting work whose caller has left, and frees its place', async () => {
  const started: string[] = [];
  const lane = createLane(system, createSlicer(system), BOUNDS);
  const running = [0, 1].map(() => start(lane, 'a', started));
  const waiting = [0, 1].map(() => start(lane, 'a', started));

  for (const { client } of waiting) client.gone.abort();

  for (const { result } of waiting) await assert.rejects(result, /the caller has left/);
  const again = [0, 1].map(() => start(lane, 'a', started));
  for (const work of [...running, ...again]) work.finish();
  assert.equal((await Promise.all(again.map(({ result }) => result))).length, 2);
  assert.equal(started.length, 4);
});

test('run() refuses work that has waited too long', async () => {
  const started: string[] = [];
  const lane = createLane(system, createSlicer(system), { ...BOUNDS, waitMs: 1 });
  const running = [0, 1].map(() => start(lane, 'a', started));

  await isNoPlace(start(lane, 'a', started));

  for (const work of running) work.finish();
  const next = start(lane, 'b', started);
  next.finish();
  assert.equal(await next.result, 'b');
});

test('run() leaves a running place for a second share', async () => {
  const started: string[] = [];
  const lane = createLane(system, createSlicer(system), { ...BOUNDS, runningPerShareMax: 1 });
  const greedy = [0, 1].map(() => start(lane, 'greedy', started));
  const honest = start(lane, 'honest', started);
  await setImmediate();

  assert.deepEqual(started, ['greedy', 'honest']);
  for (const work of [...greedy, honest]) work.finish();
});
