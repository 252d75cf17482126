/**
 * Sealing: signs the tree as it is now, if it extends everything that was signed before.
 *
 * A log that signs two histories is worth nothing, so this is the one step that would rather fail for
 * good. What was signed last is asked of the database and of the mark outside it; a tree that does
 * not extend both was restored or rewritten, and is not signed.
 *
 * The mark moves first, then the row is kept, and only what is kept is ever shown. A crash in between
 * leaves the mark one checkpoint ahead: whoever seals next keeps that very checkpoint before it goes
 * on. The other order would let a database forget a checkpoint that was already shown.
 *
 * @module
 */

import {
  type CheckpointFacts,
  type CheckpointRecord,
  checkpointPayload,
  FIRST_SEQUENCE,
  originOf,
} from '../domain/checkpoint.ts';
import { foldPeaks, type Hash } from '../domain/merkle.ts';
import { verifyConsistency } from '../domain/merkle-proof.ts';
import { headText, writeNote } from '../domain/note.ts';
import type { Keyring } from '../keyring/keyring.ts';
import { ARTEFACTS } from '../keyring/wire.ts';
import type { Logger } from '../log.ts';
import type { MarkStore } from '../storage/mark.ts';
import { type Store, StoreUnavailable } from '../storage/store.ts';
import { consistencyHashes } from './proofs.ts';
import { newId } from './random.ts';

/** Others may seal between our reading and our writing; more than this is no coincidence. */
const SEAL_TRIES = 5;

export interface SealParts {
  readonly serviceId: string;
  readonly store: Store;
  readonly keyring: Keyring;
  /** Absent where nothing outlives the store, or nobody wants one. */
  readonly mark?: MarkStore | undefined;
  /** Somebody elsewhere who remembers for the mark what was signed. */
  readonly guard?: SealGuard | undefined;
  readonly log: Logger;
}

export interface SealGuard {
  /** What it has seen of this log, in entries, as far as the last checkpoint can tell. */
  seen(last: CheckpointRecord | undefined): Promise<number>;
  /** Remembers the next one and returns its word for it; nothing when it has seen another meanwhile. */
  remember(next: CheckpointRecord, seen: number): Promise<string | undefined>;
}

export interface Sealed {
  readonly checkpoint: CheckpointRecord;
  /** False when the last one already covers the whole tree. */
  readonly isNew: boolean;
}

/** The tree does not extend what was signed. Says what happened and what to do. */
export class SealingRefused extends Error {
  override readonly name = 'SealingRefused';

  constructor(found: string) {
    super(`Cannot seal: ${found}; ${REMEDY}`);
  }
}

const REMEDY =
  'the database was restored from an older copy, or changed. Put the newest copy in its place; ' +
  'where its entries are lost for good, start with a new database, which begins a new log';

/** Rejects with `SealingRefused`, or when store or mark cannot be used. */
export async function sealNext(parts: SealParts): Promise<Sealed> {
  for (let tries = 1; tries <= SEAL_TRIES; tries++) {
    const sealed = await trySeal(parts);
    if (sealed) return sealed;
  }
  throw new StoreUnavailable(`Cannot seal: others were first ${SEAL_TRIES} times`);
}

/**
 * What a replica does that does not seal: its own mark, where it has one of its own, learns what others
 * have sealed, and it notices a database that was put back as soon as they would.
 */
export async function followMark(parts: SealParts): Promise<void> {
  const { store, mark } = parts;
  if (!mark) return;
  const marked = await mark.read(store.logId);
  const last = await store.lastCheckpoint();
  // One ahead is a checkpoint that is being kept at this moment, or that whoever seals will keep.
  const isAhead = marked && marked.sequence === (last?.sequence ?? 0) + 1;
  if (isAhead || last?.checkpoint_id === marked?.checkpoint_id) return;
  await extendedTree(parts, [last, marked]);
  if (last && (!marked || marked.sequence < last.sequence)) {
    await mark.advance(store.logId, marked, last);
  }
}

/** Nothing when another process moved the mark or kept a checkpoint meanwhile. */
async function trySeal(parts: SealParts): Promise<Sealed | undefined> {
  const { store, mark } = parts;
  // In this order: whatever was signed when the mark was read, the rest must know of.
  const marked = await mark?.read(store.logId);
  const last = await store.lastCheckpoint();
  const tree = await extendedTree(parts, [last, marked]);
  const { size } = tree;

  const kept = last?.sequence ?? 0;
  if (marked && marked.sequence > kept) return keepMarked(parts, marked, kept);
  const isBehind = last && last.checkpoint_id !== marked?.checkpoint_id;
  if (isBehind && !(await catchUp(parts, marked, last))) return undefined;
  if (last?.size === size) return { checkpoint: last, isNew: false };

  const seen = await seenElsewhere(parts, last, size);
  const next = signedCheckpoint(parts, tree, last);
  const from = isBehind ? last : marked;
  if (mark && !(await mark.advance(store.logId, from, next))) return undefined;
  return keepNext(parts, next, seen);
}

