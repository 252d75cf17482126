/**
 * What of the log the target lacks: spans of entries, each under a checkpoint that was verified and extends the last one
 * that the target has.
 *
 * Stops the command when the service shows another log than before. After an operator accepted a loss, the next log of the
 * service follows.
 *
 * @module
 */

import { logOrigin, signedCheckpointPayload } from '../../../domain/log/checkpoint.ts';
import { readHeadText, readNote } from '../../../domain/log/note.ts';
import { firstPlaceOf, leafIndexOf, ORIGIN_SPAN } from '../../../domain/log/origin.ts';
import { countText } from '../../../domain/values/count-text.ts';
import { isObject } from '../../../domain/wire/json.ts';
import { readDetached, TYPS } from '../../../domain/wire/jws.ts';
import type { Checkpoint, CheckpointDetail } from '../../../protocol/audit.ts';
import type { ExportedDetail, StreamPlace } from '../../../protocol/export.ts';
import type { Jwks } from '../../../protocol/trust.ts';
import { headOf, verifyCheckpoint } from '../../../verify/checkpoint.ts';
import { growthChecks } from '../../../verify/consistency.ts';
import type { Check } from '../../../verify/report.ts';
import { followKeys } from '../../../verify/successors.ts';
import { CommandFault, EXIT_FOUND } from '../../shell/exit.ts';
import type { Source } from './source.ts';
import { NO_LOG } from './state.ts';

/** Entries of one log that the target lacks. Indexes count within the log. */
export interface Span {
  readonly logId: string;
  readonly first: number;
  readonly from: number;
  readonly to: number;
  /** The checkpoint that covers the entries; absent for the last entries of a log that an operator ended. */
  readonly cover?: ExportedDetail | undefined;
  readonly jwks: Jwks;
  /** The key that signed the checkpoint. */
  readonly kid?: string | undefined;
  /** Set where the log of the place before it ended: what its successor's first entry says survived. */
  readonly surviving?: { readonly count: unknown; readonly root: unknown } | undefined;
}

export interface Known {
  readonly place: StreamPlace;
  /** Thumbprints of keys that may sign checkpoints. Without any, the keys of the service are believed once. */
  readonly pins: readonly string[];
}

/** The spans in their order; none when the target has everything that a checkpoint covers. */
export async function spansAfter(source: Source, { place, pins }: Known): Promise<Span[]> {
  const newest = await source.newest();
  if (newest === undefined) {
    if (place.chunk === 0) return [];
    throw otherLog('it has no checkpoint, and the target has entries');
  }
  const isKnown = newest.checkpoint_id === place.checkpoint?.checkpoint_id;
  if (isKnown && place.size === place.checkpoint?.entry_count) return [];
  const logs = await logsFrom(source, place.first, newest);
  const jwks = await source.jwks();
  const spans: Span[] = [];
  for (const [index, log] of logs.entries()) {
    const isOwn = log.first === place.first && place.log_id !== NO_LOG;
    const after = logs[index + 1];
    if (log.first > place.first) await breakOf(source, log);
    const cover = await coverOf(source, { log, place: isOwn ? place : undefined, jwks, pins });
    if (cover === 'stale') return [];
    spans.push(
      ...(await spansOf(source, { log, after, cover, from: isOwn ? place : NOTHING, jwks })),
    );
  }
  return spans;
}

const NOTHING = { size: 0, log_id: NO_LOG } as const;

/** One log of the service's store. */
interface Log {
  readonly first: number;
  /** Entries that the service has of it. */
  readonly size: number;
  readonly newest: Checkpoint | undefined;
}

/** The logs from the one at `first` on, oldest first. */
async function logsFrom(source: Source, first: number, newest: Checkpoint): Promise<Log[]> {
  const current = firstPlaceOf(newest.sequence);
  if (current < first) throw otherLog('it shows an earlier log than the target has');
  const logs: Log[] = [{ first: current, size: newest.entry_count, newest }];
  for (let end = current; end > first; ) {
    const last = await source.entryBelow(end);
    if (last === undefined || last.sequence < first) break;
    if (last.sequence >= end) throw otherLog(`it answers with place ${last.sequence} below ${end}`);
    end = firstPlaceOf(last.sequence);
    const sealed = await source.newest(end + ORIGIN_SPAN);
    const own = sealed && firstPlaceOf(sealed.sequence) === end ? sealed : undefined;
    logs.unshift({ first: end, size: leafIndexOf(last.sequence) + 1, newest: own });
  }
  return logs;
}

interface Cover {
  readonly detail: ExportedDetail;
  readonly logId: string;
  readonly kid: string;
}

interface CoverAsk {
  readonly log: Log;
  /** The place in this log. */
  readonly place: StreamPlace | undefined;
  readonly jwks: Jwks;
  readonly pins: readonly string[];
}

/** The newest checkpoint of a log, verified; `undefined` if the log has none that is newer than the place. */
async function coverOf(
  source: Source,
  { log: { first, newest }, place, jwks, pins }: CoverAsk,
): Promise<Cover | 'stale' | undefined> {
  const before = place?.checkpoint;
  if (newest === undefined) return undefined;
  if (place && before && newest.checkpoint_id === before.checkpoint_id) {
    const kid = checkpointSigner(source.serviceId, before);
    // A process ended between two chunks under one checkpoint, which it had verified.
    return place.size < before.entry_count
      ? { detail: before, logId: place.log_id, kid }
      : undefined;
  }
  if (before && newest.sequence <= before.sequence) {
    return olderHead(source, { before, newest, first });
  }
  const isSameTree = before === undefined || before.entry_count === 0;
  const from = isSameTree ? undefined : before.checkpoint_id;
  const detail = await source.checkpoint(newest.checkpoint_id, from);
  if (detail === undefined) {
    throw otherLog(`it does not know checkpoint ${before?.sequence}, which the target has`);
  }
  const { kid, logId } = await verified(source, detail, { jwks, pins });
  if (before) {
    const checks = growthChecks({ earlier: before, later: detail }, headOf(before), headOf(detail));
    const fault = checks.find(({ outcome }) => outcome !== 'ok');
    if (fault) throw otherLog(`${fault.what}: ${fault.detail}`);
  }
  if (place && logId !== place.log_id) {
    throw otherLog(`it is log "${logId}", the target has log "${place.log_id}"`);
  }
  const { inclusion_proof: _, consistency_proof: __, ...exported } = detail;
  return { detail: exported, logId, kid };
}

