/**
 * Real service processes that are killed while they spend: no overspend, nothing spent twice, and an
 * entry for every call that was acknowledged or admitted.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { openStore } from '../../src/storage/open.ts';
import { ALICE } from '../invoke/principals.ts';
import { buildProgram, issue, newPlace, post, type Running, start } from '../invoke/processes.ts';
import { startProxy } from '../invoke/proxy.ts';
import { allClosed, assertHonest } from '../kills/honest.ts';
import { type Heard, heardMore, spendUnder } from '../kills/load.ts';
import { closedAtEnd } from '../support/ends.ts';
import { freshDatabase } from '../support/postgres.ts';

const KILLS = 2;

/** Answers that must have been heard before each kill, so that every life of a process did some work. */
const HEARD_PER_LIFE = 6;
const TEST_MS_MAX = 180_000;

await buildProgram();

/** Kills again and again, each time a moment after a process has shown that it works. */
async function killAll(known: Heard, kill: (n: number) => Promise<void>): Promise<void> {
  for (let n = 0; n < KILLS; n++) {
    await heardMore(known, HEARD_PER_LIFE, TEST_MS_MAX / 2);
    await sleep(Math.random() * 200);
    await kill(n);
  }
}

test('two processes on one PostgreSQL respect a budget while they are killed at random', {
  timeout: TEST_MS_MAX,
}, async () => {
  const database = await freshDatabase();
  const place = newPlace(database.url);
  const processes: Running[] = [await start(place), await start(place)];
  const known = await spendUnder({ urls: () => processes.map(({ url }) => url) }, (heard) =>
    killAll(heard, async (n) => {
      await processes[n % 2]?.kill();
      processes[n % 2] = await start(place);
    }),
  );
  await allClosed(place);

  await assertHonest(closedAtEnd(await openStore(place.store)), place, known);
});

test('a process on a SQLite file respects a budget over every kill and restart', {
  timeout: TEST_MS_MAX,
}, async () => {
  const place = newPlace();
  let running = await start(place);
  const known = await spendUnder({ urls: () => [running.url] }, (heard) =>
    killAll(heard, async () => {
      await running.kill();
      running = await start(place);
    }),
  );
  await allClosed(place);
  await running.stop();

  await assertHonest(closedAtEnd(await openStore(place.store)), place, known);
});

/** What fsck finds at this moment, whether or not processes run. */
async function findingsIn(url: string) {
  const store = await openStore(url);
  const { findings } = await checkStore(store);
  await store.close();
  return findings;
}

for (const kind of ['SQLite file', 'PostgreSQL'] as const) {
  test(`composed calls on a ${kind} leave a ledger that equals the log, for a kill at any time`, {
    timeout: TEST_MS_MAX,
  }, async () => {
    const database = kind === 'PostgreSQL' ? await freshDatabase() : undefined;
    const place = newPlace(database?.url);
    let running = await start(place);
    await spendUnder({ urls: () => [running.url], capability: 'trip' }, (heard) =>
      killAll(heard, async () => {
        await running.kill();
        assert.deepEqual(await findingsIn(place.store), []);
        running = await start(place);
      }),
    );
    await allClosed(place);
  });
}

test('a call whose answer was lost after the commit gets the same answer when repeated', {
  timeout: TEST_MS_MAX,
}, async () => {
  const place = newPlace();
  const running = await start(place);
  const { hostname: host, port } = new URL(running.url);
  const proxy = closedAtEnd(await startProxy({ host, port: Number(port) }));
  const { token } = await issue(running.url, ALICE, {});
  const throughProxy = `http://127.0.0.1:${proxy.port}`;
  for (let round = 0; round < 10; round++) {
    proxy.cutAfter(0);
    const call = (base: string) =>
      post(
        `${base}/svc/invoke/pay`,
        token,
        { parameters: {}, client_reference_id: `cut-${round}` },
        { headers: { 'idempotency-key': `cut-${round}` } },
      );

    await assert.rejects(call(throughProxy));
    const again = await call(running.url);
    const text = await again.text();

    assert.equal(again.status, 200);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.ok(proxy.lost().at(-1)?.toString().endsWith(text));
  }
  const effects = readFileSync(place.effects, 'utf8').trimEnd().split('\n');
  assert.equal(effects.length, 10);
});
