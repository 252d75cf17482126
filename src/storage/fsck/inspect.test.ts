import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterAll, test } from 'vitest';
import { attackFile } from '../../../test/log/raw-segments.ts';
import { fillLog, SMALL_LOG_SIZE } from '../../../test/log/small-log.ts';
import { atEnd, closedAtEnd, temporaryFolder } from '../../../test/support/ends.ts';
import { entry, newId } from '../../../test/support/fixtures.ts';
import { copyOf, makeDatabase, runSql } from '../../../test/support/postgres.ts';
import { BLOCK_ENTRIES, FIELDS } from '../log/blocks.ts';
import { bucketNumber } from '../log/numbers.ts';
import { openPostgres } from '../postgres/store.ts';
import { openSqlite } from '../sqlite/store.ts';
import { checkStore } from './fsck.ts';

const folder = temporaryFolder();
let files = 0;

/** A log in a file: two index blocks, a tile with eight hashes, segments of several sizes. */
async function indexedFile(): Promise<string> {
  original ??= fillFile(join(folder, 'original.db'));
  const file = join(folder, `${files++}.db`);
  copyFileSync(await original, file);
  return file;
}

let original: Promise<string> | undefined;
async function fillFile(file: string): Promise<string> {
  const store = await openSqlite(file);
  await fillLog(store);
  for (let size = SMALL_LOG_SIZE; size < SIZE; size += 300) {
    const count = Math.min(300, SIZE - size);
    await store.append(
      Array.from({ length: count }, () => entry({ invocation_id: newId('inv-') })),
    );
  }
  await store.close();
  return file;
}

const SIZE = 2 * BLOCK_ENTRIES + 10;

async function detailsOf(file: string): Promise<string[]> {
  const store = await openSqlite(file, { create: false });
  const { findings } = await checkStore(store);
  await store.close();
  return findings.map(({ what, detail }) => `${what}: ${detail}`);
}

test('checkStore() finds nothing in a file with tiles and index blocks', async () => {
  assert.deepEqual(await detailsOf(await indexedFile()), []);
});

/** The number of the first bucket of the second block. */
const SECOND = bucketNumber({ first: BLOCK_ENTRIES, field: 0, bucket: 0 });

/** That of the first invocation ids of the first block. */
const IDS = bucketNumber({ first: 0, field: FIELDS.indexOf('invocation_id'), bucket: 0 });

const OWN_INDEX = 'tokens_by_parent';

const DISAGREE = 'store: index blocks do not agree with the entries: 1, the first at';

/** What the port cannot show, and what is said of it. */
const DAMAGES: [name: string, statement: string, ...found: string[]][] = [
  [
    'a bucket with a byte changed',
    `UPDATE buckets SET data = CAST(substr(data, 1, 20) || x'07' || substr(data, 22) AS BLOB)
     WHERE id = (SELECT min(id) FROM buckets WHERE length(data) > 1000)`,
    `${DISAGREE} 0`,
  ],
  ['an empty bucket', "UPDATE buckets SET data = x'' WHERE id = 0", `${DISAGREE} 0`],
  ['a bucket that is gone', `DELETE FROM buckets WHERE id = ${SECOND}`, `${DISAGREE} 1024`],
  [
    'a bucket of another block',
    `UPDATE buckets SET data = (SELECT data FROM buckets WHERE id = ${IDS}) WHERE id = ${SECOND} + ${IDS}`,
    `${DISAGREE} 1024`,
  ],
  [
    'a bucket that no block has',
    "INSERT INTO buckets VALUES (127, x'00')",
    'store: buckets of the index belong to no block: 1',
  ],
  [
    'a block that hides entries by its times',
    'UPDATE blocks SET newest = newest - 1, latest = latest - 1 WHERE first = 1024',
    'store: entries that no index block has: the first is 1024',
  ],
  [
    'a block that is gone',
    'DELETE FROM blocks WHERE first = 0',
    'store: entries that no index block has: the first is 0',
  ],
  [
    'the last block gone',
    'DELETE FROM blocks WHERE first = 1024',
    'store: entries that no index block has: the first is 1024',
  ],
  [
    'no index at all',
    'DELETE FROM blocks; DELETE FROM buckets',
    'store: entries that no index block has: the first is 0',
  ],
  [
    'a guard that is gone',
    'DROP TRIGGER segments_are_kept',
    'store: the guard "segments_are_kept" is missing',
  ],
  [
    'a guard that guards nothing',
    `DROP TRIGGER tiles_only_grow;
     CREATE TRIGGER tiles_only_grow BEFORE UPDATE ON tiles BEGIN SELECT 1; END`,
    'store: the guard "tiles_only_grow" was changed',
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
    `CREATE TRIGGER ${OWN_INDEX} BEFORE INSERT ON segments BEGIN SELECT raise(IGNORE); END`,
    `store: the trigger "${OWN_INDEX}" on "segments" is not ours`,
  ],
  [
    'an index that would refuse what is written',
    'CREATE UNIQUE INDEX own ON budgets (consumed, token_id)',
    'store: the index "own" on "budgets" is not ours',
  ],
  [
    'an index that is gone',
    `DROP INDEX ${OWN_INDEX}`,
    `store: the index "${OWN_INDEX}" is missing`,
  ],
  [
    'an index that finds too little',
    `DROP INDEX ${OWN_INDEX}; CREATE INDEX ${OWN_INDEX} ON tokens (token_id) WHERE depth > 3`,
    `store: the index "${OWN_INDEX}" was changed`,
  ],
  [
    'a row whose JSON is cut off',
    `PRAGMA ignore_check_constraints = 1; PRAGMA foreign_keys = 0;
     INSERT INTO intents (operation_id, invocation_id, token_id, subject, root_principal, capability, facts,
       instance_id, admitted_at, leases) VALUES ('o', 'inv-1', 't', 's', 'r', 'c', '{', 'i', 0, 0)`,
    'store: a row of the table "intents" has a text that is no JSON',
  ],
  ['a table that is gone', 'DROP TABLE permits', 'store: the table "permits" is missing'],
  [
    'a table with a column more',
    'ALTER TABLE tokens ADD COLUMN note TEXT',
    'store: the table "tokens" was changed',
  ],
];

