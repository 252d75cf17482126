/**
 * Checkpoints: anyone may read them, with proofs of what they cover.
 *
 * Heads and hashes are public. Which leaf belongs to an invocation is shown only to callers who may
 * see its entry. Others get the answer for an unknown invocation.
 *
 * @module
 */

import { failure, Refusal, refuse } from '../../domain/failure.ts';
import {
  type CheckpointRecord,
  checkpointDetail,
  checkpointView,
} from '../../domain/log/checkpoint.ts';
import { firstPlaceOf, leafIndexOf, nodeFrom } from '../../domain/log/origin.ts';
import { countText } from '../../domain/values/count-text.ts';
import { fromHex, toHex } from '../../domain/wire/hash.ts';
import type {
  CheckpointListAnswer,
  CheckpointReadRequest,
  ConsistencyProof,
  InclusionProof,
} from '../../protocol/audit.ts';
import type { FailureType } from '../../protocol/failure.ts';
import type { SealAnswer } from '../../protocol/operator.ts';
import { MarkDamaged } from '../../storage/port/mark.ts';
import { notOperator, operatorEntry } from '../authority/freeze.ts';
import { answered, audited } from '../caller/audited.ts';
import { callerOf, holdsScope } from '../caller/caller.ts';
import { type Answer, type Ask, type Methods, requestOf } from '../operations/operations.ts';
import { cursorPosition } from '../operations/page.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { SealingRefused } from './compare-log.ts';
import { consistencyHashes, inclusionHashes } from './proofs.ts';
import type { Sealer } from './sealer.ts';

/** A head and the proofs below it never change. */
const FOREVER = { 'cache-control': 'public, max-age=31536000, immutable' };

/** Two seconds: shorter than any useful cadence. */
const LATEST = { 'cache-control': 'public, max-age=2' };

export function checkpointMethods(parts: ServiceParts, sealer: Sealer): Methods {
  return {
    'checkpoints.list': (ask) => listCheckpoints(parts, ask),
    'checkpoints.get': (ask) => readCheckpoint(parts, ask),
    'operator.checkpoints': async (ask) => ({ body: await sealNow(parts, sealer, ask) }),
  };
}

async function listCheckpoints({ store }: ServiceParts, ask: Ask): Promise<Answer> {
  const { limit, cursor } = requestOf('checkpoints.list', ask);
  // One more than the limit shows whether there is a next page.
  const found = await store.listCheckpoints(limit + 1, cursorPosition(cursor, readCursor));
  const page = found.slice(0, limit);
  const last = found.length > page.length ? page.at(-1) : undefined;
  const body: CheckpointListAnswer = {
    checkpoints: page.map(checkpointView),
    next_cursor: last ? String(last.sequence) : null,
  };
  return { body, headers: LATEST };
}

function readCursor(cursor: string): number | undefined {
  return /^[1-9]\d{0,14}$/.test(cursor) ? Number(cursor) : undefined;
}

async function readCheckpoint(parts: ServiceParts, ask: Ask): Promise<Answer> {
  const request = requestOf('checkpoints.get', ask);
  refuseContradiction(request);
  const record = await knownCheckpoint(parts, request.checkpoint_id);
  const proofs = {
    inclusion_proof: await inclusionProof(parts, ask, request, record),
    consistency_proof: await consistencyProof(parts, request, record),
  };
  const asked = Object.entries(proofs).filter(([, proof]) => proof !== undefined);
  const lines = await parts.store.cosignatures(record.checkpoint_id);
  const tree_head = [record.note, ...lines].join('');
  const body = { ...checkpointDetail(record), tree_head, ...Object.fromEntries(asked) };
  if (request.invocation_id !== undefined) return { body };
  // More cosignatures may follow until every witness has signed.
  const isFinal = lines.length >= parts.config.witnesses.length;
  return { body, headers: isFinal ? FOREVER : LATEST };
}

/** A request asks for a proof of exactly one leaf, or names no leaf. */
function refuseContradiction(request: CheckpointReadRequest): void {
  const { include_proof, leaf_index, leaf_hash, invocation_id } = request;
  const named = [leaf_index, leaf_hash, invocation_id].filter((leaf) => leaf !== undefined);
  if (named.length === (include_proof ? 1 : 0)) return;
  refuseWith(
    'invalid_parameters',
    `Cannot prove ${named.length} leaves: expected include_proof=true with one of leaf_index, leaf_hash and invocation_id`,
  );
}

