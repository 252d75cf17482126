/**
 * Compares the log with what was signed of it: the checkpoints of the store, the mark outside it, and
 * the witness that serves as a mark.
 *
 * A store can be put back to an older copy, and a mark can get lost. Neither may go unnoticed: a log
 * that does not extend what was signed must not be signed, and nothing may be appended to it. Reads
 * only. An operator decides how the service goes on (`recover-log.ts`).
 *
 * @module
 */

import { type CheckpointRecord, rootText } from '../../domain/log/checkpoint.ts';
import { foldPeaks, type Hash } from '../../domain/log/merkle.ts';
import { verifyConsistency } from '../../domain/log/merkle-proof.ts';
import { firstPlaceOf, type Origin } from '../../domain/log/origin.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import type { MarkStore } from '../../storage/port/mark.ts';
import type { Store } from '../../storage/port/store.ts';
import { consistencyHashes } from './proofs.ts';

export interface ComparedLog {
  readonly store: Store;
  /** Absent where nothing outlives the store, or nobody wants one. */
  readonly mark?: MarkStore | undefined;
  /** Somebody elsewhere who remembers for the mark what was signed. */
  readonly guard?: SealGuard | undefined;
  readonly signer?: LogSigner | undefined;
}

/** Who signs the log. */
export interface LogSigner {
  /** The ids of the keys that may have signed it, the one that signs now last. */
  kids(): readonly string[];
  /** Names the place of the store, without its password. */
  readonly place: string;
}

/** Token keys sign no log, so nothing is known of them. */
export function signerOf(keyring: Pick<Keyring, 'jwks' | 'kid'>, store: string): LogSigner {
  const kids = () => [...keyring.jwks().keys.map(({ kid }) => kid), keyring.kid('log')];
  return { kids, place: placeOf(store) };
}

/** Two addresses of one database that differ otherwise are two places. */
export function placeOf(store: string): string {
  if (!/^postgres(?:ql)?:/.test(store) || !URL.canParse(store)) return store;
  const { host, pathname } = new URL(store);
  return `postgres://${host}${pathname}`;
}

export interface SealGuard {
  /** What it has seen of this log, in entries, as far as the last checkpoint can tell. */
  seen(last: CheckpointRecord | undefined): Promise<number>;
  /** Remembers the next one and returns its word for it; nothing when it has seen another meanwhile. */
  remember(next: CheckpointRecord, seen: number): Promise<string | undefined>;
}

/** The sections of `docs/operating.md` that say what an operator does. */
const SECTIONS = {
  rollback: 'The log was rolled back',
  missing: 'The mark is missing',
} as const;

/** The log does not extend what was signed, or it cannot be told. Says what was found and what to do. */
export class SealingRefused extends Error {
  override readonly name = 'SealingRefused';
  readonly kind: keyof typeof SECTIONS;
  /** The head that was signed and that the log does not extend, where it is known. */
  readonly lost: LostHead | undefined;

  constructor(found: string, kind: keyof typeof SECTIONS = 'rollback', lost?: LostHead) {
    super(`Cannot seal: ${found}; see docs/operating.md, "${SECTIONS[kind]}"`);
    this.kind = kind;
    this.lost = lost;
  }
}

/** What is known of a signed tree that the log does not have. */
export interface LostHead {
  readonly checkpoint_id?: string;
  readonly checkpoint?: number;
  readonly entry_count?: number;
  readonly merkle_root?: string;
}

/** The current log, what was signed of it, and its tree as it is now. */
export interface Compared {
  readonly origin: Origin;
  readonly marked: CheckpointRecord | undefined;
  readonly last: CheckpointRecord | undefined;
  readonly tree: Tree;
}

interface Tree {
  readonly first: number;
  readonly size: number;
  readonly root: Hash;
}

/**
 * Rejects with `SealingRefused` when the log does not extend what was signed, with `MarkDamaged` when
 * that cannot be told, and otherwise as store and mark do. Nothing when another process began the log,
 * or another one, meanwhile.
 */
export async function compareLog(parts: ComparedLog): Promise<Compared | undefined> {
  const { store, mark } = parts;
  const origin = await currentOrigin(store);
  // In this order: whatever was signed when the mark was read, the rest must know of.
  const marked = await mark?.read(origin.logId);
  const last = checkpointOf(origin, await store.lastCheckpoint());
  const { first, size, peaks } = await store.sequence();
  if (first !== origin.first) return undefined;
  // Another process may have made the mark, and appended, since the first look.
  if (mark && !marked && size > 0 && (await mark.read(origin.logId))) return undefined;

  const tree = { first, size, root: foldPeaks(peaks) };
  await refuseWord(mark, { origin, marked, last, tree });
  if (!marked) await refuseSignedNumbers(parts, origin);
  for (const signed of [last, marked]) await refuseOtherHistory(store, signed, tree);
  refuseGap(origin, marked, last);
  return { origin, marked, last, tree };
}