async function seenElsewhere(
  { guard }: SealParts,
  last: CheckpointRecord | undefined,
  size: number,
): Promise<number> {
  const seen = (await guard?.seen(last)) ?? 0;
  if (seen <= size) return seen;
  throw new SealingRefused(`a witness has seen ${seen} entries, the log has ${size}`);
}

async function keepNext(
  { store, guard }: SealParts,
  next: CheckpointRecord,
  seen: number,
): Promise<Sealed | undefined> {
  const word = guard ? await guard.remember(next, seen) : '';
  if (word === undefined || !(await store.insertCheckpoint(next))) return undefined;
  if (word !== '') await store.keepCosignature(next.checkpoint_id, word);
  return { checkpoint: next, isNew: true };
}

/** A mark that is new, or that others did not move, learns what the database has. */
async function catchUp(
  { store, mark, log }: SealParts,
  marked: CheckpointRecord | undefined,
  last: CheckpointRecord,
): Promise<boolean> {
  if (!mark) return true;
  const moved = await mark.advance(store.logId, marked, last);
  const facts = { sequence: last.sequence, marked: marked?.sequence };
  if (moved) log.warn(facts, 'took the last checkpoint of the database for the mark');
  return moved;
}

interface Tree {
  readonly size: number;
  readonly root: Hash;
}

/** The tree as it is now. Refuses one that does not extend all of what was signed. */
async function extendedTree(
  parts: SealParts,
  signed: readonly (CheckpointRecord | undefined)[],
): Promise<Tree> {
  const { size, peaks } = await parts.store.sequence();
  const tree = { size, root: foldPeaks(peaks) };
  for (const each of signed) await refuseOtherHistory(parts, each, tree);
  return tree;
}

async function refuseOtherHistory(
  { store }: SealParts,
  signed: CheckpointRecord | undefined,
  tree: Tree,
): Promise<void> {
  if (!signed) return;
  const covers = `checkpoint ${signed.sequence} was signed over ${signed.size} entries`;
  if (signed.size > tree.size) throw new SealingRefused(`${covers}, the log has ${tree.size}`);

  const proof = await consistencyHashes(store, signed.size, tree.size);
  const claim = { from: signed.size, to: tree.size, fromRoot: signed.root, toRoot: tree.root };
  if (verifyConsistency({ ...claim, proof })) return;
  throw new SealingRefused(`${covers} that are not the first ${signed.size} of the log`);
}

/** Keeps what was signed and marked and then not kept. Sealing goes on from there. */
async function keepMarked(
  parts: SealParts,
  marked: CheckpointRecord,
  kept: number,
): Promise<undefined> {
  if (marked.sequence !== kept + 1) {
    const state = `checkpoint ${marked.sequence} was signed, the database has ${kept}`;
    throw new SealingRefused(state);
  }
  if (!isOurs(parts, marked)) {
    throw new SealingRefused(`the mark says checkpoint ${marked.sequence}, which is not ours`);
  }
  if (await parts.store.insertCheckpoint(marked)) {
    parts.log.warn({ sequence: marked.sequence }, 'kept a checkpoint that a crash had left out');
  }
}

function isOurs({ serviceId, keyring }: SealParts, record: CheckpointRecord): boolean {
  const { use, typ } = ARTEFACTS.checkpoint;
  const payload = checkpointPayload(serviceId, record);
  return keyring.verifyDetached(use, typ, record.signature, payload) !== undefined;
}

function signedCheckpoint(
  { serviceId, store, keyring }: SealParts,
  { size, root }: Tree,
  last: CheckpointRecord | undefined,
): CheckpointRecord {
  const now = store.now();
  const facts: CheckpointFacts = {
    checkpoint_id: newId('ckpt-'),
    sequence: last ? last.sequence + 1 : FIRST_SEQUENCE,
    size,
    root,
    // A clock that was set back must not make the later checkpoint the earlier one.
    created_at: last && last.created_at > now ? last.created_at : now,
  };
  const { use, typ } = ARTEFACTS.checkpoint;
  const origin = originOf(serviceId, store.logId);
  const text = headText({ origin, size, root });
  return {
    ...facts,
    signature: keyring.signDetached(use, typ, checkpointPayload(serviceId, facts)),
    note: writeNote({ text, signatures: keyring.signNote(origin, text) }),
  };
}
