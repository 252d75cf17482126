import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'vitest';
import { type Platform, system } from '../../platform.ts';
import { StoreUnavailable } from '../port/store.ts';
import { createBatcher, createSharing } from './batch.ts';

interface Trip {
  readonly requests: readonly number[];
  arrive(): void;
  fail(error: Error): void;
}

/** A platform whose timers run when the test says so. */
function untimed() {
  const timers: (() => void)[] = [];
  const after: Platform['after'] = (_, run) => {
    timers.push(run);
    return { unref: () => undefined };
  };
  return {
    platform: { ...system, after, cancel: () => undefined },
    /** The trip of this number takes long. */
    late: (place: number) => timers[place]?.(),
  };
}

/** A batcher whose trips end when the test says so. */
function tripping(
  limits: { sizeMax: number; tripsMax: number },
  platform: Pick<Platform, 'turn' | 'after' | 'cancel'> = untimed().platform,
) {
  const trips: Trip[] = [];
  const ask = createBatcher<number, string>(platform, limits, (requests) => {
    return new Promise((resolve, reject) => {
      const arrive = () => resolve(requests.map((request) => `answer ${request}`));
      trips.push({ requests, arrive, fail: reject });
    });
  });
  const trip = (place: number) => trips[place] as Trip;
  return { ask, trips, trip };
}

test('createBatcher() sends requests of one turn together, and answers each its own', async () => {
  const { ask, trips, trip } = tripping({ sizeMax: 10, tripsMax: 1 });

  const answers = [ask(1), ask(2), ask(3)];
  await turn();
  trip(0).arrive();

  assert.deepEqual(trips[0]?.requests, [1, 2, 3]);
  assert.deepEqual(await Promise.all(answers), ['answer 1', 'answer 2', 'answer 3']);
});

test('createBatcher() never lets a request join a trip that has left', async () => {
  const { ask, trips, trip } = tripping({ sizeMax: 10, tripsMax: 1 });

  const first = ask(1);
  await turn();
  const second = ask(2);
  const third = ask(3);
  await turn();
  assert.equal(trips.length, 1, 'one trip at a time');
  trip(0).arrive();
  await first;
  await turn();
  trip(1).arrive();
  await Promise.all([second, third]);

  assert.deepEqual(trips[1]?.requests, [2, 3]);
});

test('createBatcher() keeps to the size of a trip and to the number of trips', async () => {
  const { ask, trips, trip } = tripping({ sizeMax: 2, tripsMax: 2 });

  const answers = [1, 2, 3, 4, 5].map(ask);
  await turn();
  await turn();
  await turn();
  assert.deepEqual(
    trips.map(({ requests }) => requests),
    [
      [1, 2],
      [3, 4],
    ],
  );
  trip(0).arrive();
  trip(1).arrive();
  await Promise.all(answers.slice(0, 4));
  await turn();
  trip(2).arrive();

  assert.deepEqual(trips[2]?.requests, [5]);
  assert.equal(await answers[4], 'answer 5');
});

test('createBatcher() collects requests while a trip is under way', async () => {
  const { ask, trips, trip } = tripping({ sizeMax: 3, tripsMax: 2 });

  const answers = [ask(1)];
  await turn();
  answers.push(ask(2));
  await turn();
  assert.equal(trips.length, 1, 'the second trip is not full');
  answers.push(ask(3), ask(4));
  await turn();
  trip(0).arrive();
  trip(1).arrive();

  assert.deepEqual(trips[1]?.requests, [2, 3, 4]);
  assert.equal(await answers[3], 'answer 4');
});

test('createBatcher() sends another trip when the one before is late, and none beyond their number', async () => {
  const { platform, late } = untimed();
  const { ask, trips, trip } = tripping({ sizeMax: 10, tripsMax: 2 }, platform);

  const answers = [ask(1)];
  await turn();
  answers.push(ask(2));
  late(0);
  await turn();
  answers.push(ask(3));
  late(1);
  await turn();
  assert.deepEqual(
    trips.map(({ requests }) => requests),
    [[1], [2]],
  );
  trip(0).arrive();
  await answers[0];
  await turn();
  trip(1).arrive();
  trip(2).arrive();

  assert.deepEqual(trips[2]?.requests, [3]);
  assert.deepEqual(await Promise.all(answers), ['answer 1', 'answer 2', 'answer 3']);
});

test('createBatcher() collects again after a late trip has arrived', async () => {
  const { platform, late } = untimed();
  const { ask, trips, trip } = tripping({ sizeMax: 10, tripsMax: 3 }, platform);

  const first = ask(1);
  await turn();
  late(0);
  trip(0).arrive();
  await first;
  const second = ask(2);
  await turn();
  const third = ask(3);
  await turn();
  assert.equal(trips.length, 2, 'the second trip is not late');
  trip(1).arrive();
  await second;
  await turn();
  trip(2).arrive();

  assert.equal(await third, 'answer 3');
});

test('createBatcher() rejects all requests of a trip that fails, and none of the next', async () => {
  const { ask, trip } = tripping({ sizeMax: 10, tripsMax: 1 });

  const failed = [ask(1), ask(2)].map((answer) => assert.rejects(answer, /lost/));
  await turn();
  trip(0).fail(new Error('lost'));
  await Promise.all(failed);
  const next = ask(3);
  await turn();
  trip(1).arrive();

  assert.equal(await next, 'answer 3');
});

test('createBatcher() lets one answer reject alone', async () => {
  const ask = createBatcher<number, string>(
    system,
    { sizeMax: 10, tripsMax: 1 },
    async (requests) => {
      return requests.map((request) => {
        return request === 2 ? Promise.reject(new Error('two')) : `answer ${request}`;
      });
    },
  );

  const results = await Promise.allSettled([ask(1), ask(2), ask(3)]);

  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
});

/** Changes of which those above nine are at fault, and what was tried in which company. */
function sharing(failure: Error) {
  const tried: (readonly number[])[] = [];
  async function together(requests: readonly number[]): Promise<string[]> {
    tried.push(requests);
    if (requests.some((request) => request > 9)) throw failure;
    return requests.map((request) => `answer ${request}`);
  }
  const alone = async (request: number) => (await together([request]))[0] as string;
  return { tried, share: createSharing(system, { sizeMax: 10, tripsMax: 1 }, { together, alone }) };
}

test('createSharing() runs each alone when one of them is defective', async () => {
  const { tried, share } = sharing(new Error('defect'));

  const results = await Promise.allSettled([1, 10, 2].map(share));

  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.message)),
    ['answer 1', 'defect', 'answer 2'],
  );
  assert.deepEqual(tried, [[1, 10, 2], [1], [10], [2]]);
});

test('createSharing() rejects all of them when the store fails, and retries nothing', async () => {
  const { tried, share } = sharing(new StoreUnavailable('down'));

  const results = await Promise.allSettled([1, 10, 2].map(share));

  assert.deepEqual(
    results.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
  assert.deepEqual(tried, [[1, 10, 2]]);
});
