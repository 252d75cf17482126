/**
 * Databases with an empty store in them, used again and again.
 *
 * To make a database, migrate it and drop it takes a quarter of a second at best, and the
 * suite needs hundreds. So one that is given back is emptied and kept for whoever asks next, in this
 * process or in another. It gets a new name each time, so that a client somebody forgot to close
 * cannot reach it, as if it had been dropped; and a new log id. Only for tests that change rows: one
 * that changes tables, functions or triggers needs `freshDatabase`.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { Client, DatabaseError, Pool } from 'pg';
import { openPostgres } from '../../src/storage/postgres/store.ts';
import { atEnd } from './ends.ts';
import { makeDatabase, suiteServer } from './postgres.ts';

type Server = Pick<Client, 'query'> | Pick<Pool, 'query'>;

export interface Place {
  readonly url: string;
  drop(): Promise<void>;
}

/** In milliseconds. A connection that is told to end does so at once, or its server is stuck. */
const END_MS_MAX = 10_000;

const KEPT_PREFIX = 'kept_';

/** A store without a token or an entry, dropped at the end. `drop` also ends connections that were left open. */
export async function emptyStore(): Promise<Place> {
  const url = new URL(suiteServer());
  const name = (await takeKept(theServer())) ?? (await makeStore());
  url.pathname = `/${name}`;
  let dropping: Promise<void> | undefined;
  const drop = () => {
    dropping ??= giveBack(url.href, name);
    return dropping;
  };
  atEnd(drop);
  return { url: url.href, drop };
}

/** Drops what is kept, on a server that outlives the suite. */
export async function dropKept(serverUrl: string): Promise<void> {
  await withClient(serverUrl, async (server) => {
    for (const name of await keptNames(server)) {
      await server.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    }
  });
}

async function takeKept(server: Server): Promise<string | undefined> {
  for (const kept of await keptNames(server)) {
    const name = newName('test_');
    if (await isRenamed(server, kept, name)) return name;
  }
  return undefined;
}

async function keptNames(server: Server): Promise<string[]> {
  const { rows } = await server.query<{ datname: string }>(
    `SELECT datname FROM pg_database WHERE starts_with(datname, '${KEPT_PREFIX}')`,
  );
  return rows.map(({ datname }) => datname);
}

/** Not when somebody else was quicker: then there is no database by that name. */
async function isRenamed(server: Server, from: string, to: string): Promise<boolean> {
  try {
    await server.query(`ALTER DATABASE ${from} RENAME TO ${to}`);
    return true;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === '3D000') return false;
    throw error;
  }
}

async function makeStore(): Promise<string> {
  const { url } = await makeDatabase();
  await (await openPostgres(url)).close();
  return new URL(url).pathname.slice(1);
}

/**
 * The database gets another name before it is emptied. No connection is admitted in between: a
 * store that is still open connects again as soon as its connections end.
 */
async function giveBack(url: string, name: string): Promise<void> {
  const emptied = newName('emptied_');
  const on = theServer();
  await on.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await on.query('SELECT pg_terminate_backend(pid, $1) FROM pg_stat_activity WHERE datname = $2', [
    END_MS_MAX,
    name,
  ]);
  await on.query(`ALTER DATABASE ${name} RENAME TO ${emptied}`);
  await on.query(`ALTER DATABASE ${emptied} ALLOW_CONNECTIONS true`);
  const place = new URL(url);
  place.pathname = `/${emptied}`;
  await withClient(place.href, empty);
  await on.query(`ALTER DATABASE ${emptied} RENAME TO ${newName(KEPT_PREFIX)}`);
}

/** Leaves what a migration leaves. */
async function empty(store: Client): Promise<void> {
  const { rows } = await store.query<{ statement: string }>(EMPTYING);
  const statements = rows.map(({ statement }) => statement);
  await store.query(['BEGIN', ...statements, AS_MIGRATED, 'COMMIT'].join(';\n'));
}

/** In bytes. Dead rows beyond this would make the next test slow. */
const DEAD_MAX = 256 * 1024;

/**
 * The log only grows, by triggers that are always on, so they are off in between. Rows are deleted,
 * since to truncate all tables takes as long as a new database does; in the order against that of
 * the tables' making, so that a row goes before those it refers to. But a table that has grown, or
 * that the server has counted, is truncated: the next plans must not be made for this test's rows.
 */
const EMPTYING = `
WITH tables AS (
  SELECT oid, reltuples FROM pg_class
  WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'meta'
), guards AS (
  SELECT tgrelid, tgname FROM pg_trigger WHERE tgenabled = 'A'
)
SELECT statement FROM (
  SELECT 1 AS step, 0::oid AS place,
    format('ALTER TABLE %s DISABLE TRIGGER %I', tgrelid::regclass, tgname) AS statement
  FROM guards
UNION ALL
  SELECT 2, oid, format('TRUNCATE %s CASCADE', oid::regclass)
  FROM tables WHERE reltuples >= 0 OR pg_table_size(oid) > ${DEAD_MAX}
UNION ALL
  SELECT 3, oid, format('DELETE FROM %s', oid::regclass) FROM tables
UNION ALL
  SELECT 4, 0, format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', tgrelid::regclass, tgname)
  FROM guards
UNION ALL
  SELECT 5, 0, format('ALTER SEQUENCE %s RESTART', seqrelid::regclass) FROM pg_sequence
) AS statements
ORDER BY step, place DESC`;

const AS_MIGRATED = `INSERT INTO head (size, peaks) VALUES (0, '{}');
UPDATE meta SET log_id = DEFAULT, row_seal = NULL;
INSERT INTO origins (first, log_id) SELECT 0, log_id FROM meta`;

function newName(prefix: string): string {
  return `${prefix}${randomBytes(8).toString('hex')}`;
}

/** Connections to the server for all stores of this thread: a new one costs as much as emptying does. */
let server: Pool | undefined;

function theServer(): Pool {
  if (server) return server;
  server = new Pool({
    connectionString: suiteServer(),
    max: 2,
    idleTimeoutMillis: 0,
    // They end with the thread.
    allowExitOnIdle: true,
  });
  // The server ended one that was idle: the next query makes another.
  server.on('error', () => undefined);
  return server;
}

async function withClient<Result>(
  url: string,
  use: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
