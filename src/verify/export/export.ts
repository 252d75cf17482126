/**
 * Verifies an exported file line by line: a whole log, or a trail.
 *
 * Keeps only the peaks of the tree in memory, so that a log of any
 * length can be verified.
 *
 * @module
 */

import { countText } from '../../domain/values/count-text.ts';
import type { Checkpoint } from '../../protocol/audit.ts';
import {
  type ExportedDetail,
  ExportHeader,
  LOG_FORMAT,
  type TrailHeader,
  TrailLine,
} from '../../protocol/export.ts';
import { CHECKPOINT_LIMITS, type CheckpointReport, verifyCheckpoint } from '../checkpoint.ts';
import { createEnrolments } from '../enrolments.ts';
import { inclusionCheck, type Sought } from '../entry.ts';
import { contentCheck, readEntry } from '../leaf.ts';
import {
  about,
  failed,
  notChecked,
  passedCheck,
  type Report,
  reportOf,
  unlessFound,
} from '../report.ts';
import { type CheckpointAnchors, serviceLimit } from '../signed.ts';
import { followKeys } from '../successors.ts';
import {
  type Chunks,
  createTally,
  type ExportAnchors,
  type ExportReader,
  valuesOf,
} from './lines.ts';
import { logReader } from './log.ts';
import { passkeyTally } from './passkeys.ts';
import { receiptSearch, searchLimits } from './receipt-search.ts';

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

/** Verifies an exported trail: some entries of a log, each with its proof under one checkpoint. */
function trailReader(header: TrailHeader, anchors: CheckpointAnchors): ExportReader {
  const tally = createTally();
  const enrolments = createEnrolments();
  let [count, last] = [0, -1];
  let covered: CheckpointReport | undefined;

  const verified = async (checkpoint: unknown) => {
    const report = await verifyCheckpoint(checkpoint, anchors);
    for (const check of about('checkpoint', report.checks)) tally.add(check.what, check);
    return report;
  };
  const open = async () => {
    covered = await verified(header.checkpoint);
    return covered;
  };
  /** Checkpoints of ended logs by id: all entries of one log are proved under one. */
  const ended = new Map<string, CheckpointReport>();
  const coveringEnded = async (checkpoint: ExportedDetail) => {
    const known = ended.get(checkpoint.checkpoint_id) ?? (await verified(checkpoint));
    ended.set(checkpoint.checkpoint_id, known);
    return known;
  };
  return {
    async read(value) {
      const current = covered ?? (await open());
      count += 1;
      const parsed = TrailLine.safeParse(value);
      const read = parsed.success
        ? readEntry(parsed.data.entry)
        : { fault: 'it is not an entry of a trail' };
      if ('fault' in read || !parsed.success) {
        const fault = 'fault' in read ? read.fault : '';
        tally.add('leaves', failed('', `line ${count}: ${fault}`));
        return {};
      }
      const { entry, hash, erased } = read;
      tally.add('leaves', contentCheck('', erased, anchors.allowErased));
      const isNext = entry.sequence > last;
      tally.add('order', unlessFound('', isNext ? undefined : `line ${count} is out of order`));
      last = entry.sequence;
      const own = parsed.data.checkpoint;
      const { head } = own ? await coveringEnded(own) : current;
      const sought: Sought = { head, hash, position: entry.sequence };
      tally.add('inclusion', inclusionCheck(parsed.data.inclusion_proof, sought));
      await passkeyTally({ tally, enrolments }, read, `line ${count}`);
      return { leaf: hash };
    },
    async finish() {
      if (!covered) await open();
      const expected = header.entries;
      const fault =
        count === expected
          ? undefined
          : `${countText(count, 'entry', 'entries')}, the header says ${expected}`;
      return [...tally.checks(), unlessFound('end', fault)];
    },
  };
}
