/**
 * Connections to PostgreSQL: one statement, or several in one transaction, with certain outcomes.
 *
 * Every connection commits synchronously and reads committed data; nothing else is assumed about
 * it, so a pool that hands out another one for each transaction will do. A connection that failed
 * is never used again, and its failure never reaches the process as an unhandled event.
 *
 * @module
 */

import pg from 'pg';
import type { Platform } from '../../platform.ts';
import { StoreUnavailable } from '../port/store.ts';
import { failureOf, isConnectionLoss, isTie, type Stage } from './failure.ts';
import type { PostgresSettings } from './options.ts';

/** Parsed once a connection, under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** Where the usual patience with the server is too short. Its own timeouts are set apart. */
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
  /** Several statements that commit together when `work` returns. It runs again after a deadlock. */
  transaction<Result>(work: (session: Session) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** A deadlock's loser wins the next time, as a rule; more tries would only hide a wrong lock order. */
const TIE_TRIES = 3;

/** The server's own timeouts come first; this one is for a server that does not answer at all. */
const SILENCE_MARGIN_MS = 5_000;

/** A peer that vanished without a word is noticed after this and the system's probes. */
const KEEPALIVE_AFTER_MS = 10_000;

/** Idle connections cost the server memory; making one costs a caller milliseconds. */
const IDLE_TIMEOUT_MS = 30_000;

export function openDatabase(url: string, settings: PostgresSettings, size: number): Database {
  const pool = new pg.Pool(poolConfig(url, settings, size));
  // Idle connections that end are replaced when needed; there is nobody to tell.
  pool.on('error', () => {});
  // The pool listens only while a connection is idle: without this a loss in use would end the process.
  pool.on('connect', (client) => client.on('error', () => {}));

  async function single<Row extends object>(
    stage: Stage,
    statement: Statement,
    values: readonly unknown[],
  ): Promise<Row[]> {
    const client = await acquire(pool);
    return runOn<Row>(client, stage, statement, values).then(
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
    reading: (work) => inTransaction(pool, work, 'read'),
    transaction: (work) => untied(() => inTransaction(pool, work, 'sent')),
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

async function acquire(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw failureOf(error, 'unsent');
  }
}

async function inTransaction<Result>(
  pool: pg.Pool,
  work: (session: Session) => Promise<Result>,
  ending: Stage,
): Promise<Result> {
  const client = await acquire(pool);
  const session: Session = {
    // What fails before the commit was sent certainly did not happen.
    run: (statement, values = []) => runOn(client, 'unsent', statement, values),
  };
  try {
    await session.run(BEGIN);
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
      // The server rolls back when the connection ends, which the release below brings about.
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
    // The driver reads the last one, though its types do not know it.
    const question = { name, text, values: [...values], query_timeout: silenceMs };
    const { rows } = await client.query<Row>(question);
    return rows;
  } catch (error) {
    throw failureOf(error, stage);
  }
}

/** Only after a plain answer of the server is a connection known to be in order. */
function isUsable(error: unknown): boolean {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  return cause instanceof pg.DatabaseError && !isConnectionLoss(cause);
}

const BEGIN: Statement = { name: 'begin', text: 'BEGIN' };
const COMMIT: Statement = { name: 'commit', text: 'COMMIT' };
const ROLLBACK: Statement = { name: 'rollback', text: 'ROLLBACK' };

function poolConfig(url: string, settings: PostgresSettings, size: number): pg.PoolConfig {
  return {
    connectionString: withOptions(url),
    application_name: 'writ',
    max: size,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    // A forgotten store must not keep a program from ending; close() is still the right way.
    allowExitOnIdle: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_AFTER_MS,
    lock_timeout: settings.lockTimeoutMs,
    statement_timeout: settings.statementTimeoutMs,
    idle_in_transaction_session_timeout: settings.statementTimeoutMs,
    query_timeout: settings.statementTimeoutMs + SILENCE_MARGIN_MS,
    types: { getTypeParser },
  };
}

/**
 * An acknowledged change must survive a power failure, whatever the server's default. Every statement
 * of ours is made of lookups by key, or walks an index in order, so one plan is right for all values,
 * and a plan that reads a whole table, made while that table was small, must not be kept when it has
 * grown. Nothing is compiled: our statements end before the compiler would. All this goes into the
 * address, since what it names wins over everything else.
 */
const SESSION_OPTIONS = [
  'synchronous_commit=on',
  'default_transaction_isolation=read\\ committed',
  'TimeZone=UTC',
  'DateStyle=ISO',
  'enable_seqscan=off',
  'enable_bitmapscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
  'plan_cache_mode=force_generic_plan',
];

function withOptions(url: string): string {
  const address = addressOf(url);
  const given = address.searchParams.get('options');
  const ours = SESSION_OPTIONS.map((option) => `-c ${option}`);
  address.searchParams.set('options', [...(given ? [given] : []), ...ours].join(' '));
  return address.href;
}

/** What is wrong is said without the address, since a password stands in it. */
function addressOf(url: string): URL {
  const address = URL.canParse(url) ? new URL(url) : undefined;
  // A fragment is the rest of a password with a "#" in it.
  if (address && address.hash === '') return address;
  const form = 'postgres://user:password@host:port/database';
  const escapes = '"#", "/", "?", "@" and "%" in a password written as %23, %2F, %3F, %40 and %25';
  throw new Error(
    `Cannot read the address of the database: expected ${form}, with a port up to 65535 and ${escapes}`,
  );
}

const INT8 = 20;
const BYTEA = 17;
const BYTEA_ARRAY = 1001;

/** Amounts pass 2^53, and bytes are plain: a Buffer would be equal to no Uint8Array. */
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
