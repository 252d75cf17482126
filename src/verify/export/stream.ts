/**
 * Verifies a stream: a whole log in numbered chunks, as `writ audit stream` writes them.
 *
 * Each chunk proves by itself where its entries stand: the tree of its header, grown by its entries, is the beginning of
 * the tree that its checkpoint signs. That each chunk begins where the one before it ends shows that none is missing.
 *
 * @module
 */

import { logOrigin, rootText } from '../../domain/log/checkpoint.ts';
import { appendLeaves, foldPeaks, type Hash, peaksOf } from '../../domain/log/merkle.ts';
import { verifyPrefix } from '../../domain/log/merkle-proof.ts';
import { readHeadText, readNote } from '../../domain/log/note.ts';
import { breakFault, lossText } from '../../domain/log/origin.ts';
import { countText } from '../../domain/values/count-text.ts';
import { equalBytes, fromHex } from '../../domain/wire/hash.ts';
import { isObject } from '../../domain/wire/json.ts';
import type { AuditEntry, InclusionProof } from '../../protocol/audit.ts';
import {
  type ExportedDetail,
  type StreamEnd,
  StreamHeader,
  StreamLine,
} from '../../protocol/export.ts';
import { CHECKPOINT_LIMITS, verifyCheckpoint, withoutNotes } from '../checkpoint.ts';
import { createEnrolments, type Enrolments } from '../enrolments.ts';
import { contentCheck, readEntry } from '../leaf.ts';
import { failed, notChecked, passedCheck, type Report, reportOf, unlessFound } from '../report.ts';
import { type CheckpointAnchors, type SignedHead, serviceLimit } from '../signed.ts';
import { followKeys } from '../successors.ts';
import { type Chunks, createTally, type ExportAnchors, type Tally, valuesOf } from './lines.ts';
import { passkeyTally } from './passkeys.ts';

export interface StreamChunk {
  /** How a report names it, such as its file. */
  readonly name: string;
  /** The number in its name. */
  readonly number: number;
  readonly content: Chunks;
}

/** Where a chunk ends and the next one begins. */
interface StreamPosition {
  readonly chunk: number;
  readonly serviceId: string;
  readonly logId: string;
  readonly first: number;
  readonly size: number;
  readonly peaks: readonly Hash[];
}

export interface StreamReport extends Report {
  /** Where the next chunk begins. Absent when there is no chunk. */
  readonly position?: StreamPosition | undefined;
  /** The last checkpoint of the stream. */
  readonly newest?: ExportedDetail | undefined;
  /** Entries in all chunks. */
  readonly entries: number;
}

const STREAM_LIMITS: readonly string[] = [
  'whether more chunks were written after the last one: compare its checkpoint with the newest of the service',
  ...CHECKPOINT_LIMITS,
];

/**
 * Takes the chunks in their order. With `isLast`, it takes one chunk only, from the middle of a stream, and believes its
 * number; what its checkpoint signs still shows that its entries and the tree before them are those of the log.
 */
export async function verifyStream(
  chunks: AsyncIterable<StreamChunk> | Iterable<StreamChunk>,
  anchors: ExportAnchors & { readonly isLast?: boolean | undefined },
): Promise<StreamReport> {
  const stream: Stream = {
    tally: createTally(),
    enrolments: createEnrolments({ isWhole: anchors.isLast !== true }),
    anchors,
    entries: 0,
    read: 0,
  };
  for await (const chunk of chunks) await readChunk(stream, chunk);
  const limits = [...STREAM_LIMITS, ...serviceLimit(anchors)];
  const { position, newest, entries, tally, read } = stream;
  if (read === 0) return { ...reportOf([failed('chunks', 'there is none')], limits), entries };
  await witnessTally(stream);
  const open = stream.uncovered
    ? notChecked('cover', `no checkpoint covers the last entries of log "${position?.logId}"`)
    : passedCheck('cover', `checkpoint ${newest?.sequence} covers all entries of its log`);
  return { ...reportOf([...tally.checks(), open], limits), position, newest, entries };
}

