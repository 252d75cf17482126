/**
 * Makes a new store in a database, brings a database to the version of this program, or reports why it cannot be used.
 *
 * The baseline and each step are one transaction under a lock that lasts as long as the transaction, so processes that
 * start at once take turns and a crash leaves whole steps, or whole slices of a step.
 *
 * @module
 */

import { type Platform, pause } from '../../../platform.ts';
import { HEARTBEAT_MS, SILENT_MS } from '../../port/invocation-store.ts';
import { StoreUnavailable } from '../../port/store.ts';
import {
  BASELINE_VERSION,
  type Moved,
  olderStore,
  reportingSteps,
  unfitVersion,
  versionAfter,
} from '../../port/versions.ts';
import { HOLD_MIGRATIONS, MIGRATION_PATIENCE } from '../../stories/locks.ts';
import type { Database, Session } from '../connection.ts';
import type { PostgresSettings } from '../options.ts';
import { BASELINE } from './baseline.ts';

/** Statements, or a step in slices: it returns `Moved` when it goes on in another transaction. */
export type Step = string | ((session: Session) => Promise<Moved | undefined>);

/** The steps after the baseline, one version each. From release 0.1.0 on a released step never changes. */
const STEPS: readonly Step[] = [];

/** The version of a store with all steps. */
export const lastVersion = (steps: readonly Step[] = STEPS): number => versionAfter(steps);

/** Every named index. */
export const INDEXES: readonly { name: string; table: string; isUnique: boolean }[] = [
  ...BASELINE.matchAll(/CREATE (UNIQUE )?INDEX (\w+) ON (\w+)/g),
].map(([, unique, name = '', table = '']) => ({ name, table, isUnique: unique !== undefined }));

/** The oldest version that still gets fixes and behaves as required. */
const SERVER_VERSION_MIN = 140_000;

/**
 * Checks, makes or migrates the store, and returns the id of the log in this database. Without `create` it refuses
 * instead, and writes nothing.
 */
export async function migrate(
  database: Database,
  { onWarning, create, platform, onStep }: MigrationSettings,
  steps: readonly Step[] = STEPS,
): Promise<string> {
  await refuseUnfit(database, onWarning);
  const { meta } = await database.transaction((session) => findStore(session, steps));
  if (create && meta && meta.version < lastVersion(steps)) {
    await refuseUsed(database, platform, lastVersion(steps));
  }
  // The steps that make a new store are not reported.
  const report = reportingSteps(meta ? onStep : () => undefined, platform.now);
  for (;;) {
    const taken = await database.transaction((session) => takeNext(session, create, steps));
    if ('logId' in taken) return taken.logId;
    report.took(taken.version, lastVersion(steps), taken.moved);
  }
}

type MigrationSettings = Pick<PostgresSettings, 'onWarning' | 'create' | 'platform' | 'onStep'>;

/**
 * Makes the baseline, with this id for its log or a new one. Only inside a transaction, under the lock of migrations.
 * Refuses a database that has a store.
 */
export async function makeStore(session: Session, logId?: string): Promise<void> {
  const { meta, database } = await findStore(session);
  if (meta !== undefined) {
    throw new Error(
      `Cannot open the store: there is a store in the database "${database}" already; name an empty database`,
    );
  }
  // Several statements in one text cannot be prepared; each runs only once.
  await session.run({ name: '', text: BASELINE });
  await session.run(MAKE_META, [BASELINE_VERSION, logId]);
  await session.run(FIRST_ORIGIN);
}

/** Takes the steps from one version to another. Only inside a transaction. */
export async function upgrade(
  session: Session,
  from: number,
  to: number,
  steps: readonly Step[] = STEPS,
): Promise<void> {
  for (let version = from; version < to; version++) {
    while (await runSlice(session, version, steps));
  }
}

/** Runs the step that leads from `version`, or a part of it: then it returns how far it has come. */
async function runSlice(
  session: Session,
  version: number,
  steps: readonly Step[],
): Promise<Moved | undefined> {
  const step = steps[version - BASELINE_VERSION] as Step;
  if (typeof step === 'string') await session.run({ name: '', text: step });
  const moved = typeof step === 'string' ? undefined : await step(session);
  if (!moved) await session.run(VERSION, [version + 1]);
  return moved;
}

/** Waits as long as a migration may take, and keeps other migrations out until the transaction ends. */
export async function lockMigrations(session: Session): Promise<void> {
  await session.run(MIGRATION_PATIENCE);
  await session.run(HOLD_MIGRATIONS);
}

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
async function refuseUsed(database: Database, platform: Platform, last: number): Promise<void> {
  const [first] = await database.read<UsedRow>(USED);
  if (!first?.is_recent) return;
  for (let awaited = 0; awaited < HEARTBEATS_AWAITED; awaited++) {
    await pause(platform, HEARTBEAT_MS);
    const [next] = await database.read<UsedRow>(USED);
    // Another process of this version was faster; the heartbeat may be its own.
    if (next?.version !== first.version) return;
    if (next.seen_ms === first.seen_ms) continue;
    const state = `processes of an older version use it (version ${first.version}, this program writes ${last})`;
    throw new Error(`Cannot open the store: ${state}; stop all of them, then start this one`);
  }
}

/** Makes the store, or runs the next step or a part of it; returns the log's id when none is left. */
async function takeNext(
  session: Session,
  create: boolean,
  steps: readonly Step[],
): Promise<{ logId: string } | { version: number; moved?: Moved | undefined }> {
  await lockMigrations(session);
  const { meta, database } = await findStore(session, steps);
  const last = lastVersion(steps);
  if (meta?.version === last) return { logId: meta.log_id };
  if (!create) throw new Error(`Cannot open the store: ${unmade(meta, database, last)}`);

  if (meta === undefined) {
    await makeStore(session);
    return { version: BASELINE_VERSION };
  }
  const moved = await runSlice(session, meta.version, steps);
  return { version: moved ? meta.version : meta.version + 1, moved };
}

/**
 * The store's own row, if there is one. Refuses a store of a version that this program cannot bring to its own, and our
 * tables without that row: they belong to another program.
 */
async function findStore(
  session: Session,
  steps: readonly Step[] = STEPS,
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
  const reason = meta && unfitVersion(meta.version, lastVersion(steps));
  if (reason !== undefined) throw new Error(`Cannot open the store: ${reason}`);
  return { meta, database };
}

function unmade(meta: MetaRow | undefined, database: string, last: number): string {
  if (meta === undefined) return `there is no store in the database "${database}"`;
  return olderStore(meta.version, last);
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

const TABLES: readonly string[] = [...BASELINE.matchAll(/^CREATE TABLE (\w+)/gm)].map(
  ([, name]) => `${name}`,
);

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

const META = { name: 'meta', text: 'SELECT version, log_id FROM meta' };

const MAKE_META = {
  name: 'migration_meta',
  text: `INSERT INTO meta (version, log_id) VALUES ($1, coalesce($2::text, gen_random_uuid()::text))`,
};

const FIRST_ORIGIN = {
  name: 'migration_origin',
  text: 'INSERT INTO origins (first, log_id) SELECT 0, log_id FROM meta',
};

const VERSION = { name: 'migration_version', text: 'UPDATE meta SET version = $1' };
