/**
 * Segments: the entries of one commit as one row.
 *
 * A segment has the hash of each leaf, the exact bytes of the leaves and of the personal fields, one line an entry:
 * canonical JSON has no line break. Every column of an entry is read from these bytes, so nothing is stored
 * twice. Retention replaces a leaf by a stub with the facts that stay, and empties a line of personal fields;
 * places and hashes never change.
 *
 * @module
 */

import type { EntryRecord, StoredEntry } from '../../domain/log/entry.ts';
import { retainUntil } from '../../domain/log/entry.ts';
import { HASH_BYTES } from '../../domain/log/merkle.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import { utf8 } from '../../domain/wire/hash.ts';
import { isObject } from '../../domain/wire/json.ts';
import type { StoredSegment } from '../tables/log.ts';
import type { Indexed } from './blocks.ts';

const LINE_END = 0x0a;
const SPACE = 0x20;

/**
 * In bytes of leaves and personal fields: a query reads a whole segment for one entry. A larger commit makes
 * several segments.
 */
const SEGMENT_BYTES_MAX = 8_192;

export type Segment = StoredSegment;

/** The bytes of a segment do not have the form of one. Names the places that it should have. */
export class DamagedSegment extends Error {
  override readonly name = 'DamagedSegment';
  readonly first: number;
  /** The place after its last entry: above `first` also where the number of entries is damaged. */
  readonly end: number;
  /** As "entry 3" or "entries 10 to 19". */
  readonly places: string;

  constructor(segment: Segment, why: string) {
    const { first } = segment;
    const end = segmentEnd(segment);
    const places = end > first + 1 ? `entries ${first} to ${end - 1}` : `entry ${first}`;
    super(`Cannot read ${places}: the segment is damaged: ${why}`);
    this.first = first;
    this.end = end;
    this.places = places;
  }
}

/** The place after the last entry. A damaged segment has at least one place, so that a walk over segments ends. */
export function segmentEnd({ first, count }: Pick<Segment, 'first' | 'count'>): number {
  return first + Math.max(1, count);
}

/** Whether a segment or a block has this place. */
export function hasPlace(
  { first, count }: Pick<Segment, 'first' | 'count'>,
  place: number,
): boolean {
  return place >= first && place < first + count;
}

/** Throws for entries that do not follow each other from this place on, or would damage a segment. */
export function refuseUnfit(entries: readonly StoredEntry[], from: number): void {
  for (const [index, { sequence, leaf, personal }] of entries.entries()) {
    const place = from + index;
    if (sequence !== place) throw new Error(`Cannot write the log: entry ${place} is missing`);
    if (!hasLineEnd(leaf) && !hasLineEnd(personal)) continue;
    throw new Error(`Cannot write the log: the bytes of entry ${place} are not those of an entry`);
  }
}

/** By the search of Buffer: that of `Uint8Array` takes ten times as long. */
function hasLineEnd(bytes: Uint8Array | undefined): boolean {
  return bytes !== undefined && Buffer.prototype.indexOf.call(bytes, LINE_END) >= 0;
}

/** What retention takes from an entry. */
export type Erased = 'personal' | 'contents';

/** An entry to store. One whose contents are erased has no leaf. */
export type Storable = EntryRecord | Omit<StoredEntry, 'sequence'>;

/** Throws for an entry that cannot be stored, which would fail every entry of its commit. */
export function refuseUnstorable(entry: EntryRecord): void {
  const { entry_id, leaf, personal, leaf_hash, retain_until } = entry;
  const isLine = !hasLineEnd(leaf) && !hasLineEnd(personal) && leaf.length > 0;
  if (!isLine || leaf_hash.length !== HASH_BYTES) {
    throw new Error(`Cannot store entry "${entry_id}": its bytes are not those of an entry`);
  }
  if (Number.isNaN(retain_until?.getTime())) {
    throw new Error(`Cannot store entry "${entry_id}": its retention ends at no valid time`);
  }
}

/** The entries of a commit, from the place `first` on. */
export function segmentsOf(
  first: number,
  entries: readonly Storable[],
  bytesMax: number = SEGMENT_BYTES_MAX,
): Segment[] {
  const segments: Segment[] = [];
  for (let begin = 0; begin < entries.length; ) {
    let end = begin;
    for (let bytes = 0; end < entries.length; end++) {
      const { leaf, personal } = entries[end] as Storable;
      bytes += (leaf?.length ?? 0) + (personal?.length ?? 0);
      if (end > begin && bytes > bytesMax) break;
    }
    segments.push(segmentOf(first + begin, entries.slice(begin, end)));
    begin = end;
  }
  return segments;
}

function segmentOf(first: number, entries: readonly Storable[]): Segment {
  const hashes = new Uint8Array(HASH_BYTES * entries.length);
  for (const [index, { leaf_hash }] of entries.entries()) hashes.set(leaf_hash, HASH_BYTES * index);
  return {
    first,
    count: entries.length,
    hashes,
    leaves: joined(entries.map((entry) => entry.leaf ?? stubOf(entry))),
    personal: joined(entries.map(({ personal }) => personal ?? NOTHING)),
  };
}

