/**
 * Verifies an exported file line by line: a whole log, or a trail.
 *
 * Keeps only the peaks of the tree in memory, so that a log of any
 * length can be verified.
 *
 * @module
 */

import type { Checkpoint } from '../../protocol/audit.ts';
import { ExportHeader, LOG_FORMAT } from '../../protocol/export.ts';
import { CHECKPOINT_LIMITS } from '../checkpoint.ts';
import { failed, notChecked, passedCheck, type Report, reportOf } from '../report.ts';
import type { CheckpointAnchors } from '../signed.ts';
import { serviceLimit } from '../signed.ts';
import { followKeys } from '../successors.ts';
import { type Chunks, type ExportAnchors, valuesOf } from './lines.ts';
import { logReader } from './log.ts';
import { receiptSearch, searchLimits } from './receipt-search.ts';
import { trailReader } from './trail.ts';

/**
 * The checks of an exported file, and its header.
 *
 * @example
 * import { type ExportReport, verifyExport } from 'writ/verify';
 *
 * const file = [new TextEncoder().encode('{"format":"writ-log/1"}\n')];
 * const report: ExportReport = await verifyExport(file, { keys: {}, now: new Date() });
 * console.log(report.header?.format ?? report.checks);
 */
export interface ExportReport extends Report {
  readonly header?: ExportHeader | undefined;
  /** The last checkpoint in the file. What the checks found holds for it too. */
  readonly newest?: Checkpoint | undefined;
}

/**
 * Verifies a file that `writ audit export` wrote.
 *
 * @example
 * import { verifyExport } from 'writ/verify';
 *
 * // In a browser, the file that a person chose. This one is no export, so the verdict is "failed".
 * const file = new Blob(['minutes of a meeting\n']);
 * const keys = { pinned: ['hZf83EZEkvxqmuAKasjHqhs5BS0E9kgVgCAheimoEMg'] };
 * const { verdict, checks } = await verifyExport(file.stream(), { keys, now: new Date() });
 * console.log(verdict, checks);
 */
export async function verifyExport(chunks: Chunks, anchors: ExportAnchors): Promise<ExportReport> {
  const lines = valuesOf(chunks);
  const first = await lines.next();
  const opened = await open(first.done ? undefined : first.value?.value, anchors);
  if ('fault' in opened) return reportOf([failed('header', opened.fault)]);

  const { header, reader } = opened;
  const search = receiptSearch(anchors);
  let unread = 0;
  let newest: Checkpoint | undefined = header.format === LOG_FORMAT ? undefined : header.checkpoint;
  for await (const line of lines) {
    const read = line ? await reader.read(line.value) : {};
    if (line === undefined) unread += 1;
    search?.see(read);
    newest = read.checkpoint ?? newest;
  }
  const isRead = unread === 0;
  const form = isRead
    ? passedCheck('form')
    : failed('form', `${unread} lines are not canonical JSON`);
  const checks = [passedCheck('header', header.format), form, ...(await reader.finish())];
  const isWhole = header.format === LOG_FORMAT;
  const found = search ? await search.checks({ checks, isWhole, anchors: opened.anchors }) : [];
  const extent = isWhole || anchors.isTrail ? [] : [NOT_WHOLE];
  const limits = [
    ...EXPORT_LIMITS[header.format],
    ...searchLimits(anchors),
    ...serviceLimit(anchors),
  ];
  return { ...reportOf([...checks, ...extent, ...found], limits), header, newest };
}

const NOT_WHOLE = notChecked(
  'whole log',
  'this is a trail, which cannot show that nothing is missing',
);

const EXPORT_LIMITS = {
  'writ-log/1': [
    'whether the log has grown since: compare the last checkpoint with a later one',
    ...CHECKPOINT_LIMITS,
  ],
  'writ-trail/1': [
    'whether entries of the trail were left out: only a whole log can show that',
    ...CHECKPOINT_LIMITS,
  ],
} as const satisfies Record<ExportHeader['format'], readonly string[]>;

async function open(value: unknown, anchors: ExportAnchors) {
  const parsed = ExportHeader.safeParse(value);
  if (!parsed.success) return { fault: 'it is not a header of an export in canonical JSON' };
  const header = parsed.data;
  const { serviceId = header.service_id } = anchors;
  if (serviceId !== header.service_id) {
    return { fault: `it is of "${header.service_id}", not of "${serviceId}"` };
  }
  const keys = await followKeys({ jwks: header.jwks, ...anchors.keys });
  if ('fault' in keys) return { fault: `Cannot use the keys: ${keys.fault}` };
  const { now, allowErased } = anchors;
  const inner: CheckpointAnchors = { keys, now, serviceId, allowErased };
  const reader =
    header.format === LOG_FORMAT ? logReader(header, inner) : trailReader(header, inner);
  return { header, reader, anchors: inner };
}
