import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { test } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../../test/ends.ts';
import { fillLog } from '../../../test/log/small-log.ts';
import { freshDatabase, runSql } from '../../../test/postgres.ts';
import { entry } from '../../testing/fixtures.ts';
import { openPostgres } from '../postgres/store.ts';
import { MARK_SPACING } from '../sqlite/log/writer.ts';
import { openSqlite } from '../sqlite/store.ts';
import { checkStore } from './fsck.ts';

const folder = temporaryFolder();
let files = 0;

/** A log in a file, with one mark of time. */
async function markedFile(): Promise<string> {
  const file = join(folder, `${files++}.db`);
  const store = await openSqlite(file);
  await fillLog(store);
  await store.append(Array.from({ length: MARK_SPACING }, () => entry()));
  await store.close();
  return file;
}

async function detailsOf(file: string): Promise<string[]> {
  const store = await openSqlite(file, { create: false });
  const { findings } = await checkStore(store);
  await store.close();
  return findings.map(({ what, detail }) => `${what}: ${detail}`);
}

test('checkStore() finds nothing in a file with time marks', async () => {
  assert.deepEqual(await detailsOf(await markedFile()), []);
});

/** What the port cannot show, and what is said of it. Above 1031 leaves are 1027 nodes. */
const DAMAGES: [name: string, statement: string, ...found: string[]][] = [
  [
    'a mark that is too early',
    'UPDATE marks SET latest = 0',
    'store: time marks that hide entries: 1, the first at 1031',
  ],
  [
    'a mark by one millisecond too early',
    'UPDATE marks SET latest = latest - 1',
    'store: time marks that hide entries: 1, the first at 1031',
  ],
  [
    'a mark that the store did not make',
    'INSERT INTO marks VALUES (5, 0)',
    'store: time marks that hide entries: 1, the first at 5',
  ],
  [
    'a mark of entries to come',
    'INSERT INTO marks SELECT 2000, latest FROM marks',
    'store: time marks that hide entries: 1, the first at 2000',
  ],
  [
    'a node ahead of the tree',
    'INSERT INTO nodes VALUES (1, 515, zeroblob(32))',
    'store: it has 1028 nodes, a tree of 1031 leaves has 1027',
    'store: nodes ahead of the tree: 1, among them 1/515',
  ],
  [
    'a node of a level that no tree has',
    'INSERT INTO nodes VALUES (64, 0, zeroblob(32))',
    'store: it has 1028 nodes, a tree of 1031 leaves has 1027',
    'store: nodes ahead of the tree: 1, among them 64/0',
  ],
  [
    'a guard that is gone',
    'DROP TRIGGER log_keeps_entries',
    'store: the guard "log_keeps_entries" is missing',
  ],
  [
    'a guard that guards nothing',
    `DROP TRIGGER nodes_are_final;
     CREATE TRIGGER nodes_are_final BEFORE UPDATE ON nodes BEGIN SELECT 1; END`,
    'store: the guard "nodes_are_final" was changed',
  ],
  [
    'an unknown trigger',
    `CREATE TRIGGER thief AFTER INSERT ON tokens BEGIN SELECT 1; END`,
    'store: the trigger "thief" on "tokens" is not ours',
  ],
  [
    'a trigger named as if it were of SQLite',
    `CREATE TRIGGER "SQLite-x" AFTER INSERT ON tokens BEGIN SELECT 1; END`,
    'store: the trigger "SQLite-x" on "tokens" is not ours',
  ],
  [
    'a trigger named as an index of ours',
    `CREATE TRIGGER trail_by_task BEFORE INSERT ON log BEGIN SELECT raise(IGNORE); END`,
    'store: the trigger "trail_by_task" on "log" is not ours',
  ],
  [
    'an index that would refuse what is written',
    'CREATE UNIQUE INDEX own ON budgets (consumed, token_id)',
    'store: the index "own" on "budgets" is not ours',
  ],
  [
    'an index that is gone',
    'DROP INDEX trail_by_task',
    'store: the index "trail_by_task" is missing',
  ],
  [
    'an index that finds too little',
    `DROP INDEX log_by_type; CREATE INDEX log_by_type ON log (entry_type) WHERE sequence > 3`,
    'store: the index "log_by_type" was changed',
  ],
  ['a table that is gone', 'DROP TABLE permits', 'store: the table "permits" is missing'],
  [
    'a table with a column more',
    'ALTER TABLE tokens ADD COLUMN note TEXT',
    'store: the table "tokens" was changed',
  ],
];

test('checkStore() finds nothing wrong with an index of the operator, or with statistics', async () => {
  const file = await markedFile();
  const raw = new DatabaseSync(file);
  raw.exec('CREATE INDEX own ON log (actor_key); ANALYZE');
  raw.close();

  assert.deepEqual(await detailsOf(file), []);
});

