import assert from 'node:assert/strict';
import { test } from 'vitest';
import { closedAtEnd } from '../../../../test/ends.ts';
import { connectedTo, freshDatabase, runSql } from '../../../../test/postgres.ts';
import type { EntryRecord, StoredEntry } from '../../../domain/log/entry.ts';
import { appendLeaves, foldPeaks, rootOf } from '../../../domain/log/merkle.ts';
import { ORIGIN_SPAN } from '../../../domain/log/origin.ts';
import { at, entry } from '../../../testing/fixtures.ts';
import { openDatabase } from '../connection.ts';
import { settingsOf } from '../options.ts';
import { openPostgres } from '../store.ts';
import { ENTRY_COLUMNS } from './log.ts';
import { MIGRATIONS, SEGMENTED } from './migrations.ts';
import { moveLog } from './segments.ts';

/** Two slices and a part of one, and a second log. */
const FIRST_LOG = 2_300;
const SECOND_LOG = 40;
const QUEUED = 70;

/** In milliseconds. */
const SLOW = { timeout: 60_000 };

interface Old {
  readonly url: string;
  readonly logs: readonly (readonly EntryRecord[])[];
  readonly queued: readonly EntryRecord[];
}

/** A store of the version before segments: two logs, erased entries, and a queue. */
async function oldStore(): Promise<Old> {
  const { url } = await freshDatabase();
  const client = await connectedTo(url);
  await client.query(`CREATE TABLE meta (one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL, log_id text NOT NULL DEFAULT gen_random_uuid()::text)`);
  await client.query('INSERT INTO meta (version) VALUES ($1)', [SEGMENTED - 1]);
  for (const step of MIGRATIONS.slice(0, SEGMENTED - 1)) await client.query(step as string);
  const logs = [FIRST_LOG, SECOND_LOG].map((count) => {
    return Array.from({ length: count }, (_, index) => {
      const timestamp = at(index * 1_000).toISOString();
      return entry({ timestamp, task_id: `task ${index}`, ...(index === 7 && STATED) });
    });
  });
  const columns = ['sequence', 'latest', ...ENTRY_COLUMNS];
  const insert = `INSERT INTO log (${columns.join(', ')})
    VALUES (${columns.map((_, place) => `$${place + 1}`).join(', ')})`;
  for (const [log, entries] of logs.entries()) {
    for (const [index, one] of entries.entries()) {
      const values = ENTRY_COLUMNS.map((name) => one[name]);
      await client.query(insert, [log * ORIGIN_SPAN + index, one.timestamp, ...values]);
    }
  }
  await client.query('INSERT INTO origins (first, log_id) VALUES ($1, $2)', [
    ORIGIN_SPAN,
    'second',
  ]);
  await client.query(`UPDATE log SET ${ERASED} WHERE sequence = 3`);
  await client.query(`UPDATE log SET ${ERASED}, leaf = NULL, capability = NULL, invocation_id = NULL,
    parent_invocation_id = NULL WHERE sequence = 4`);
  const leaves = logs[1]?.map(({ leaf_hash }) => leaf_hash) ?? [];
  const { peaks } = appendLeaves(0, [], leaves);
  await client.query('UPDATE head SET size = $1, peaks = $2', [
    ORIGIN_SPAN + SECOND_LOG,
    [...peaks],
  ]);
  const queued = Array.from({ length: QUEUED }, () => entry());
  const enqueue = `INSERT INTO queue (${ENTRY_COLUMNS.join(', ')})
    VALUES (${ENTRY_COLUMNS.map((_, place) => `$${place + 1}`).join(', ')})`;
  for (const one of queued)
    await client.query(
      enqueue,
      ENTRY_COLUMNS.map((name) => one[name]),
    );
  await client.end();
  return { url, logs, queued };
}

const STATED = { retention: 'P1D' };
const ERASED = `personal = NULL, actor_key = '', root_principal = '', client_reference_id = NULL,
  task_id = NULL`;

async function checkMoved({ url, logs, queued }: Old): Promise<void> {
  const store = closedAtEnd(await openPostgres(url));
  const [first = [], second = []] = logs;
  const head = await store.sequence();
  const found: StoredEntry[] = [];
  for (let from = 0; ; ) {
    const page = await store.scanEntries(from, 500);
    found.push(...page);
    if (page.length === 0) break;
    from = (page.at(-1) as StoredEntry).sequence + 1;
  }

  const all = [...first, ...second, ...queued];
  assert.deepEqual(
    found.map(({ entry_id }) => entry_id),
    all.map(({ entry_id }) => entry_id),
  );
  assert.deepEqual(
    found.map(({ leaf }) => leaf && Buffer.from(leaf)),
    all.map(({ leaf }, place) => (place === 4 ? undefined : Buffer.from(leaf))),
  );
  assert.equal(found.filter(({ personal }) => !personal).length, 2);
  assert.equal(head.size, SECOND_LOG + queued.length);
  const leaves = [...second, ...queued].map(({ leaf_hash }) => leaf_hash);
  assert.deepEqual(Buffer.from(foldPeaks(head.peaks)), Buffer.from(rootOf(leaves)));
  const { entries } = await store.queryEntries({ taskId: 'task 20', limit: 5 });
  assert.deepEqual(
    entries.map(({ sequence }) => sequence),
    [ORIGIN_SPAN + 20, 20],
  );
  assert.deepEqual((await store.queryEntries({ taskId: 'task 3', limit: 5 })).entries.length, 1);
  assert.deepEqual(await store.inspect(), []);
  assert.deepEqual(await runSql(url, 'SELECT place::int FROM retentions WHERE place < 100'), [
    { place: 7 },
  ]);
  assert.deepEqual(await runSql(url, OLD_TABLES), []);
}