test('checkStore() finds nothing wrong with an index of the operator, or with statistics', async () => {
  const file = await indexedFile();
  const raw = new DatabaseSync(file);
  raw.exec('CREATE INDEX own ON tokens (subject); ANALYZE');
  raw.close();

  assert.deepEqual(await detailsOf(file), []);
});

for (const [name, statement, ...found] of DAMAGES) {
  test(`checkStore() finds in a file ${name}`, async () => {
    const file = await indexedFile();
    const raw = new DatabaseSync(file);
    raw.exec(statement);
    raw.close();

    assert.deepEqual(await detailsOf(file), found);
  });
}

/** Changes of tiles, which guards stop, and where each shows. */
const TILES: [name: string, statement: string, what: string, found: RegExp][] = [
  [
    'a tile with a byte changed',
    "UPDATE tiles SET hashes = CAST(x'07' || substr(hashes, 2) AS BLOB)",
    'node',
    /^store: tiles of the tree do not agree with the entries: 1$/m,
  ],
  [
    'two hashes of a tile exchanged',
    `UPDATE tiles SET hashes =
       CAST(substr(hashes, 33, 32) || substr(hashes, 1, 32) || substr(hashes, 65) AS BLOB)`,
    'node',
    /^store: tiles of the tree do not agree with the entries: 1$/m,
  ],
  [
    'a tile with a hash less',
    'UPDATE tiles SET hashes = substr(hashes, 1, length(hashes) - 32)',
    'node',
    /^store: tiles of the tree do not agree with the entries: 1$/m,
  ],
  [
    'a tile with a hash more',
    'UPDATE tiles SET hashes = CAST(hashes || zeroblob(32) AS BLOB)',
    'store',
    /^store: tiles of the tree do not agree with the entries: 1$/m,
  ],
  [
    'a tile that is gone',
    'DELETE FROM tiles',
    'node',
    /^store: tiles of the tree are missing: 1$/m,
  ],
  [
    'a tile ahead of the tree',
    'INSERT INTO tiles VALUES (9, zeroblob(32))',
    'store',
    /^store: tiles of the tree do not agree with the entries: 1$/m,
  ],
  [
    'a tile at another place',
    'UPDATE tiles SET id = 4',
    'node',
    /^store: tiles of the tree are missing: 1$/m,
  ],
];

for (const [name, statement, what, found] of TILES) {
  test(`checkStore() finds in a file ${name}`, async () => {
    const file = await indexedFile();
    attackFile(file, (raw) => raw.exec(statement));

    const details = await detailsOf(file);

    assert.ok(details.some((each) => each.startsWith(`${what}: `)));
    assert.match(details.join('\n'), found);
  });
}

test('checkStore() finds an index and tiles that are newer than the segments', async () => {
  const file = await indexedFile();
  attackFile(file, (raw) => {
    raw.exec(`DELETE FROM segments WHERE first >= ${SMALL_LOG_SIZE}`);
    raw.exec(`UPDATE head SET size = ${SMALL_LOG_SIZE}`);
  });

  const details = await detailsOf(file);

  assert.match(details.join('\n'), /^head: peak 0 is .*, the log gives /m);
  assert.match(details.join('\n'), /^store: tiles of the tree do not agree with the entries: 1$/m);
  assert.match(details.join('\n'), /^store: index blocks end beyond the log, which ends at 7$/m);
});

test('checkStore() finds one byte changed in a page of an index', async () => {
  const file = await indexedFile();
  const raw = new DatabaseSync(file);
  raw.exec(
    "INSERT INTO passkeys (credential_id, principal, public_key, rp_id, label, created_at, usable_from) VALUES ('c', 'human:ann', '', '', '', 0, 0)",
  );
  raw.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const page = raw
    .prepare("SELECT rootpage AS number FROM sqlite_schema WHERE name = 'passkeys_by_principal'")
    .get() as { number: number };
  const size = raw.prepare('PRAGMA page_size').get() as { page_size: number };
  raw.close();
  const bytes = readFileSync(file);
  const start = (page.number - 1) * size.page_size;
  const place = bytes.indexOf('human:ann', start);
  assert.ok(place > start && place < start + size.page_size, 'the key is on its page');
  bytes[place] = 'H'.charCodeAt(0);
  writeFileSync(file, bytes);

  const details = await detailsOf(file);

  assert.match(details.join('\n'), /^store: the file is damaged: .*passkeys_by_principal$/m);
});

