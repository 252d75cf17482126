/**
 * Reads of the log in the simulated store: entries by filters, leaves, nodes and logs.
 *
 * @module
 */

import type { StoredEntry } from '../../../src/domain/log/entry.ts';
import type { NodeId } from '../../../src/domain/log/merkle.ts';
import type { Origin } from '../../../src/domain/log/origin.ts';
import { equalBytes } from '../../../src/domain/wire/hash.ts';
import type { EntryPage, EntryQuery, LogStore } from '../../../src/storage/port/log-store.ts';
import { copiesOf, copyOf } from './copy.ts';
import type { MemoryDatabase } from './database.ts';

/** The column that each filter compares. */
const FILTERS: readonly (readonly [keyof EntryQuery, keyof StoredEntry])[] = [
  ['rootPrincipal', 'root_principal'],
  ['entryType', 'entry_type'],
  ['capability', 'capability'],
  ['invocationId', 'invocation_id'],
  ['clientReferenceId', 'client_reference_id'],
  ['taskId', 'task_id'],
  ['parentInvocationId', 'parent_invocation_id'],
];

/** The newest first. `next` is absent when no match is left. */
export function queryEntries({ log }: MemoryDatabase, query: EntryQuery): EntryPage {
  const { before, since, limit } = query;
  const filters = FILTERS.filter(([filter]) => query[filter] !== undefined);
  const found: StoredEntry[] = [];
  let index = before === undefined ? log.entries.length : log.indexFrom(before);
  while (index > 0) {
    index -= 1;
    const entry = log.entries[index] as StoredEntry;
    if (since && entry.timestamp <= since) continue;
    if (!filters.every(([filter, column]) => entry[column] === query[filter])) continue;
    if (found.length === limit) return { entries: copiesOf(found), next: found.at(-1)?.sequence };
    found.push(entry);
  }
  return { entries: copiesOf(found), next: undefined };
}

export function scanEntries(
  { log }: MemoryDatabase,
  ...[from, limit]: Parameters<LogStore['scanEntries']>
): StoredEntry[] {
  const start = log.indexFrom(from);
  return copiesOf(log.entries.slice(start, start + limit));
}

/** The entry of an invocation is that of its call; a later entry may name it too. */
export function findLeaf(
  { log }: MemoryDatabase,
  by: Parameters<LogStore['findLeaf']>[0],
): Awaited<ReturnType<LogStore['findLeaf']>> {
  const found = 'leaf_hash' in by ? byHash(log.entries, by.leaf_hash) : byCall(log.entries, by);
  if (!found) return undefined;
  const { sequence, leaf_hash, root_principal } = found;
  return { sequence, leaf_hash: copyOf(leaf_hash), root_principal };
}

function byHash(entries: readonly StoredEntry[], hash: Uint8Array): StoredEntry | undefined {
  return entries.findLast(({ leaf_hash }) => equalBytes(leaf_hash, hash));
}

function byCall(
  entries: readonly StoredEntry[],
  { invocation_id }: { readonly invocation_id: string },
): StoredEntry | undefined {
  const named = entries.filter((entry) => entry.invocation_id === invocation_id);
  return named.find(({ entry_type }) => entry_type === 'invocation') ?? named[0];
}

export function readNodes({ log }: MemoryDatabase, ids: readonly NodeId[]): Uint8Array[] {
  return ids.map((id) => {
    const hash = log.node(id);
    if (hash) return hash;
    throw new Error(`Cannot read tree node ${id.index} of level ${id.level}: it is missing`);
  });
}

export function readOrigins({ log }: MemoryDatabase): Origin[] {
  return log.origins.map(({ logId, first }) => ({ logId, first }));
}

export function beginOrigin(
  { log }: MemoryDatabase,
  ...[from, logId, entry, signed = 0]: Parameters<LogStore['beginOrigin']>
): boolean {
  const current = log.origins.at(-1);
  const size = log.entries.length - (current?.before ?? 0);
  if (current?.first !== from.first || size !== from.size) return false;
  log.beginNext(logId, entry, signed);
  return true;
}
