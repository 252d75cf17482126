import assert from 'node:assert/strict';
import { inject, test } from 'vitest';
import { closedAtEnd } from '../../../../test/ends.ts';
import { freshDatabase, runSql } from '../../../../test/postgres.ts';
import { system } from '../../../platform.ts';
import { HEARTBEAT_MS } from '../../port/invocation-store.ts';
import { StoreUnavailable } from '../../port/store.ts';
import { openPostgres } from '../store.ts';
import { MIGRATIONS, SCHEMA_VERSION } from './migrations.ts';

test('openPostgres() may be called by eight processes at once on an empty database', async () => {
  const { url } = await freshDatabase();
  const stores = await Promise.all(
    Array.from({ length: 8 }, () => openPostgres(url, { poolSize: 1 })),
  );

  const ids = new Set(stores.map(({ logId }) => logId));
  await Promise.all(stores.map((store) => store.probe()));
  await Promise.all(stores.map((store) => store.close()));

  assert.equal(ids.size, 1);
  assert.deepEqual(await runSql(url, 'SELECT version FROM meta'), [{ version: SCHEMA_VERSION }]);
});

test('openPostgres() finds the same log again, and another one in another database', async () => {
  const { url } = await freshDatabase();
  const first = await openPostgres(url);
  await first.close();
  const again = await openPostgres(url);
  await again.close();

  const { url: otherUrl } = await freshDatabase();
  const other = await openPostgres(otherUrl);
  await other.close();
  assert.notEqual(other.logId, first.logId);
  assert.equal(again.logId, first.logId);
});

test('openPostgres() refuses a store of a newer version, and leaves it alone', async () => {
  const { url } = await freshDatabase();
  const store = await openPostgres(url);
  await store.close();
  const newer = SCHEMA_VERSION + 1;
  await runSql(url, `UPDATE meta SET version = ${newer}`);

  const message = `Cannot open the store: it was written by version ${newer} of the schema, this program knows ${SCHEMA_VERSION}; start the version of the program that wrote it, or a later one (see docs/operating.md, "Upgrading")`;
  await assert.rejects(openPostgres(url), { message });

  assert.deepEqual(await runSql(url, 'SELECT version FROM meta'), [{ version: newer }]);
});

const RELATIONS = `SELECT relname FROM pg_class
  WHERE relnamespace = 'public'::regnamespace ORDER BY relname`;

test('openPostgres() leaves an empty database empty where it may not create', async () => {
  const { url } = await freshDatabase();
  const name = new URL(url).pathname.slice(1);

  const message = `Cannot open the store: there is no store in the database "${name}"`;
  await assert.rejects(openPostgres(url, { create: false }), { message });

  assert.deepEqual(await runSql(url, RELATIONS), []);
});

test('openPostgres() leaves an older store alone where it may not create', async () => {
  const { url } = await freshDatabase();
  const store = await openPostgres(url);
  await store.close();
  const older = SCHEMA_VERSION - 1;
  await runSql(url, `UPDATE meta SET version = ${older}`);

  const message = `Cannot open the store: it was written by version ${older} of the schema, start the service once to bring it to ${SCHEMA_VERSION}`;
  await assert.rejects(openPostgres(url, { create: false }), { message });

  assert.deepEqual(await runSql(url, 'SELECT version FROM meta'), [{ version: older }]);
});

const OLDER = SCHEMA_VERSION - 1;

/** A store of the version before this one, in which a process was seen. */
async function olderStore(seenAt: string): Promise<string> {
  const { url } = await freshDatabase();
  const meta = `CREATE TABLE meta (one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL, log_id text NOT NULL DEFAULT gen_random_uuid()::text);
    INSERT INTO meta (version) VALUES (${OLDER})`;
  const steps = MIGRATIONS.slice(0, OLDER) as readonly string[];
  const seen = `INSERT INTO instances VALUES ('older', ${seenAt})`;
  for (const text of [meta, ...steps, seen]) await runSql(url, text);
  return url;
}

/** A platform on which `meanwhile` happens whenever a start waits for a heartbeat. */
function waiting(meanwhile: () => Promise<unknown>) {
  const after: typeof system.after = (ms, run) => {
    if (ms !== HEARTBEAT_MS) return system.after(ms, run);
    void meanwhile().then(run);
    return system.after(0, () => undefined);
  };
  return { ...system, after };
}

const versionOf = (url: string) => runSql(url, 'SELECT version FROM meta');

test('openPostgres() refuses to upgrade a store that an older process uses, and leaves it alone', async () => {
  const url = await olderStore("now() - interval '3 seconds'");
  const beat = () => runSql(url, 'UPDATE instances SET seen_at = now()');

  const message = `Cannot open the store: processes of an older version use it (version ${OLDER}, this program writes ${SCHEMA_VERSION}); stop all of them, then start this one`;
  await assert.rejects(openPostgres(url, { platform: waiting(beat) }), { message });

  assert.deepEqual(await versionOf(url), [{ version: OLDER }]);
});

