/**
 * Verifies an exported trail: some entries of a log, each with its proof under one checkpoint.
 *
 * @module
 */

import { type ExportedDetail, type TrailHeader, TrailLine } from '../../protocol/export.ts';
import { type CheckpointReport, verifyCheckpoint } from '../checkpoint.ts';
import { createEnrolments } from '../enrolments.ts';
import { inclusionCheck, type Sought } from '../entry.ts';
import { contentCheck, readEntry } from '../leaf.ts';
import { about, failed, unlessFound } from '../report.ts';
import type { CheckpointAnchors } from '../signed.ts';
import type { ExportReader } from './lines.ts';
import { passkeyTally } from './passkeys.ts';
import { createTally } from './tally.ts';

export function trailReader(header: TrailHeader, anchors: CheckpointAnchors): ExportReader {
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
        count === expected ? undefined : `${count} entries, the header says ${expected}`;
      return [...tally.checks(), unlessFound('end', fault)];
    },
  };
}
