import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';
import { test } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../../test/ends.ts';
import { fillLog, smallKeyring } from '../../../test/log/small-log.ts';
import { connectedTo, freshDatabase } from '../../../test/postgres.ts';
import type { StoredEntry } from '../../domain/log/entry.ts';
import { createCheckpointCheck } from '../../keyring/checkpoint-check.ts';
import { openPostgres } from '../postgres/store.ts';
import { openSqlite } from '../sqlite/store.ts';
import { checkStore, type FsckReport } from './fsck.ts';

const folder = temporaryFolder();
let files = 0;

const checkSignatures = createCheckpointCheck(smallKeyring.jwks().keys, smallKeyring.noteKeys);

/** A copy of one log, made when the first asks. */
async function smallFile(): Promise<string> {
  original ??= fillFile(join(folder, 'original.db'));
  const file = join(folder, `${files++}.db`);
  copyFileSync(await original, file);
  return file;
}

let original: Promise<string> | undefined;
async function fillFile(file: string): Promise<string> {
  const store = await openSqlite(file);
  await fillLog(store);
  await store.close();
  return file;
}

/** Does not flush: nothing here asks what a power failure leaves. */
function openRaw(file: string): DatabaseSyncInstance {
  const raw = new DatabaseSync(file);
  raw.exec('PRAGMA synchronous = OFF');
  return raw;
}

/** Takes away what would stop an honest writer, and puts it back when the deed is done. */
function attack(raw: DatabaseSyncInstance, deed: () => void): void {
  const found = raw.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all();
  const triggers = found as { name: string; sql: string }[];
  raw.exec('BEGIN');
  for (const { name } of triggers) raw.exec(`DROP TRIGGER "${name}"`);
  deed();
  for (const { sql } of triggers) raw.exec(sql);
  raw.exec('COMMIT');
}

async function checkAfter(...statements: string[]): Promise<FsckReport> {
  const file = await smallFile();
  const raw = openRaw(file);
  attack(raw, () => {
    for (const statement of statements) raw.exec(statement);
  });
  raw.close();

  const store = await openSqlite(file);
  const report = await checkStore(store);
  await store.close();
  return report;
}

type Value = number | string | Uint8Array | null;
type Key = Record<string, number>;

function whereOf(key: Key): string {
  return Object.entries(key)
    .map(([column, value]) => `"${column}" = ${value}`)
    .join(' AND ');
}

/** The value with one bit of one byte changed, for every byte; for a number, others near and far. */
function neighboursOf(value: Value): Value[] {
  if (value === null) return [0, 256];
  if (typeof value === 'number') return [value + 10, value + 256, value + 65_536];
  if (typeof value === 'string') {
    return [...value].map((letter, i) => {
      const other = String.fromCharCode(letter.charCodeAt(0) ^ 1);
      return value.slice(0, i) + other + value.slice(i + 1);
    });
  }
  return Array.from(value, (_, i) => value.map((byte, place) => (place === i ? byte ^ 1 : byte)));
}

function whats(report: FsckReport): string[] {
  return [...new Set(report.findings.map(({ what }) => what))].sort();
}

/** A change of each text column to another text of the same form, of each number to the next. */
const LOG_COLUMNS: [column: string, change: string][] = [
  ['entry_id', 'substr(entry_id, 1, 35) || char(unicode(substr(entry_id, 36)) + 1)'],
  ['entry_type', "'replay'"],
  ['root_principal', "'human:thief@example.com'"],
  ['actor_key', "'agent:thief'"],
  ['capability', "'cancel_flight'"],
  ['capability', 'NULL'],
  ['invocation_id', "'inv-000000000000'"],
  ['client_reference_id', "'ref'"],
  ['task_id', "''"],
  ['parent_invocation_id', "'inv-000000000000'"],
  ['event_class', "'high_risk_success'"],
  ['state', "'refused'"],
  ['timestamp', 'timestamp + 1'],
  ['leaf', "CAST(replace(CAST(leaf AS TEXT), 'book_flight', 'hold_flight') AS BLOB)"],
  ['personal', "CAST(replace(CAST(personal AS TEXT), 'agent:actor', 'agent:other') AS BLOB)"],
  ['personal', "x''"],
  ['personal', 'NULL'],
  ['retain_until', '5'],
  ['leaf', "x'00'"],
  ['leaf', "x''"],
  ['leaf_hash', 'zeroblob(32)'],
];

