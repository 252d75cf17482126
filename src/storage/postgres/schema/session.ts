/**
 * The settings that every connection needs, and the check that it has them.
 *
 * The address sends them to the server. A pooler such as PgBouncer drops what it does not know, so the store
 * asks the server what is in force and refuses to work without it: with `synchronous_commit` off, a power
 * failure would lose acknowledged changes. `deploy/pgbouncer.sql` sets the same values in the database.
 *
 * @module
 */

import type { PostgresSettings } from '../options.ts';

/**
 * An acknowledged change must survive a power failure, whatever the server's default. Our statements look up
 * keys or read an index in order, so one generic plan fits all values; a plan that reads a whole table, made
 * while it was small, must not stay in use when it has grown. JIT is off: our statements end before it would
 * help.
 */
const SESSION: Readonly<Record<string, string>> = {
  synchronous_commit: 'on',
  default_transaction_isolation: 'read committed',
  TimeZone: 'UTC',
  DateStyle: 'ISO',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
  plan_cache_mode: 'force_generic_plan',
};

type Timeouts = Pick<PostgresSettings, 'lockTimeoutMs' | 'statementTimeoutMs'>;

/** Those that the driver sends by names of its own. */
export function timeoutsOf({ lockTimeoutMs, statementTimeoutMs }: Timeouts) {
  return {
    lock_timeout: lockTimeoutMs,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: statementTimeoutMs,
  };
}

/** All settings of a connection, as the server names and shows them. */
export function sessionOf(timeouts: Timeouts): Readonly<Record<string, string>> {
  const entries = Object.entries(timeoutsOf(timeouts));
  return { ...SESSION, ...Object.fromEntries(entries.map(([name, ms]) => [name, String(ms)])) };
}

/** For the startup option `options`, where a space separates and a backslash escapes. */
export function startupOptions(): string[] {
  return Object.entries(SESSION).map(
    ([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`,
  );
}

/** The part of a database that the check needs; the connection itself imports this file. */
interface Reader {
  read<Row extends object>(
    statement: { readonly name: string; readonly text: string },
    values: readonly unknown[],
  ): Promise<Row[]>;
}

/** Throws and names each setting that is not in force. */
export async function refuseOtherSession(database: Reader, timeouts: Timeouts): Promise<void> {
  const wanted = sessionOf(timeouts);
  const rows = await database.read<SettingRow>(SETTINGS, [Object.keys(wanted)]);
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  const others = Object.entries(wanted)
    .filter(([name, value]) => !isSame(value, found.get(name)))
    .map(([name, value]) => `${name} is "${found.get(name)}", expected "${value}"`);
  if (others.length === 0) return;
  const remedy = 'a pooler dropped them; set them in the database (docs/operating.md, "PgBouncer")';
  throw new Error(
    `Cannot use the database: settings of the connection are not in force (${others.join('; ')}): ${remedy}`,
  );
}

/** The server adds the order of day and month to `ISO`, which has no effect on it. */
function isSame(wanted: string, found: string | undefined): boolean {
  return found === wanted || (wanted === SESSION.DateStyle && found?.startsWith('ISO,') === true);
}

interface SettingRow {
  readonly name: string;
  readonly setting: string;
}

const SETTINGS = {
  name: 'session_settings',
  text: 'SELECT name, setting FROM pg_settings WHERE name = ANY ($1::text[])',
};