const NOTHING = new Uint8Array();

function joined(lines: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(lines.reduce((sum, { length }) => sum + length + 1, 0));
  let at = 0;
  for (const line of lines) {
    bytes.set(line, at);
    at += line.length;
    bytes[at++] = LINE_END;
  }
  return bytes;
}

/** All entries of a segment. Throws `DamagedSegment`. */
export function entriesOf(segment: Segment): StoredEntry[] {
  const lines = linesOf(segment);
  return lines.leaves.map((leaf, index) => {
    return entryAt(segment, index, leaf, lines.personal[index] as Uint8Array);
  });
}

/** All entries of a segment; none of one that is damaged. */
export function readableIn(segment: Segment): StoredEntry[] {
  try {
    return entriesOf(segment);
  } catch (error) {
    if (error instanceof DamagedSegment) return [];
    throw error;
  }
}

/** False when no entry of a segment lacks its contents. Looks for the words of a stub, which a leaf may have too. */
export function mayHaveStubs({ leaves }: Pick<Segment, 'leaves'>): boolean {
  return Buffer.prototype.indexOf.call(leaves, '"erased":true') >= 0;
}

/**
 * All entries of a segment, for an index. Those of a damaged segment have no fields, and are no more than it has
 * hashes: its number of entries may be damaged.
 */
export function indexedIn(segment: Segment): (Indexed & Pick<StoredEntry, 'sequence'>)[] {
  try {
    return entriesOf(segment);
  } catch {
    const length = Math.min(segment.count, Math.ceil(segment.hashes.length / HASH_BYTES));
    return Array.from({ length }, (_, index) => {
      return entryAt({ ...segment, hashes: NOTHING }, index, NOTHING, NOTHING);
    });
  }
}

/**
 * Collects `limit` entries from this place on. It ends before a damaged segment; where the entries begin with one,
 * `take` throws `DamagedSegment`.
 */
export function createScan(from: number, limit: number) {
  const entries: StoredEntry[] = [];
  return {
    /** Takes the next segment. False when no other one is wanted. */
    take(segment: Segment): boolean {
      try {
        entries.push(...entriesOf(segment).filter(({ sequence }) => sequence >= from));
      } catch (error) {
        if (entries.length === 0) throw error;
        return false;
      }
      return entries.length < limit;
    },
    entries: (): StoredEntry[] => entries.slice(0, limit),
  };
}

/** The entry at one place of a segment. Throws `DamagedSegment`. */
export function entryIn(segment: Segment, place: number): StoredEntry {
  const index = place - segment.first;
  const [leaf, personal] = [lineAt(segment.leaves, index), lineAt(segment.personal, index)];
  if (!leaf || !personal || segment.hashes.length < HASH_BYTES * (index + 1)) {
    throw new DamagedSegment(segment, 'it does not have one line for each entry');
  }
  return entryAt(segment, index, leaf, personal);
}

function lineAt(bytes: Uint8Array, index: number): Uint8Array | undefined {
  let start = 0;
  for (let skipped = 0; ; skipped++) {
    const end = bytes.indexOf(LINE_END, start);
    if (end === -1) return undefined;
    if (skipped === index) return bytes.subarray(start, end);
    start = end + 1;
  }
}

/** The hash of the leaf at this index of the segment. */
export function hashAt({ hashes }: Pick<Segment, 'hashes'>, index: number): Uint8Array {
  return hashes.slice(HASH_BYTES * index, HASH_BYTES * (index + 1));
}

function linesOf(segment: Segment): { leaves: Uint8Array[]; personal: Uint8Array[] } {
  const leaves = split(segment.leaves);
  const personal = split(segment.personal);
  const { count, hashes } = segment;
  if (leaves?.length !== count || personal?.length !== count) {
    throw new DamagedSegment(segment, 'it does not have one line for each entry');
  }
  if (hashes.length !== HASH_BYTES * count) {
    throw new DamagedSegment(segment, 'it does not have one hash for each entry');
  }
  return { leaves, personal };
}

