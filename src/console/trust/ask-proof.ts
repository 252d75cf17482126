/**
 * Fetches an entry with its proof, or two checkpoints, and verifies them.
 *
 * An answer that is not about the question is verified too. A service that hides an entry from a person answers with
 * an older one, which verifies: then the entry was not found. A changed answer does not verify: that is a result.
 *
 * @module
 */

import { isTreeSize } from '../../domain/log/merkle.ts';
import { firstPlaceOf, leafIndexOf } from '../../domain/log/origin.ts';
import type { AuditEntry, Checkpoint, CheckpointDetail } from '../../protocol/audit.ts';
import type { Asked } from './entry-steps.ts';
import { type Given, proofOfGiven } from './evidence.ts';
import { extending, findEntry, newestFor, notFound, passkeyEntries, proved } from './questions.ts';
import type { PageAnchors, Proof } from './steps.ts';

export interface Verified {
  readonly proof: Proof;
  readonly given: Given;
  readonly at: Date;
}

/** Rejects when the service refuses, or has no proof yet. */
export async function verifyAsked(
  sought: Asked,
  chosen: Checkpoint | undefined,
  anchors: PageAnchors,
): Promise<Verified> {
  const entry = await findEntry(sought, chosen);
  const checkpoint = await covering(entry, sought, chosen);
  const { checkpoint_id } = chosen ?? checkpoint;
  const isOther = sought.sequence !== undefined && entry.sequence !== sought.sequence;
  const asked = isOther ? { checkpoint_id } : { ...sought, checkpoint_id };
  const earlier = await passkeyEntries(entry, checkpoint);
  const verified = await verifyGiven({ entry, checkpoint, earlier, asked }, anchors);
  if (isOther && verified.proof.verdict === 'agrees') notFound(`entry ${sought.sequence}`);
  return verified;
}

export async function verifyPair(
  earlier: Checkpoint,
  later: Checkpoint,
  anchors: PageAnchors,
): Promise<Verified> {
  return verifyGiven({ earlier, later: await extending(later, earlier), listed: later }, anchors);
}

async function verifyGiven(given: Given, anchors: PageAnchors): Promise<Verified> {
  return { proof: await proofOfGiven(given, anchors), given, at: new Date() };
}

/** The checkpoint with the proof of the entry's position. */
async function covering(
  { sequence, leaf_hash }: AuditEntry,
  sought: Asked,
  chosen: Checkpoint | undefined,
): Promise<CheckpointDetail> {
  const answered = isTreeSize(sequence) ? sequence : 0;
  const position = Math.min(answered, sought.sequence ?? answered);
  const checkpoint = chosen ?? (await newestFor(position));
  const isCovered =
    firstPlaceOf(position) === firstPlaceOf(checkpoint.sequence) &&
    leafIndexOf(position) < checkpoint.entry_count;
  if (isCovered) return proved(checkpoint, { position });
  const state = `checkpoint ${checkpoint.sequence} covers ${checkpoint.entry_count} entries`;
  const why = chosen ? state : `${state}, and the service seals the next one at its interval`;
  const missing = new Error(`Cannot verify entry ${position}: ${why}`);
  if (sought.sequence !== undefined) throw missing;
  // Where the tree has the leaf after all, the answer names a wrong position.
  return proved(checkpoint, { hash: leaf_hash }).catch(() => Promise.reject(missing));
}