for (const [column, change] of LOG_COLUMNS) {
  test(`checkStore() finds ${column} of an entry changed to ${change}`, async () => {
    const report = await checkAfter(`UPDATE log SET ${column} = ${change} WHERE sequence = 3`);

    const found = report.findings.filter(({ what }) => what === 'entry');
    assert.deepEqual([...new Set(found.map(({ where }) => where))], ['3']);
  });
}

const FORGED = `INSERT INTO log
  SELECT 7, 'ent_forged', entry_type, root_principal, actor_key, capability, 'inv-f', 'r', 't',
    'inv-p', event_class, state, timestamp, retain_until, leaf, personal, leaf_hash
  FROM log WHERE sequence = 6`;

/** Other ways to change history, and where each must show. */
const FORGERIES: [name: string, where: string[], ...statements: string[]][] = [
  ['an entry removed', ['entry', 'head', 'node'], 'DELETE FROM log WHERE sequence = 3'],
  ['the first entry removed', ['entry', 'head', 'node'], 'DELETE FROM log WHERE sequence = 0'],
  ['the last entry removed', ['checkpoint', 'head'], 'DELETE FROM log WHERE sequence = 6'],
  ['all entries removed', ['checkpoint', 'head'], 'DELETE FROM log'],
  ['an entry added behind the head', ['entry'], FORGED],
  [
    'an entry added, and the head’s size with it',
    ['head', 'node'],
    FORGED,
    'UPDATE head SET size = 8',
  ],
  [
    'two entries exchanged',
    ['node'],
    'UPDATE log SET sequence = 99 WHERE sequence = 2',
    'UPDATE log SET sequence = 2 WHERE sequence = 3',
    'UPDATE log SET sequence = 3 WHERE sequence = 99',
  ],
  [
    'a place left out',
    ['entry'],
    'UPDATE log SET sequence = 9 WHERE sequence = 6',
    'UPDATE head SET size = 10',
  ],
  [
    'a node changed',
    ['node'],
    'UPDATE nodes SET hash = zeroblob(32) WHERE level = 1 AND "index" = 2',
  ],
  ['a node removed', ['node'], 'DELETE FROM nodes WHERE level = 1 AND "index" = 2'],
  ['all nodes removed', ['checkpoint', 'node'], 'DELETE FROM nodes'],
  [
    'a node at another level',
    ['node'],
    'UPDATE nodes SET level = 9 WHERE level = 1 AND "index" = 0',
  ],
  [
    'a node in another place',
    ['node'],
    'UPDATE nodes SET "index" = 9 WHERE level = 1 AND "index" = 0',
  ],
  ['the head shrunk', ['checkpoint', 'entry', 'head'], 'UPDATE head SET size = 6'],
  ['the head grown', ['head'], 'UPDATE head SET size = 8'],
  [
    'a peak changed',
    ['head'],
    'UPDATE head SET peaks = CAST(zeroblob(32) || substr(peaks, 33) AS BLOB)',
  ],
  ['a peak removed', ['head'], 'UPDATE head SET peaks = substr(peaks, 33)'],
  ['a peak added', ['head'], 'UPDATE head SET peaks = CAST(peaks || zeroblob(32) AS BLOB)'],
  [
    'a root changed',
    ['checkpoint'],
    'UPDATE checkpoints SET root = zeroblob(32) WHERE sequence = 1',
  ],
  [
    'a checkpoint’s size changed',
    ['checkpoint'],
    'UPDATE checkpoints SET size = 4 WHERE sequence = 1',
  ],
  ['a checkpoint too large', ['checkpoint'], 'UPDATE checkpoints SET size = 8 WHERE sequence = 2'],
  [
    'the note of another checkpoint',
    ['checkpoint'],
    'UPDATE checkpoints SET note = (SELECT note FROM checkpoints WHERE sequence = 2)',
  ],
  ['a note that is none', ['checkpoint'], "UPDATE checkpoints SET note = 'note'"],
  [
    'a line added to a note',
    ['checkpoint'],
    "UPDATE checkpoints SET note = replace(note, x'0a0a', x'0a' || 'more' || x'0a0a')",
  ],
  ['a checkpoint removed', ['checkpoint'], 'DELETE FROM checkpoints WHERE sequence = 1'],
  [
    'a checkpoint renumbered',
    ['checkpoint'],
    'UPDATE checkpoints SET sequence = 5 WHERE sequence = 2',
  ],
];

