import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../../test/ends.ts';
import { type Connection, openConnection } from '../connection.ts';
import { MIGRATIONS, migrate, takeStep, unmadeFile } from './migrations.ts';

let connection: Connection;

beforeEach(() => {
  connection = closedAtEnd(openConnection(':memory:'));
});

function schemaOf(): unknown[] {
  return connection.all('SELECT type, name, sql FROM sqlite_schema ORDER BY name');
}

function versionOf(): unknown {
  return connection.get<{ user_version: bigint }>('PRAGMA user_version')?.user_version;
}

test('migrate() changes nothing the second time', () => {
  migrate(connection);
  const before = schemaOf();
  const logId = connection.get('SELECT * FROM store');

  migrate(connection);

  assert.deepEqual(schemaOf(), before);
  assert.deepEqual(connection.get('SELECT * FROM store'), logId);
  assert.equal(versionOf(), BigInt(MIGRATIONS.length));
});

test('migrate() makes of an empty file at once what all steps make of it, with a log id of its own', () => {
  const stepwise = closedAtEnd(openConnection(':memory:'));
  for (let version = 0; version < MIGRATIONS.length; version++) takeStep(stepwise, version);
  migrate(connection);

  const [whole, steps] = [contentOf(connection), contentOf(stepwise)];
  assert.ok(whole.rows.length > 0);
  assert.notEqual(whole.logId, steps.logId);
  assert.deepEqual({ ...whole, logId: '' }, { ...steps, logId: '' });
});

/** All that a store has, in the order of its making; the place of its log id is marked. */
function contentOf(store: Connection) {
  const schema = store.all<{ type: string; name: string }>(
    'SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid',
  );
  const { log_id: logId } = store.get<{ log_id: string }>('SELECT log_id FROM store') ?? {
    log_id: '',
  };
  const rows = schema
    .filter(({ type }) => type === 'table')
    .flatMap(({ name }) => store.all<object>(`SELECT '${name}' AS "table", * FROM "${name}"`))
    .map((row) => Object.entries(row).map(([key, value]) => [key, value === logId || value]));
  const settings = ['application_id', 'user_version', 'foreign_keys', 'busy_timeout'].map((name) =>
    store.get(`PRAGMA ${name}`),
  );
  return { schema, rows, settings, logId };
}

test('migrate() makes every table strict', () => {
  migrate(connection);

  const lax = connection.all<{ name: string; strict: bigint }>(
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'",
  );

  assert.deepEqual(lax, []);
});

test('migrate() takes only the steps that are missing, each once', () => {
  const taken: string[] = [];
  const second = () => void taken.push('second');
  const third = () => void taken.push('third');

  migrate(connection, [...MIGRATIONS, second]);
  migrate(connection, [...MIGRATIONS, second, third]);
  migrate(connection, [...MIGRATIONS, second, third]);

  assert.deepEqual(taken, ['second', 'third']);
});

test('migrate() undoes a step that fails, and keeps those before it', () => {
  const fails = (on: Connection) => {
    on.script('CREATE TABLE half (id INTEGER) STRICT');
    throw new Error('Cannot migrate: test');
  };

  assert.throws(() => migrate(connection, [...MIGRATIONS, fails]), /Cannot migrate: test/);

  assert.equal(versionOf(), BigInt(MIGRATIONS.length));
  assert.equal(connection.inTransaction(), false);
  assert.equal(connection.get("SELECT 1 FROM sqlite_schema WHERE name = 'half'"), undefined);
});

test('migrate() refuses a store of a newer program', () => {
  migrate(connection);
  const newer = MIGRATIONS.length + 1;
  connection.script(`PRAGMA user_version = ${newer}`);

  assert.throws(() => migrate(connection), {
    message: `Cannot open the store: it was written by version ${newer} of the schema, this program knows ${MIGRATIONS.length}; start the version of the program that wrote it, or a later one (see docs/operating.md, "Upgrading")`,
  });
});

test('migrate() refuses the file of another program, and leaves it alone', () => {
  connection.script('CREATE TABLE contacts (name TEXT)');
  const before = schemaOf();

  assert.throws(() => migrate(connection), {
    message: 'Cannot open the store: the file is not a store: it contains "contacts"',
  });
  assert.deepEqual(schemaOf(), before);
});

test('migrate() refuses the file of another program that numbers its versions too', () => {
  connection.script(
    `CREATE TABLE contacts (name TEXT); PRAGMA user_version = ${MIGRATIONS.length}`,
  );

  assert.throws(() => migrate(connection), {
    message: 'Cannot open the store: the file belongs to another program',
  });
});

test('unmadeFile() says what an older file needs, and nothing of one that is up to date', () => {
  migrate(connection);
  const newer = [...MIGRATIONS, () => {}];

  const reason = `it was written by version ${MIGRATIONS.length} of the schema, start the service once to bring it to ${newer.length}`;
  assert.equal(unmadeFile(connection, 'writ.db', newer), reason);
  assert.equal(unmadeFile(connection, 'writ.db'), undefined);
});

test('migrate() reports each step of an older store with its duration, and none of a new one', () => {
  const made: object[] = [];
  const steps: object[] = [];

  migrate(connection, MIGRATIONS.slice(0, -2), (step) => made.push(step));
  migrate(connection, MIGRATIONS, ({ milliseconds, ...step }) => {
    assert.ok(milliseconds >= 0);
    steps.push(step);
  });

  assert.deepEqual(made, []);
  const of = MIGRATIONS.length;
  assert.deepEqual(steps, [
    { version: of - 1, of },
    { version: of, of },
  ]);
});