interface Stream {
  readonly tally: Tally;
  readonly enrolments: Enrolments;
  readonly anchors: ExportAnchors & { readonly isLast?: boolean | undefined };
  entries: number;
  /** Chunks. */
  read: number;
  position?: StreamPosition | undefined;
  newest?: ExportedDetail | undefined;
  newestAnchors?: CheckpointAnchors | undefined;
  /** The last chunk has entries of an ended log that no checkpoint covers. */
  uncovered?: boolean | undefined;
}

/** What is known while a chunk is read. */
interface Reading {
  readonly stream: Stream;
  readonly name: string;
  readonly header: StreamHeader;
  readonly anchors: CheckpointAnchors;
  /** Set where this chunk begins a log. */
  readonly ended: StreamPosition | undefined;
  size: number;
  peaks: readonly Hash[];
  /** The tree before the last entry, and the entry's leaf. */
  before: readonly Hash[];
  leaf?: Hash | undefined;
  end?: StreamEnd | undefined;
}

async function readChunk(stream: Stream, { name, number, content }: StreamChunk): Promise<void> {
  const { tally } = stream;
  stream.read += 1;
  const lines = valuesOf(content);
  const first = await lines.next();
  const opened = await openChunk(stream, first.done ? undefined : first.value?.value);
  if ('fault' in opened) {
    tally.add('chunks', failed('', `${name}: ${opened.fault}`));
    // Closes the file.
    await lines.return(undefined);
    return;
  }
  const { header, anchors } = opened;
  tally.add(
    'chunks',
    unlessFound('', positionFault(stream, header, number)?.replace(/^/, `${name}: `)),
  );
  const { first: begin, size, chunk } = header;
  const peaks = header.peaks.map((hex) => fromHex(hex) as Hash);
  const isBreak = stream.position !== undefined && begin > stream.position.first;
  const ended = isBreak ? stream.position : undefined;
  if (stream.position === undefined && begin > 0 && !stream.anchors.isLast) {
    tally.add('breaks', notChecked('', `${name} begins with a log that followed another`));
  }
  const reading: Reading = { stream, name, header, anchors, ended, size, peaks, before: [] };
  for await (const line of lines) await readLine(reading, line?.value);
  await readEnd(reading);
  const { service_id: serviceId, log_id: logId } = header;
  const { size: grown, peaks: after } = reading;
  stream.position = { chunk, serviceId, logId, first: begin, size: grown, peaks: after };
}

async function openChunk(stream: Stream, value: unknown) {
  const parsed = StreamHeader.safeParse(value);
  if (!parsed.success) return { fault: 'it does not begin with the header of a chunk' };
  const header = parsed.data;
  if (header.peaks.length !== peaksOf(header.size).length) {
    return {
      fault: `a tree of ${countText(header.size, 'entry', 'entries')} does not have ${countText(header.peaks.length, 'peak')}`,
    };
  }
  const { now, allowErased, serviceId = header.service_id } = stream.anchors;
  if (serviceId !== header.service_id) {
    return { fault: `it is of "${header.service_id}", not of "${serviceId}"` };
  }
  const keys = await followKeys({ jwks: header.jwks, ...stream.anchors.keys });
  if ('fault' in keys) return { fault: `its keys cannot be used: ${keys.fault}` };
  const anchors: CheckpointAnchors = { keys, now, serviceId, allowErased };
  return { header, anchors };
}

function positionFault(
  { position, anchors, read }: Stream,
  header: StreamHeader,
  number: number,
): string | undefined {
  const { chunk } = header;
  if (chunk !== number) return `its header says chunk ${chunk}`;
  if (anchors.isLast) return undefined;
  const expected = (position?.chunk ?? 0) + 1;
  if (chunk !== expected) return `chunk ${expected} is missing before it`;
  // The chunk before it could not be read, and was reported.
  return position === undefined && read > 1 ? undefined : beginFault(position, header);
}

