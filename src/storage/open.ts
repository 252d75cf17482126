/**
 * Opens the store that an address names.
 *
 * @module
 */

import { openPostgres } from './postgres/store.ts';
import { IN_MEMORY } from './sqlite/connection.ts';
import { openSqlite } from './sqlite/store.ts';
import type { Store } from './store.ts';

export interface StoreOptions {
  /** In place of the store's own clock. */
  readonly clock?: (() => Date) | undefined;
}

/** `memory:`, `sqlite:<file>`, or the address of a PostgreSQL database. */
export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  const clock = options.clock ? { clock: options.clock } : {};
  if (url === 'memory:') return openSqlite(IN_MEMORY, clock);
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, clock);
  if (/^sqlite:./.test(url)) return openSqlite(url.slice('sqlite:'.length), clock);

  // An address may carry a password after its scheme, so no more of it is shown.
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? '';
  const known = '"memory:", "sqlite:<file>" or "postgres://…"';
  throw new Error(`Cannot open the store: "${scheme}" is not ${known}`);
}
