import assert from 'node:assert/strict';
import { test } from 'vitest';
import { closedAtEnd } from '../../../test/support/ends.ts';
import { connectedTo, freshDatabase } from '../../../test/support/postgres.ts';
import { OutcomeUnknown, StoreUnavailable } from '../port/store.ts';
import { openDatabase, type Session } from './connection.ts';
import { settingsOf } from './options.ts';

const server = await freshDatabase();
const admin = await connectedTo(server.url);
await admin.query('CREATE TABLE pairs (name text PRIMARY KEY, value integer NOT NULL)');
await admin.query("INSERT INTO pairs VALUES ('left', 0), ('right', 0)");
const database = closedAtEnd(openDatabase(server.url, settingsOf({ lockTimeoutMs: 200 }), 4));

const bump = (name: string) => ({
  name: `bump_${name}`,
  text: `UPDATE pairs SET value = value + 1 WHERE name = '${name}'`,
});
const countOf = async (name: string): Promise<number> => {
  const { rows } = await admin.query('SELECT value FROM pairs WHERE name = $1', [name]);
  return rows[0].value;
};
const kill = (session: Session) =>
  session.run({ name: 'kill', text: 'SELECT pg_terminate_backend(pg_backend_pid())' });

test('openDatabase() commits synchronously whatever the database and the address say', async () => {
  const name = new URL(server.url).pathname.slice(1);
  await admin.query(`ALTER DATABASE ${name} SET synchronous_commit = off`);
  const address = `${server.url}?options=${encodeURIComponent('-c synchronous_commit=off -c geqo=off')}`;
  const other = openDatabase(address, settingsOf({}), 1);

  const [commit] = await other.read<object>({ name: 'c', text: 'SHOW synchronous_commit' });
  const [geqo] = await other.read<object>({ name: 'g', text: 'SHOW geqo' });
  await other.close();
  await admin.query(`ALTER DATABASE ${name} RESET synchronous_commit`);

  assert.deepEqual(commit, { synchronous_commit: 'on' });
  assert.deepEqual(geqo, { geqo: 'off' }, 'an option of the address is kept');
});

test('transaction() changes nothing when its work throws', async () => {
  const before = await countOf('left');
  const fault = new Error('fault');

  const failed = database.transaction(async (session) => {
    await session.run(bump('left'));
    throw fault;
  });

  await assert.rejects(failed, fault);
  assert.equal(await countOf('left'), before);
});

test('transaction() is unavailable, and nothing happened, when the server ends it', async () => {
  const before = await countOf('left');

  const failed = database.transaction(async (session) => {
    await session.run(bump('left'));
    await kill(session);
  });

  await assert.rejects(failed, StoreUnavailable);
  assert.equal(await countOf('left'), before);
});

test('transaction() does not report a commit that the server turned into a rollback', async () => {
  const before = await countOf('left');

  const failed = database.transaction(async (session) => {
    await session.run(bump('left'));
    await session.run({ name: 'bad', text: 'SELECT 1 / 0' }).catch(() => {});
  });

  await assert.rejects(failed, StoreUnavailable);
  assert.equal(await countOf('left'), before);
});

test('transaction() lets both sides of a deadlock win, one after the other', async () => {
  const before = await countOf('left');
  let arrived = 0;
  let meet: () => void = () => {};
  const met = new Promise<void>((resolve) => {
    meet = resolve;
  });
  const patient = openDatabase(server.url, settingsOf({ lockTimeoutMs: 20_000 }), 2);
  const cross = (first: string, second: string) =>
    patient.transaction(async (session) => {
      await session.run(bump(first));
      arrived += 1;
      if (arrived === 2) meet();
      await met;
      await session.run(bump(second));
    });

  await Promise.all([cross('left', 'right'), cross('right', 'left')]);
  await patient.close();

  assert.equal(await countOf('left'), before + 2);
  assert.ok(arrived > 2, 'one of them had to begin again');
});

test('write() is an unknown outcome when the connection is lost, and read() is unavailable', async () => {
  const suicide = { name: 'kill', text: 'SELECT pg_terminate_backend(pg_backend_pid())' };

  await assert.rejects(database.write(suicide), OutcomeUnknown);
  await assert.rejects(database.read(suicide), StoreUnavailable);
});

test('write() is unavailable when a lock cannot be had in time', async () => {
  await admin.query('BEGIN');
  await admin.query("SELECT FROM pairs WHERE name = 'left' FOR UPDATE");

  await assert.rejects(database.write(bump('left')), StoreUnavailable);

  await admin.query('ROLLBACK');
});

test('write() is unavailable when a right was taken away, and a defect when it is wrong', async () => {
  await admin.query('CREATE ROLE reader_of_nothing LOGIN');
  const address = new URL(server.url);
  address.username = 'reader_of_nothing';
  const other = openDatabase(address.href, settingsOf({}), 1);

  await assert.rejects(other.write(bump('left')), StoreUnavailable);
  const defect = await database
    .write({ name: 'nonsense', text: 'SELECT nonsense' })
    .catch((error: unknown) => error);

  await other.close();
  await admin.query('DROP ROLE reader_of_nothing');
  assert.ok(defect instanceof Error && !(defect instanceof StoreUnavailable));
  assert.match(defect.message, /nonsense/);
});

test('openDatabase() survives the loss of idle connections', async () => {
  await Promise.all([1, 2, 3].map(() => database.read({ name: 'one', text: 'SELECT 1 AS one' })));

  await admin.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  await new Promise((resolve) => setTimeout(resolve, 50));

  assert.deepEqual(await database.read({ name: 'one', text: 'SELECT 1 AS one' }), [{ one: 1 }]);
});

test('read() is unavailable when there is no server', async () => {
  const unreachable = closedAtEnd(
    openDatabase('postgres://writ@127.0.0.1:1/writ', settingsOf({}), 1),
  );

  await assert.rejects(
    unreachable.read({ name: 'one', text: 'SELECT 1 AS one' }),
    StoreUnavailable,
  );
});