test('openPostgres() upgrades a store whose last process ended a moment ago', async () => {
  const url = await olderStore("now() - interval '3 seconds'");
  let waits = 0;
  const silence = async () => {
    waits += 1;
  };

  closedAtEnd(await openPostgres(url, { platform: waiting(silence) }));

  assert.deepEqual(await versionOf(url), [{ version: SCHEMA_VERSION }]);
  assert.equal(waits, 2);
});

test('openPostgres() upgrades a store whose processes ended long ago without waiting', async () => {
  const url = await olderStore("now() - interval '1 minute'");
  const never = () => Promise.reject(new Error('nothing to wait for'));

  closedAtEnd(await openPostgres(url, { platform: waiting(never) }));

  assert.deepEqual(await versionOf(url), [{ version: SCHEMA_VERSION }]);
});

test('openPostgres() goes on when another process upgraded the store while it waited', async () => {
  const url = await olderStore("now() - interval '3 seconds'");
  const upgrade = async () => {
    const other = await openPostgres(url, { platform: waiting(async () => undefined) });
    await other.heartbeat('newer', other.now());
    await other.close();
  };

  closedAtEnd(await openPostgres(url, { platform: waiting(upgrade) }));

  assert.deepEqual(await versionOf(url), [{ version: SCHEMA_VERSION }]);
});

for (const [what, text, names] of [
  ['its own "meta"', 'CREATE TABLE meta (key text PRIMARY KEY, version text)', '"meta"'],
  ['tables by our names', 'CREATE TABLE tokens (id int); CREATE TABLE log ()', '"log", "tokens"'],
] as const) {
  test(`openPostgres() refuses a database with ${what}, and leaves it alone`, async () => {
    const { url } = await freshDatabase();
    await runSql(url, text);
    const before = await runSql(url, RELATIONS);

    const message = `Cannot open the store: the database holds tables of another program (${names})`;
    await assert.rejects(openPostgres(url), { message });

    assert.deepEqual(await runSql(url, RELATIONS), before);
  });
}

test('openPostgres() makes a store beside tables of other names', async () => {
  const { url } = await freshDatabase();
  await runSql(
    url,
    'CREATE TABLE contacts (name text); CREATE SCHEMA other; CREATE TABLE other.log ()',
  );

  const store = closedAtEnd(await openPostgres(url));

  await store.probe();
});

test('openPostgres() refuses a database that is not encoded in UTF-8', async () => {
  const { url } = await freshDatabase();
  const name = `${new URL(url).pathname.slice(1)}_latin`;
  const server = inject('postgresUrl');
  await runSql(server, `CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
  const latin = new URL(url);
  latin.pathname = `/${name}`;

  await assert.rejects(openPostgres(latin.href), /the encoding of the database is "LATIN1"/);

  await runSql(server, `DROP DATABASE ${name} WITH (FORCE)`);
});

test('openPostgres() is unavailable on a database that takes no writes', async () => {
  const { url } = await freshDatabase();
  const name = new URL(url).pathname.slice(1);
  await runSql(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);

  await assert.rejects(openPostgres(url), (error: Error) => {
    return error instanceof StoreUnavailable && /read-only/.test(error.message);
  });
});

test('openPostgres() is unavailable when nothing listens', async () => {
  await assert.rejects(openPostgres('postgres://writ@127.0.0.1:1/writ'), StoreUnavailable);
});

test('probe() is unavailable once the database takes no writes any more', async () => {
  const { url } = await freshDatabase();
  const store = closedAtEnd(await openPostgres(url, { poolSize: 1 }));
  await store.probe();
  const name = new URL(url).pathname.slice(1);
  await runSql(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  // New connections only: those that are open keep what they began with.
  await runSql(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );

  await assert.rejects(untilAnswered(store.probe), StoreUnavailable);
});

/** The first call may still find the connection that was ended. */
async function untilAnswered(probe: () => Promise<void>): Promise<void> {
  await probe().catch(() => {});
  await probe();
}

test('openPostgres() reports the step of an older store with its duration', async () => {
  const url = await olderStore("now() - interval '1 minute'");
  const steps: object[] = [];

  const store = await openPostgres(url, {
    onStep: ({ milliseconds, ...step }) => {
      assert.ok(milliseconds >= 0);
      steps.push(step);
    },
  });
  await store.close();

  assert.deepEqual(steps, [{ version: SCHEMA_VERSION, of: SCHEMA_VERSION }]);
});
