/**
 * Compares the log with everything that was signed of it: the checkpoints in the store, the mark
 * outside of the store, and the witness that serves as a mark.
 *
 * A store can be restored from an older copy, and a mark can get lost. Both must be detected: a log
 * that does not extend what was signed is not signed, and nothing is appended to it. This file only
 * reads. An operator decides how the service goes on (`recover-log.ts`).
 *
 * @module
 */

import { type CheckpointRecord, rootText } from '../../domain/log/checkpoint.ts';
import { foldPeaks, type Hash } from '../../domain/log/merkle.ts';
import { isConsistent } from '../../domain/log/merkle-proof.ts';
import { firstPlaceOf, type Origin } from '../../domain/log/origin.ts';
import { countText } from '../../domain/values/count-text.ts';
import type { Keyring } from '../../keyring/keyring.ts';
import type { MarkStore } from '../../storage/port/mark.ts';
import type { Store } from '../../storage/port/store.ts';
import { consistencyHashes } from './proofs.ts';

export interface ComparedLog {
  readonly store: Store;
  /** Absent when the store is in memory, or when the configuration has no mark. */
  readonly mark?: MarkStore | undefined;
  /** A witness that remembers in place of the mark what was signed. */
  readonly guard?: SealGuard | undefined;
  readonly signer?: LogSigner | undefined;
}

/** Who signs the log. */
export interface LogSigner {
  /** The ids of the keys that may have signed the log. The last one signs now. */
  kids(): readonly string[];
  /** The address of the store, without its password. */
  readonly place: string;
}

/** Includes token keys: they sign no log, so the mark has nothing about them. */
export function logSigner(keyring: Pick<Keyring, 'jwks' | 'kid'>, store: string): LogSigner {
  const kids = () => [...keyring.jwks().keys.map(({ kid }) => kid), keyring.kid('log')];
  return { kids, place: storeAddress(store) };
}

/**
 * The address without user and options. Another spelling of one address counts as another place.
 */
export function storeAddress(store: string): string {
  if (!/^postgres(?:ql)?:/.test(store)) return store;
  // An address that cannot be read may have a password at any place.
  if (!URL.canParse(store)) return 'postgres://…';
  const { host, pathname } = new URL(store);
  return `postgres://${host}${pathname}`;
}

export interface SealGuard {
  /** The number of entries it has seen, as far as the last checkpoint shows. */
  seen(last: CheckpointRecord | undefined): Promise<number>;
  /**
   * Remembers the next checkpoint and returns its cosignature; `undefined` when it has seen another
   * one since.
   */
  remember(next: CheckpointRecord, seen: number): Promise<string | undefined>;
}

/** The sections of `docs/operating.md` that say what an operator does. */
const SECTIONS = {
  rollback: 'The log was rolled back',
  missing: 'The mark is missing',
} as const;

/**
 * The log does not extend what was signed, or that cannot be decided. The message says what was
 * found and what to do.
 */
export class SealingRefused extends Error {
  override readonly name = 'SealingRefused';
  readonly kind: keyof typeof SECTIONS;
  /** The signed head that the log does not extend, where it is known. */
  readonly lost: LostHead | undefined;

  constructor(found: string, kind: keyof typeof SECTIONS = 'rollback', lost?: LostHead) {
    super(`Cannot seal: ${found}; see docs/operating.md, "${SECTIONS[kind]}"`);
    this.kind = kind;
    this.lost = lost;
  }
}

/** The known facts of a signed tree that the log does not contain. */
export interface LostHead {
  readonly checkpoint_id?: string;
  readonly checkpoint?: number;
  readonly entry_count?: number;
  readonly merkle_root?: string;
}

/** The current log, its signed checkpoints and its current tree. */
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
 * Rejects with `SealingRefused` when the log does not extend what was signed, with `MarkDamaged`
 * when the mark cannot be read, and otherwise as store and mark do. Returns `undefined` when
 * another process changed the log or the mark during the comparison.
 */
export async function compareLog(parts: ComparedLog): Promise<Compared | undefined> {
  const { store, mark } = parts;
  const origin = await currentOrigin(store);
  // The mark is read first: what was signed by then must be in the later reads.
  const marked = await mark?.read(origin.logId);
  const last = checkpointOf(origin, await store.lastCheckpoint());
  const { first, size, peaks } = await store.sequence();
  if (first !== origin.first) return undefined;
  // Another process may have written the mark since the first read.
  if (mark && !marked && size > 0 && (await mark.read(origin.logId))) return undefined;

  const tree = { first, size, root: foldPeaks(peaks) };
  await refuseEndedOrUnmarked(mark, { origin, marked, last, tree });
  if (!marked) await refuseSignedNumbers(parts, origin);
  for (const signed of [last, marked]) await refuseOtherHistory(store, signed, tree);
  refuseGap(origin, marked, last);
  return { origin, marked, last, tree };
}