interface OlderHead {
  readonly before: ExportedDetail;
  readonly newest: Checkpoint;
  readonly first: number;
}

/**
 * A cache, or a replica that lags, may show an older checkpoint for a moment; the service then still knows the one that
 * the target has. In a log that an operator ended, the newer checkpoints are what was lost.
 */
async function olderHead(source: Source, { before, newest, first }: OlderHead) {
  const current = await source.newest();
  const hasEnded = current !== undefined && firstPlaceOf(current.sequence) > first;
  if (hasEnded && newest.sequence < before.sequence) return undefined;
  const isKnown = (await source.checkpoint(before.checkpoint_id)) !== undefined;
  if (isKnown && newest.sequence < before.sequence) return 'stale' as const;
  const found = `checkpoint ${newest.sequence} with ${countText(newest.entry_count, 'entry', 'entries')}`;
  const had = `checkpoint ${before.sequence} with ${before.entry_count}`;
  throw otherLog(`its newest is ${found}, the target has ${had}`);
}

async function verified(
  { serviceId }: Source,
  detail: CheckpointDetail,
  { jwks, pins }: Pick<CoverAsk, 'jwks' | 'pins'>,
): Promise<{ kid: string; logId: string }> {
  const keys = await followKeys({ jwks, pinned: pins.length > 0 ? pins : 'all' });
  if ('fault' in keys) throw otherLog(`its keys cannot be used: ${keys.fault}`);
  const { checks } = await verifyCheckpoint(detail, { keys, now: new Date(), serviceId });
  const { sequence, tree_head } = detail;
  const kid = checkpointSigner(serviceId, detail);
  const fault = checks.find(({ outcome }) => outcome !== 'ok');
  if (fault) throw otherLog(`checkpoint ${sequence}: ${faultText(fault, kid)}`);
  const note = readNote(tree_head);
  const origin = (note && readHeadText(note.text)?.origin) ?? '';
  return { kid, logId: origin.slice(logOrigin(serviceId, '').length) };
}

/** The thumbprint that a checkpoint names as its key. */
export function checkpointSigner(serviceId: string, checkpoint: Checkpoint): string {
  const payload = signedCheckpointPayload(serviceId, checkpoint);
  return readDetached(checkpoint.signature, TYPS.checkpoint, payload)?.kid ?? '';
}

function faultText({ what, outcome, detail }: Check, kid: string): string {
  if (outcome === 'failed' || !/key|signature/.test(what)) return `${what}: ${detail}`;
  const known = `key "${kid}" signed it, which is neither known nor a successor of a known key`;
  return `${known}; if the operator of the service confirms the key, give --log-pin ${kid}`;
}

interface SpansAsk {
  readonly log: Log;
  /** The log after it, if an operator ended it. */
  readonly after: Log | undefined;
  readonly cover: Cover | undefined;
  readonly from: { readonly size: number; readonly log_id: string };
  readonly jwks: Jwks;
}

async function spansOf(
  source: Source,
  { log: { first, size }, after, cover, from, jwks }: SpansAsk,
): Promise<Span[]> {
  const spans: Span[] = [];
  const { detail, kid } = cover ?? {};
  const covered = Math.max(from.size, detail?.entry_count ?? 0);
  const broken = after === undefined ? undefined : await breakOf(source, after);
  const logId = cover?.logId ?? (from.log_id === NO_LOG ? broken?.endedLogId : from.log_id);
  if (detail && detail.entry_count > from.size) {
    const to = detail.entry_count;
    spans.push({ logId: logId ?? '', first, from: from.size, to, cover: detail, kid, jwks });
  }
  if (broken === undefined || size <= covered) return spans;
  if (!logId) throw otherLog(`nothing names the log that begins at place ${first}`);
  const { surviving } = broken;
  return [...spans, { logId, first, from: covered, to: size, surviving, jwks }];
}

/** What the first entry of a log says about the log before it. Only an operator who accepts a loss begins a log. */
async function breakOf(source: Source, { first }: Log) {
  const entry = await source.entryBelow(first + 1);
  if (entry?.sequence !== first) throw otherLog(`it does not show the entry at place ${first}`);
  const detail = isObject(entry.detail) ? entry.detail : {};
  if (detail.verb !== 'recover' && entry.erased === undefined) {
    throw otherLog(`the entry at place ${first} begins a log, and names no loss that was accepted`);
  }
  const { entry_count: count, merkle_root: root } = isObject(detail.surviving)
    ? detail.surviving
    : ({} as Record<string, unknown>);
  const { ended_log_id: ended } = detail;
  return { endedLogId: typeof ended === 'string' ? ended : undefined, surviving: { count, root } };
}

/** The command stops, and the target keeps what it has. */
export function otherLog(found: string): CommandFault {
  const what = 'the service shows a log that does not extend what was exported';
  const next = 'nothing more is written; see docs/export.md, "When the log does not continue"';
  return new CommandFault(`${what}: ${found}; ${next}`, { exit: EXIT_FOUND });
}
