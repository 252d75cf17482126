/**
 * Plans of statements, with ten thousand foreign rows in every table: which rows a statement walks through that
 * belong to others.
 *
 * A foreign row shares with ours what callers share (capability, state, times) and has its own ids, names and
 * digests. A statement may walk through the rows that have equal values in the columns by which an index finds
 * them. Where ten thousand rows have those values, or a table is read without an index, the statement is named.
 *
 * @module
 */

import pg from 'pg';
import type { Store } from '../../src/storage/port/store.ts';
import { startupOptions } from '../../src/storage/postgres/schema/session.ts';
import { openPostgres } from '../../src/storage/postgres/store.ts';
import { type Connection, openConnection } from '../../src/storage/sqlite/connection.ts';
import { migrate } from '../../src/storage/sqlite/schema/migrations.ts';
import { createSqliteStore } from '../../src/storage/sqlite/store.ts';
import { closedAtEnd } from '../support/ends.ts';
import { connectedTo, freshDatabase } from '../support/postgres.ts';
import { newFile, openInstances } from '../support/store-places.ts';
import {
  EXPLAINED,
  type PlanNode,
  type Planned,
  plannedWithin,
  type Ran,
  UNSEEN,
  type Walk,
  walksIn,
} from './plans-within.ts';

const FOREIGN_ROWS = 10_000;

/** Rows with equal values in the columns of a search: more of them are rows of others. */
const OWN_ROWS_MAX = 100;

/**
 * Tables that are not filled: those with one row, or with as many as there are processes and jobs; and the log, which
 * is read by position (`src/storage/postgres/log-plans.test.ts`, `src/storage/sqlite/log-pages.test.ts`).
 */
const APART = new Set([
  'head',
  'meta',
  'store',
  'origins',
  'probes',
  'leads',
  'instances',
  'erasures',
  'segments',
  'tiles',
  'blocks',
  'buckets',
  'retentions',
  'queue',
  'handed',
  'checkpoints',
  'cosignatures',
]);

/** Methods of starts, recovery, fsck and erasure, which read whole tables in slices. */
const OFF_REQUEST = new Set([
  'sealRows',
  'scanRows',
  'readLedger',
  'inspect',
  'voidPromises',
  'staleApprovals',
  'unrevokedRoots',
  'erase',
]);

/** Walks that were reviewed: by the method, then the index or the table. */
const REVIEWED: Readonly<Record<string, readonly string[]>> = {
  // Pages in the order of an index, which a limit or a last place ends.
  indeterminate: ['intents_unknown', 'intents_unknown_by_invocation'],
  listApprovals: ['approval_requests_by_age', 'approval_requests_newest'],
  listConnected: ['sqlite_autoindex_connected_accounts_1', 'connected_accounts_pkey'],
  listDeliveries: ['deliveries', 'deliveries_place_key'],
  listIdentities: ['sqlite_autoindex_identities_1', 'identities_pkey'],
  openInvitations: ['invitations_open'],
  waitingInvitations: ['invitations_waiting'],
  livingSessions: ['sessions_by_expiry'],
  pendingApprovals: ['approval_requests_pending', 'approval_requests_due'],
  pendingSides: ['approval_requests_pending', 'approval_requests_due'],
  reconcile: ['intents_unknown'],
  // What is due, oldest first, up to a limit.
  beginSession: ['sessions_by_expiry'],
  insertInvitation: ['invitations_by_expiry', 'invitations_open'],
  expireApprovals: ['approval_requests_pending', 'approval_requests_due'],
  forgetKeys: ['idempotency_by_age', 'intents'],
  takeDeliveries: ['deliveries_due'],
  // Calls under way, as many as all processes run at a time.
  abandonedIntents: ['intents_open'],
  admit: ['intents_open'],
  adoptComposition: ['intents_composing'],
  load: ['intents_open'],
  openIntents: ['intents_open'],
  // Counts up to a bound: once in ten seconds at most, and up to the bound on identities.
  figures: [
    'approval_requests_pending',
    'approval_requests_due',
    'approval_requests_waiting',
    'approval_requests',
  ],
  insertIdentity: ['identities_by_principal', 'identities'],
  enrol: ['identities_by_principal', 'identities'],
};

