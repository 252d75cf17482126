/**
 * Connections to PostgreSQL: one statement, or several in one transaction, with certain outcomes.
 *
 * Every connection commits synchronously and reads committed data. No state of a session is assumed beyond its
 * settings, so a pooler that assigns another connection to each transaction works; one that does not pass on
 * the names of prepared statements needs `prepared_statements=off` in the address. A connection that failed is
 * never used again, and its failure never reaches the process as an unhandled event.
 *
 * @module
 */

import pg from 'pg';
import type { Platform } from '../../platform.ts';
import { type PoolFigures, StoreUnavailable } from '../port/store.ts';
import type { Copies } from './copies.ts';
import { failureOf, isConnectionLoss, isTie, type Stage } from './failure.ts';
import { type Address, type PostgresSettings, readAddress } from './options.ts';
import { startupOptions, timeoutsOf } from './schema/session.ts';

/** The server parses it once for each connection, under its name; without prepared statements, each time. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /**
   * In place of the usual limit for an answer of the server. The server's own timeouts are set separately.
   */
  readonly silenceMs?: number;
}

export interface Session {
  run<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Database {
  readonly platform: Platform;
  /** A statement that changes nothing: its failure is never an unknown outcome. */
  read<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /** A statement that commits by itself. */
  write<Row extends object>(statement: Statement, values?: readonly unknown[]): Promise<Row[]>;
  /** Several statements that change nothing, under settings that the first of them makes. */
  reading<Result>(work: (session: Session) => Promise<Result>): Promise<Result>;
  /** Several statements that see one state of the database, and change nothing. */
  snapshot<Result>(work: (session: Session) => Promise<Result>): Promise<Result>;
  /** Several statements that commit together when `work` returns. It runs again after a deadlock. */
  transaction<Result>(work: (session: Session) => Promise<Result>): Promise<Result>;
  /** Asks a server which copy it is, for connections that a pooler may have moved. */
  look(): Promise<void>;
  /** Connections in use and idle, and callers that wait for one. */
  pool(): PoolFigures;
  close(): Promise<void>;
}

/** The loser of a deadlock usually succeeds next time; more tries would hide a wrong lock order. */
const TIE_TRIES = 3;

/** The server's own timeouts come first; this one is for a server that does not answer at all. */
const SILENCE_MARGIN_MS = 5_000;

/** Detects a vanished peer, after this time and the system's probes. */
const KEEPALIVE_AFTER_MS = 10_000;

/** An idle connection costs the server memory; opening one costs a caller milliseconds. */
const IDLE_TIMEOUT_MS = 30_000;

/** Which copy of the database connections lead to, and whether changes wait while a new one is compared. */
export interface Watched {
  readonly copies: Copies;
  readonly changesWait: boolean;
}

export function openDatabase(
  url: string,
  settings: PostgresSettings,
  size: number,
  watched?: Watched,
): Database {
  const address = readAddress(url);
  const { isPrepared } = address;
  const pool = new pg.Pool({ ...poolConfig(address, settings, size), ...looking(watched?.copies) });
  // The pool replaces idle connections that end; no caller is waiting for them.
  pool.on('error', () => {});
  // The pool listens only to idle connections: without this a loss in use would end the process.
  pool.on('connect', (client) => client.on('error', () => {}));

  const named = (statement: Statement): Statement =>
    isPrepared ? statement : { ...statement, name: '' };
  const place: Place = { pool, named, watched };

  async function single<Row extends object>(
    stage: Stage,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const client = await acquire(place, stage);
    return runOn<Row>(client, stage, named(statement), values).then(
      (rows) => {
        client.release();
        return rows;
      },
      (error: unknown) => {
        client.release(!isUsable(error));
        throw error;
      },
    );
  }

  return {
    platform: settings.platform,
    read: (statement, values = []) => single('read', statement, values),
    write: (statement, values = []) => untied(() => single('sent', statement, values)),
    reading: (work) => inTransaction(place, work, 'read'),
    snapshot: (work) => inTransaction(place, work, 'read', SNAPSHOT),
    transaction: (work) => untied(() => inTransaction(place, work, 'sent')),
    async look() {
      if (!watched) return;
      const client = await acquire(place, 'read');
      await watched.copies.look(client).then(
        () => client.release(),
        (error: unknown) => {
          client.release(true);
          throw failureOf(error, 'read');
        },
      );
    },
    pool: () => {
      const { totalCount, idleCount, waitingCount } = pool;
      return { used: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
    },
    close: () => pool.end(),
  };
}

async function untied<Result>(attempt: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isTie(error) || tries === TIE_TRIES) throw error;
    }
  }
}

