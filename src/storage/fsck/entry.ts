/**
 * Compares one stored entry with itself: its hash with its bytes, and its columns with its bytes.
 *
 * @module
 */

import { LEAF_VERSION, personalDigest, type StoredEntry } from '../../domain/log/entry.ts';
import { HASH_BYTES, hashLeaf } from '../../domain/log/merkle.ts';
import { equalBytes, toHex } from '../../domain/wire/hash.ts';
import { retentionOf } from '../log/segment.ts';

type Column = keyof StoredEntry & string;

/** The columns that repeat a personal field as it is. */
const PERSONAL: readonly Column[] = [
  'root_principal',
  'actor_key',
  'client_reference_id',
  'task_id',
];

/** The columns that are erased with the leaf and not before. */
const CONTENTS: readonly Column[] = ['capability', 'invocation_id', 'parent_invocation_id'];

/** The columns that repeat a field of the leaf as it is. */
const PLAIN: readonly Column[] = ['entry_id', 'entry_type', ...CONTENTS, 'event_class', 'state'];

const ERASABLE: readonly Column[] = [...PERSONAL, ...CONTENTS];

/** Its faults. Of an erased entry only the hash is left, and no column may repeat its contents. */
export function entryFaults(stored: StoredEntry): string[] {
  const { leaf, leaf_hash } = stored;
  if (leaf_hash.length !== HASH_BYTES) return [`its leaf hash has ${leaf_hash.length} bytes`];
  if (leaf === undefined) return leftColumns(stored, ERASABLE);

  const hash = hashLeaf(leaf);
  if (!equalBytes(hash, leaf_hash)) {
    return [`its leaf hash is ${toHex(leaf_hash)}, its bytes give ${toHex(hash)}`];
  }
  const fields = readLeaf(leaf);
  if (fields === undefined) return ['its leaf is not JSON'];
  if (fields.v !== LEAF_VERSION) return [`its leaf is of version ${fields.v}, not ${LEAF_VERSION}`];
  return [...personalFaults(stored, fields), ...columnFaults(stored, fields, PLAIN)];
}

/** The leaf must have the digest of these bytes; then the columns must repeat them. */
function personalFaults(stored: StoredEntry, leafFields: Record<string, unknown>): string[] {
  const { personal } = stored;
  if (personal === undefined) return leftColumns(stored, PERSONAL);
  if (personalDigest(personal) !== leafFields.personal) {
    return ['its personal fields are not those whose digest the leaf has'];
  }
  const fields = readLeaf(personal);
  return fields ? columnFaults(stored, fields, PERSONAL) : ['its personal fields are not JSON'];
}

function leftColumns(stored: StoredEntry, columns: readonly Column[]): string[] {
  return columns
    .filter((column) => (stored[column] ?? '') !== '')
    .map((column) => `column ${column} is ${shown(stored[column])}, the leaf was erased`);
}

const decoder = new TextDecoder('utf-8', { fatal: true });

function readLeaf(leaf: Uint8Array): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(decoder.decode(leaf));
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : undefined;
  } catch {
    return undefined;
  }
}

function columnFaults(
  stored: StoredEntry,
  fields: Record<string, unknown>,
  columns: readonly Column[],
): string[] {
  const faults = columns
    .filter((column) => stored[column] !== fields[column])
    .map(
      (column) =>
        `column ${column} is ${shown(stored[column])}, the leaf says ${shown(fields[column])}`,
    );
  return columns === PLAIN ? [...faults, ...timeFaults(stored, fields)] : faults;
}

function timeFaults(stored: StoredEntry, fields: Record<string, unknown>): string[] {
  const faults: string[] = [];
  const timestamp = typeof fields.timestamp === 'string' ? fields.timestamp : 'no time';
  const time = new Date(timestamp);
  if (stored.timestamp.getTime() !== time.getTime()) {
    const column = Number.isNaN(stored.timestamp.getTime()) ? 'no time' : stored.timestamp.toJSON();
    faults.push(`column timestamp is ${column}, the leaf says ${shown(fields.timestamp)}`);
  }
  const until = retentionOf({ timestamp, retention: fields.retention as string | undefined });
  if (stored.retain_until?.getTime() !== until?.getTime()) {
    faults.push(`column retain_until does not follow from ${shown(fields.retention)} in the leaf`);
  }
  return faults;
}

function shown(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value);
}