/** Rejects with `SealingRefused` when the witness that serves as the mark has seen more. */
export async function seenElsewhere(
  { guard }: ComparedLog,
  { last, tree: { size } }: Compared,
): Promise<number> {
  const seen = (await guard?.seen(last)) ?? 0;
  if (seen <= size) return seen;
  const found = `a witness has seen ${seen} entries, the log has ${size}`;
  throw new SealingRefused(found, 'rollback', { entry_count: seen });
}

export async function currentOrigin(store: Pick<Store, 'origins'>): Promise<Origin> {
  const current = (await store.origins()).at(-1);
  if (!current) throw new Error('Cannot read the log: the store has no list of its logs');
  return current;
}

/** The checkpoint, if it is of this log and not of one that ended. */
function checkpointOf(
  { first }: Origin,
  record: CheckpointRecord | undefined,
): CheckpointRecord | undefined {
  return record && firstPlaceOf(record.sequence) === first ? record : undefined;
}

/** A log that an operator ended is over; one without a mark needs an operator who accepts it. */
async function refuseWord(
  mark: MarkStore | undefined,
  { origin, marked, last, tree }: Compared,
): Promise<void> {
  const word = await mark?.word(origin.logId);
  if (word === 'ended') {
    const found = 'an operator has ended this log; the database is a copy from before';
    throw new SealingRefused(found, 'rollback', marked && lostHead(marked));
  }
  if (!mark || marked || tree.size === 0) return;
  if (word === 'accepted' && !last) return;
  throw new SealingRefused(`the log has ${tree.size} entries and no mark`, 'missing');
}

/**
 * A log that was never signed, under a key that has signed its numbers for another log of a store at the
 * same place: that store was deleted. To sign them again would be a second history.
 */
async function refuseSignedNumbers(parts: ComparedLog, origin: Origin): Promise<void> {
  const [highest] = await signedElsewhere(parts, origin);
  if (!highest) return;
  const { logId, signed } = highest;
  const found = `checkpoint ${signed.sequence} was signed over ${signed.size} entries of log ${logId}, and the database has none of them`;
  throw new SealingRefused(found, 'rollback', lostHead(signed));
}

/** A log of which the database has nothing, and its last checkpoint as the mark has it. */
export interface SignedElsewhere {
  readonly logId: string;
  readonly signed: CheckpointRecord;
}

/** The other logs that our keys signed for this place beyond where this log begins; the highest number first. */
export async function signedElsewhere(
  { mark, signer }: Pick<ComparedLog, 'mark' | 'signer'>,
  { first, logId: own }: Origin,
): Promise<SignedElsewhere[]> {
  if (!mark || !signer) return [];
  const logs = new Map<string, CheckpointRecord>();
  for (const kid of signer.kids()) {
    const logId = (await mark.logsOf(kid)).get(signer.place);
    const signed = logId === undefined || logId === own ? undefined : await mark.read(logId);
    if (logId && signed && signed.size > 0 && signed.sequence > first) logs.set(logId, signed);
  }
  return [...logs]
    .map(([logId, signed]) => ({ logId, signed }))
    .sort((one, other) => other.signed.sequence - one.signed.sequence);
}

async function refuseOtherHistory(
  store: Store,
  signed: CheckpointRecord | undefined,
  tree: Tree,
): Promise<void> {
  if (!signed) return;
  const covers = `checkpoint ${signed.sequence} was signed over ${signed.size} entries`;
  const refuse = (rest: string): never => {
    throw new SealingRefused(`${covers}${rest}`, 'rollback', lostHead(signed));
  };
  if (signed.size > tree.size) refuse(`, the log has ${tree.size}`);

  const sizes = { first: tree.first, from: signed.size, to: tree.size };
  const proof = await consistencyHashes(store, sizes);
  const claim = { ...sizes, fromRoot: signed.root, toRoot: tree.root, proof };
  if (!verifyConsistency(claim)) refuse(` that are not the first ${signed.size} of the log`);
}

/** One ahead is a checkpoint that is being kept at this moment, or that a crash left out. */
function refuseGap(
  { first }: Origin,
  marked: CheckpointRecord | undefined,
  last: CheckpointRecord | undefined,
): void {
  const kept = last?.sequence ?? first;
  if (!marked || marked.sequence <= kept + 1) return;
  const found = `checkpoint ${marked.sequence} was signed, the database has ${kept}`;
  throw new SealingRefused(found, 'rollback', lostHead(marked));
}

export function lostHead({ checkpoint_id, sequence, size, root }: CheckpointRecord): LostHead {
  const merkle_root = rootText(root);
  return { checkpoint_id, checkpoint: sequence, entry_count: size, merkle_root };
}
