/**
 * Brings a database to the version of this program, or reports why it cannot be used.
 *
 * Each step is one transaction under a lock that lasts as long as the transaction, so processes that start at
 * once take turns and a crash leaves whole steps, or whole slices of a step. A released step never changes.
 *
 * @module
 */

import { type Platform, pause } from '../../../platform.ts';
import { HEARTBEAT_MS, SILENT_MS } from '../../port/invocation-store.ts';
import { StoreUnavailable } from '../../port/store.ts';
import { type Moved, newerStore, olderStore, reportingSteps } from '../../port/versions.ts';
import type { Database, Session } from '../connection.ts';
import type { PostgresSettings } from '../options.ts';
import { ASKED_BY } from './asked.ts';
import { BATCHES } from './batches.ts';
import { CALL_FUNCTIONS } from './calls.ts';
import { CHAINS } from './chains.ts';
import { CONNECTED_ACCOUNTS } from './connected.ts';
import { DEBTS } from './debts.ts';
import { DECLARATIONS } from './declarations.ts';
import { CLAIM_FUNCTIONS, LINEAGE_FUNCTIONS, RELEASE_FUNCTIONS } from './functions.ts';
import { IDENTITIES } from './identities.ts';
import { AGENTS, FREEZES_BY_AGE, WAITING_GRANTS } from './indexes.ts';
import { LOG_TABLES } from './log.ts';
import { OPEN_REQUESTS } from './open-requests.ts';
import { ORIGINS } from './origins.ts';
import { PASSKEYS } from './passkeys.ts';
import { ROW_MACS } from './rows.ts';
import { DROPPED, moveLog, SEGMENTS } from './segments.ts';
import { SIGN_IN } from './sign-in.ts';
import {
  APPROVED_THROUGH,
  AUTHORITY_TABLES,
  CALL_TABLES,
  REQUESTED_THROUGH,
  TYPES,
} from './tables.ts';

/** Statements, or a step in slices: it returns `Moved` when it goes on in another transaction. */
type Migration = string | ((session: Session) => Promise<Moved | undefined>);

/** Step n brings version n to version n + 1. */
export const MIGRATIONS: readonly Migration[] = [
  [
    TYPES,
    AUTHORITY_TABLES,
    CALL_TABLES,
    LOG_TABLES,
    LINEAGE_FUNCTIONS,
    CLAIM_FUNCTIONS,
    RELEASE_FUNCTIONS,
    CALL_FUNCTIONS,
  ].join('\n'),
  REQUESTED_THROUGH,
  APPROVED_THROUGH,
  CHAINS,
  ROW_MACS,
  DEBTS,
  ORIGINS,
  FREEZES_BY_AGE,
  WAITING_GRANTS,
  DECLARATIONS,
  SIGN_IN,
  ASKED_BY,
  AGENTS,
  PASSKEYS,
  CONNECTED_ACCOUNTS,
  IDENTITIES,
  moveLog,
  BATCHES,
  OPEN_REQUESTS,
];

/** The first version that has its log in segments. */
export const SEGMENTED = 17;

/** The statements of all steps. */
const TEXTS: readonly string[] = MIGRATIONS.map((step) => {
  return typeof step === 'string' ? step : SEGMENTS;
});

/** Every named index, as the last step that makes it defines it. */
export const INDEXES: readonly { name: string; table: string; isUnique: boolean }[] = [
  ...new Map(
    TEXTS.flatMap((text) => [...text.matchAll(/CREATE (UNIQUE )?INDEX (\w+) ON (\w+)/g)]).map(
      ([, unique, name = '', table = '']) => [
        name,
        { name, table, isUnique: unique !== undefined },
      ],
    ),
  ).values(),
].filter(({ table }) => !DROPPED.has(table));

/** A number that no other program locks in this database. */
export const MIGRATION_LOCK = 0x77_72_69_74_00n;

/** A step over a large table takes minutes, and processes that wait for it wait as long. */
const STEP_TIMEOUT_MS = 30 * 60_000;

/** The oldest version that still gets fixes and behaves as required. */
const SERVER_VERSION_MIN = 140_000;

/**
 * Checks, migrates, and returns the id of the log in this database. Without `create` it refuses instead of
 * migrating, and writes nothing.
 */
