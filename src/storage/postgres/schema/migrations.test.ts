import assert from 'node:assert/strict';
import { test } from 'vitest';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import { freshDatabase, runSql, suiteServer } from '../../../../test/support/postgres.ts';
import { system } from '../../../platform.ts';
import { HEARTBEAT_MS } from '../../port/invocation-store.ts';
import { StoreUnavailable } from '../../port/store.ts';
import type { OnStep } from '../../port/versions.ts';
import { BASELINE_VERSION } from '../../port/versions.ts';
import { openDatabase } from '../connection.ts';
import { settingsOf } from '../options.ts';
import { openPostgres } from '../store.ts';
import { lastVersion, migrate, type Step } from './migrations.ts';

test('openPostgres() may be called by eight processes at once on an empty database', async () => {
  const { url } = await freshDatabase();
  const stores = await Promise.all(
    Array.from({ length: 8 }, () => openPostgres(url, { poolSize: 1 })),
  );

  const ids = new Set(stores.map(({ logId }) => logId));
  await Promise.all(stores.map((store) => store.probe()));
  await Promise.all(stores.map((store) => store.close()));

  assert.equal(ids.size, 1);
  assert.deepEqual(await runSql(url, 'SELECT version FROM meta'), [{ version: lastVersion() }]);
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
  const newer = lastVersion() + 1;
  await runSql(url, `UPDATE meta SET version = ${newer}`);

  const message = `Cannot open the store: it was written by version ${newer} of the schema, this program knows ${lastVersion()}; start the version of the program that wrote it, or a later one (see docs/operating.md, "Upgrading")`;
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

test('openPostgres() refuses a store from before the baseline, and says what to do', async () => {
  const { url } = await freshDatabase();
  await (await openPostgres(url)).close();
  const older = BASELINE_VERSION - 1;
  await runSql(url, `UPDATE meta SET version = ${older}`);

  const message = `Cannot open the store: it was written by version ${older} of the schema, from before the first release, and this program opens versions from ${BASELINE_VERSION} on; make a new store, and read this one with the program that wrote it`;
  for (const create of [true, false]) {
    await assert.rejects(openPostgres(url, { create }), { message });
  }

  assert.deepEqual(await versionOf(url), [{ version: older }]);
});

const NEXT = BASELINE_VERSION + 1;

/** A step that comes after those of this program. */
const STEP: Step = 'CREATE TABLE further (id integer)';

/** As a program with these further steps opens the store. */
async function migrated(
  url: string,
  { platform = system, onStep = () => undefined, create = true, steps = [STEP] }: Opening = {},
): Promise<void> {
  const settings = settingsOf({ platform, onStep, create });
  const database = openDatabase(url, settings, 1);
  try {
    await migrate(database, settings, steps);
  } finally {
    await database.close();
  }
}

interface Opening {
  readonly platform?: typeof system;
  readonly onStep?: OnStep;
  readonly create?: boolean;
  readonly steps?: readonly Step[];
}

/** A store without the further step, in which a process was seen. */
async function olderStore(seenAt: string): Promise<string> {
  const { url } = await freshDatabase();
  await (await openPostgres(url)).close();
  await runSql(url, `INSERT INTO instances VALUES ('older', ${seenAt})`);
  return url;
}

const LONG_AGO = "now() - interval '1 minute'";

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

test('migrate() leaves an older store alone where it may not create', async () => {
  const url = await olderStore(LONG_AGO);

  const message = `Cannot open the store: it was written by version ${BASELINE_VERSION} of the schema, start the service once to bring it to ${NEXT}`;
  await assert.rejects(migrated(url, { create: false }), { message });

  assert.deepEqual(await versionOf(url), [{ version: BASELINE_VERSION }]);
});

test('migrate() refuses to go back: a store with a step more than the program', async () => {
  const url = await olderStore(LONG_AGO);
  await migrated(url);

  await assert.rejects(openPostgres(url), /start the version of the program that wrote it/);

  assert.deepEqual(await versionOf(url), [{ version: NEXT }]);
});

test('migrate() takes a step once when eight processes start together', async () => {
  const url = await olderStore(LONG_AGO);

  await Promise.all(Array.from({ length: 8 }, () => migrated(url)));

  assert.deepEqual(await versionOf(url), [{ version: NEXT }]);
});

test('migrate() refuses a store that an older process uses, and leaves it alone', async () => {
  const url = await olderStore("now() - interval '3 seconds'");
  const beat = () => runSql(url, 'UPDATE instances SET seen_at = now()');

  const message = `Cannot open the store: processes of an older version use it (version ${BASELINE_VERSION}, this program writes ${NEXT}); stop all of them, then start this one`;
  await assert.rejects(migrated(url, { platform: waiting(beat) }), { message });

  assert.deepEqual(await versionOf(url), [{ version: BASELINE_VERSION }]);
});

test('migrate() upgrades a store whose last process ended a moment ago', async () => {
  const url = await olderStore("now() - interval '3 seconds'");
  let waits = 0;
  const silence = async () => {
    waits += 1;
  };

  await migrated(url, { platform: waiting(silence) });

  assert.deepEqual(await versionOf(url), [{ version: NEXT }]);
  assert.equal(waits, 2);
});

test('migrate() upgrades a store whose processes ended long ago without waiting', async () => {
  const url = await olderStore(LONG_AGO);
  const never = () => Promise.reject(new Error('nothing to wait for'));

  await migrated(url, { platform: waiting(never) });

  assert.deepEqual(await versionOf(url), [{ version: NEXT }]);
});

test('migrate() goes on when another process upgraded the store while it waited', async () => {
  const url = await olderStore("now() - interval '3 seconds'");
  const upgrade = async () => {
    await migrated(url, { platform: waiting(async () => undefined) });
    await runSql(url, "INSERT INTO instances VALUES ('newer', now())");
  };

  await migrated(url, { platform: waiting(upgrade) });

  assert.deepEqual(await versionOf(url), [{ version: NEXT }]);
});

test('migrate() undoes a step that fails, and keeps those before it', async () => {
  const url = await olderStore(LONG_AGO);
  const fails = 'CREATE TABLE half (id integer); SELECT 1 / 0';

  await assert.rejects(migrated(url, { steps: [STEP, fails] }), /division by zero/);

  assert.deepEqual(await versionOf(url), [{ version: NEXT }]);
  assert.deepEqual(await runSql(url, "SELECT to_regclass('half') AS half"), [{ half: null }]);
});

/** A step that counts to three, one number a transaction, and ends in the middle of it at `endAt`. */
function countingStep(endAt?: number): Step {
  return async (session) => {
    await session.run({ name: '', text: 'CREATE TABLE IF NOT EXISTS counted (n integer)' });
    const [row] = await session.run<{ n: number }>({
      name: '',
      text: 'INSERT INTO counted SELECT count(*) + 1 FROM counted RETURNING n',
    });
    const n = Number(row?.n);
    if (n === endAt) throw new Error('killed');
    return n < 3 ? { moved: n, entries: 3 } : undefined;
  };
}

test('migrate() goes on with a step in slices where a process ended between two of them', async () => {
  const url = await olderStore(LONG_AGO);
  await assert.rejects(migrated(url, { steps: [countingStep(2)] }), /killed/);
  const before = await runSql(url, 'SELECT n FROM counted');
  const versionBefore = await versionOf(url);

  await migrated(url, { steps: [countingStep()] });

  assert.deepEqual(before, [{ n: 1 }]);
  assert.deepEqual(versionBefore, [{ version: BASELINE_VERSION }]);
  assert.deepEqual(await runSql(url, 'SELECT n FROM counted'), [{ n: 1 }, { n: 2 }, { n: 3 }]);
  assert.deepEqual(await versionOf(url), [{ version: NEXT }]);
});

test('migrate() reports the step of an older store with its duration', async () => {
  const url = await olderStore(LONG_AGO);
  const steps: object[] = [];
  const onStep: OnStep = ({ milliseconds, ...step }) => {
    assert.ok(milliseconds >= 0);
    steps.push(step);
  };

  await migrated(url, { onStep });

  assert.deepEqual(steps, [{ version: NEXT, of: NEXT }]);
});

for (const [what, text, names] of [
  ['its own "meta"', 'CREATE TABLE meta (key text PRIMARY KEY, version text)', '"meta"'],
  ['tables by our names', 'CREATE TABLE tokens (id int); CREATE TABLE head ()', '"head", "tokens"'],
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
    'CREATE TABLE contacts (name text); CREATE SCHEMA other; CREATE TABLE other.head ()',
  );

  const store = closedAtEnd(await openPostgres(url));

  await store.probe();
});

test('openPostgres() refuses a database that is not encoded in UTF-8', async () => {
  const { url } = await freshDatabase();
  const name = `${new URL(url).pathname.slice(1)}_latin`;
  const server = suiteServer();
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