/** Compares where a chunk begins with where the one before it ends. */
function beginFault(
  position: StreamPosition | undefined,
  header: StreamHeader,
): string | undefined {
  const { service_id, log_id, first, size } = header;
  if (position && service_id !== position.serviceId)
    return 'it is of another service than the one before';
  if (position === undefined || first > position.first) {
    return size === 0 ? undefined : `it begins a log at entry ${size}`;
  }
  if (first !== position.first || log_id !== position.logId) return 'it is of another log';
  const isNext = size === position.size && samePeaks(header, position.peaks);
  return isNext ? undefined : `it begins at entry ${size}, the one before ends at ${position.size}`;
}

function samePeaks({ peaks }: StreamHeader, known: readonly Hash[]): boolean {
  if (peaks.length !== known.length) return false;
  return peaks.every((hex, index) => equalBytes(fromHex(hex) as Hash, known[index] as Hash));
}

async function readLine(reading: Reading, value: unknown): Promise<void> {
  const { stream, name } = reading;
  const { tally } = stream;
  const parsed = StreamLine.safeParse(value);
  if (!parsed.success || reading.end !== undefined) {
    const fault = parsed.success ? 'a line follows its last line' : 'a line is none of a chunk';
    tally.add('lines', failed('', `${name}: ${fault}`));
    return;
  }
  if (!('entry' in parsed.data)) {
    reading.end = parsed.data;
    return;
  }
  const position = reading.header.first + reading.size;
  const read = readEntry(parsed.data.entry);
  if ('fault' in read) {
    tally.add('leaves', failed('', `${name}, place ${position}: ${read.fault}`));
    stream.enrolments.miss();
    return;
  }
  const { entry, hash, erased } = read;
  const gap = entry.sequence === position ? undefined : `place ${position} says ${entry.sequence}`;
  tally.add('order', unlessFound('', gap && `${name}: ${gap}`));
  tally.add('leaves', contentCheck('', erased, reading.anchors.allowErased));
  if (reading.size === 0) readFirst(reading, entry);
  reading.before = reading.peaks;
  reading.leaf = hash;
  const { size, peaks } = appendLeaves(reading.size, reading.peaks, [hash]);
  Object.assign(reading, { size, peaks });
  stream.entries += 1;
  await passkeyTally(stream, read, `place ${position}`);
}

/** The first entry of a log that follows another names the head at which the other ended. */
function readFirst(
  { stream, name, header, ended, anchors }: Reading,
  { detail }: AuditEntry,
): void {
  if (ended === undefined) return;
  const { tally, enrolments } = stream;
  const isErased = detail === null && anchors.allowErased;
  const check = isErased
    ? notChecked('', `${name}: the entry that names the end of log "${ended.logId}" is erased`)
    : breakCheck({ stream, name, header, ended }, detail);
  tally.add('breaks', check);
  tally.add('lost entries', notChecked('', lossText(detail)));
  // The lost entries may have added passkeys.
  enrolments.miss();
}

type Break = Pick<Reading, 'stream' | 'name' | 'header'> & { readonly ended: StreamPosition };

function breakCheck({ stream, name, header, ended }: Break, detail: unknown) {
  const { size, peaks, logId } = ended;
  const surviving = isObject(detail) && isObject(detail.surviving) ? detail.surviving : {};
  const { entry_count: count } = surviving;
  const isShorter = typeof count === 'number' && count < size;
  // A checkpoint signed what the stream has beyond that. Without one, only the break vouches for the last entries.
  if (isShorter && !stream.uncovered) {
    const kept = `the stream has ${countText(size, 'entry', 'entries')} of log "${logId}", the service kept ${count}`;
    return notChecked('', `${name}: ${kept}`);
  }
  const named = isObject(detail) ? detail.log_id : undefined;
  const fault =
    breakFault(detail, { size, root: foldPeaks(peaks) }) ??
    (named === header.log_id ? undefined : `it begins log "${String(named)}"`);
  return unlessFound('', fault && `${name}: ${fault}`);
}