interface Place {
  readonly pool: pg.Pool;
  readonly named: (statement: Statement) => Statement;
  readonly watched: Watched | undefined;
}

/** Before a new connection is used. */
function looking(copies: Copies | undefined): pg.PoolConfig {
  if (!copies) return {};
  return { verify: (client, done) => void copies.look(client).then(() => done(), done) };
}

async function acquire({ pool, watched }: Place, stage: Stage): Promise<pg.PoolClient> {
  try {
    let client = await pool.connect();
    while (watched && !watched.copies.isCurrent(client)) {
      client.release(true);
      client = await pool.connect();
    }
    refuseUncompared(client, watched, stage);
    return client;
  } catch (error) {
    throw failureOf(error, 'unsent');
  }
}

function refuseUncompared(client: pg.PoolClient, watched: Watched | undefined, stage: Stage): void {
  if (!watched?.changesWait || stage === 'read') return;
  try {
    watched.copies.refuseUncompared();
  } catch (error) {
    client.release();
    throw error;
  }
}

async function inTransaction<Result>(
  place: Place,
  work: (session: Session) => Promise<Result>,
  ending: Stage,
  begin: Statement = BEGIN,
): Promise<Result> {
  const { named } = place;
  const client = await acquire(place, ending);
  const session: Session = {
    // A failure before the commit was sent means that nothing happened.
    run: (statement, values = []) => runOn(client, 'unsent', named(statement), values),
  };
  try {
    await session.run(begin);
    const result = await work(session);
    await commit(client, ending);
    client.release();
    return result;
  } catch (error) {
    await rollBack(client, error);
    throw error;
  }
}

async function commit(client: pg.PoolClient, stage: Stage): Promise<void> {
  try {
    const { command } = await client.query(COMMIT.text);
    // The server answers the commit of a failed transaction with a rollback and no error.
    if (command !== 'COMMIT') throw new StoreUnavailable('Cannot commit: it was rolled back');
  } catch (error) {
    throw failureOf(error, stage);
  }
}

async function rollBack(client: pg.PoolClient, error: unknown): Promise<void> {
  let usable = isUsable(error);
  if (usable) {
    try {
      await client.query(ROLLBACK.text);
    } catch {
      // The server rolls back when the release below ends the connection.
      usable = false;
    }
  }
  client.release(!usable);
}

async function runOn<Row extends object>(
  client: pg.PoolClient,
  stage: Stage,
  { name, text, silenceMs }: Statement,
  values: readonly unknown[],
): Promise<Row[]> {
  try {
    // The driver reads `query_timeout`, although its types do not declare it.
    const question = { name, text, values: [...values], query_timeout: silenceMs };
    const { rows } = await client.query<Row>(question);
    return rows;
  } catch (error) {
    throw failureOf(error, stage);
  }
}

/** Only a plain answer of the server proves that a connection is in order. */
function isUsable(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return cause instanceof pg.DatabaseError && !isConnectionLoss(cause);
}

const BEGIN: Statement = { name: 'begin', text: 'BEGIN' };
const SNAPSHOT: Statement = {
  name: 'begin_snapshot',
  text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY',
};
const COMMIT: Statement = { name: 'commit', text: 'COMMIT' };
const ROLLBACK: Statement = { name: 'rollback', text: 'ROLLBACK' };

function poolConfig({ address }: Address, settings: PostgresSettings, size: number): pg.PoolConfig {
  return {
    connectionString: withOptions(address),
    application_name: 'writ',
    max: size,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    // An unclosed store does not keep a program from ending; close() is still the right way.
    allowExitOnIdle: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_AFTER_MS,
    ...timeoutsOf(settings),
    query_timeout: settings.statementTimeoutMs + SILENCE_MARGIN_MS,
    types: { getTypeParser },
  };
}

/** Our settings go into the address, which takes precedence over everything else. */
function withOptions(address: URL): string {
  const given = address.searchParams.get('options');
  const all = [...(given ? [given] : []), ...startupOptions()];
  address.searchParams.set('options', all.join(' '));
  return address.href;
}

const INT8 = 20;
const BYTEA = 17;
const BYTEA_ARRAY = 1001;

/** Amounts exceed 2^53, and bytes become a plain Uint8Array, because a Buffer equals no Uint8Array. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  [INT8]: (text) => BigInt(text),
  [BYTEA]: (text) => new Uint8Array(Buffer.from(text.slice(2), 'hex')),
  [BYTEA_ARRAY]: (text) => {
    const read: (text: string) => Buffer[] = pg.types.getTypeParser(BYTEA_ARRAY as number, 'text');
    return read(text).map((bytes) => new Uint8Array(bytes));
  },
};

const getTypeParser = ((oid: number, format: 'text') =>
  PARSERS[oid] ?? pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;
