/**
 * Verifies one entry: its leaf, and the leaf's index in the tree of a verified checkpoint.
 *
 * @module
 */

import type { Hash } from '../domain/log/merkle.ts';
import { verifyInclusion } from '../domain/log/merkle-proof.ts';
import { equalBytes, fromHex } from '../domain/wire/hash.ts';
import { isObject } from '../domain/wire/json.ts';
import { type AuditEntry, InclusionProof } from '../protocol/audit.ts';
import { CHECKPOINT_LIMITS, verifyCheckpoint } from './checkpoint.ts';
import { contentCheck, readEntry } from './leaf.ts';
import {
  about,
  type Check,
  failed,
  notChecked,
  passedCheck,
  type Report,
  reportOf,
} from './report.ts';
import type { CheckpointAnchors, SignedHead } from './signed.ts';

/**
 * An entry, and the detail of a checkpoint with the inclusion proof of the entry.
 *
 * @example
 * import { type ProvedEntry, verifyEntry } from 'writ/verify';
 *
 * const unproved: ProvedEntry = { entry: { entry_id: 'unknown' }, checkpoint: undefined };
 * const anchors = { keys: { keys: [], noteKeys: [] }, now: new Date(), serviceId: 'travel-desk' };
 * console.log((await verifyEntry(unproved, anchors)).verdict);
 */
export interface ProvedEntry {
  readonly entry: unknown;
  readonly checkpoint: unknown;
}

/**
 * The checks of an entry and of the checkpoint that covers it.
 *
 * @example
 * import { type EntryReport, verifyEntry } from 'writ/verify';
 *
 * const anchors = { keys: { keys: [], noteKeys: [] }, now: new Date(), serviceId: 'travel-desk' };
 * const report: EntryReport = await verifyEntry({ entry: {}, checkpoint: {} }, anchors);
 * console.log(report.entry?.actor_key ?? report.checks.map(({ what }) => what));
 */
export interface EntryReport extends Report {
  /** The entry; present when its leaf is under a signed root. */
  readonly entry?: AuditEntry | undefined;
}

/**
 * Verifies that an entry is in the log under a signed root.
 *
 * @example
 * import { createService } from 'writ';
 * import { expectAnswer, testService } from 'writ/testing';
 * import { readKeys, verifyEntry } from 'writ/verify';
 *
 * const trust = { level: 'anchored', anchoring: { cadence: 'PT1H' } } as const;
 * const desk = await testService(createService({ id: 'demo', capabilities: [], trust }));
 * const { client } = desk.human('ann');
 * await client.ask('tokens.issue', { subject: 'agent:planner', scope: ['operator:audit'] });
 * const { checkpoint_id } = expectAnswer(await client.ask('operator.checkpoints', {})).checkpoint;
 * const query = { entry_type: 'issuance', include: 'leaf' } as const;
 * const [entry] = expectAnswer(await client.ask('audit.query', query)).entries;
 * const asked = { checkpoint_id, include_proof: true, leaf_index: entry?.sequence };
 * const checkpoint = expectAnswer(await client.ask('checkpoints.get', asked));
 * const keys = readKeys({ jwks: expectAnswer(await client.ask('jwks', {})), pinned: 'all' });
 * if ('fault' in keys) throw new Error(keys.fault);
 * const anchors = { keys, now: desk.now(), serviceId: 'demo' };
 * console.log((await verifyEntry({ entry, checkpoint }, anchors)).verdict);
 * await desk.close();
 */
export async function verifyEntry(
  { entry: value, checkpoint }: ProvedEntry,
  anchors: CheckpointAnchors,
): Promise<EntryReport> {
  const covered = await verifyCheckpoint(checkpoint, anchors);
  const checks = about('checkpoint', covered.checks);
  const read = readEntry(value);
  if ('fault' in read) {
    return reportOf([...checks, failed('entry', read.fault)], CHECKPOINT_LIMITS);
  }
  const { entry, hash, erased } = read;
  const content = contentCheck('entry', erased, anchors.allowErased);
  const proof = inclusionCheck(proofIn(checkpoint), { ...covered, hash, position: entry.sequence });
  const report = reportOf([...checks, content, proof], CHECKPOINT_LIMITS);
  return { ...report, ...(proof.outcome === 'ok' && erased !== 'contents' && { entry }) };
}

/** The leaf hash to find, and under which head. */
export interface Sought {
  readonly head?: SignedHead | undefined;
  readonly hash: Hash;
  /** The index that the proof must be about, if it is known. */
  readonly position?: number | undefined;
}

export function inclusionCheck(value: unknown, { head, hash, position }: Sought): Check {
  if (head === undefined)
    return notChecked('inclusion', 'there is no signed root to compare it with');
  if (value === undefined) return notChecked('inclusion', 'there is no inclusion proof');
  const parsed = InclusionProof.safeParse(value);
  if (!parsed.success) return failed('inclusion', 'the proof is not as services write it');

  const { leaf_index, tree_size, leaf_hash, hashes } = parsed.data;
  if (tree_size !== head.size) return failed('inclusion', 'the proof is of a tree of another size');
  if (position !== undefined && head.first + leaf_index !== position) {
    const proved = head.first + leaf_index;
    return failed('inclusion', `the proof is of place ${proved}, the entry of ${position}`);
  }
  const leaf = fromHex(leaf_hash) as Hash;
  const proof = hashes.map((hex) => fromHex(hex) as Hash);
  const isIn =
    equalBytes(leaf, hash) &&
    verifyInclusion({ index: leaf_index, size: head.size, leaf, proof, root: head.root });
  const what = `place ${leaf_index} of ${head.size}`;
  return isIn ? passedCheck('inclusion', what) : failed('inclusion', `it is not at ${what}`);
}

/** The proof as a service sends it, with the checkpoint it is about. */
export function proofIn(checkpoint: unknown): unknown {
  return isObject(checkpoint) ? checkpoint.inclusion_proof : undefined;
}