for (const [name, where, ...statements] of FORGERIES) {
  test(`checkStore() finds ${name}`, async () => {
    const report = await checkAfter(...statements);

    for (const what of where) assert.equal(whats(report).includes(what), true, `in the ${what}`);
  });
}

const CHECKPOINT_COLUMNS = [
  ...['sequence', 'checkpoint_id', 'size', 'root', 'created_at', 'signature', 'note'],
];

/** Rows of which every byte counts, by their keys; those of a checkpoint with the signer's keys. */
const ROWS: [table: string, key: Key, columns: string[]][] = [
  ['log', { sequence: 3 }, ['sequence', ...new Set(LOG_COLUMNS.map(([column]) => column))]],
  ['nodes', { level: 1, index: 0 }, ['level', 'index', 'hash']],
  ['nodes', { level: 1, index: 2 }, ['level', 'index', 'hash']],
  ['nodes', { level: 2, index: 0 }, ['level', 'index', 'hash']],
  ['head', { id: 1 }, ['size', 'peaks']],
  ['checkpoints', { sequence: 1 }, CHECKPOINT_COLUMNS],
  ['checkpoints', { sequence: 2 }, CHECKPOINT_COLUMNS],
];

for (const [table, key, columns] of ROWS) {
  test(`checkStore() finds every single byte changed in ${table} ${JSON.stringify(key)}`, async () => {
    const file = await smallFile();
    const raw = closedAtEnd(openRaw(file));
    const store = closedAtEnd(await openSqlite(file));
    const check = table === 'checkpoints' ? checkSignatures : undefined;
    for (const column of columns) {
      const [{ value }] = raw
        .prepare(`SELECT "${column}" AS value FROM ${table} WHERE ${whereOf(key)}`)
        .all() as [{ value: Value }];
      const put = (from: Key, to: Value) =>
        attack(raw, () => {
          raw.prepare(`UPDATE ${table} SET "${column}" = ? WHERE ${whereOf(from)}`).run(to);
        });

      for (const changed of neighboursOf(value)) {
        put(key, changed);
        const { findingsCount } = await checkStore(store, check);
        assert.equal(findingsCount > 0, true, `${column} became ${String(changed)}`);
        put(column in key ? { ...key, [column]: Number(changed) } : key, value);
      }
    }
    const { findingsCount } = await checkStore(store, checkSignatures);
    assert.equal(findingsCount, 0, 'all was put back');
  }, 120_000);
}

/** The same on PostgreSQL, whose tables have another form. */
const POSTGRES_FORGERIES: [name: string, where: string, statement: string][] = [
  ['a column changed', 'entry', "UPDATE log SET state = 'refused' WHERE sequence = 3"],
  ['a time changed', 'entry', "UPDATE log SET timestamp = timestamp + interval '1 ms'"],
  [
    'a byte of a leaf changed',
    'entry',
    'UPDATE log SET leaf = set_byte(leaf, 9, 1) WHERE sequence = 3',
  ],
  [
    'a leaf hash changed',
    'node',
    'UPDATE log SET leaf = NULL, leaf_hash = set_byte(leaf_hash, 31, 0)',
  ],
  ['an entry removed', 'entry', 'DELETE FROM log WHERE sequence = 3'],
  [
    'a node changed',
    'node',
    'UPDATE nodes SET hash = set_byte(hash, 0, 7) WHERE level = 1 AND index = 1',
  ],
  ['a node removed', 'node', 'DELETE FROM nodes WHERE level = 0 AND index = 1'],
  ['the head grown', 'head', 'UPDATE head SET size = 8'],
  ['a peak changed', 'head', 'UPDATE head SET peaks[1] = set_byte(peaks[1], 0, 7)'],
  ['a root changed', 'checkpoint', 'UPDATE checkpoints SET root = set_byte(root, 0, 7)'],
];