const OLD_TABLES = `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace
  AND relname IN ('log', 'nodes', 'moved', 'waiting') ORDER BY relname`;

test('openPostgres() moves the logs and the queue of an older store', SLOW, async () => {
  await checkMoved(await oldStore());
});

test('openPostgres() goes on where a process was killed between two slices', SLOW, async () => {
  const old = await oldStore();
  const database = openDatabase(old.url, settingsOf({}), 1);
  assert.deepEqual(await database.transaction(moveLog), {
    moved: 1_024,
    entries: FIRST_LOG + SECOND_LOG,
  });
  // The second slice ends before its commit.
  const killed = database.transaction(async (session) => {
    await moveLog(session);
    throw new Error('killed');
  });
  await assert.rejects(killed, /killed/);
  await database.close();

  assert.deepEqual(await runSql(old.url, 'SELECT size::int FROM moved'), [{ size: 1_024 }]);
  await assert.rejects(runSql(old.url, `UPDATE log SET ${ERASED}`), /it only grows/);
  await checkMoved(old);
});

test(
  'openPostgres() moves what a process of the version before commits at the last moment',
  SLOW,
  async () => {
    const old = await oldStore();
    const database = openDatabase(old.url, settingsOf({}), 1);
    await database.transaction(moveLog);
    await database.close();
    const [placed, late] = [old.queued[0] as EntryRecord, entry()];
    const leaves = [...(old.logs[1] ?? []), placed].map(({ leaf_hash }) => leaf_hash);
    const { peaks } = appendLeaves(0, [], leaves);
    const next = ORIGIN_SPAN + SECOND_LOG;
    const [process, observer] = [await connectedTo(old.url), await connectedTo(old.url)];
    await process.query('BEGIN');
    await process.query('UPDATE head SET size = $1, peaks = $2', [next + 1, [...peaks]]);
    await process.query('DELETE FROM queue WHERE entry_id = $1', [placed.entry_id]);
    const columns = ENTRY_COLUMNS.join(', ');
    const values = ENTRY_COLUMNS.map((_, place) => `$${place + 3}`).join(', ');
    await process.query(
      `INSERT INTO log (sequence, latest, ${columns}) VALUES ($1, $2, ${values})`,
      [next, placed.timestamp, ...ENTRY_COLUMNS.map((name) => placed[name])],
    );
    await process.query(
      `INSERT INTO queue (${columns})
      VALUES (${ENTRY_COLUMNS.map((_, place) => `$${place + 1}`).join(', ')})`,
      ENTRY_COLUMNS.map((name) => late[name]),
    );

    const opened = openPostgres(old.url);
    while ((await observer.query(WAITING)).rowCount === 0) await turn();
    await process.query('COMMIT');
    await (await opened).close();

    await checkMoved({ ...old, queued: [...old.queued, late] });
  },
);

const WAITING = `SELECT FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()`;

const turn = () => new Promise((done) => setTimeout(done, 5));

const DAMAGES: [name: string, statement: string, reason: RegExp][] = [
  ['an entry that is gone', 'DELETE FROM log WHERE sequence = 1500', /entry 1500 is missing/],
  [
    'another hash of a leaf',
    `UPDATE log SET leaf_hash = sha256(leaf_hash) WHERE sequence = ${ORIGIN_SPAN + 3}`,
    /not the tree of its head/,
  ],
  [
    'a leaf with a line break',
    "UPDATE log SET leaf = leaf || '\\x0a' WHERE sequence = 2000",
    /the bytes of entry 2000 are not those of an entry/,
  ],
];

for (const [name, statement, reason] of DAMAGES) {
  test(
    `openPostgres() refuses to move a log with ${name}, and leaves the old tables`,
    SLOW,
    async () => {
      const { url } = await oldStore();
      await runSql(url, `ALTER TABLE log DISABLE TRIGGER USER; ${statement}`);
      const before = await runSql(url, 'SELECT count(*) FROM log');

      await assert.rejects(openPostgres(url), reason);

      assert.deepEqual(await runSql(url, 'SELECT count(*) FROM log'), before);
      assert.deepEqual(await runSql(url, 'SELECT version FROM meta'), [{ version: SEGMENTED - 1 }]);
    },
  );
}
