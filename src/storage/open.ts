/**
 * Opens the store that an address names.
 *
 * @module
 */

import type { Platform } from '../platform.ts';
import { type MarkStore, markIn } from './port/mark.ts';
import type { Store } from './port/store.ts';
import { IN_MEMORY } from './sqlite/connection.ts';
import { openSqliteMark } from './sqlite/log/mark.ts';
import { openSqlite } from './sqlite/store.ts';

export interface StoreOptions {
  /** Clock, timers and random bytes of the adapter; default: those of Node. */
  readonly platform?: Platform | undefined;
  /** Replaces the store's own clock. */
  readonly clock?: (() => Date) | undefined;
  /** False: refuses a missing or older store, and writes nothing. A store in memory is always new. */
  readonly create?: boolean | undefined;
}

/** `memory:`, `sqlite:<file>`, or the address of a PostgreSQL database. */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  const { platform, clock, create } = options;
  if (url === 'memory:') return openSqlite(IN_MEMORY, { platform, clock });
  if (/^postgres(ql)?:\/\//.test(url)) {
    // Loaded on demand: a SQLite store does not wait for this driver.
    const { openPostgres } = await import('./postgres/store.ts');
    return openPostgres(url, { platform, clock, create });
  }
  if (/^sqlite:./.test(url)) {
    return openSqlite(url.slice('sqlite:'.length), { platform, clock, create });
  }

  // The address may contain a password after its scheme, so the message shows only the scheme.
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? '';
  const known = '"memory:", "sqlite:<file>" or "postgres://…"';
  throw new Error(`Cannot open the store: "${scheme}" is not ${known}`);
}

/** `sqlite:<file>`, or the address of a PostgreSQL database. */
export async function openMark(url: string): Promise<MarkStore> {
  if (url.startsWith('sqlite:')) return markIn(openSqliteMark(url.slice('sqlite:'.length)));
  const { openPostgresMark } = await import('./postgres/log/mark.ts');
  return markIn(await openPostgresMark(url));
}
