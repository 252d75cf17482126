/**
 * One stored entry against itself: does the hash belong to the bytes, and do the columns say what
 * the bytes say?
 *
 * @module
 */

import { LEAF_VERSION, type StoredEntry } from '../domain/entry.ts';
import { equalBytes, toHex } from '../domain/hash.ts';
import { hashLeaf } from '../domain/merkle.ts';

/** The columns that repeat a field of the leaf as it is. */
const COLUMNS = [
  'entry_id',
  'entry_type',
  'root_principal',
  'actor_key',
  'capability',
  'invocation_id',
  'client_reference_id',
  'task_id',
  'parent_invocation_id',
  'event_class',
  'state',
] as const satisfies readonly (keyof StoredEntry)[];

/** What is wrong with it; of an entry whose contents were erased only its hash is left. */
export function entryFaults(stored: StoredEntry): string[] {
  const { leaf, leaf_hash } = stored;
  if (leaf_hash.length !== HASH_BYTES) return [`its leaf hash has ${leaf_hash.length} bytes`];
  if (leaf === undefined) return [];

  const hash = hashLeaf(leaf);
  if (!equalBytes(hash, leaf_hash)) {
    return [`its leaf hash is ${toHex(leaf_hash)}, its bytes give ${toHex(hash)}`];
  }
  const said = readLeaf(leaf);
  if (said === undefined) return ['its leaf is not JSON'];
  if (said.v !== LEAF_VERSION) return [`its leaf is of version ${said.v}, not ${LEAF_VERSION}`];
  return columnFaults(stored, said);
}

const HASH_BYTES = 32;

function readLeaf(leaf: Uint8Array): Record<string, unknown> | undefined {
  try {
    const said: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(leaf));
    return typeof said === 'object' && said !== null ? { ...said } : undefined;
  } catch {
    return undefined;
  }
}

function columnFaults(stored: StoredEntry, said: Record<string, unknown>): string[] {
  const faults = COLUMNS.filter((column) => stored[column] !== said[column]).map(
    (column) =>
      `column ${column} is ${shown(stored[column])}, the leaf says ${shown(said[column])}`,
  );
  const time = Date.parse(String(said.timestamp));
  if (stored.timestamp.getTime() !== time) {
    const column = Number.isNaN(stored.timestamp.getTime()) ? 'no time' : stored.timestamp.toJSON();
    faults.push(`column timestamp is ${column}, the leaf says ${shown(said.timestamp)}`);
  }
  return faults;
}

function shown(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value);
}