async function knownCheckpoint({ store }: ServiceParts, id: string): Promise<CheckpointRecord> {
  const record = await store.loadCheckpoint(id);
  return (
    record ??
    refuseWith('not_found', `Cannot find checkpoint "${id}": the log has no such checkpoint`)
  );
}

async function inclusionProof(
  parts: ServiceParts,
  ask: Ask,
  request: CheckpointReadRequest,
  { size, sequence }: CheckpointRecord,
): Promise<InclusionProof | undefined> {
  if (!request.include_proof) return undefined;
  const first = firstPlaceOf(sequence);
  const position = await requestedPosition(parts, ask, request, first);
  const leaf_index = leafIndexOf(position);
  if (firstPlaceOf(position) !== first || leaf_index >= size) {
    const covers = `checkpoint ${sequence} covers ${countText(size, 'entry', 'entries')} from place ${first} on`;
    return refuseWith('not_found', `Cannot prove the leaf at place ${position}: ${covers}`);
  }
  const [leaf] = await parts.store.nodes([nodeFrom(first, { level: 0, index: leaf_index })]);
  return {
    leaf_index,
    tree_size: size,
    leaf_hash: toHex(leaf as Uint8Array),
    hashes: (await inclusionHashes(parts.store, { first, index: leaf_index, size })).map(toHex),
  };
}

/**
 * The position of the requested leaf. An index counts within the tree of the checkpoint; a position
 * counts over all logs of the store.
 */
async function requestedPosition(
  parts: ServiceParts,
  ask: Ask,
  request: CheckpointReadRequest,
  first: number,
): Promise<number> {
  const { leaf_index, leaf_hash, invocation_id } = request;
  if (leaf_index !== undefined) return first + leaf_index;
  if (invocation_id !== undefined) return leafOfInvocation(parts, ask, invocation_id);
  const found = await parts.store.findLeaf({ leaf_hash: fromHex(leaf_hash ?? '') as Uint8Array });
  return (
    found?.sequence ??
    refuseWith('not_found', `Cannot find leaf "${leaf_hash}": the log has no such leaf`)
  );
}

async function leafOfInvocation(
  parts: ServiceParts,
  ask: Ask,
  invocationId: string,
): Promise<number> {
  return answered(parts, await callerOf(parts, ask), async (caller) => {
    const found = await parts.store.findLeaf({ invocation_id: invocationId });
    const isVisible =
      found?.root_principal === caller.root_principal || holdsScope(caller, 'operator:audit');
    if (found && isVisible) return found.sequence;
    return refuseWith(
      'not_found',
      `Cannot find an entry of "${invocationId}": the log has no such entry`,
    );
  });
}

async function consistencyProof(
  parts: ServiceParts,
  { consistency_from: from }: CheckpointReadRequest,
  { size, sequence }: CheckpointRecord,
): Promise<ConsistencyProof | undefined> {
  if (from === undefined) return undefined;
  const earlier = await knownCheckpoint(parts, from);
  const first = firstPlaceOf(sequence);
  if (firstPlaceOf(earlier.sequence) !== first) {
    const ended = `checkpoint ${earlier.sequence} is of a log that an operator has ended`;
    return refuseWith('invalid_parameters', `Cannot prove consistency: ${ended}`);
  }
  if (earlier.size > size) {
    const order = `checkpoint ${earlier.sequence} is later than ${sequence}`;
    return refuseWith('invalid_parameters', `Cannot prove consistency: ${order}`);
  }
  const sizes = { first, from: earlier.size, to: size };
  const hashes = await consistencyHashes(parts.store, sizes);
  return { from_size: earlier.size, to_size: size, hashes: hashes.map(toHex) };
}

/** The entry is appended first, so that the checkpoint covers it. */
async function sealNow(parts: ServiceParts, sealer: Sealer, ask: Ask): Promise<SealAnswer> {
  return audited(parts, await callerOf(parts, ask), 'operator', async (caller) => {
    refuse(notOperator(caller, 'checkpoints'));
    requestOf('operator.checkpoints', ask);
    await parts.store.append([operatorEntry(parts, caller, 'checkpoints', {})]);
    try {
      return { checkpoint: checkpointView(await sealer.seal()) };
    } catch (error) {
      if (!(error instanceof SealingRefused) && !(error instanceof MarkDamaged)) throw error;
      return refuseWith('service_unavailable', error.message);
    }
  });
}

function refuseWith(type: FailureType, detail: string): never {
  throw new Refusal(failure(type, detail));
}
