import assert from 'node:assert/strict';
import { test, vi } from 'vitest';
import { foundIn } from '../../../../test/store/observe.ts';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import { at, entry } from '../../../../test/support/fixtures.ts';
import { connectedTo, freshDatabase } from '../../../../test/support/postgres.ts';
import { BLOCK_ENTRIES } from '../../log/blocks.ts';
import { openPostgres } from '../store.ts';

/** In milliseconds. */
const SLOW = 60_000;

async function openFresh() {
  const { url } = await freshDatabase();
  const admin = await connectedTo(url);
  return { url, admin, store: closedAtEnd(await openPostgres(url, { poolSize: 2 })) };
}

test('queries find every entry of other segments where one is missing, also when a block has them', {
  timeout: SLOW,
}, async () => {
  const { url, admin, store } = await openFresh();
  for (let task = 0; task < BLOCK_ENTRIES; task += 128) {
    const tasks = Array.from({ length: 128 }, (_, n) => entry({ task_id: `task ${task + n}` }));
    await store.append(tasks);
    await store.sequence();
  }
  const { rows } = await admin.query('SELECT first, count FROM segments ORDER BY first');
  const { first, count } = rows[2];
  await admin.query('ALTER TABLE segments DISABLE TRIGGER USER');
  await admin.query('DELETE FROM segments WHERE first = $1', [first]);
  await admin.query('DELETE FROM blocks');
  await admin.query('DELETE FROM buckets');
  const other = closedAtEnd(await openPostgres(url, { poolSize: 2 }));

  const below = await foundIn(other, { taskId: `task ${Number(first) - 1}`, limit: 2 });
  const above = await foundIn(other, { taskId: `task ${Number(first) + count}`, limit: 2 });

  assert.deepEqual([below.length, above.length], [1, 1]);
  await other.append([entry()]);
  await other.sequence();
  assert.equal((await foundIn(other, { taskId: 'task 1000', limit: 2 })).length, 1);
});

/** The clock of the third block ran ahead. */
const TIMES = [0, 1, 5_000, 3, 4, 5];

test('queries by time find a block that the clock dated too late, while others are made again', {
  timeout: SLOW,
}, async () => {
  const { admin, store } = await openFresh();
  const append = async (time: number) => {
    const timestamp = at(time).toISOString();
    await store.append(Array.from({ length: BLOCK_ENTRIES }, () => entry({ timestamp })));
    await store.sequence();
  };
  for (const time of TIMES) await append(time);
  const blocks = async () => {
    const { rows } = await admin.query('SELECT latest FROM blocks ORDER BY first');
    return rows.map(({ latest }) => Number(latest));
  };
  const expected = TIMES.map((_, n) => at(Math.max(...TIMES.slice(0, n + 1))).getTime());
  await vi.waitFor(async () => assert.deepEqual(await blocks(), expected), { timeout: 20_000 });
  await admin.query('UPDATE blocks SET newest = 0 WHERE first >= 2048 AND first < 4096');

  const late = { since: at(100), limit: BLOCK_ENTRIES };
  await vi.waitFor(
    async () => {
      assert.equal((await foundIn(store, late)).length, BLOCK_ENTRIES);
      assert.deepEqual(await blocks(), expected);
    },
    { timeout: 20_000 },
  );

  assert.deepEqual(await store.inspect(), []);
});

test('erase() takes no entry before the time that it states where its row was edited, and mends the row', {
  timeout: SLOW,
}, async () => {
  const { admin, store } = await openFresh();
  const timestamp = at(0).toISOString();
  await store.append([entry({ timestamp, retention: 'PT1S' }), entry({ timestamp })]);
  await store.sequence();
  await admin.query(`UPDATE retentions SET retain_until = 'epoch'`);
  await admin.query(`INSERT INTO retentions VALUES ('epoch', 1)`);
  const erase = (milliseconds: number) =>
    store.erase({ what: 'stated', until: at(milliseconds), limit: 10 });
  const leaves = async () => (await store.scanEntries(0, 10)).map(({ leaf }) => leaf !== undefined);

  await erase(999);
  assert.deepEqual(await leaves(), [true, true]);

  await erase(1_000);
  assert.deepEqual(await leaves(), [false, true]);
});