export async function migrate(
  database: Database,
  { onWarning, create, platform, onStep }: MigrationSettings,
): Promise<string> {
  await refuseUnfit(database, onWarning);
  const { meta } = await database.transaction(findStore);
  if (create && meta && meta.version < SCHEMA_VERSION) await refuseUsed(database, platform);
  // The steps that make a new store are not reported.
  const steps = reportingSteps(meta ? onStep : () => undefined, platform.now);
  for (;;) {
    const taken = await database.transaction((session) => takeStep(session, create));
    if ('logId' in taken) return taken.logId;
    steps.took(taken.version, SCHEMA_VERSION, taken.moved);
  }
}

type MigrationSettings = Pick<PostgresSettings, 'onWarning' | 'create' | 'platform' | 'onStep'>;

/**
 * Makes a new store of an earlier version, with this id for its log. Only inside a transaction, under the lock
 * of migrations. Refuses a database that has a store.
 */
export async function makeStore(session: Session, version: number, logId: string): Promise<void> {
  const { meta, database } = await findStore(session);
  if (meta !== undefined) {
    throw new Error(
      `Cannot open the store: there is a store in the database "${database}" already; name an empty database`,
    );
  }
  await session.run(META_TABLE);
  await runSteps(session, 0, 1);
  await session.run(LOG_ID, [logId]);
  await runSteps(session, 1, version);
}

/** Runs the steps from one version to another. Only inside a transaction. */
export async function runSteps(session: Session, from: number, to: number): Promise<void> {
  for (let version = from; version < to; version++) {
    while (await runSlice(session, version));
  }
}

/** Runs a step, or a part of it: then it returns how far it has come. */
async function runSlice(session: Session, version: number): Promise<Moved | undefined> {
  const step = MIGRATIONS[version] as Migration;
  // Several statements in one text cannot be prepared; each runs only once.
  if (typeof step === 'string') await session.run({ name: '', text: step });
  const moved = typeof step === 'string' ? undefined : await step(session);
  if (!moved) await session.run(VERSION, [version + 1]);
  return moved;
}

/** Waits as long as a migration may take, and keeps other migrations out until the transaction ends. */
export async function lockMigrations(session: Session): Promise<void> {
  await session.run(PATIENCE, []);
  await session.run(LOCK, [MIGRATION_LOCK]);
}

/** The version this program writes. */
export const SCHEMA_VERSION: number = MIGRATIONS.length;

async function refuseUnfit(
  database: Database,
  onWarning: (message: string) => void,
): Promise<void> {
  const [server] = await database.read<ServerRow>(SERVER);
  if (server === undefined) throw new Error('Cannot open the store: the server returned no row');
  if (server.encoding !== 'UTF8') {
    throw new Error(
      `Cannot open the store: the encoding of the database is "${server.encoding}", not "UTF8"`,
    );
  }
  if (server.version < SERVER_VERSION_MIN) {
    throw new Error(
      `Cannot open the store: the server's version is ${server.version}, expected at least ${SERVER_VERSION_MIN}`,
    );
  }
  if (server.is_read_only) {
    throw new StoreUnavailable('Cannot open the store: the database is read-only');
  }
  if (server.fsync !== 'on') {
    onWarning('The database server has fsync off: a power failure can lose acknowledged entries');
  }
}

/** Heartbeats that a start waits for: a living process may lose one. */
const HEARTBEATS_AWAITED = 2;

/**
 * Refuses to change a store while processes of an older version use it: they would go on with a schema that
 * they do not know. A process that ended lately looks the same until a heartbeat is missing, so this waits.
 */
async function refuseUsed(database: Database, platform: Platform): Promise<void> {
  const [first] = await database.read<UsedRow>(USED);
  if (!first?.is_recent) return;
  for (let awaited = 0; awaited < HEARTBEATS_AWAITED; awaited++) {
    await pause(platform, HEARTBEAT_MS);
    const [next] = await database.read<UsedRow>(USED);
    // Another process of this version was faster; the heartbeat may be its own.
    if (next?.version !== first.version) return;
    if (next.seen_ms === first.seen_ms) continue;
    const state = `processes of an older version use it (version ${first.version}, this program writes ${SCHEMA_VERSION})`;
    throw new Error(`Cannot open the store: ${state}; stop all of them, then start this one`);
  }
}

