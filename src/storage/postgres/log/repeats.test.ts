import assert from 'node:assert/strict';
import type pg from 'pg';
import { beforeEach, test } from 'vitest';
import { emptyStore } from '../../../../test/support/empty-store.ts';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import { entry } from '../../../../test/support/fixtures.ts';
import { connectedTo } from '../../../../test/support/postgres.ts';
import type { EntryRecord } from '../../../domain/log/entry.ts';
import { createSight } from '../../log/search.ts';
import { OutcomeUnknown, type Store } from '../../port/store.ts';
import { type Database, openDatabase } from '../connection.ts';
import { settingsOf } from '../options.ts';
import { openPostgres } from '../store.ts';
import { appendIn, rowValues } from './entries.ts';
import { createRepeats, type Repeats } from './repeats.ts';

let url: string;
let store: Store;
let database: Database;
let repeats: Repeats;
let admin: pg.Client;

beforeEach(async () => {
  ({ url } = await emptyStore());
  store = closedAtEnd(await openPostgres(url, { poolSize: 2 }));
  database = closedAtEnd(openDatabase(url, settingsOf({}), 2));
  repeats = memory();
  admin = await connectedTo(url);
});

/** What a process remembers. It gives up soon. */
function memory(): Repeats {
  const { sequence } = store;
  return createRepeats({ database, sight: createSight(), sequence, resolveTimeoutMs: 100 });
}

const append = (entries: readonly EntryRecord[], batch: string) =>
  database.transaction((session) => appendIn(session, { entries, bindings: [] }, batch));

const lost = () => Promise.reject(new OutcomeUnknown('the answer was lost'));

async function logged(): Promise<string[]> {
  const { size } = await store.sequence();
  return (await store.scanEntries(0, size + 1)).map(({ entry_id }) => entry_id);
}

test('unstored() leaves out an entry whose attempt committed and lost its answer', async () => {
  const one = entry();
  const attempt = repeats.attempt([one], async (batch) => {
    await append([one], batch);
    return lost();
  });
  await assert.rejects(attempt, OutcomeUnknown);

  assert.deepEqual(await repeats.unstored([one]), []);
  // The attempt was repeated until the store gave up.
  assert.deepEqual(await logged(), [one.entry_id]);
});

test('unstored() makes an attempt void that never committed, so that it cannot commit later', async () => {
  const one = entry();
  let handed = '';
  const attempt = repeats.attempt([one], (batch) => {
    handed = batch;
    return lost();
  });
  await assert.rejects(attempt, OutcomeUnknown);

  assert.deepEqual(await repeats.unstored([one]), [one]);
  assert.deepEqual(await repeats.unstored([one]), [one], 'the answer stays the same');
  await repeats.attempt([one], (batch) => append([one], batch));
  assert.equal(await append([one], handed), false, 'the lost attempt arrives at last');

  assert.deepEqual(await logged(), [one.entry_id]);
});

test('unstored() leaves out a committed entry whose batch the database has forgotten', async () => {
  const one = entry();
  const attempt = repeats.attempt([one], async (batch) => {
    await append([one], batch);
    return lost();
  });
  await assert.rejects(attempt, OutcomeUnknown);
  // As upkeep does after an hour, or at once when the clock of the server is set forward.
  await admin.query('DELETE FROM handed');

  assert.deepEqual(await repeats.unstored([one]), []);
});

for (const [end, left] of [
  ['COMMIT', 0],
  ['ROLLBACK', 1],
] as const) {
  test(`unstored() waits for an attempt that is still under way, and sees its ${end}`, async () => {
    const one = entry();
    let handed = '';
    const attempt = repeats.attempt([one], (batch) => {
      handed = batch;
      return lost();
    });
    await assert.rejects(attempt, OutcomeUnknown);
    await admin.query('BEGIN');
    await admin.query('INSERT INTO handed (batch) VALUES ($1)', [handed]);
    const text = 'INSERT INTO queue (count, hashes, leaves, personal) VALUES ($1, $2, $3, $4)';
    await admin.query(text, rowValues([one]).slice(0, 4));

    const unstored = repeats.unstored([one]);
    const observer = await connectedTo(url);
    while ((await observer.query(WAITING)).rowCount === 0) await turn();
    await admin.query(end);

    assert.equal((await unstored).length, left);
    assert.equal((await logged()).length, 1 - left);
  });
}

const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO handed%'`;

const turn = () => new Promise((done) => setTimeout(done, 5));

test('unstored() finds in the log what another process has stored', async () => {
  const [stored, other] = [entry(), entry()];
  await store.append([stored]);

  assert.deepEqual(await memory().unstored([other, stored]), [other]);
});

test('unstored() refuses an entry whose id another entry has', async () => {
  const one = entry();
  await store.append([one]);

  await assert.rejects(
    repeats.unstored([entry({ entry_id: one.entry_id })]),
    /another entry has this id/,
  );
});

test('append() of two processes stores an entry once when the second repeats the first', async () => {
  const second = closedAtEnd(await openPostgres(url, { poolSize: 2 }));
  const one = entry();
  await store.append([one]);

  await Promise.all([
    second.append([one], [], undefined, true),
    store.append([one], [], undefined, true),
  ]);

  assert.deepEqual(await logged(), [one.entry_id]);
});
