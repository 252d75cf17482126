import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, vi } from 'vitest';
import { attackFile, editEntry, withField } from '../../../../test/log/raw-segments.ts';
import { foundIn } from '../../../../test/store/observe.ts';
import { closedAtEnd, temporaryFolder } from '../../../../test/support/ends.ts';
import { at, entry } from '../../../../test/support/fixtures.ts';
import { BLOCK_ENTRIES } from '../../log/blocks.ts';
import type { Store } from '../../port/store.ts';
import { openConnection } from '../connection.ts';
import { createSqliteStore, openSqlite } from '../store.ts';

const SEGMENT = '(SELECT max(first) FROM segments WHERE first < 500)';

/** Faults of one segment in the middle of the last entries. */
const FAULTS: readonly (readonly [name: string, sql: string])[] = [
  ['has a line less', `UPDATE segments SET leaves = x'' WHERE first = ${SEGMENT}`],
  ['says that it has fewer entries', `UPDATE segments SET count = 1 WHERE first = ${SEGMENT}`],
  ['says that it has more entries', `UPDATE segments SET count = 150 WHERE first = ${SEGMENT}`],
  ['says that it has a billion', `UPDATE segments SET count = 1e9 WHERE first = ${SEGMENT}`],
  ['says that it has none', `UPDATE segments SET count = -9 WHERE first = ${SEGMENT}`],
  ['has a hash less', `UPDATE segments SET hashes = substr(hashes, 33) WHERE first = ${SEGMENT}`],
  ['is missing', `DELETE FROM segments WHERE first = ${SEGMENT}`],
];

/** Every fourth task, and all of the segment that is damaged and beside it. */
function asked(task: number): boolean {
  return task % 4 === 0 || (task > 470 && task < 530);
}

/** The tasks that queries do not find. */
async function lostTasks(store: Store, count: number): Promise<number[]> {
  const lost: number[] = [];
  for (let task = 0; task < count; task++) {
    if (!asked(task)) continue;
    const found = await foundIn(store, { taskId: `task ${task}`, limit: 2 });
    if (found.length !== 1) lost.push(task);
  }
  return lost;
}

for (const [name, sql] of FAULTS) {
  test(`queries find every entry of other segments where one ${name}, also when a block has them`, async () => {
    const file = join(temporaryFolder(), 'writ.db');
    const before = await openSqlite(file);
    for (let task = 0; task < 900; task += 100) {
      await before.append(
        Array.from({ length: 100 }, (_, n) => entry({ task_id: `task ${task + n}` })),
      );
    }
    await before.close();
    let damaged: number[] = [];
    attackFile(file, (raw) => {
      const row = raw.prepare(`SELECT first, count FROM segments WHERE first = ${SEGMENT}`).get();
      const { first, count } = row as { first: number; count: number };
      damaged = Array.from({ length: count }, (_, n) => first + n);
      raw.exec(sql);
    });
    const store = closedAtEnd(await openSqlite(file));

    assert.deepEqual(await lostTasks(store, 900), damaged.filter(asked));
    await store.append(
      Array.from({ length: BLOCK_ENTRIES - 900 }, (_, n) => entry({ task_id: `task ${900 + n}` })),
    );

    assert.deepEqual(await lostTasks(store, BLOCK_ENTRIES), damaged.filter(asked));
  });
}

/** The clock of the third block ran ahead. */
const TIMES = [0, 1, 5_000, 3, 4, 5, 6, 7, 8, 9];

for (const [name, harm] of [
  ['all but the first are missing', 'DELETE FROM blocks WHERE first > 0'],
  ['all are missing', 'DELETE FROM blocks'],
  [
    'the head of it and of a later one are damaged',
    'UPDATE blocks SET newest = 0 WHERE first >= 2048 AND first < 5000',
  ],
] as const) {
  test(`queries by time find a block that the clock dated too late, and upkeep makes blocks again where ${name}`, async () => {
    const connection = openConnection(':memory:');
    const store = closedAtEnd(createSqliteStore(connection));
    const append = async (time: number) => {
      const timestamp = at(time).toISOString();
      await store.append(Array.from({ length: BLOCK_ENTRIES }, () => entry({ timestamp })));
    };
    for (const time of TIMES.slice(0, -1)) await append(time);
    connection.script(harm);
    // Makes the blocks of the last entries again.
    await append(TIMES.at(-1) as number);
    const late = { since: at(100), limit: BLOCK_ENTRIES };

    await vi.waitFor(
      async () => {
        assert.equal((await foundIn(store, late)).length, BLOCK_ENTRIES);
        await foundIn(store, { capability: 'none', limit: 1 });
        assert.deepEqual(await store.inspect(), []);
      },
      { timeout: 20_000 },
    );

    assert.equal((await foundIn(store, late)).length, BLOCK_ENTRIES);
    const rows = connection.all<{ latest: bigint }>('SELECT latest FROM blocks ORDER BY first');
    const latest = TIMES.map((_, block) => at(Math.max(...TIMES.slice(0, block + 1))).getTime());
    assert.deepEqual(
      rows.map((row) => Number(row.latest)),
      latest,
    );
  }, 30_000);
}

test('an entry whose retention has no end is refused alone', async () => {
  const store = closedAtEnd(await openSqlite(':memory:'));

  const results = await Promise.allSettled([
    store.append([entry()]),
    store.append([entry({ retention: 'P100000000D' })]),
    store.append([entry()]),
  ]);

  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
});

test('erase() takes no entry before the time that it states where its row was edited, and mends the row', async () => {
  const connection = openConnection(':memory:');
  const store = closedAtEnd(createSqliteStore(connection));
  const timestamp = at(0).toISOString();
  await store.append([entry({ timestamp, retention: 'PT1S' }), entry({ timestamp })]);
  connection.script('UPDATE retentions SET retain_until = 0; INSERT INTO retentions VALUES (0, 1)');
  const erase = (milliseconds: number) =>
    store.erase({ what: 'stated', until: at(milliseconds), limit: 10 });
  const leaves = async () => (await store.scanEntries(0, 10)).map(({ leaf }) => leaf !== undefined);

  await erase(999);
  assert.deepEqual(await leaves(), [true, true]);

  await erase(1_000);
  assert.deepEqual(await leaves(), [false, true]);
});

for (const [field, value] of [
  ['retention', 'for ever'],
  ['capability', null],
  ['timestamp', 'now'],
] as const) {
  test(`other entries are found, indexed and erased where ${field} of one was changed to ${value}`, async () => {
    const file = join(temporaryFolder(), 'writ.db');
    const before = await openSqlite(file);
    const tasks = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) => entry({ task_id: `task ${from + n}` }));
    await before.append(tasks(0, 500));
    await before.close();
    attackFile(file, (raw) =>
      editEntry(raw, 7, ({ leaf }) => ({ leaf: withField(leaf, field, value) })),
    );
    const store = closedAtEnd(await openSqlite(file));

    await store.append(tasks(500, BLOCK_ENTRIES - 500));
    const found = await foundIn(store, { taskId: 'task 6', limit: 2 });
    const last = await foundIn(store, { taskId: `task ${BLOCK_ENTRIES - 1}`, limit: 2 });
    assert.deepEqual([found.length, last.length], [1, 1]);

    const eventClass = 'low_risk_success';
    await store.erase({ what: 'contents', eventClass, until: at(1e6), limit: 2_000 });
    const kept = (await store.scanEntries(0, 2_000)).filter(({ leaf }) => leaf !== undefined);
    assert.deepEqual(
      kept.map(({ sequence }) => sequence),
      [7],
    );
  });
}
