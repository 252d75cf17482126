/**
 * An exported file, verified line by line: a whole log, or a trail.
 *
 * Reads as much as it needs and holds on to nothing but the tree's peaks, so that a log of any
 * length can be verified.
 *
 * @module
 */

import { equalBytes } from '../domain/hash.ts';
import type { Hash } from '../domain/merkle.ts';
import { ExportHeader, LOG_FORMAT } from '../protocol/export.ts';
import { CHECKPOINT_LIMITS, type CheckpointGround } from './checkpoint.ts';
import { type KeySource, readKeys } from './keys.ts';
import { type Chunks, valuesOf } from './lines.ts';
import { logReader } from './log.ts';
import { RECEIPT_LIMITS, receiptHash } from './receipt.ts';
import { type Check, failed, notChecked, ok, type Report, reportOf, verdictOf } from './report.ts';
import { trailReader } from './trail.ts';

export interface ExportGround {
  /** Keys that are given stand in for those of the file. */
  readonly keys: KeySource;
  readonly now: Date;
  readonly serviceId?: string | undefined;
  readonly allowErased?: boolean | undefined;
  /** A receipt to look for. In a whole log its absence is proof. */
  readonly receipt?: unknown;
}

export interface ExportReport extends Report {
  readonly header?: ExportHeader | undefined;
}

/** Takes the lines after the header, and says at the end what it found. */
export interface ExportReader {
  read(value: unknown): Promise<Hash | undefined>;
  finish(): Promise<Check[]>;
}

export async function verifyExport(chunks: Chunks, ground: ExportGround): Promise<ExportReport> {
  const lines = valuesOf(chunks);
  const first = await lines.next();
  const opened = open(first.done ? undefined : first.value?.value, ground);
  if ('fault' in opened) return reportOf([failed('header', opened.fault)]);

  const { header, reader } = opened;
  const search = searchFor(ground.receipt);
  let unread = 0;
  for await (const line of lines) {
    const hash = line && (await reader.read(line.value));
    if (line === undefined) unread += 1;
    if (hash) search?.see(hash);
  }
  const isRead = unread === 0;
  const form = isRead ? ok('form') : failed('form', `${unread} lines are not canonical JSON`);
  const checks = [ok('header', header.format), form, ...(await reader.finish())];
  const found = search ? [search.told(checks, header)] : [];
  const limits = [...EXPORT_LIMITS[header.format], ...(search ? RECEIPT_LIMITS : [])];
  return { ...reportOf([...checks, ...found], limits), header };
}

const EXPORT_LIMITS = {
  'writ-log/1': [
    'whether the log has grown since: hold the last checkpoint against a later one',
    ...CHECKPOINT_LIMITS,
  ],
  'writ-trail/1': [
    'whether entries of the trail were left out: only a whole log can show that',
    ...CHECKPOINT_LIMITS,
  ],
} as const satisfies Record<ExportHeader['format'], readonly string[]>;

function open(value: unknown, ground: ExportGround) {
  const parsed = ExportHeader.safeParse(value);
  if (!parsed.success) return { fault: 'it is no header of an export in canonical JSON' };
  const header = parsed.data;
  const { serviceId = header.service_id } = ground;
  if (serviceId !== header.service_id) {
    return { fault: `it is of "${header.service_id}", not of "${serviceId}"` };
  }
  const keys = readKeys({ jwks: header.jwks, ...ground.keys });
  if ('fault' in keys) return { fault: `Cannot use the keys: ${keys.fault}` };
  const { now, allowErased } = ground;
  const inner: CheckpointGround = { keys, now, serviceId, allowErased };
  const reader =
    header.format === LOG_FORMAT ? logReader(header, inner) : trailReader(header, inner);
  return { header, reader };
}

/** Looks for the leaf of a receipt. */
function searchFor(receipt: unknown) {
  if (receipt === undefined) return undefined;
  const sought = receiptHash(receipt);
  let [seen, place] = [0, -1];
  return {
    see(hash: Hash): void {
      if (sought && equalBytes(hash, sought)) place = seen;
      seen += 1;
    },
    told(checks: readonly Check[], { format }: ExportHeader): Check {
      if (sought === undefined) return failed('receipt', 'it is none');
      if (verdictOf(checks) === 'failed') {
        return notChecked('receipt', 'the file itself did not verify, so it shows nothing');
      }
      if (place >= 0) return ok('receipt', `its leaf is the ${place + 1}. of ${seen}`);
      if (format !== LOG_FORMAT) {
        return notChecked('receipt', 'its leaf is not in this trail; only a whole log could tell');
      }
      const why = `dropped: the signed tree of ${seen} entries does not have its leaf`;
      return failed('receipt', why);
    },
  };
}
