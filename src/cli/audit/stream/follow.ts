/**
 * Follows the log of a service: turns what the target lacks into chunks, and delivers them one after the other.
 *
 * Order of one chunk: its entries are read, its tree is compared with what a checkpoint signs, it is stored beside the
 * state, the state names it, the target gets it, the state moves on. A crash between two steps repeats the delivery of
 * the same bytes and loses nothing. Nothing is read while a chunk is on its way, so a slow target slows the reading.
 *
 * @module
 */

import { rootText } from '../../../domain/log/checkpoint.ts';
import { appendLeaves, foldPeaks, type Hash } from '../../../domain/log/merkle.ts';
import { countText } from '../../../domain/values/count-text.ts';
import { canonicalJson } from '../../../domain/wire/canonical.ts';
import { toHex, utf8 } from '../../../domain/wire/hash.ts';
import {
  STREAM_FORMAT,
  type StreamEnd,
  type StreamHeader,
  type StreamPlace,
  type StreamState,
} from '../../../protocol/export.ts';
import { headOf } from '../../../verify/checkpoint.ts';
import { treeFault } from '../../../verify/export/stream.ts';
import { otherLog, type Span, spansAfter } from './heads.ts';
import { type Patience, patiently } from './patience.ts';
import { type Chunk, chunkName, type Sink } from './sink.ts';
import type { Source, SourceEntry } from './source.ts';
import { peaksIn, type StateFile, sha256Of } from './state.ts';

/** Bytes of the lines of one chunk, beyond which it ends. One entry more may exceed it. */
const CHUNK_BYTES_MAX = 8 * 1024 * 1024;

export interface Following {
  readonly source: Source;
  readonly sink: Sink;
  readonly file: StateFile;
  readonly patience: Patience;
  readonly pins: readonly string[];
  readonly chunkEntries: number;
  /** Progress. */
  say(text: string): void;
  delivered(chunk: Delivered): void;
}

/** What is printed about a chunk that the target has. */
export interface Delivered {
  readonly chunk: number;
  readonly name: string;
  readonly log_id: string;
  /** The place of its first entry. */
  readonly from: number;
  readonly entries: number;
  readonly bytes: number;
  readonly sha256: string;
  /** The number of the checkpoint that covers it. */
  readonly checkpoint?: number | undefined;
  /** Set where the chunk begins a log that follows another. */
  readonly after_log_id?: string | undefined;
}

/** Sends again what a process that ended did not finish. */
export async function finishPending(
  following: Following,
  state: StreamState,
): Promise<StreamState> {
  const { file } = following;
  const { pending } = state;
  if (pending === undefined) {
    file.drop();
    return state;
  }
  const name = chunkName(pending.after.chunk);
  const text = file.kept(pending);
  return deliver(following, state, { chunk: { name, text, sha256: pending.sha256 }, ...pending });
}

/** Delivers everything that a checkpoint covers now. Resolves with the state after it. */
export async function catchUp(following: Following, before: StreamState): Promise<StreamState> {
  let state = before;
  const known = { place: state.place, pins: pinsOf(following, state) };
  for (const span of await spansAfter(following.source, known)) {
    if (span.surviving) await checkSurviving(following.source, state.place, span);
    state = await sendSpan(following, state, span);
  }
  return state;
}

function pinsOf({ pins }: Following, { key }: StreamState): string[] {
  return key === undefined ? [...pins] : [...pins, key];
}

/** A tree that grows by the entries of a chunk. */
interface Growing {
  size: number;
  peaks: readonly Hash[];
  before: readonly Hash[];
  leaf?: Hash | undefined;
  lines: string[];
  bytes: number;
}

async function sendSpan(
  following: Following,
  before: StreamState,
  span: Span,
): Promise<StreamState> {
  const { source, chunkEntries, say } = following;
  let state = before;
  let start = startOf(state.place, span);
  let growing = grownFrom(start);
  const [from, to] = [span.first + span.from, span.first + span.to];
  for await (const entry of source.entries(from, to)) {
    grow(growing, entry);
    say(`${growing.size} of ${countText(span.to, 'entry', 'entries')} of log ${span.logId}`);
    const isFull = growing.lines.length >= chunkEntries || growing.bytes >= CHUNK_BYTES_MAX;
    if (!isFull && growing.size < span.to) continue;
    state = await send(following, state, { span, start, growing });
    start = state.place;
    growing = grownFrom(start);
  }
  return state;
}

/** The place in the log of the span: a log that follows another begins empty. */
function startOf(place: StreamPlace, { first, logId }: Span): StreamPlace {
  if (place.first === first && place.size > 0) return place;
  return { chunk: place.chunk, log_id: logId, first, size: 0, peaks: [] };
}

