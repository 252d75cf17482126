/**
 * A checkpoint, verified in both of its forms: the signed JSON and the signed note of the same tree.
 *
 * @module
 */

import { payloadOf, readRootText } from '../domain/log/checkpoint.ts';
import type { Hash } from '../domain/log/merkle.ts';
import { firstPlaceOf } from '../domain/log/origin.ts';
import { readDetached, TYPS } from '../domain/wire/jws.ts';
import { Checkpoint, CheckpointDetail } from '../protocol/audit.ts';
import { noteChecks } from './note.ts';
import {
  type Check,
  failed,
  notChecked,
  ok,
  type Report,
  reportOf,
  unlessFound,
} from './report.ts';
import { type CheckpointGround, type SignedHead, signatureChecks } from './signed.ts';

export interface CheckpointReport extends Report {
  /** What was signed, once the signature of the JSON form holds. */
  readonly head?: SignedHead | undefined;
}

export const CHECKPOINT_LIMITS: readonly string[] = [
  'whether the service showed other people another log: compare checkpoints, or ask for witnesses',
];

export async function verifyCheckpoint(
  value: unknown,
  ground: CheckpointGround,
): Promise<CheckpointReport> {
  const parsed = Checkpoint.safeParse(value);
  if (!parsed.success) {
    return reportOf([failed('form', 'it is no checkpoint as services write it')]);
  }
  const checkpoint = parsed.data;
  const payload = payloadOf(ground.serviceId, checkpoint);
  const read = readDetached(checkpoint.signature, TYPS.checkpoint, payload);
  const { checks, isSigned } = await signatureChecks(read, TYPS.checkpoint, ground.keys);
  const head = headOf(checkpoint);
  const all = [...checks, ...contentChecks(checkpoint), ...(await detailChecks(value, ground))];
  return { ...reportOf(all, CHECKPOINT_LIMITS), ...(isSigned && { head }) };
}

/** For a checkpoint as listings have it, without its note: no witness is looked for. */
export function withoutNotes({ keys, ...ground }: CheckpointGround): CheckpointGround {
  return { ...ground, keys: { ...keys, noteKeys: [] } };
}

/** The schema admits only roots that can be read. */
function headOf({ sequence, entry_count, merkle_root }: Checkpoint): SignedHead {
  return {
    first: firstPlaceOf(sequence),
    size: entry_count,
    root: readRootText(merkle_root) as Hash,
  };
}

function contentChecks({ sequence, entry_count, created_at, timestamp }: Checkpoint): Check[] {
  const content = `number ${sequence}, ${entry_count} entries, ${created_at}`;
  const fault = timestamp === created_at ? undefined : '"timestamp" and "created_at" differ';
  return [ok('content', content), unlessFound('time', fault)];
}

/** Without the proofs, which are looked at by those who asked for them. */
const NotedCheckpoint = CheckpointDetail.omit({ inclusion_proof: true, consistency_proof: true });

/** What a checkpoint has only where it was asked for alone. Listings leave it out. */
async function detailChecks(value: unknown, ground: CheckpointGround): Promise<Check[]> {
  const parsed = NotedCheckpoint.safeParse(value);
  if (!parsed.success) {
    const hasDetail = Object.hasOwn(value as object, 'tree_head');
    return hasDetail
      ? [failed('note', 'the detail is not as services write it')]
      : unseenChecks(ground);
  }
  const { tree_size, entry_count, tree_head } = parsed.data;
  const fault = tree_size === entry_count ? undefined : '"tree_size" and "entry_count" differ';
  return [
    unlessFound('size', fault),
    ...(await noteChecks(tree_head, headOf(parsed.data), ground)),
  ];
}

/** Only a note shows who else has signed; a key of the log itself has signed the JSON too. */
function unseenChecks({ keys }: CheckpointGround): Check[] {
  return keys.noteKeys
    .filter(({ type }) => type !== 'ecdsa')
    .map(({ name }) => notChecked(`note signature of "${name}"`, 'it came without its note'));
}
