import assert from 'node:assert/strict';
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../../../test/support/ends.ts';
import { StoreUnavailable } from '../port/store.ts';
import { BUSY_TIMEOUT_MS, type Connection, failureOf, openConnection } from './connection.ts';

const folder = temporaryFolder();

let files = 0;
function newPath(): string {
  files += 1;
  return join(folder, `${files}`, 'writ.db');
}

/** Where the header of a file says by which version it may be written. */
const WRITE_VERSION_OFFSET = 18;

function settingOf(connection: Connection, pragma: string): unknown {
  return Object.values(connection.get<object>(`PRAGMA ${pragma}`) ?? {})[0];
}

function withConnection(path: string, body: (connection: Connection) => void): void {
  const connection = openConnection(path);
  try {
    body(connection);
  } finally {
    connection.close();
  }
}

const PRAGMAS = {
  journal_mode: 'wal',
  synchronous: 2n,
  busy_timeout: BigInt(BUSY_TIMEOUT_MS),
  foreign_keys: 1n,
  recursive_triggers: 1n,
  trusted_schema: 0n,
  cell_size_check: 1n,
  fullfsync: 1n,
  // What a log that grew beside a long reader is cut to.
  journal_size_limit: 67_108_864n,
};

for (const [pragma, expected] of Object.entries(PRAGMAS)) {
  test(`openConnection() sets ${pragma} on a file, also after a write`, () => {
    withConnection(newPath(), (connection) => {
      connection.script('CREATE TABLE kept (id INTEGER) STRICT');

      assert.equal(settingOf(connection, pragma), expected);
    });
  });
}

test('openConnection() makes the folder, and a file that only its owner reads', () => {
  const path = newPath();

  withConnection(path, (connection) => {
    connection.script('CREATE TABLE kept (id INTEGER) STRICT');

    const modes = [path, `${path}-wal`].map((file) => statSync(file).mode % 0o1000);
    assert.deepEqual(modes, [0o600, 0o600]);
  });
});

test('openConnection() says that a file is read-only', () => {
  const path = newPath();
  withConnection(path, (connection) => {
    connection.script('CREATE TABLE kept (id INTEGER) STRICT; PRAGMA wal_checkpoint(TRUNCATE)');
    connection.script('PRAGMA journal_mode = DELETE');
  });
  // Permissions do not stop root, so the file itself says that this SQLite may not write it.
  const file = openSync(path, 'r+');
  writeSync(file, Uint8Array.of(9), 0, 1, WRITE_VERSION_OFFSET);
  closeSync(file);

  assert.throws(() => openConnection(path), {
    name: 'StoreUnavailable',
    message: `Cannot open the store: "${path}" is read-only`,
  });
});

test('openConnection() refuses a file that is not a database, and does not change it', () => {
  const path = newPath();
  mkdirSync(join(path, '..'));
  const text =
    'This is a letter, and it is long enough to be taken for a header of a hundred bytes. '.repeat(
      2,
    );
  writeFileSync(path, text);

  assert.throws(() => openConnection(path), {
    name: 'StoreUnavailable',
    message: `Cannot open the store: "${path}" is not a database`,
  });
  assert.equal(readFileSync(path, 'utf8'), text);
});

test('openConnection() says that a path cannot be opened', () => {
  const path = newPath();
  mkdirSync(path, { recursive: true });

  assert.throws(() => openConnection(path), StoreUnavailable);
  assert.throws(() => openConnection('/dev/null/writ.db'), StoreUnavailable);
});

for (const [name, text] of [
  ['U+0000', 'a\0b'],
  ['U+0000 at the end', 'a\0'],
  ['half of a surrogate pair', 'a\ud83d'],
] as const) {
  test(`run() refuses text with ${name} instead of altering it`, () => {
    withConnection(':memory:', (connection) => {
      connection.script('CREATE TABLE texts (text TEXT) STRICT');

      assert.throws(
        () => connection.run('INSERT INTO texts VALUES (?)', text),
        /Cannot store the text/,
      );
      assert.throws(() => connection.get('SELECT ?', text), /Cannot store the text/);
      assert.deepEqual(connection.all('SELECT * FROM texts'), []);
    });
  });
}

test('run() keeps every other value as it was', () => {
  withConnection(':memory:', (connection) => {
    const values = [
      '',
      '🛫 "ü"',
      2n ** 63n - 1n,
      -(2n ** 63n),
      Uint8Array.of(),
      Uint8Array.of(0, 255),
    ];

    const read = values.map(
      (value) => connection.get<{ kept: unknown }>('SELECT ? AS kept', value)?.kept,
    );

    assert.deepEqual(read, values);
  });
});

test('run() keeps times as milliseconds, truth as one or zero, absence as null', () => {
  withConnection(':memory:', (connection) => {
    connection.script(
      'CREATE TABLE kept (time INTEGER, yes INTEGER, no INTEGER, absent ANY) STRICT',
    );
    const time = new Date(1_500_000_000_123);

    connection.run('INSERT INTO kept VALUES (?, ?, ?, ?)', time, true, false, undefined);

    const row = connection.get<object>('SELECT * FROM kept WHERE time = ?', time);
    assert.deepEqual({ ...row }, { time: 1_500_000_000_123n, yes: 1n, no: 0n, absent: null });
  });
});

test('close() ends the transaction and the rows under way, so that the log can be emptied at once', () => {
  const path = newPath();
  withConnection(path, (other) => {
    other.script('CREATE TABLE kept (id INTEGER) STRICT; INSERT INTO kept VALUES (1), (2)');
    const reader = openConnection(path);
    reader.script('BEGIN');
    const rows = reader.each('SELECT * FROM kept')[Symbol.iterator]();
    rows.next();
    other.script('INSERT INTO kept VALUES (3); PRAGMA busy_timeout = 0');
    assert.equal(settingOf(other, 'wal_checkpoint(TRUNCATE)'), 1n, 'a reader keeps the log');

    reader.close();

    assert.equal(settingOf(other, 'wal_checkpoint(TRUNCATE)'), 0n);
    assert.throws(() => rows.next());
    assert.deepEqual(rows.return?.(), { done: true, value: undefined });
  });
});

test('run() refuses an invalid time', () => {
  withConnection(':memory:', (connection) => {
    assert.throws(() => connection.run('SELECT ?', new Date(Number.NaN)), /Cannot store a time/);
  });
});

test('failureOf() distinguishes a failed store from a broken constraint', () => {
  withConnection(':memory:', (connection) => {
    connection.script('CREATE TABLE small (id INTEGER PRIMARY KEY, bytes BLOB) STRICT');
    connection.script('INSERT INTO small VALUES (1, NULL)');
    connection.script('PRAGMA max_page_count = 2');

    const full = errorOf(() => connection.run('INSERT INTO small VALUES (2, zeroblob(9000))'));
    const constraint = errorOf(() => connection.run('INSERT INTO small VALUES (1, NULL)'));

    assert.ok(full instanceof StoreUnavailable);
    assert.equal(full.message, 'Cannot use the store: it is full');
    assert.ok(constraint instanceof Error && !(constraint instanceof StoreUnavailable));
  });
});

function errorOf(act: () => void): unknown {
  try {
    act();
  } catch (error) {
    return failureOf(error);
  }
  throw new Error('Cannot tell: nothing failed');
}