const DISARM = `ALTER TABLE log DISABLE TRIGGER USER; ALTER TABLE nodes DISABLE TRIGGER USER`;
const REARM = `ALTER TABLE log ENABLE ALWAYS TRIGGER log_altered,
    ENABLE ALWAYS TRIGGER log_deleted, ENABLE ALWAYS TRIGGER log_truncated;
  ALTER TABLE nodes ENABLE ALWAYS TRIGGER nodes_changed, ENABLE ALWAYS TRIGGER nodes_truncated`;

test('checkStore() finds on PostgreSQL what was changed, and nothing before', async () => {
  const { url } = await freshDatabase();
  const store = closedAtEnd(await openPostgres(url));
  const raw = await connectedTo(url);
  await fillLog(store);
  assert.deepEqual((await checkStore(store)).findings, []);
  const tables = ['log', 'nodes', 'head', 'checkpoints'];
  for (const table of tables) await raw.query(`CREATE TABLE kept_${table} AS TABLE ${table}`);
  const putBack = tables.map((table) => {
    return `DELETE FROM ${table}; INSERT INTO ${table} TABLE kept_${table}`;
  });
  const attackBy = (statements: string) =>
    raw.query(`BEGIN; ${DISARM}; ${statements}; ${REARM}; COMMIT`);

  for (const [name, where, statement] of POSTGRES_FORGERIES) {
    await attackBy(statement);
    const report = await checkStore(store);
    assert.equal(whats(report).includes(where), true, `${name}: in the ${where}`);
    await attackBy(putBack.join('; '));
  }

  assert.deepEqual((await checkStore(store)).findings, [], 'all was put back');
}, 60_000);

test('checkStore() counts contents that retention erased, whose proofs still hold', async () => {
  const store = closedAtEnd(await openSqlite(await smallFile()));
  const { sequence, timestamp: until } = (await store.scanEntries(3, 1))[0] as StoredEntry;
  await store.erase({ what: 'contents', eventClass: 'low_risk_success', until, limit: 100 });

  const report = await checkStore(store, checkSignatures);

  assert.deepEqual(report.findings, []);
  assert.equal(report.erased, sequence + 1);
});

test('checkStore() folds the remaining fields of an entry without its personal fields', async () => {
  const store = closedAtEnd(await openSqlite(await smallFile()));
  const until = new Date(8_640_000_000_000_000);
  await store.erase({ what: 'personal', until, limit: 100 });

  const report = await checkStore(store, checkSignatures);

  assert.deepEqual(report.findings, []);
  assert.equal(report.erased, 0);
});

test('checkStore() finds what was put into an erased entry', async () => {
  const erased = `leaf = NULL, personal = NULL, actor_key = '', client_reference_id = NULL,
    task_id = NULL, capability = NULL, invocation_id = NULL, parent_invocation_id = NULL`;
  const deed = `UPDATE log SET ${erased}, root_principal = 'human:thief@example.com'
    WHERE sequence = 3`;

  const explained = "INSERT INTO erasures VALUES ('low_risk_success', 4)";
  const { findings } = await checkAfter(deed, explained);

  assert.match(`${findings[0]?.detail}`, /root_principal is .*, the leaf was erased/);
});

test('checkStore() finds an altered hash of an erased entry', async () => {
  const report = await checkAfter(
    'UPDATE log SET leaf = NULL, leaf_hash = zeroblob(32) WHERE sequence = 3',
  );

  assert.deepEqual(whats(report).includes('node'), true);
});