/** Undefined when the last line has no end. */
function split(bytes: Uint8Array): Uint8Array[] | undefined {
  const lines: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(LINE_END, start);
    if (end === -1) return undefined;
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

function entryAt(
  segment: Segment,
  index: number,
  leaf: Uint8Array,
  personal: Uint8Array,
): StoredEntry {
  const stated = fieldsOf(leaf);
  const own = fieldsOf(personal);
  const isStub = stated.erased === true;
  return {
    sequence: segment.first + index,
    entry_id: stated.entry_id ?? '',
    entry_type: stated.entry_type as StoredEntry['entry_type'],
    root_principal: own.root_principal ?? '',
    actor_key: own.actor_key ?? '',
    capability: stated.capability,
    invocation_id: stated.invocation_id,
    client_reference_id: own.client_reference_id,
    task_id: own.task_id,
    parent_invocation_id: stated.parent_invocation_id,
    event_class: stated.event_class as StoredEntry['event_class'],
    state: stated.state as StoredEntry['state'],
    timestamp: new Date(stated.timestamp ?? Number.NaN),
    retain_until: retentionOf(stated),
    leaf: isStub ? undefined : leaf,
    personal: isBlank(personal) ? undefined : personal,
    leaf_hash: hashAt(segment, index),
  };
}

/** Until when an entry is kept by its own words. No time where these are no duration: then it is damaged. */
export function retentionOf({
  timestamp,
  retention,
  retain_until,
}: {
  readonly [Name in 'timestamp' | 'retention' | 'retain_until']?: string | undefined;
}): Date | undefined {
  if (retain_until !== undefined) return new Date(retain_until);
  if (timestamp === undefined || retention === undefined) return undefined;
  try {
    return retainUntil(new Date(timestamp), retention);
  } catch {
    return new Date(Number.NaN);
  }
}

/** The fields of a leaf, of a stub or of the personal fields, as far as columns repeat them. */
interface Fields extends Kept {
  readonly root_principal?: string;
  readonly actor_key?: string;
  readonly capability?: string;
  readonly invocation_id?: string;
  readonly client_reference_id?: string;
  readonly task_id?: string;
  readonly parent_invocation_id?: string;
  readonly erased?: boolean;
}

/** What stays of an entry whose contents are erased. */
interface Kept extends Pick<StoredEntry, 'entry_id' | 'entry_type' | 'event_class' | 'state'> {
  readonly timestamp: string;
  readonly retention?: string;
  /** Only in a stub. */
  readonly retain_until?: string;
}

/** The line of erased personal fields: nothing, or spaces that a store needs there. */
function isBlank(line: Uint8Array): boolean {
  return line.length === 0 || line[0] === SPACE;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/** Of a line that was damaged every field is absent: its bytes no longer have the hash of the leaf. */
function fieldsOf(line: Uint8Array): Partial<Fields> {
  if (isBlank(line)) return {};
  try {
    const fields: unknown = JSON.parse(decoder.decode(line));
    return isObject(fields) && TEXTS.every((name) => isTextOrAbsent(fields[name])) ? fields : {};
  } catch {
    return {};
  }
}

/** The fields that are texts where an entry has them. */
const TEXTS = [
  ...(['entry_id', 'entry_type', 'event_class', 'state', 'timestamp', 'retention'] as const),
  ...(['retain_until', 'root_principal', 'actor_key', 'capability', 'invocation_id'] as const),
  ...(['client_reference_id', 'task_id', 'parent_invocation_id'] as const),
] as const satisfies readonly Exclude<keyof Fields, 'erased'>[];

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

/** The segment after retention took from it. Undefined when nothing is left to take. */
export function erasedFrom(
  segment: Segment,
  due: ReadonlyMap<number, Erased>,
): Segment | undefined {
  const { leaves, personal } = linesOf(segment);
  let isChanged = false;
  for (const [place, what] of due) {
    const index = place - segment.first;
    const entry = entryAt(segment, index, leaves[index] as Uint8Array, NOTHING);
    if (!isBlank(personal[index] as Uint8Array)) {
      personal[index] = NOTHING;
      isChanged = true;
    }
    if (what === 'contents' && entry.leaf) {
      leaves[index] = stubOf(entry);
      isChanged = true;
    }
  }
  if (!isChanged) return undefined;
  return { ...segment, leaves: joined(leaves), personal: joined(personal) };
}

/** Spaces that a store needs in the lines of an erased entry. Those in the leaves stand behind a stub. */
export interface Padding {
  readonly leaves: number;
  readonly personal: number;
}

/** The segment with spaces at the end of the lines at this place. */
export function padded(segment: Segment, place: number, padding: Padding): Segment {
  if (padding.leaves + padding.personal === 0) return segment;
  const { leaves, personal } = linesOf(segment);
  const index = place - segment.first;
  const spaced = (line: Uint8Array = NOTHING, spaces: number) =>
    Buffer.concat([line, Buffer.alloc(spaces, SPACE)]);
  leaves[index] = spaced(leaves[index], padding.leaves);
  personal[index] = spaced(personal[index], padding.personal);
  return { ...segment, leaves: joined(leaves), personal: joined(personal) };
}

/** What stays of an entry whose contents are erased. */
function stubOf(entry: Pick<StoredEntry, Exclude<keyof Kept, 'retention'>>): Uint8Array {
  const { entry_id, entry_type, event_class, state, timestamp, retain_until } = entry;
  const stub = {
    ...{ entry_id, entry_type, event_class, state, erased: true },
    timestamp: timestamp.toISOString(),
    ...(retain_until && { retain_until: retain_until.toISOString() }),
  };
  return utf8(canonicalJson(stub));
}
