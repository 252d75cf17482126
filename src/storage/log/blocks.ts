/**
 * Index blocks: where the values of some fields occur in a run of entries.
 *
 * A block has for each field the keys of its values with the offsets of the entries that have them, in order. A
 * key is a hash of the value, so a query compares every entry that a block names with what it asks for. Blocks are
 * derived from segments: a damaged one is made again, and fsck compares each with the entries.
 *
 * A field is stored in buckets by the highest bits of the key, so that a look-up in a large block reads a few
 * kilobytes.
 *
 * @module
 */

import { crc32 } from 'node:zlib';
import type { StoredEntry } from '../../domain/log/entry.ts';
import type { EntryQuery } from '../port/log-store.ts';
import type { StoredBlock } from '../tables/log.ts';

/** Entries in a small block, and small blocks in a large one. */
export const BLOCK_ENTRIES = 1_024;
export const MERGED_BLOCKS = 32;

/** The indexed fields; their numbers are stored, so the order stays. */
export const FIELDS = [
  'entry_type',
  'root_principal',
  'capability',
  'task_id',
  'parent_invocation_id',
  'client_reference_id',
  'invocation_id',
  'entry_id',
  'leaf_hash',
] as const;

export type Field = (typeof FIELDS)[number];

/** The fields that a query filters by, the rarest values first. */
export const QUERY_FIELDS = {
  invocationId: 'invocation_id',
  parentInvocationId: 'parent_invocation_id',
  clientReferenceId: 'client_reference_id',
  taskId: 'task_id',
  rootPrincipal: 'root_principal',
  capability: 'capability',
  entryType: 'entry_type',
} as const satisfies Partial<Record<keyof EntryQuery, Field>>;

/** The columns of an entry that an index needs. */
export type Indexed = Pick<StoredEntry, Exclude<Field, 'leaf_hash'> | 'leaf_hash' | 'timestamp'>;

/** The postings of one field, in order: each is a key and the offset in the block of an entry that has it. */
export type Postings = Float64Array;

export interface Block {
  readonly count: number;
  /** The latest time among its entries, in milliseconds. */
  readonly newest: number;
  /** In the order of `FIELDS`. */
  readonly postings: readonly Postings[];
}

/** A key has 37 bits and an offset 15: together they fit the integers of a double. */
const KEYS = 2 ** 37;
const OFFSETS = BLOCK_ENTRIES * MERGED_BLOCKS;

/** The key of a value. Different values may share one. */
export function keyOf(value: string | Uint8Array): number {
  return typeof value === 'string' ? textKey(value) : bytesKey(value);
}

const HIGH_SEED = 0x9e3779b1;
const LOW_SEED = 0x85ebca77;

function textKey(text: string): number {
  let high = HIGH_SEED;
  let low = LOW_SEED;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    high = Math.imul(high ^ unit, 0x85ebca6b);
    low = Math.imul(low ^ unit, 0xc2b2ae35);
  }
  return mixed(high, low);
}

function bytesKey(bytes: Uint8Array): number {
  let high = HIGH_SEED;
  let low = LOW_SEED;
  for (let at = 0; at < bytes.length; at++) {
    const unit = bytes[at] as number;
    high = Math.imul(high ^ unit, 0x85ebca6b);
    low = Math.imul(low ^ unit, 0xc2b2ae35);
  }
  return mixed(high, low);
}

function mixed(high: number, low: number): number {
  const above =
    Math.imul(high ^ (high >>> 15), 0x2c1b3c6d) ^ Math.imul(low ^ (low >>> 13), 0x297a2d39);
  const below =
    Math.imul(low ^ (low >>> 15), 0x2c1b3c6d) ^ Math.imul(above ^ (above >>> 13), 0x297a2d39);
  return (above >>> 14) * 2 ** 19 + (below >>> 13);
}

/** The times and the keys of consecutive entries, column by column. */
export interface Columns {
  /** In milliseconds. */
  readonly times: number[];
  /** In the order of `FIELDS`; `NO_KEY` where an entry does not have the field. */
  readonly keys: readonly number[][];
}

const NO_KEY = -1;

export function createColumns(): Columns {
  return { times: [], keys: FIELDS.map(() => []) };
}

export function addTo({ times, keys }: Columns, entry: Indexed): void {
  // A damaged entry has no time.
  times.push(entry.timestamp.getTime() || 0);
  for (let field = 0; field < FIELDS.length; field++) {
    (keys[field] as number[]).push(fieldKey(entry, field));
  }
}

/** The keys of an entry, in the order of `FIELDS`. */
export function keysOf(entry: Indexed): number[] {
  return FIELDS.map((_, field) => fieldKey(entry, field));
}

/** The first fields have few values, so the key of the last one often serves again. */
const lastKeys = FIELDS.slice(0, 3).map(() => ({ value: '', key: NO_KEY }));

function fieldKey(entry: Indexed, field: number): number {
  const value = entry[FIELDS[field] as Field];
  // Erased fields are empty.
  if (value === undefined || value.length === 0) return NO_KEY;
  const last = lastKeys[field];
  if (last === undefined || typeof value !== 'string') return keyOf(value);
  if (value !== last.value) {
    last.key = keyOf(value);
    last.value = value;
  }
  return last.key;
}

/**
 * Adds the entry that belongs at this index. Entries before it that a damaged log does not have get no fields, so that
 * every other one keeps its place.
 */
export function addAt(columns: Columns, index: number, entry: Indexed): void {
  if (index < columns.times.length) return;
  addBlanks(columns, index);
  addTo(columns, entry);
}

