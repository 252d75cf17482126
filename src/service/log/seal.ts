/**
 * Sealing: signs the current tree if it extends everything that was signed before.
 *
 * A log that signs two histories is worthless. So sealing fails rather than sign a tree that
 * `compare-log.ts` refuses.
 *
 * The mark moves first, then the store inserts the checkpoint, and only a stored checkpoint is
 * shown. A crash in between leaves the mark one checkpoint ahead, and the next sealer inserts that
 * checkpoint before it goes on. With the other order, a restored database could forget a checkpoint
 * that was already shown.
 *
 * @module
 */

import {
  type CheckpointFacts,
  type CheckpointRecord,
  checkpointPayload,
  logOrigin,
} from '../../domain/log/checkpoint.ts';
import { headText, writeNote } from '../../domain/log/note.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import type { Logger } from '../../log.ts';
import type { Platform } from '../../platform.ts';
import { StoreUnavailable } from '../../storage/port/store.ts';
import { newId } from '../operations/random.ts';
import {
  type Compared,
  type ComparedLog,
  compareLog,
  SealingRefused,
  seenElsewhere,
} from './compare-log.ts';

/** Attempts. Another process may seal between our read and our write. */
const SEAL_TRIES = 5;

export interface SealOptions extends ComparedLog {
  readonly platform: Platform;
  readonly serviceId: string;
  readonly keyring: Keyring;
  readonly log: Logger;
}

export interface Sealed {
  readonly checkpoint: CheckpointRecord;
  /** False when the last checkpoint already covers the whole tree. */
  readonly isNew: boolean;
}

/** Rejects with `SealingRefused`, or when the store or the mark cannot be used. */
export async function sealNext(parts: SealOptions): Promise<Sealed> {
  for (let tries = 1; tries <= SEAL_TRIES; tries++) {
    const sealed = await trySeal(parts);
    if (sealed) return sealed;
  }
  throw new StoreUnavailable(`Cannot seal: other processes sealed first, ${SEAL_TRIES} times`);
}

/**
 * For a replica that does not seal: moves its own mark, if it has one, to what others have sealed.
 * It detects a restored database as soon as they do.
 */
export async function followMark(parts: SealOptions): Promise<void> {
  const { mark } = parts;
  if (!mark) return;
  const { origin, marked, last } = (await compareLog(parts)) ?? {};
  if (origin && last && last.sequence > (marked?.sequence ?? 0)) {
    await mark.advance(origin.logId, marked, last);
  }
}

/** Returns `undefined` when another process moved the mark or stored a checkpoint meanwhile. */
async function trySeal(parts: SealOptions): Promise<Sealed | undefined> {
  const { mark } = parts;
  // Read before the tree: signed receipts promise their entries to every checkpoint of a later date.
  const created_at = parts.store.now();
  const compared = await compareLog(parts);
  if (!compared) return undefined;
  const { origin, marked, last, tree } = compared;

  await recordSigner(parts, origin.logId);
  if (marked && marked.sequence > (last?.sequence ?? origin.first))
    return storeMarked(parts, marked);
  const isBehind = last && last.checkpoint_id !== marked?.checkpoint_id;
  if (isBehind && !(await catchUp(parts, compared, last))) return undefined;
  if (last?.size === tree.size) return { checkpoint: last, isNew: false };

  const seen = await seenElsewhere(parts, compared);
  const next = signedCheckpoint(parts, compared, created_at);
  const from = isBehind ? last : marked;
  if (mark && !(await mark.advance(origin.logId, from, next))) return undefined;
  return storeNext(parts, next, seen);
}

/**
 * Records the signing key outside of the store before it signs, so that a deleted store leaves a
 * trace.
 */
async function recordSigner({ mark, signer }: SealOptions, logId: string): Promise<void> {
  const kid = signer?.kids().at(-1);
  if (mark && signer && kid !== undefined) await mark.signsWith(kid, signer.place, logId);
}

async function storeNext(
  { store, guard }: SealOptions,
  next: CheckpointRecord,
  seen: number,
): Promise<Sealed | undefined> {
  const cosignature = guard ? await guard.remember(next, seen) : '';
  if (cosignature === undefined || !(await store.insertCheckpoint(next))) return undefined;
  if (cosignature !== '') await store.insertCosignature(next.checkpoint_id, cosignature);
  return { checkpoint: next, isNew: true };
}

/** Moves a mark that is behind the database to its last checkpoint. */
async function catchUp(
  { mark, log }: SealOptions,
  { origin, marked }: Compared,
  last: CheckpointRecord,
): Promise<boolean> {
  if (!mark) return true;
  const moved = await mark.advance(origin.logId, marked, last);
  const facts = { sequence: last.sequence, marked: marked?.sequence };
  if (moved) log.warn(facts, 'set the mark to the last checkpoint of the database');
  return moved;
}

/** Inserts a checkpoint that was signed and marked but not stored. Sealing continues after it. */
async function storeMarked(parts: SealOptions, marked: CheckpointRecord): Promise<undefined> {
  if (!isOurs(parts, marked)) {
    throw new SealingRefused(`the mark says checkpoint ${marked.sequence}, which is not ours`);
  }
  if (await parts.store.insertCheckpoint(marked)) {
    parts.log.warn({ sequence: marked.sequence }, 'stored a checkpoint that a crash had left out');
  }
}

function isOurs({ serviceId, keyring }: SealOptions, record: CheckpointRecord): boolean {
  const { use, typ } = ARTEFACTS.checkpoint;
  const payload = checkpointPayload(serviceId, record);
  return keyring.verifyDetached(use, typ, record.signature, payload) !== undefined;
}

function signedCheckpoint(
  { serviceId, keyring, platform }: SealOptions,
  { origin: { logId, first }, last, tree: { size, root } }: Compared,
  created_at: Date,
): CheckpointRecord {
  const facts: CheckpointFacts = {
    checkpoint_id: newId(platform, 'ckpt-'),
    sequence: (last?.sequence ?? first) + 1,
    size,
    root,
    // Tree and sequence order checkpoints, because a clock may be wrong.
    created_at,
  };
  const { use, typ } = ARTEFACTS.checkpoint;
  const origin = logOrigin(serviceId, logId);
  const text = headText({ origin, size, root });
  return {
    ...facts,
    signature: keyring.signDetached(use, typ, checkpointPayload(serviceId, facts)),
    note: writeNote({ text, signatures: keyring.signNote(origin, text) }),
  };
}