async function readEnd(reading: Reading): Promise<void> {
  const { stream, name, header, anchors, size, end } = reading;
  const { tally } = stream;
  const isGrown = size > header.size;
  tally.add('end', unlessFound('', endFault(end, isGrown)?.replace(/^/, `${name}: `)));
  if (end === undefined) return;
  if ('ended' in end) {
    const root = rootText(foldPeaks(reading.peaks));
    const { entry_count, merkle_root } = end.ended;
    const isSame = entry_count === size && merkle_root === root;
    tally.add('roots', unlessFound('', isSame ? undefined : `${name}: its entries give ${root}`));
    stream.uncovered = true;
    return;
  }
  const { checkpoint, inclusion_proof: proof } = end;
  const { checks, head } = await verifyCheckpoint(checkpoint, withoutNotes(anchors));
  for (const check of checks) tally.add(`checkpoint ${check.what}`, check);
  const fault = logFault(header, checkpoint) ?? coverFault(reading, head, proof);
  tally.add('roots', unlessFound('', fault && `${name}: ${fault}`));
  Object.assign(stream, { newest: checkpoint, newestAnchors: anchors, uncovered: false });
}

function endFault(end: StreamEnd | undefined, isGrown: boolean): string | undefined {
  if (end === undefined) return 'it does not end with a checkpoint: it was cut';
  return isGrown ? undefined : 'it has no entry';
}

function logFault(
  { service_id, log_id, first }: StreamHeader,
  { sequence, tree_head }: ExportedDetail,
): string | undefined {
  const note = readNote(tree_head);
  const origin = note && readHeadText(note.text)?.origin;
  if (origin !== logOrigin(service_id, log_id)) return `its checkpoint is not of log "${log_id}"`;
  return sequence > first ? undefined : 'its checkpoint is of an earlier log';
}

/** Compares the tree that the chunk gives with the tree that its checkpoint signs. */
function coverFault(
  { header, size, peaks, before, leaf }: Reading,
  head: SignedHead | undefined,
  proof: InclusionProof | undefined,
): string | undefined {
  if (head === undefined) return 'its checkpoint is not signed by a known key';
  if (head.first !== header.first) return 'its checkpoint is of another log';
  return treeFault({ size, peaks, before, leaf }, head, proof);
}

/** A tree and, to prove it as the beginning of a larger one, the tree without its last leaf. */
export interface GrownTo {
  readonly size: number;
  readonly peaks: readonly Hash[];
  readonly before: readonly Hash[];
  readonly leaf?: Hash | undefined;
}

/** Why a signed tree does not begin with this one. */
export function treeFault(
  { size, peaks, before, leaf }: GrownTo,
  head: Pick<SignedHead, 'size' | 'root'>,
  proof: InclusionProof | undefined,
): string | undefined {
  if (proof === undefined) {
    const isWhole = head.size === size && equalBytes(foldPeaks(peaks), head.root);
    return isWhole
      ? undefined
      : `its checkpoint signs another tree of ${countText(head.size, 'entry', 'entries')}`;
  }
  const claim = {
    index: size - 1,
    size: head.size,
    leaf: leaf as Hash,
    proof: proof.hashes.map((hex) => fromHex(hex) as Hash),
    root: head.root,
  };
  const isNamed = proof.leaf_index === size - 1 && proof.tree_size === head.size;
  const isSame = leaf !== undefined && equalBytes(fromHex(proof.leaf_hash) as Hash, leaf);
  if (isNamed && isSame && verifyPrefix(claim, before)) return undefined;
  return `the tree of its checkpoint does not begin with its ${countText(size, 'entry', 'entries')}`;
}

/** Witnesses sign the note of a checkpoint; the newest one shows what they saw. */
async function witnessTally({ tally, newest, newestAnchors }: Stream): Promise<void> {
  if (!newest || !newestAnchors || newestAnchors.keys.noteKeys.length === 0) return;
  const { checks } = await verifyCheckpoint(newest, newestAnchors);
  for (const check of checks) tally.add(`newest checkpoint ${check.what}`, check);
}
