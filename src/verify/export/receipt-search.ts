/**
 * Looks for the leaf of a receipt in an exported file, and decides what its absence shows.
 *
 * The order of checkpoints decides. Number n is the newest one at a time when the entry was durable. A service reads
 * its tree only after it read which checkpoint is the last. So:
 *
 * - the service may have begun number n + 1 before the entry became durable, so it may lack the entry;
 * - the service began number n + 2 after it stored number n + 1, hence after the entry: it has the entry.
 *
 * A signed receipt names n: `last_checkpoint`. It also promises that number n + 1 covers the entry if it is dated at or
 * after `included_by`. A service dates a checkpoint before it reads the tree, so an honest service keeps the promise
 * unless the clock of its signer was a minute behind that of its sealer. Absence from a whole log that verified and has such a
 * checkpoint is a proof.
 *
 * For a receipt without a signature, its holder fetches the newest checkpoint after the receipt came. Absence is then a
 * proof only in a whole log that verified, has that same checkpoint in its place and continues to n + 2 or later.
 *
 * Every other case is "not checked".
 *
 * @module
 */

import { logOrigin, signedCheckpointPayload } from '../../domain/log/checkpoint.ts';
import { readHeadText, readNote } from '../../domain/log/note.ts';
import { countText } from '../../domain/values/count-text.ts';
import { equalBytes } from '../../domain/wire/hash.ts';
import { Checkpoint } from '../../protocol/audit.ts';
import type { SignedReceipt } from '../../protocol/invocation.ts';
import { verifyCheckpoint, withoutNotes } from '../checkpoint.ts';
import { hasSignature, NO_RECEIPT, receiptChecks, receiptHash, receiptLimits } from '../receipt.ts';
import { about, type Check, failed, notChecked, passedCheck, verdictOf } from '../report.ts';
import type { CheckpointAnchors } from '../signed.ts';
import type { ExportAnchors, ReadLine } from './lines.ts';

/** How many checkpoints after the fetched one must cover the entry. */
const CHECKPOINTS_LATER = 2;

const AFTER_LIMIT =
  'that a checkpoint was the newest one when its holder fetched it, after the receipt: the holder vouches for that';

export function searchLimits({ receipt, after }: ExportAnchors): readonly string[] {
  if (receipt === undefined) return [];
  const limits = receiptLimits(receipt);
  const isAlone = after === undefined && hasSignature(receipt);
  return isAlone ? limits : [...limits, AFTER_LIMIT];
}

export interface ReceiptSearch {
  see(line: ReadLine): void;
  /** The check of the receipt, given the verdict on the file itself. */
  checks(file: SearchedFile): Promise<Check[]>;
}

interface SearchedFile {
  readonly checks: readonly Check[];
  readonly isWhole: boolean;
  readonly anchors: CheckpointAnchors;
}

export function receiptSearch({ receipt, after }: ExportAnchors): ReceiptSearch | undefined {
  if (receipt === undefined) return undefined;
  const sought = receiptHash(receipt);
  const kept = Checkpoint.safeParse(after).data;
  let [seen, position] = [0, -1];
  let standing: Checkpoint | undefined;
  let newest: Checkpoint | undefined;

  async function absenceChecks(signed: SignedReceipt | undefined, anchors: CheckpointAnchors) {
    const missing = `the signed tree of ${countText(seen, 'entry', 'entries')} does not have its leaf`;
    const unkept = signed && brokenPromise({ missing, signed, newest }, anchors);
    if (unkept?.outcome === 'failed') return [unkept];
    if (after === undefined) {
      return [unkept ?? notChecked('receipt', `${missing}; ${WITHOUT_AFTER}`)];
    }
    const fetched = about('after', (await verifyCheckpoint(after, withoutNotes(anchors))).checks);
    if (verdictOf(fetched) !== 'verified' || !kept) {
      const why = 'the checkpoint fetched after the receipt was not verified';
      return [...fetched, notChecked('receipt', `${missing}; ${why}`)];
    }
    const isSameLog = originIn(after) !== undefined && originIn(after) === originIn(newest);
    return [...fetched, ...absence({ missing, kept, standing, newest, isSameLog }, anchors)];
  }

  return {
    see({ leaf, checkpoint }) {
      newest = checkpoint ?? newest;
      if (checkpoint && checkpoint.sequence === kept?.sequence) standing = checkpoint;
      if (leaf === undefined) return;
      if (sought && equalBytes(leaf, sought)) position = seen;
      seen += 1;
    },
    async checks({ checks, isWhole, anchors }) {
      if (sought === undefined) return [failed('receipt', NO_RECEIPT)];
      const { checks: ofSignature, signed } = await receiptChecks(receipt, anchors);
      const own = about('receipt', ofSignature);
      if (verdictOf(checks) !== 'verified') return [...own, notChecked('receipt', UNVERIFIED)];
      if (position >= 0)
        return [...own, passedCheck('receipt', `its leaf is the ${position + 1}. of ${seen}`)];
      if (!isWhole) return [...own, notChecked('receipt', NOT_WHOLE)];
      return [...own, ...(await absenceChecks(signed, anchors))];
    },
  };
}

