import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { atEnd } from '../../../../test/support/ends.ts';
import { freshDatabase, runSql } from '../../../../test/support/postgres.ts';
import { openDatabase } from '../connection.ts';
import { openPostgresMark } from '../log/mark.ts';
import { readAddress, settingsOf } from '../options.ts';
import { openPostgres } from '../store.ts';
import { refuseOtherSession, sessionOf } from './session.ts';

const settings = settingsOf({});

/** What a pooler does that drops the settings of its clients: the connection has those of the server. */
const bare = (url: string) => ({
  read: async <Row extends object>({ text }: { text: string }, [names]: readonly unknown[]) => {
    const list = (names as string[]).map((name) => `'${name}'`).join(', ');
    return (await runSql(url, text.replace('$1::text[]', `ARRAY[${list}]`))) as Row[];
  },
});

test('refuseOtherSession() passes a connection that the address has set up', async () => {
  const database = openDatabase((await freshDatabase()).url, settings, 1);
  atEnd(() => database.close());

  await refuseOtherSession(database, settings);
});

test('refuseOtherSession() names each setting that a pooler dropped, and where to set it', async () => {
  const { url } = await freshDatabase();
  const name = new URL(url).pathname.slice(1);
  await runSql(url, `ALTER DATABASE ${name} SET synchronous_commit = off`);

  const refused = refuseOtherSession(bare(url), settings);

  await assert.rejects(refused, /synchronous_commit is "off", expected "on".*operating\.md/);
  await assert.rejects(refused, /lock_timeout is "0", expected "5000"/);
});

test('deploy/pgbouncer.sql sets in the database what a connection needs', async () => {
  const { url } = await freshDatabase();
  const name = new URL(url).pathname.slice(1);
  const file = readFileSync('deploy/pgbouncer.sql', 'utf8');
  const mine = file
    .replaceAll('ROLE writ ', 'ROLE CURRENT_USER ')
    .replaceAll(/ IN DATABASE writ(?:_mark)?\b/g, ` IN DATABASE ${name}`);

  await runSql(url, mine);

  await refuseOtherSession(bare(url), settings);
  const set = [...file.matchAll(/IN DATABASE writ SET (\w+)/g)].map(([, each]) => each);
  assert.deepEqual(set.toSorted(), Object.keys(sessionOf(settings)).toSorted());
});

test('openPostgres() and the mark work without names of prepared statements', async () => {
  const { url } = await freshDatabase();
  const store = await openPostgres(`${url}?prepared_statements=off&pool_size=2`);
  await store.probe();
  await store.close();
  const mark = await openPostgresMark(`${(await freshDatabase()).url}?prepared_statements=off`);
  atEnd(() => mark.close());

  assert.equal(await mark.replace('log', undefined, 'one'), true);
  assert.equal(await mark.read('log'), 'one');
});

test('openDatabase() leaves no statement in the session with prepared_statements=off', async () => {
  const { url } = await freshDatabase();
  const named = { name: 'kept', text: 'SELECT count(*)::int AS count FROM pg_prepared_statements' };
  const countOn = async (address: string) => {
    const database = openDatabase(address, settings, 1);
    await database.read({ name: 'first', text: 'SELECT 1 AS one' });
    const [row] = await database.read<{ count: number }>(named);
    await database.close();
    return row?.count;
  };

  assert.equal(await countOn(`${url}?prepared_statements=off`), 0);
  assert.equal(await countOn(url), 2);
});

test('openPostgres() opens no more connections for requests than pool_size says', async () => {
  const { url } = await freshDatabase();
  const name = new URL(url).pathname.slice(1);
  const store = await openPostgres(`${url}?pool_size=1`);
  atEnd(() => store.close());

  await Promise.all(Array.from({ length: 20 }, () => store.probe()));
  const open = `SELECT count(*)::int AS count FROM pg_stat_activity
    WHERE datname = '${name}' AND application_name = 'writ'`;
  const [row] = await runSql<{ count: number }>(url, open);

  assert.ok(row !== undefined && row.count <= 3, `${row?.count} connections`);
});

for (const text of ['pool_size=0', 'pool_size=x', 'pool_size=1001', 'prepared_statements=no']) {
  test(`readAddress() refuses ${text} without the password`, () => {
    assert.throws(
      () => readAddress(`postgres://writ:geheim@db/writ?${text}`),
      (error: Error) =>
        /^Cannot use the address/.test(error.message) && !/geheim/.test(error.message),
    );
  });
}