for (const [name, statement, ...found] of DAMAGES) {
  test(`checkStore() finds in a file ${name}`, async () => {
    const file = await markedFile();
    const raw = new DatabaseSync(file);
    raw.exec(statement);
    raw.close();

    assert.deepEqual(await detailsOf(file), found);
  });
}

test('checkStore() finds one byte changed in a page of an index', async () => {
  const file = await markedFile();
  const raw = new DatabaseSync(file);
  const page = raw
    .prepare("SELECT rootpage AS number FROM sqlite_schema WHERE name = 'log_by_task'")
    .get() as { number: number };
  const size = raw.prepare('PRAGMA page_size').get() as { page_size: number };
  raw.close();
  const bytes = readFileSync(file);
  const start = (page.number - 1) * size.page_size;
  const place = bytes.indexOf('task 3', start);
  assert.ok(place > start && place < start + size.page_size, 'the key is on its page');
  bytes[place] = 'T'.charCodeAt(0);
  writeFileSync(file, bytes);

  const details = await detailsOf(file);

  assert.match(details.join('\n'), /^store: the file is damaged: .*log_by_task$/m);
});

const DISARM = `ALTER TABLE log DISABLE TRIGGER USER; ALTER TABLE nodes DISABLE TRIGGER USER`;
const REARM = `ALTER TABLE log ENABLE ALWAYS TRIGGER log_altered,
    ENABLE ALWAYS TRIGGER log_deleted, ENABLE ALWAYS TRIGGER log_truncated;
  ALTER TABLE nodes ENABLE ALWAYS TRIGGER nodes_changed, ENABLE ALWAYS TRIGGER nodes_truncated`;

/** Each with the guards in place again, unless they are what was changed. Seven leaves, 11 nodes. */
const POSTGRES_DAMAGES: [name: string, statement: string, ...found: string[]][] = [
  [
    'a time of search that is too early',
    `${DISARM}; UPDATE log SET latest = '1970-01-01' WHERE sequence = 3; ${REARM}`,
    'store: entries whose column "latest" is wrong: 1, the first is 3',
  ],
  [
    'a time of search that is too late',
    `${DISARM}; UPDATE log SET latest = '2100-01-01' WHERE sequence >= 5; ${REARM}`,
    'store: entries whose column "latest" is wrong: 2, the first is 5',
  ],
  [
    'a head that is too early',
    "UPDATE head SET latest = '1970-01-01'",
    'store: the head\'s "latest" is not the greatest time of the log',
  ],
  [
    'a node ahead of the tree',
    "INSERT INTO nodes VALUES (1, 3, decode(repeat('00', 32), 'hex'))",
    'store: it has 12 nodes, a tree of 7 leaves has 11',
    'store: nodes ahead of the tree: 1, among them 1/3',
  ],
  [
    'a node of a level that no tree has',
    "INSERT INTO nodes VALUES (64, 0, decode(repeat('00', 32), 'hex'))",
    'store: it has 12 nodes, a tree of 7 leaves has 11',
    'store: nodes ahead of the tree: 1, among them 64/0',
  ],
  [
    'a guard that is disabled',
    'ALTER TABLE log DISABLE TRIGGER log_altered',
    'store: the guard "log_altered" is not enabled always',
  ],
  [
    'a guard that a replica would pass by',
    'ALTER TABLE nodes ENABLE TRIGGER nodes_changed',
    'store: the guard "nodes_changed" is not enabled always',
  ],
  [
    'a guard that is gone',
    'DROP TRIGGER nodes_truncated ON nodes',
    'store: the guard "nodes_truncated" is missing',
  ],
  [
    'an index that is gone',
    'DROP INDEX trail_by_task',
    'store: the index "trail_by_task" is missing',
  ],
  [
    'an index that was never finished',
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'log_by_type'::regclass",
    'store: the index "log_by_type" was changed, or is not valid',
  ],
  [
    'an index that is no longer unique',
    `DROP INDEX approval_requests_asked;
     CREATE INDEX approval_requests_asked ON approval_requests (created_at)`,
    'store: the index "approval_requests_asked" was changed, or is not valid',
  ],
  [
    'an index of another table',
    'DROP INDEX log_by_type; CREATE INDEX log_by_type ON nodes (level)',
    'store: the index "log_by_type" was changed, or is not valid',
  ],
];

for (const [name, statement, ...found] of POSTGRES_DAMAGES) {
  test(`checkStore() finds in a database ${name}`, async () => {
    const { url } = await freshDatabase();
    const store = closedAtEnd(await openPostgres(url));
    await fillLog(store);
    await runSql(url, statement);

    const { findings } = await checkStore(store);

    assert.deepEqual(
      findings.map(({ what, detail }) => `${what}: ${detail}`),
      found,
    );
  });
}
