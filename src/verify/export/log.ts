/**
 * Verifies a whole exported log: every leaf at its index, and the root recomputed at each checkpoint. Where an
 * operator accepted a loss, one log ends and the next begins; each is verified by itself.
 *
 * @module
 */

import { FIRST_SEQUENCE, rootText } from '../../domain/log/checkpoint.ts';
import { appendLeaves, foldPeaks, type Hash } from '../../domain/log/merkle.ts';
import { breakFault, firstPlaceOf, lossText } from '../../domain/log/origin.ts';
import { countText } from '../../domain/values/count-text.ts';
import type { AuditEntry, Checkpoint } from '../../protocol/audit.ts';
import { type LogHeader, LogLine } from '../../protocol/export.ts';
import { verifyCheckpoint, withoutNotes } from '../checkpoint.ts';
import { createEnrolments, type Enrolments } from '../enrolments.ts';
import { contentCheck, readEntry } from '../leaf.ts';
import { type Check, failed, notChecked, passedCheck, unlessFound } from '../report.ts';
import type { CheckpointAnchors } from '../signed.ts';
import { createTally, type ExportReader, type Tally } from './lines.ts';
import { passkeyTally } from './passkeys.ts';

export function logReader(header: LogHeader, anchors: CheckpointAnchors): ExportReader {
  const log: Log = {
    tally: createTally(),
    enrolments: createEnrolments({ isWhole: true }),
    first: 0,
    size: 0,
    peaks: [],
    ended: 0,
    checkpoints: 0,
  };
  return {
    async read(value) {
      const parsed = LogLine.safeParse(value);
      if (!parsed.success) {
        log.tally.add('lines', failed('', 'one is neither an entry nor a checkpoint'));
        return {};
      }
      if ('entry' in parsed.data) return { leaf: await readLeaf(log, parsed.data.entry, anchors) };
      const { checkpoint } = parsed.data;
      const isNewest = log.checkpoints + 1 === header.checkpoints;
      await readCheckpoint(log, checkpoint, isNewest ? anchors : withoutNotes(anchors));
      return { checkpoint };
    },
    finish: async () => [...log.tally.checks(), ...endChecks(log, header)],
  };
}

interface Log {
  readonly tally: Tally;
  readonly enrolments: Enrolments;
  /** The index of the first entry; a later log of the same store does not begin at 0. */
  first: number;
  size: number;
  peaks: readonly Hash[];
  /** The number of entries in earlier logs. */
  ended: number;
  checkpoints: number;
  last?: Checkpoint | undefined;
}

async function readLeaf(
  log: Log,
  value: unknown,
  { allowErased }: CheckpointAnchors,
): Promise<Hash | undefined> {
  const name = `entry ${log.ended + log.size}`;
  const read = readEntry(value);
  if ('fault' in read) {
    log.tally.add('leaves', failed('', `${name}: ${read.fault}`));
    log.enrolments.miss();
    return undefined;
  }
  const { entry, hash, erased } = read;
  if (firstPlaceOf(entry.sequence) > log.first) beginLog(log, entry, allowErased);
  const isNext = entry.sequence === log.first + log.size;
  const gap = isNext ? undefined : `${name} says place ${entry.sequence}`;
  log.tally.add('order', unlessFound('', gap));
  log.tally.add('leaves', contentCheck('', erased, allowErased));
  const { size, peaks } = appendLeaves(log.size, log.peaks, [hash]);
  Object.assign(log, { size, peaks });
  await passkeyTally(log, read, name);
  return hash;
}

/** Where an operator accepted a loss, the tree ends, and the first entry of the next log names its head. */
function beginLog(log: Log, { sequence, detail }: AuditEntry, allowErased = false): void {
  const { size, peaks } = log;
  const isErased = detail === null && allowErased;
  const fault = isErased ? undefined : breakFault(detail, { size, root: foldPeaks(peaks) });
  log.tally.add('breaks', unlessFound('', fault && `place ${sequence}: ${fault}`));
  log.tally.add('lost entries', notChecked('', lossText(detail)));
  // The lost entries may have added passkeys.
  log.enrolments.miss();
  const first = firstPlaceOf(sequence);
  Object.assign(log, { first, size: 0, peaks: [], ended: log.ended + size, last: undefined });
}

async function readCheckpoint(
  log: Log,
  checkpoint: Checkpoint,
  anchors: CheckpointAnchors,
): Promise<void> {
  const { checks } = await verifyCheckpoint(checkpoint, anchors);
  for (const check of checks) log.tally.add(`checkpoint ${check.what}`, check);

  log.tally.add('checkpoint order', unlessFound('', orderFault(log, checkpoint)));
  log.tally.add('checkpoint roots', unlessFound('', rootFault(log, checkpoint)));
  log.checkpoints += 1;
  log.last = checkpoint;
}

/**
 * Compares numbers only; `rootFault` compares the size. An honest service may
 * date a checkpoint before an earlier one, because clocks are set back.
 */
function orderFault({ first, last }: Log, next: Checkpoint): string | undefined {
  const expected = last ? last.sequence + 1 : first + FIRST_SEQUENCE;
  if (next.sequence === expected) return undefined;
  return `number ${next.sequence} where ${expected} is expected`;
}

function rootFault({ size, peaks }: Log, checkpoint: Checkpoint): string | undefined {
  const { sequence, entry_count, merkle_root } = checkpoint;
  if (entry_count !== size) {
    return `number ${sequence} covers ${countText(entry_count, 'entry', 'entries')}, and ${size} come before it`;
  }
  const root = rootText(foldPeaks(peaks));
  return root === merkle_root ? undefined : `number ${sequence}: the entries give ${root}`;
}

/** Detects a file that was cut. */
function endChecks(log: Log, header: LogHeader): Check[] {
  const { ended, size, checkpoints, last } = log;
  const found = `${countText(ended + size, 'entry', 'entries')} and ${countText(checkpoints, 'checkpoint')}`;
  const expected = `${countText(header.tree_size, 'entry', 'entries')} and ${countText(header.checkpoints, 'checkpoint')}`;
  const whole = unlessFound(
    'end',
    found === expected ? undefined : `${found}, the header says ${expected}`,
  );
  if (last === undefined) return [whole, notChecked('cover', 'the file has no checkpoint')];
  return [whole, coverCheck(size, last)];
}

/** Entries after the newest checkpoint are not proved; entries that it covers must be present. */
function coverCheck(size: number, { sequence, entry_count: covered }: Checkpoint): Check {
  if (covered > size) {
    return failed(
      'cover',
      `checkpoint ${sequence} covers ${countText(covered, 'entry', 'entries')}, the file has ${size}`,
    );
  }
  return covered === size
    ? passedCheck(
        'cover',
        `checkpoint ${sequence} covers all ${countText(size, 'entry', 'entries')}`,
      )
    : notChecked(
        'cover',
        `no checkpoint covers the last ${countText(size - covered, 'entry', 'entries')}`,
      );
}
