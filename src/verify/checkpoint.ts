/**
 * Verifies a checkpoint in both forms: the signed JSON and the signed note of the same tree.
 *
 * @module
 */

import { readRootText, signedCheckpointPayload } from '../domain/log/checkpoint.ts';
import type { Hash } from '../domain/log/merkle.ts';
import { firstPlaceOf } from '../domain/log/origin.ts';
import { countText } from '../domain/values/count-text.ts';
import { readDetached, TYPS } from '../domain/wire/jws.ts';
import { Checkpoint, CheckpointDetail } from '../protocol/audit.ts';
import { noteChecks } from './note.ts';
import {
  type Check,
  failed,
  notChecked,
  passedCheck,
  type Report,
  reportOf,
  unlessFound,
} from './report.ts';
import { type CheckpointAnchors, type SignedHead, signatureChecks } from './signed.ts';

/**
 * The checks of a checkpoint, and what its signature covers.
 *
 * @example
 * import { type CheckpointReport, verifyCheckpoint } from 'writ/verify';
 *
 * const anchors = { keys: { keys: [], noteKeys: [] }, now: new Date(), serviceId: 'travel-desk' };
 * const report: CheckpointReport = await verifyCheckpoint({ sequence: 18 }, anchors);
 * console.log(report.head ? `${report.head.size} entries` : report.verdict);
 */
export interface CheckpointReport extends Report {
  /** The signed content; present when the signature of the JSON form verifies. */
  readonly head?: SignedHead | undefined;
}

export const CHECKPOINT_LIMITS: readonly string[] = [
  'whether the service showed other people another log: compare checkpoints, or ask for witnesses',
];

/**
 * Verifies a checkpoint, from a listing or with its detail.
 *
 * @example
 * import { createService } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 * import { readKeys, verifyCheckpoint } from 'writ/verify';
 *
 * const trust = { level: 'anchored', anchoring: { cadence: 'PT1H' } } as const;
 * const desk = await testService(createService({ id: 'demo', capabilities: [], trust }));
 * const { client } = desk.human('ann');
 * const { checkpoint } = expectAnswer(await client.ask('operator.checkpoints', {}));
 * const keys = readKeys({ jwks: expectAnswer(await client.ask('jwks', {})), pinned: 'all' });
 * if ('fault' in keys) throw new Error(keys.fault);
 * const anchors = { keys, now: desk.now(), serviceId: 'demo' };
 * console.log((await verifyCheckpoint(checkpoint, anchors)).verdict);
 * await desk.close();
 */
export async function verifyCheckpoint(
  value: unknown,
  anchors: CheckpointAnchors,
): Promise<CheckpointReport> {
  const parsed = Checkpoint.safeParse(value);
  if (!parsed.success) {
    return reportOf([failed('form', 'it is not a checkpoint as services write it')]);
  }
  const checkpoint = parsed.data;
  const payload = signedCheckpointPayload(anchors.serviceId, checkpoint);
  const read = readDetached(checkpoint.signature, TYPS.checkpoint, payload);
  const { checks, isSigned } = await signatureChecks(read, TYPS.checkpoint, anchors.keys);
  const head = headOf(checkpoint);
  const all = [...checks, ...contentChecks(checkpoint), ...(await detailChecks(value, anchors))];
  return { ...reportOf(all, CHECKPOINT_LIMITS), ...(isSigned && { head }) };
}

/** Verifies a checkpoint from a listing, which has no note, so it checks no witness. */
export function withoutNotes({ keys, ...anchors }: CheckpointAnchors): CheckpointAnchors {
  return { ...anchors, keys: { ...keys, noteKeys: [] } };
}

/** What a checkpoint says about its tree. Cannot fail: the schema admits only well-formed roots. */
export function headOf({ sequence, entry_count, merkle_root }: Checkpoint): SignedHead {
  return {
    first: firstPlaceOf(sequence),
    size: entry_count,
    root: readRootText(merkle_root) as Hash,
  };
}

function contentChecks({ sequence, entry_count, created_at, timestamp }: Checkpoint): Check[] {
  const content = `number ${sequence}, ${countText(entry_count, 'entry', 'entries')}, ${created_at}`;
  const fault = timestamp === created_at ? undefined : '"timestamp" and "created_at" differ';
  return [passedCheck('content', content), unlessFound('time', fault)];
}

/** Leaves out the proofs: the callers that need one check it. */
const NotedCheckpoint = CheckpointDetail.omit({ inclusion_proof: true, consistency_proof: true });

/** The fields that only the detail of a checkpoint has, not a listing. */
async function detailChecks(value: unknown, anchors: CheckpointAnchors): Promise<Check[]> {
  const parsed = NotedCheckpoint.safeParse(value);
  if (!parsed.success) {
    const hasDetail = Object.hasOwn(value as object, 'tree_head');
    return hasDetail
      ? [failed('note', 'the detail is not as services write it')]
      : unseenChecks(anchors);
  }
  const { tree_size, entry_count, tree_head } = parsed.data;
  const fault = tree_size === entry_count ? undefined : '"tree_size" and "entry_count" differ';
  return [
    unlessFound('size', fault),
    ...(await noteChecks(tree_head, headOf(parsed.data), anchors)),
  ];
}

/** Only the note has cosignatures. The log key signs the JSON form too. */
function unseenChecks({ keys }: CheckpointAnchors): Check[] {
  return keys.noteKeys
    .filter(({ type }) => type !== 'ecdsa')
    .map(({ name }) => notChecked(`note signature of "${name}"`, 'its note is missing'));
}
