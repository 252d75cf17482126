/**
 * Retention in the simulated store: erases contents of entries; their hashes and places stay.
 *
 * @module
 */

import type { StoredEntry } from '../../../src/domain/log/entry.ts';
import type { Erasure } from '../../../src/storage/port/log-store.ts';
import type { MemoryDatabase } from './database.ts';
import { emptyErased } from './settlement.ts';

export function erase(database: MemoryDatabase, policy: Erasure): number {
  if (policy.what === 'stated') return eraseStated(database, policy);
  const name = policy.what === 'personal' ? 'personal' : policy.eventClass;
  const { entries } = database.log;
  const start = database.log.indexFrom(database.erasures.get(name) ?? 0);
  let index = start;
  while (index < entries.length && index - start < policy.limit) {
    const entry = entries[index] as StoredEntry;
    if (entry.timestamp > policy.until) break;
    if (policy.what === 'personal') eraseEntry(database, index, withoutPersonal(entry));
    else if (entry.event_class === policy.eventClass && entry.retain_until === undefined) {
      eraseEntry(database, index, withoutContents(entry));
    }
    index += 1;
  }
  const last = entries[index - 1];
  if (last && index > start) database.erasures.put(name, last.sequence + 1);
  return index - start;
}

/** The place of an entry says nothing about its own retention, so every entry is looked at. */
function eraseStated(database: MemoryDatabase, { until, limit }: Erasure): number {
  let erased = 0;
  for (const [index, entry] of database.log.entries.entries()) {
    if (erased === limit) break;
    if (!entry.leaf || !entry.retain_until || entry.retain_until > until) continue;
    eraseEntry(database, index, withoutContents(entry));
    erased += 1;
  }
  return erased;
}

/** Changes nothing where it is erased already. */
function eraseEntry(database: MemoryDatabase, index: number, erased: StoredEntry): void {
  const before = database.log.entries[index] as StoredEntry;
  if (before.personal === erased.personal && before.leaf === erased.leaf) return;
  database.log.replace(index, erased);
  for (const { closed, intent } of database.calls.values()) {
    if (closed?.entry_id === before.entry_id) emptyErased(database, intent.operation_id);
  }
}

function withoutPersonal(entry: StoredEntry): StoredEntry {
  return {
    ...entry,
    personal: undefined,
    actor_key: '',
    root_principal: '',
    client_reference_id: undefined,
    task_id: undefined,
  };
}

function withoutContents(entry: StoredEntry): StoredEntry {
  return {
    ...withoutPersonal(entry),
    leaf: undefined,
    capability: undefined,
    invocation_id: undefined,
    parent_invocation_id: undefined,
  };
}