/** Each with the guards in place again, unless they are what was changed. */
const POSTGRES_DAMAGES: [name: string, statement: string, ...found: string[]][] = [
  [
    'a bucket with a byte changed',
    `UPDATE buckets SET data = set_byte(data, 20, 7) WHERE id = ${IDS}`,
    `${DISAGREE} 0`,
  ],
  ['an empty bucket', "UPDATE buckets SET data = '' WHERE id = 0", `${DISAGREE} 0`],
  ['a bucket that is gone', `DELETE FROM buckets WHERE id = ${SECOND}`, `${DISAGREE} 1024`],
  [
    'a bucket that no block has',
    "INSERT INTO buckets VALUES (127, '\\x00')",
    'store: buckets of the index belong to no block: 1',
  ],
  [
    'a block that hides entries by its times',
    'UPDATE blocks SET newest = newest - 1, latest = latest - 1 WHERE first = 0',
    'store: entries that no index block has: the first is 0',
  ],
  [
    'a block that is gone',
    'DELETE FROM blocks WHERE first = 0',
    'store: entries that no index block has: the first is 0',
  ],
  [
    'a guard that is disabled',
    'ALTER TABLE segments DISABLE TRIGGER segments_altered',
    'store: the guard "segments_altered" is not enabled always',
  ],
  [
    'a guard that a replica would pass by',
    'ALTER TABLE tiles ENABLE TRIGGER tiles_altered',
    'store: the guard "tiles_altered" is not enabled always',
  ],
  [
    'a guard that is gone',
    'DROP TRIGGER segments_truncated ON segments',
    'store: the guard "segments_truncated" is missing',
  ],
  [
    'an index that is gone',
    `DROP INDEX ${OWN_INDEX}`,
    `store: the index "${OWN_INDEX}" is missing`,
  ],
  [
    'an index that was never finished',
    `UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${OWN_INDEX}'::regclass`,
    `store: the index "${OWN_INDEX}" was changed, or is not valid`,
  ],
  [
    'an index that is no longer unique',
    `DROP INDEX approval_requests_asked;
     CREATE INDEX approval_requests_asked ON approval_requests (created_at)`,
    'store: the index "approval_requests_asked" was changed, or is not valid',
  ],
  [
    'an index of another table',
    `DROP INDEX ${OWN_INDEX}; CREATE INDEX ${OWN_INDEX} ON tiles (hashes)`,
    `store: the index "${OWN_INDEX}" was changed, or is not valid`,
  ],
];

/** Like the file: two index blocks and a tile. */
let database: Promise<string> | undefined;
let dropDatabase: (() => Promise<void>) | undefined;
afterAll(() => dropDatabase?.());

async function fillDatabase(): Promise<string> {
  const { url, drop } = await makeDatabase();
  dropDatabase = drop;
  const store = await openPostgres(url);
  await fillLog(store);
  await store.append(
    Array.from({ length: SIZE - SMALL_LOG_SIZE }, () => entry({ invocation_id: newId('inv-') })),
  );
  await store.sequence();
  for (;;) {
    const [row] = await runSql<{ count: number }>(url, 'SELECT count(*)::int FROM blocks');
    if (row?.count === 2) break;
    await store.queryEntries({ limit: 1 });
  }
  await store.close();
  return url;
}

for (const [name, statement, ...found] of POSTGRES_DAMAGES) {
  test(`checkStore() finds in a database ${name}`, async () => {
    database ??= fillDatabase();
    const { url, drop } = await copyOf(await database);
    atEnd(drop);
    const store = closedAtEnd(await openPostgres(url));
    await runSql(url, statement);

    const { findings } = await checkStore(store);

    assert.deepEqual(
      findings.map(({ what, detail }) => `${what}: ${detail}`),
      found,
    );
  });
}

test('checkStore() finds in a database a tile with a byte changed', async () => {
  database ??= fillDatabase();
  const { url, drop } = await copyOf(await database);
  atEnd(drop);
  const store = closedAtEnd(await openPostgres(url));
  await runSql(
    url,
    `ALTER TABLE tiles DISABLE TRIGGER USER;
     UPDATE tiles SET hashes = set_byte(hashes, 40, get_byte(hashes, 40) # 1);
     ALTER TABLE tiles ENABLE ALWAYS TRIGGER tiles_altered,
       ENABLE ALWAYS TRIGGER tiles_deleted, ENABLE ALWAYS TRIGGER tiles_truncated`,
  );

  const { findings } = await checkStore(store);

  assert.deepEqual([...new Set(findings.map(({ what }) => what))], ['node', 'store']);
  const detail = 'tiles of the tree do not agree with the entries: 1';
  assert.equal(findings.at(-1)?.detail, detail);
});