const UNVERIFIED = 'the file itself was not verified, so it shows nothing';

const NOT_WHOLE = 'its leaf is not in this trail; only a whole log can show that it was dropped';

const WITHOUT_AFTER =
  'a checkpoint fetched after the receipt is needed to check whether it was dropped';

interface Promised {
  readonly missing: string;
  readonly signed: SignedReceipt;
  readonly newest: Checkpoint | undefined;
}

/** Failed when the newest checkpoint should cover the entry. Otherwise says why that is not known. */
function brokenPromise({ missing, signed, newest }: Promised, anchors: CheckpointAnchors): Check {
  const { log_id, last_checkpoint, included_by } = signed;
  const unknown = (why: string) => notChecked('receipt', `${missing}; ${why}`);
  const origin = originIn(newest);
  if (!newest || origin === undefined) return unknown('no note names the log of its checkpoints');
  if (origin !== logOrigin(anchors.serviceId, log_id)) {
    return unknown(`the receipt is of log "${log_id}", the newest checkpoint is of "${origin}"`);
  }
  const { sequence, created_at } = newest;
  const enough = last_checkpoint + CHECKPOINTS_LATER;
  if (sequence >= enough) {
    const why = `checkpoint ${enough} was begun after the receipt was signed`;
    return failed('receipt', `dropped: ${missing}, and ${why}`);
  }
  if (sequence <= last_checkpoint || Date.parse(created_at) < Date.parse(included_by)) {
    return unknown(
      `the log ends with checkpoint ${sequence}; export it again when it has ${enough}`,
    );
  }
  const why = `checkpoint ${sequence} is dated ${created_at}, and the service promised its entry from ${included_by} on`;
  return failed('receipt', `dropped: ${missing}; ${why}`);
}

interface Absence {
  readonly missing: string;
  /** The checkpoint that the holder fetched, and the one with the same number in the log. */
  readonly kept: Checkpoint;
  readonly standing: Checkpoint | undefined;
  readonly newest: Checkpoint | undefined;
  /** Whether the notes of the kept and of the newest checkpoint name the same log. */
  readonly isSameLog: boolean;
}

function absence(found: Absence, anchors: CheckpointAnchors): Check[] {
  const { missing, kept, standing, newest } = found;
  const { sequence } = kept;
  const enough = sequence + CHECKPOINTS_LATER;
  const last = newest?.sequence ?? 0;
  if (standing && !isSame(kept, standing, anchors)) return otherHistory(found);
  if (!standing || last < enough) {
    const wait = `the log ends with checkpoint ${last}; export it again when it has ${enough}`;
    return [notChecked('receipt', `${missing}; ${wait}`)];
  }
  const why = `checkpoint ${enough} was begun after the receipt came`;
  return [failed('receipt', `dropped: ${missing}, and ${why}`)];
}

/**
 * A service that lost its database begins a new log, whose numbers begin again. Only the notes name
 * the log; without them two checkpoints of one number do not prove two histories.
 */
function otherHistory({ missing, kept: { sequence }, isSameLog }: Absence): Check[] {
  const other = `the log has another checkpoint ${sequence}`;
  const check = isSameLog
    ? failed('after: history', `${other}: two were signed under one number`)
    : notChecked('after: history', `${other}, and nothing shows that both are of one log`);
  return [check, notChecked('receipt', missing)];
}

/** The log that the note of a checkpoint names; `undefined` without a note. */
function originIn(checkpoint: unknown): string | undefined {
  const { tree_head } = (checkpoint ?? {}) as { tree_head?: unknown };
  const note = typeof tree_head === 'string' ? readNote(tree_head) : undefined;
  return note && readHeadText(note.text)?.origin;
}

/** Compares the signed content, because ECDSA gives different signatures for the same content. */
function isSame(kept: Checkpoint, standing: Checkpoint, { serviceId }: CheckpointAnchors): boolean {
  return equalBytes(
    signedCheckpointPayload(serviceId, kept),
    signedCheckpointPayload(serviceId, standing),
  );
}