/** What rows of different callers have in common, in SQL of both databases. */
const SHARED: Readonly<Record<string, string>> = {
  account: "'calendar'",
  capability: "'pay'",
  contract_version: "'1.0.0'",
  currency: "'USD'",
  ended_at: 'NULL',
  entry_type: "'invocation'",
  event: "'requested'",
  issuer: "'https://issuer.example'",
  max_uses: '2',
  removed_at: 'NULL',
  state: "'pending'",
  status: "'pending'",
  target: "'desk'",
  type: "'quote'",
  uses: '0',
  what: "'root_principal'",
};

/** The texts of a driver, each with the methods of the store that ran it. */
type Statements = Map<string, Set<string>>;

/** Opens stores, and notes the statements that they run once they are open. */
export interface Recording {
  readonly statements: Statements;
  /** What ran on each store, in order. */
  readonly transcripts: readonly (readonly Ran[])[];
  open(): Promise<Store>;
}

export function recordSqlite(): Recording {
  const recorder = recorderOf();
  const noting =
    <Args extends unknown[], Result>(run: (sql: string, ...args: Args) => Result) =>
    (sql: string, ...args: Args) => {
      recorder.note(sql);
      return run(sql, ...args);
    };
  return {
    ...recorder,
    async open() {
      const connection = openConnection(newFile());
      const { run, change, get, all, each } = connection;
      const noted = {
        run: noting(run),
        change: noting(change),
        each: noting(each),
        get: noting(get) as typeof get,
        all: noting(all) as typeof all,
      };
      return recorder.of(createSqliteStore({ ...connection, ...noted }));
    },
  };
}

export function recordPostgres(): Recording {
  const recorder = recorderOf();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [asked] = args as [{ text?: string; values?: unknown[] } | string];
    if (typeof asked === 'string') recorder.note(asked);
    else recorder.note(asked?.text ?? '', asked?.values);
    return (query as (...args: unknown[]) => unknown).apply(this, args);
  } as typeof query;
  return { ...recorder, open: async () => recorder.of((await openInstances(1))[0]) };
}