/** Runs the next step, or a part of it; returns the log's id when none is left. */
async function takeStep(
  session: Session,
  create: boolean,
): Promise<{ logId: string } | { version: number; moved: Moved | undefined }> {
  await lockMigrations(session);
  const { meta, database } = await findStore(session);
  const version = meta?.version ?? 0;
  if (version > SCHEMA_VERSION) {
    throw new Error(`Cannot open the store: ${newerStore(version, SCHEMA_VERSION)}`);
  }
  if (meta && version === SCHEMA_VERSION) return { logId: meta.log_id };
  if (!create) throw new Error(`Cannot open the store: ${unmade(meta, database)}`);

  if (meta === undefined) await session.run(META_TABLE);
  const moved = await runSlice(session, version);
  return { version: moved ? version : version + 1, moved };
}

/** The store's own row, if there is one. Our tables without that row belong to another program. */
async function findStore(
  session: Session,
): Promise<{ meta: MetaRow | undefined; database: string }> {
  const [found] = await session.run<FoundRow>(FOUND, [TABLES]);
  if (found === undefined) throw new Error('Cannot open the store: the server returned no row');
  const { database, tables, has_meta } = found;
  const [meta] = has_meta ? await session.run<MetaRow>(META) : [];
  if (meta === undefined && tables.length > 0) {
    const names = `"${tables.join('", "')}"`;
    throw new Error(
      `Cannot open the store: the database holds tables of another program (${names})`,
    );
  }
  return { meta, database };
}

function unmade(meta: MetaRow | undefined, database: string): string {
  if (meta === undefined) return `there is no store in the database "${database}"`;
  return olderStore(meta.version, SCHEMA_VERSION);
}

interface FoundRow {
  readonly database: string;
  readonly tables: string[];
  readonly has_meta: boolean;
}

interface ServerRow {
  readonly encoding: string;
  readonly version: number;
  readonly is_read_only: boolean;
  readonly fsync: string;
}

interface MetaRow {
  readonly version: number;
  readonly log_id: string;
}

interface UsedRow {
  readonly version: number;
  readonly seen_ms: string | null;
  readonly is_recent: boolean | null;
}

const USED = {
  name: 'migration_used',
  text: `SELECT (SELECT version FROM meta) AS version,
    (extract(epoch FROM max(seen_at)) * 1000)::text AS seen_ms,
    max(seen_at) > now() - interval '${SILENT_MS} milliseconds' AS is_recent
    FROM instances`,
};

const SERVER = {
  name: 'server',
  text: `SELECT current_setting('server_encoding') AS encoding,
    current_setting('server_version_num')::integer AS version,
    pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on' AS is_read_only,
    current_setting('fsync') AS fsync`,
};

export const PATIENCE = {
  name: 'migration_patience',
  text: `SELECT set_config('lock_timeout', '${STEP_TIMEOUT_MS}', true),
    set_config('statement_timeout', '${STEP_TIMEOUT_MS}', true)`,
};

const LOCK = { name: 'migration_lock', text: 'SELECT pg_advisory_xact_lock($1)' };

const TABLES: readonly string[] = [
  'meta',
  ...TEXTS.flatMap((text) =>
    [...text.matchAll(/^CREATE TABLE (\w+)/gm)].map(([, name]) => `${name}`),
  ),
];

/** In the schema for new tables: tables of other schemas do not conflict. */
const FOUND = {
  name: 'migration_found',
  text: `SELECT current_database()::text AS database,
    ARRAY(SELECT c.relname::text FROM pg_class c
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = ANY ($1::text[])
      ORDER BY c.relname) AS tables,
    (SELECT count(*) = 3 FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = current_schema()::regnamespace AND c.relname = 'meta'
        AND a.attname IN ('one', 'version', 'log_id')) AS has_meta`,
};

const META_TABLE = {
  name: 'migration_meta',
  text: `CREATE TABLE meta (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version integer NOT NULL,
    log_id text NOT NULL DEFAULT gen_random_uuid()::text
  )`,
};

const META = { name: 'meta', text: 'SELECT version, log_id FROM meta' };

const LOG_ID = { name: 'migration_log_id', text: 'UPDATE meta SET log_id = $1' };

const VERSION = {
  name: 'migration_version',
  text: `INSERT INTO meta (version) VALUES ($1)
    ON CONFLICT (one) DO UPDATE SET version = EXCLUDED.version`,
};