/** Rejects with `SealingRefused` when the witness that serves as the mark has seen more entries. */
export async function seenElsewhere(
  { guard }: ComparedLog,
  { last, tree: { size } }: Compared,
): Promise<number> {
  const seen = (await guard?.seen(last)) ?? 0;
  if (seen <= size) return seen;
  const found = `a witness has seen ${countText(seen, 'entry', 'entries')}, the log has ${size}`;
  throw new SealingRefused(found, 'rollback', { entry_count: seen });
}

export async function currentOrigin(store: Pick<Store, 'origins'>): Promise<Origin> {
  const current = (await store.origins()).at(-1);
  if (!current) throw new Error('Cannot read the log: the store has no list of its logs');
  return current;
}

/** The checkpoint, if it belongs to this log and not to an ended one. */
function checkpointOf(
  { first }: Origin,
  record: CheckpointRecord | undefined,
): CheckpointRecord | undefined {
  return record && firstPlaceOf(record.sequence) === first ? record : undefined;
}

/** Refuses a log that an operator ended, and a log without a mark that no operator accepted. */
async function refuseEndedOrUnmarked(
  mark: MarkStore | undefined,
  { origin, marked, last, tree }: Compared,
): Promise<void> {
  const status = await mark?.status(origin.logId);
  if (status === 'ended') {
    const found = 'an operator has ended this log; the database is a copy from before that';
    throw new SealingRefused(found, 'rollback', marked && lostHead(marked));
  }
  if (!mark || marked || tree.size === 0) return;
  if (status === 'accepted' && !last) return;
  throw new SealingRefused(
    `the log has ${countText(tree.size, 'entry', 'entries')} and no mark`,
    'missing',
  );
}

/**
 * Refuses an unsigned log when one of our keys has signed checkpoint numbers of another log at the
 * same place. That store was deleted. Signing the numbers again would make a second history.
 */
async function refuseSignedNumbers(parts: ComparedLog, origin: Origin): Promise<void> {
  const [highest] = await signedElsewhere(parts, origin);
  if (!highest) return;
  const { logId, signed } = highest;
  const found = `checkpoint ${signed.sequence} was signed over ${countText(signed.size, 'entry', 'entries')} of log ${logId}, and the database has none of them`;
  throw new SealingRefused(found, 'rollback', lostHead(signed));
}

/** A log that is missing in the database, with its last checkpoint from the mark. */
export interface SignedElsewhere {
  readonly logId: string;
  readonly signed: CheckpointRecord;
}

/**
 * Other logs that our keys signed at this place beyond the start of this log, highest number first.
 */
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
  const covers = `checkpoint ${signed.sequence} was signed over ${countText(signed.size, 'entry', 'entries')}`;
  const refuse = (rest: string): never => {
    throw new SealingRefused(`${covers}${rest}`, 'rollback', lostHead(signed));
  };
  if (signed.size > tree.size) refuse(`, the log has ${tree.size}`);

  const sizes = { first: tree.first, from: signed.size, to: tree.size };
  const proof = await consistencyHashes(store, sizes);
  const claim = { ...sizes, fromRoot: signed.root, toRoot: tree.root, proof };
  if (!isConsistent(claim)) refuse(` that are not the first ${signed.size} of the log`);
}

/** The mark may be one ahead: that checkpoint is being stored now, or a crash prevented it. */
function refuseGap(
  { first }: Origin,
  marked: CheckpointRecord | undefined,
  last: CheckpointRecord | undefined,
): void {
  const stored = last?.sequence ?? first;
  if (!marked || marked.sequence <= stored + 1) return;
  const found = `checkpoint ${marked.sequence} was signed, the database has ${stored}`;
  throw new SealingRefused(found, 'rollback', lostHead(marked));
}

export function lostHead({ checkpoint_id, sequence, size, root }: CheckpointRecord): LostHead {
  const merkle_root = rootText(root);
  return { checkpoint_id, checkpoint: sequence, entry_count: size, merkle_root };
}