function recorderOf() {
  const statements: Statements = new Map();
  const transcripts: Ran[][] = [];
  let method: string | undefined;
  return {
    statements,
    transcripts,
    note(text: string, values: readonly unknown[] = []) {
      if (method === undefined || !/^\s*(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(text)) return;
      statements.set(text, (statements.get(text) ?? new Set()).add(method));
      transcripts.at(-1)?.push({ method, text, values });
    },
    of(store: Store) {
      transcripts.push([]);
      return new Proxy(store, {
        get(target, name) {
          const value = Reflect.get(target, name);
          if (typeof value !== 'function') return value;
          return (...args: unknown[]) => {
            method = name === 'close' ? undefined : String(name);
            return value.apply(target, args);
          };
        },
      });
    },
  };
}

/** Walks through foreign rows that were not reviewed: the method, then the index or the table; with the statement. */
export async function foreignWalks(
  { statements, transcripts }: Recording,
  { walksOf, walksWithin, rowsIn }: Filled,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const sizes = new Map<string, number>();
  const sizeOf = async ({ table, equal }: Walk) => {
    const key = `${table} ${equal}`;
    const size = sizes.get(key) ?? (await rowsIn(table, equal));
    sizes.set(key, size);
    return size;
  };
  const judge = async ({ text, methods, walks }: Planned) => {
    for (const walk of walks) {
      if (isApart(walk.table) || (await sizeOf(walk)) <= OWN_ROWS_MAX) continue;
      for (const way of unreviewed(methods, walk)) found.set(way, text);
    }
  };
  for (const [text, methods] of statements) {
    await judge({ text, methods, walks: await walksOf(text) });
  }
  for (const planned of await walksWithin(transcripts)) await judge(planned);
  return found;
}

function isApart(table: string): boolean {
  return APART.has(table) || table.startsWith('pg_');
}

function unreviewed(methods: ReadonlySet<string>, { index, table }: Walk): string[] {
  const way = index ?? table;
  return [...methods]
    .filter((method) => !OFF_REQUEST.has(method) && !REVIEWED[method]?.includes(way))
    .map((method) => `${method} ${way}`);
}

export interface Filled {
  /** Gives the planner statistics of the rows. */
  analyze(): Promise<void>;
  walksOf(text: string): Promise<Walk[]>;
  /** Those of the statements that functions of the database run, while all that ran on each store runs again. */
  walksWithin(transcripts: Recording['transcripts']): Promise<readonly Planned[]>;
  /** Functions of the database that did not run in `walksWithin`. */
  unseen(): Promise<string[]>;
  /** How many rows have the same values in these columns, at most. */
  rowsIn(table: string, columns: readonly string[]): Promise<number>;
}

export function filledSqlite(): Filled {
  const connection = openConnection(':memory:');
  closedAtEnd({ close: async () => connection.close() });
  migrate(connection);
  fillSqlite(connection);
  const tableOf = new Map(
    connection
      .all<{ name: string; tbl_name: string }>('SELECT name, tbl_name FROM sqlite_schema')
      .map(({ name, tbl_name }) => [name, tbl_name]),
  );
  return {
    analyze: async () => connection.script('ANALYZE'),
    async walksOf(text) {
      const steps = connection.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`);
      return steps.flatMap(({ detail }) => {
        const walk =
          /^(SCAN|SEARCH) (\w+)(?:.*? USING (?:COVERING )?(?:INDEX (\w+)|(?:INTEGER )?PRIMARY KEY))?(?: \((.*)\))?/.exec(
            detail,
          );
        if (!walk) return [];
        const [, , name = '', index, conditions = ''] = walk;
        const table = (index && tableOf.get(index)) ?? tableNamed(text, name, tableOf);
        if (table === undefined) return [];
        const equal = [...conditions.matchAll(/(\w+)=\?/g)].map(([, column = '']) => column);
        // The rowid belongs to one row, whatever the column is called.
        if (equal.includes('rowid')) return [];
        return [{ table, index, equal: equal.filter((column) => column !== 'expr') }];
      });
    },
    walksWithin: async () => [],
    unseen: async () => [],
    async rowsIn(table, columns) {
      const group = columns.length > 0 ? `GROUP BY ${columns.join(', ')}` : '';
      const sql = `SELECT max(size) AS most FROM (SELECT count(*) AS size FROM ${table} ${group})`;
      return Number(connection.get<{ most: bigint }>(sql)?.most);
    },
  };
}

/** A table under its own name or under an alias of the statement. */
function tableNamed(text: string, name: string, tables: ReadonlyMap<string, string>) {
  if (tables.has(name)) return name;
  const from = new RegExp(`\\b(\\w+)(?: AS)? ${name}\\b`, 'gi');
  return [...text.matchAll(from)].map(([, table = '']) => table).find((table) => tables.has(table));
}

function fillSqlite(connection: Connection): void {
  connection.script('PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON');
  const triggers = connection.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'trigger'",
  );
  for (const { name } of triggers) connection.script(`DROP TRIGGER ${name}`);
  const tables = connection.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'",
  );
  for (const { name } of tables) {
    if (APART.has(name)) continue;
    const columns = connection.all<{ name: string; type: string }>(`PRAGMA table_info(${name})`);
    const values = columns.map((column) => {
      if (column.type === 'TEXT') return SHARED[column.name] ?? `'${column.name}-' || n`;
      if (column.type === 'BLOB') return 'randomblob(32)';
      return SHARED[column.name] ?? 'n';
    });
    const list = columns.map((column) => `"${column.name}"`).join(', ');
    connection.run(
      `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
       INSERT OR IGNORE INTO ${name} (${list}) SELECT ${values.join(', ')} FROM numbers`,
      FOREIGN_ROWS,
    );
  }
}

export async function filledPostgres(): Promise<Filled> {
  const { url } = await freshDatabase();
  await (await openPostgres(url, { poolSize: 1 })).close();
  const client = await connectedTo(url);
  const run = async <Row extends pg.QueryResultRow>(text: string) => {
    return (await client.query<Row>(text)).rows;
  };
  await run(FILL_POSTGRES);
  const columns = new Map<string, string[]>();
  for (const { table_name, column_name } of await run<{ table_name: string; column_name: string }>(
    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'",
  )) {
    columns.set(table_name, [...(columns.get(table_name) ?? []), column_name]);
  }
  const replaying = new URL(url);
  replaying.searchParams.set('options', [...startupOptions(), ...EXPLAINED].join(' '));
  const replay = await connectedTo(replaying.href);
  let needed: Recording['transcripts'] | undefined;
  return {
    analyze: async () => void (await run('ANALYZE')),
    async walksWithin(transcripts) {
      const replayed = await plannedWithin(replay, needed ?? transcripts, columns);
      needed ??= replayed.needed;
      return replayed.planned;
    },
    async unseen() {
      await replay.query('SELECT pg_stat_force_next_flush()');
      const rows = await run<{ name: string }>(UNSEEN);
      return rows.map(({ name }) => name);
    },
    async walksOf(text) {
      const [row] = await run<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
        `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${text}`,
      );
      const root = row?.['QUERY PLAN'][0].Plan;
      return root ? walksIn(root, undefined, columns) : [];
    },
    async rowsIn(table, equal) {
      const group = equal.length > 0 ? `GROUP BY ${equal.join(', ')}` : '';
      const [row] = await run<{ most: bigint }>(
        `SELECT max(size) AS most FROM (SELECT count(*) AS size FROM ${table} ${group}) s`,
      );
      return Number(row?.most);
    },
  };
}

const FILL_POSTGRES = `DO $fill$
DECLARE
  each record;
  shared jsonb := '${JSON.stringify(SHARED).replaceAll("'", "''")}';
BEGIN
  SET LOCAL session_replication_role = replica;
  -- A table that is analysed meanwhile would have another plan than in the next run.
  FOR each IN SELECT oid::regclass AS tab FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
  LOOP EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', each.tab); END LOOP;
  FOR each IN SELECT conrelid::regclass AS tab, conname FROM pg_constraint
    WHERE contype = 'c' AND conrelid <> 0 AND connamespace = 'public'::regnamespace
  LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', each.tab, each.conname); END LOOP;
  FOR each IN SELECT contypid::regtype AS domain, conname FROM pg_constraint
    WHERE contype = 'c' AND contypid <> 0 AND connamespace = 'public'::regnamespace
  LOOP EXECUTE format('ALTER DOMAIN %s DROP CONSTRAINT %I', each.domain, each.conname); END LOOP;
  FOR each IN
    SELECT c.table_name AS tab, string_agg(quote_ident(c.column_name), ', ') AS list,
      string_agg(CASE
        WHEN shared ? c.column_name THEN shared ->> c.column_name
        WHEN c.data_type = 'text' THEN format('%L || n', c.column_name || '-')
        WHEN c.udt_name = '_text' THEN 'ARRAY[''item-'' || n]'
        WHEN c.data_type = 'ARRAY' THEN 'NULL'
        WHEN c.data_type IN ('jsonb', 'json') THEN '''{}'''
        WHEN c.data_type = 'uuid' THEN 'gen_random_uuid()'
        WHEN c.data_type = 'boolean' THEN 'true'
        WHEN c.data_type = 'bytea' THEN 'sha256(n::text::bytea)'
        WHEN c.data_type LIKE 'timestamp%' THEN 'now() + n * interval ''1 second'''
        WHEN c.data_type IN ('integer', 'bigint', 'numeric') THEN 'n'
        ELSE 'NULL' END, ', ') AS made
    FROM information_schema.columns c
    WHERE c.table_schema = 'public' AND c.is_identity = 'NO' AND c.is_generated = 'NEVER'
      AND c.table_name <> ALL (ARRAY['${[...APART].join("','")}'])
    GROUP BY c.table_name
  LOOP
    EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM generate_series(1, ${FOREIGN_ROWS}) n
      ON CONFLICT DO NOTHING', each.tab, each.list, each.made);
  END LOOP;
END $fill$`;