/** Adds entries without fields until there are `count`. */
export function addBlanks({ times, keys }: Columns, count: number): void {
  while (times.length < count) {
    times.push(0);
    for (const column of keys) column.push(NO_KEY);
  }
}

/** Indexes entries of consecutive places, all or those from `begin` up to `end`. */
export function blockOf({ times, keys }: Columns, begin = 0, end = times.length): Block {
  let newest = 0;
  for (let at = begin; at < end; at++) newest = Math.max(newest, times[at] as number);
  return {
    count: end - begin,
    newest,
    postings: keys.map((column) => postingsIn(column, begin, end)),
  };
}

function postingsIn(column: readonly number[], begin: number, end: number): Postings {
  const found = new Float64Array(end - begin);
  let length = 0;
  for (let at = begin; at < end; at++) {
    const key = column[at] as number;
    if (key !== NO_KEY) found[length++] = key * OFFSETS + at - begin;
  }
  return found.slice(0, length).sort();
}

/** One field of consecutive small blocks, as a field of the block of all their entries. */
export function mergedPostings(parts: readonly Postings[]): Postings {
  const merged = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const [place, part] of parts.entries()) {
    for (const posting of part) merged[at++] = posting + place * BLOCK_ENTRIES;
  }
  return merged.sort();
}

/** The postings of a field without these entries. */
export function withoutOffsets(postings: Postings, erased: ReadonlySet<number>): Postings {
  return postings.filter((posting) => !erased.has(posting % OFFSETS));
}

/** Postings in one bucket: a look-up reads sixteen kilobytes at most where values differ. */
const BUCKET_POSTINGS = 2_048;

/** A field in a store: its buckets, by the highest bits of the key. */
export function bucketsOf(
  postings: Postings,
  buckets: number = bucketCount(postings.length),
): Uint8Array[] {
  const width = (KEYS / buckets) * OFFSETS;
  let begin = 0;
  return Array.from({ length: buckets }, (_, bucket) => {
    const end = placeOf(postings, (bucket + 1) * width, begin);
    const bytes = bucketBytes(postings.subarray(begin, end));
    begin = end;
    return bytes;
  });
}

function bucketCount(postings: number): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(postings / BUCKET_POSTINGS)));
}

/** The bucket of a key, where a field has this many. */
export function bucketOf(key: number, buckets: number): number {
  return Math.floor((key / KEYS) * buckets);
}

/** The first posting that is not below a value. */
function placeOf(postings: Postings, value: number, from = 0): number {
  let [low, high] = [from, postings.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((postings[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A checksum over the rest, the number of postings, and the postings, in the byte order of the machine. */
export function bucketBytes(postings: Postings): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + postings.byteLength);
  const header = new Uint32Array(bytes.buffer, 0, 2);
  new Float64Array(bytes.buffer, HEADER_BYTES).set(postings);
  header[1] = postings.length;
  header[0] = crc32(bytes.subarray(4));
  return bytes;
}

const HEADER_BYTES = 8;

/** False for bytes that are not those of a bucket any more, or of a machine with another byte order. */
export function isWhole(bucket: Uint8Array): boolean {
  if (bucket.length < HEADER_BYTES || bucket.length % 8 !== 0) return false;
  const [sum, length] = new Uint32Array(bucket.slice(0, HEADER_BYTES).buffer);
  return length === bucket.length / 8 - 1 && sum === crc32(bucket.subarray(4));
}

/** The postings of a field, given its whole buckets. */
export function postingsOf(buckets: readonly Uint8Array[]): Postings {
  const bytes = Buffer.concat(buckets.map((bucket) => bucket.subarray(HEADER_BYTES)));
  return new Float64Array(Uint8Array.from(bytes).buffer);
}

/** The offsets of one key in a whole bucket, in order; empty when it does not occur. */
export function offsetsIn(bucket: Uint8Array, key: number): number[] {
  // Not of a Buffer, whose slice is no copy: the postings must begin where eight bytes begin.
  const bytes = Uint8Array.prototype.slice.call(bucket, HEADER_BYTES);
  const postings = new Float64Array(bytes.buffer);
  const begin = placeOf(postings, key * OFFSETS);
  const end = placeOf(postings, (key + 1) * OFFSETS, begin);
  const offsets = new Array<number>(end - begin);
  for (let at = begin; at < end; at++) {
    offsets[at - begin] = (postings[at] as number) - key * OFFSETS;
  }
  return offsets;
}

/** What a store says about a block without its postings. */
export interface BlockHead extends Omit<StoredBlock, 'buckets'> {
  /** The number of buckets of each field, in the order of `FIELDS`. */
  readonly buckets: readonly number[];
}

/** The numbers of buckets of a block, and a checksum over all of its head. */
export function countsOf(head: BlockHead): Uint8Array {
  const bytes = Buffer.alloc(FIELDS.length + 4);
  bytes.set(head.buckets);
  bytes.writeUInt32LE(headSum(head), FIELDS.length);
  return bytes;
}

function headSum({ first, count, newest, latest, buckets }: BlockHead): number {
  return crc32(JSON.stringify([first, count, newest, latest, buckets]));
}

/** Undefined for a head that is not the one that was written. */
export function headFrom(
  facts: Omit<BlockHead, 'buckets'>,
  counts: Uint8Array,
): BlockHead | undefined {
  const bytes = Buffer.from(counts);
  if (bytes.length !== FIELDS.length + 4) return undefined;
  const head = { ...facts, buckets: [...bytes.subarray(0, FIELDS.length)] };
  return bytes.readUInt32LE(FIELDS.length) === headSum(head) ? head : undefined;
}
