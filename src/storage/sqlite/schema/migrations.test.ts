import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import { system } from '../../../platform.ts';
import { BASELINE_VERSION } from '../../port/versions.ts';
import { type Connection, openConnection } from '../connection.ts';
import { lastVersion, migrate, type Step, unmadeFile } from './migrations.ts';

let connection: Connection;

beforeEach(() => {
  connection = closedAtEnd(openConnection(':memory:'));
});

/** Steps that come after those of this program, each beside its list of those that ran. */
function furtherSteps() {
  const taken: string[] = [];
  const step = (name: string) => (on: Connection) => {
    on.script(`CREATE TABLE ${name} (id INTEGER) STRICT`);
    taken.push(name);
  };
  return { taken, second: step('second'), third: step('third') };
}

const quiet = () => undefined;

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
  assert.equal(versionOf(), BigInt(lastVersion()));
});

test('migrate() gives each new store a log id of its own', () => {
  migrate(connection);
  const other = closedAtEnd(openConnection(':memory:'));
  migrate(other);

  const [own, others] = [connection, other].map((store) => store.get('SELECT log_id FROM store'));
  assert.notDeepEqual(own, others);
  assert.deepEqual(connection.get('SELECT log_id FROM origins WHERE first = 0'), own);
});

test('migrate() makes every table strict', () => {
  migrate(connection);

  const lax = connection.all<{ name: string; strict: bigint }>(
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'",
  );

  assert.deepEqual(lax, []);
});

test('migrate() takes only the steps that are missing, each once', () => {
  const { taken, second, third } = furtherSteps();

  migrate(connection, quiet, [second]);
  migrate(connection, quiet, [second, third]);
  migrate(connection, quiet, [second, third]);

  assert.deepEqual(taken, ['second', 'third']);
  assert.equal(versionOf(), BigInt(BASELINE_VERSION + 2));
});

test('migrate() undoes a step that fails, and keeps those before it', () => {
  const { second } = furtherSteps();
  const fails = (on: Connection) => {
    on.script('CREATE TABLE half (id INTEGER) STRICT');
    throw new Error('Cannot migrate: test');
  };

  assert.throws(() => migrate(connection, quiet, [second, fails]), /Cannot migrate: test/);

  assert.equal(versionOf(), BigInt(BASELINE_VERSION + 1));
  assert.equal(connection.inTransaction(), false);
  assert.equal(connection.get("SELECT 1 FROM sqlite_schema WHERE name = 'half'"), undefined);
});

/** A step that counts to three, one number a transaction, and ends in the middle of it at `endAt`. */
function countingStep(endAt?: number): Step {
  return (on) => {
    on.script('CREATE TABLE IF NOT EXISTS counted (n INTEGER) STRICT');
    on.run('INSERT INTO counted SELECT count(*) + 1 FROM counted');
    const n = Number(on.get<{ n: bigint }>('SELECT max(n) AS n FROM counted')?.n);
    if (n === endAt) throw new Error('killed');
    return n < 3 ? { moved: n, entries: 3 } : undefined;
  };
}

const counted = () => connection.all<{ n: bigint }>('SELECT n FROM counted').map(({ n }) => n);

test('migrate() goes on with a step in slices where a process ended between two of them', () => {
  assert.throws(() => migrate(connection, quiet, [countingStep(2)]), /killed/);
  const before = counted();
  const versionBefore = versionOf();

  migrate(connection, quiet, [countingStep()]);

  assert.deepEqual(before, [1n]);
  assert.equal(versionBefore, BigInt(BASELINE_VERSION));
  assert.deepEqual(counted(), [1n, 2n, 3n]);
  assert.equal(versionOf(), BigInt(BASELINE_VERSION + 1));
});

test('migrate() refuses a store of a newer program', () => {
  migrate(connection);
  const newer = lastVersion() + 1;
  connection.script(`PRAGMA user_version = ${newer}`);

  assert.throws(() => migrate(connection), {
    message: `Cannot open the store: it was written by version ${newer} of the schema, this program knows ${lastVersion()}; start the version of the program that wrote it, or a later one (see docs/operating.md, "Upgrading")`,
  });
});

test('migrate() refuses a store from before the baseline, and says what to do', () => {
  migrate(connection);
  connection.script(`PRAGMA user_version = ${BASELINE_VERSION - 1}`);

  assert.throws(() => migrate(connection), {
    message: `Cannot open the store: it was written by version ${BASELINE_VERSION - 1} of the schema, from before the first release, and this program opens versions from ${BASELINE_VERSION} on; make a new store, and read this one with the program that wrote it`,
  });
  assert.equal(versionOf(), BigInt(BASELINE_VERSION - 1));
});

test('migrate() refuses to go back: a store with a step more than the program', () => {
  const { second } = furtherSteps();
  migrate(connection, quiet, [second]);
  const before = schemaOf();

  assert.throws(() => migrate(connection), /start the version of the program that wrote it/);

  assert.deepEqual(schemaOf(), before);
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
  connection.script(`CREATE TABLE contacts (name TEXT); PRAGMA user_version = ${lastVersion()}`);

  assert.throws(() => migrate(connection), {
    message: 'Cannot open the store: the file belongs to another program',
  });
});

test('unmadeFile() says what an older file needs, and nothing of one that is up to date', () => {
  migrate(connection);

  const reason = `it was written by version ${BASELINE_VERSION} of the schema, start the service once to bring it to ${BASELINE_VERSION + 1}`;
  assert.equal(unmadeFile(connection, 'writ.db', [quiet]), reason);
  assert.equal(unmadeFile(connection, 'writ.db'), undefined);
});

test('migrate() reports each step of an older store with its duration, and none of a new one', () => {
  const { second, third } = furtherSteps();
  const made: object[] = [];
  const steps: object[] = [];

  migrate(connection, (step) => made.push(step), []);
  migrate(
    connection,
    ({ milliseconds, ...step }) => {
      assert.ok(milliseconds >= 0);
      steps.push(step);
    },
    [second, third],
  );

  assert.deepEqual(made, []);
  const of = BASELINE_VERSION + 2;
  assert.deepEqual(steps, [
    { version: of - 1, of },
    { version: of, of },
  ]);
});

test('migrate() reports how far a step in slices has come', () => {
  // Each look at the clock is a second later.
  let now = 0;
  const platform = { ...system, now: () => (now += 1_000) };
  const store = closedAtEnd(openConnection(':memory:', undefined, platform));
  const steps: object[] = [];
  migrate(store);

  migrate(store, ({ milliseconds, ...step }) => steps.push(step), [countingStep()]);

  const [version, of] = [BASELINE_VERSION, BASELINE_VERSION + 1];
  assert.deepEqual(steps, [
    { version, of, moved: 1, entries: 3 },
    { version, of, moved: 2, entries: 3 },
    { version: of, of },
  ]);
});
