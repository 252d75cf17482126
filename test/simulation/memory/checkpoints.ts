/**
 * Checkpoints in the simulated store, and the election of the process that makes them.
 *
 * @module
 */

import type { LogStore } from '../../../src/storage/port/log-store.ts';
import type { CheckpointRecord } from '../../../src/storage/port/records.ts';
import { copiesOf, copyOf } from './copy.ts';
import type { MemoryDatabase } from './database.ts';
import { textOrder } from './table.ts';

export function insertCheckpoint(database: MemoryDatabase, checkpoint: CheckpointRecord): boolean {
  const { first } = database.log.origins.at(-1) ?? { first: 0 };
  const [last] = newestFirst(database);
  // The numbers of an ended log are below the first place of the current one.
  const before = last && last.sequence > first ? last : undefined;
  if (checkpoint.sequence !== (before?.sequence ?? first) + 1) return false;
  if (before && checkpoint.size < before.size) return false;
  database.checkpoints.insert(checkpoint.checkpoint_id, copyOf(checkpoint));
  return true;
}

export function lastCheckpoint(database: MemoryDatabase): CheckpointRecord | undefined {
  return listCheckpoints(database, 1)[0];
}

export function loadCheckpoint(
  { checkpoints }: MemoryDatabase,
  id: string,
): CheckpointRecord | undefined {
  return copyOf(checkpoints.get(id));
}

export function listCheckpoints(
  database: MemoryDatabase,
  limit: number,
  before: number = Number.MAX_SAFE_INTEGER,
): CheckpointRecord[] {
  const rows = newestFirst(database).filter(({ sequence }) => sequence < before);
  return copiesOf(rows.slice(0, limit));
}

function newestFirst({ checkpoints }: MemoryDatabase): CheckpointRecord[] {
  const rows = Array.from(checkpoints.values());
  return rows.sort((one, other) => other.sequence - one.sequence);
}

export function insertCosignature(database: MemoryDatabase, id: string, line: string): void {
  if (!database.checkpoints.get(id)) {
    throw new Error(`Cannot store a cosignature: there is no checkpoint "${id}"`);
  }
  const lines = database.cosignatures.get(id) ?? [];
  if (lines.includes(line)) return;
  database.cosignatures.put(id, [...lines, line].sort(textOrder));
}

export function cosignatures(database: MemoryDatabase, id: string): string[] {
  return [...(database.cosignatures.get(id) ?? [])];
}

export function lead(
  { leads }: MemoryDatabase,
  ...[job, holder, now, until]: Parameters<LogStore['lead']>
): boolean {
  const held = leads.get(job);
  if (held && held.holder !== holder && held.until > now) return false;
  leads.put(job, { holder, until: copyOf(until) });
  return true;
}