function grownFrom(place: StreamPlace): Growing {
  const peaks = peaksIn(place);
  return { size: place.size, peaks, before: peaks, lines: [], bytes: 0 };
}

function grow(growing: Growing, { hash, line }: SourceEntry): void {
  const { size, peaks } = appendLeaves(growing.size, growing.peaks, [hash]);
  growing.lines.push(`${line}\n`);
  const bytes = growing.bytes + Buffer.byteLength(line) + 1;
  Object.assign(growing, { size, peaks, bytes, before: growing.peaks, leaf: hash });
}

interface Sending {
  readonly span: Span;
  readonly start: StreamPlace;
  readonly growing: Growing;
}

async function send(
  following: Following,
  state: StreamState,
  { span, start, growing }: Sending,
): Promise<StreamState> {
  const { file, source } = following;
  const { logId: log_id, first, cover, jwks, kid } = span;
  const end = await chunkEnd(source, span, growing);
  const number = start.chunk + 1;
  const header: StreamHeader = {
    format: STREAM_FORMAT,
    service_id: source.serviceId,
    log_id,
    chunk: number,
    first,
    size: start.size,
    peaks: start.peaks,
    jwks,
  };
  const text = [`${canonicalJson(header)}\n`, ...growing.lines, `${canonicalJson(end)}\n`].join('');
  const sha256 = sha256Of(utf8(text));
  const checkpoint = cover ?? (first === state.place.first ? state.place.checkpoint : undefined);
  const after: StreamPlace = {
    chunk: number,
    log_id,
    first,
    size: growing.size,
    peaks: growing.peaks.map(toHex),
    ...(checkpoint && { checkpoint }),
  };
  await file.keep(text);
  const pending = { ...state, ...(kid !== undefined && { key: kid }), pending: { sha256, after } };
  await file.save(pending);
  const chunk = { name: chunkName(number), text, sha256 };
  return deliver(following, pending, { chunk, after });
}

/** The last line of a chunk. Stops the command when no checkpoint signs the tree that the entries give. */
async function chunkEnd(source: Source, { cover }: Span, growing: Growing): Promise<StreamEnd> {
  const { size, peaks } = growing;
  if (cover === undefined) {
    return { ended: { entry_count: size, merkle_root: rootText(foldPeaks(peaks)) } };
  }
  const isWhole = cover.entry_count === size;
  const proof = isWhole ? undefined : await source.proof(cover.checkpoint_id, size - 1);
  if (!isWhole && proof === undefined) {
    throw otherLog(`it has no proof of entry ${size - 1} under checkpoint ${cover.sequence}`);
  }
  const fault = treeFault(growing, headOf(cover), proof);
  if (fault !== undefined) throw otherLog(fault);
  return { checkpoint: cover, ...(proof && { inclusion_proof: proof }) };
}

/** Reads the last entries of an ended log once before they are sent: only its successor names their head. */
async function checkSurviving(source: Source, place: StreamPlace, span: Span): Promise<void> {
  const { first, from, to, surviving } = span;
  const start = startOf(place, span);
  if (start.size !== from) throw otherLog(`entry ${start.size} of the ended log is missing`);
  let tree: { size: number; peaks: readonly Hash[] } = { size: start.size, peaks: peaksIn(start) };
  for await (const { hash } of source.entries(first + from, first + to)) {
    tree = appendLeaves(tree.size, tree.peaks, [hash]);
  }
  const root = rootText(foldPeaks(tree.peaks));
  if (surviving?.count === tree.size && surviving.root === root) return;
  throw otherLog(
    `its ended log has ${countText(tree.size, 'entry', 'entries')} with ${root}, the next log says otherwise`,
  );
}

async function deliver(
  { sink, file, patience, delivered }: Following,
  state: StreamState,
  { chunk, after }: { readonly chunk: Chunk; readonly after: StreamPlace },
): Promise<StreamState> {
  await patiently(patience, () => sink.put(chunk, patience.signal));
  const { pending: _, ...rest } = state;
  const next: StreamState = { ...rest, place: after };
  await file.save(next);
  file.drop();
  delivered(factsOf(state.place, chunk, after));
  return next;
}

function factsOf(
  before: StreamPlace,
  { name, text, sha256 }: Chunk,
  after: StreamPlace,
): Delivered {
  const isNew = before.first !== after.first && before.chunk > 0;
  const size = before.first === after.first ? before.size : 0;
  return {
    chunk: after.chunk,
    name,
    log_id: after.log_id,
    from: after.first + size,
    entries: after.size - size,
    bytes: Buffer.byteLength(text),
    sha256,
    checkpoint: after.checkpoint?.sequence,
    ...(isNew && { after_log_id: before.log_id }),
  };
}
