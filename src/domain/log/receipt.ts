/**
 * Signed receipts: what the service signs about entries that it has just acknowledged.
 *
 * One signature covers many receipts: they are the leaves of a tree (RFC 6962), and the service signs its root.
 * Each receipt carries its path to that root. The signature also covers the service, the log and a promise:
 * every checkpoint of this log that follows `last_checkpoint` and is dated at or after `included_by` covers the
 * entries, and so does every one from the second after `last_checkpoint` on. The first one may have been under way
 * when the service signed, and may lack the entries. It took its date before it read the tree
 * (`service/log/seal.ts`), so its date is earlier. The number keeps out checkpoints from before, which a clock that
 * ran ahead may have dated later.
 *
 * This tree is not the tree of the log. Its leaves are receipts, not entries.
 *
 * @module
 */

import type { Receipt, SignedReceipt } from '../../protocol/invocation.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { fromHex, toHex, utf8 } from '../wire/hash.ts';
import { rootText } from './checkpoint.ts';
import { EMPTY_ROOT, type Hash, hashLeaf, hashNode } from './merkle.ts';
import { inclusionJoins, topOf } from './merkle-proof.ts';

/**
 * In milliseconds, from the signature to `included_by`. The clocks of processes on one database differ by far
 * less (`storage/postgres/clock.ts`).
 */
export const INCLUDED_WITHIN_MS = 60_000;

/** Receipts under one signature: bounds the tree that is held in memory, and the paths in the answers. */
export const RECEIPTS_SIGNED_MAX = 1_024;

/** What identifies an entry in a receipt. */
export type NamedEntry = Pick<Receipt, 'entry_id' | 'leaf_hash'>;

/** What one signature says, besides the root. */
export type ReceiptPromise = Pick<
  SignedReceipt,
  'log_id' | 'last_checkpoint' | 'signed_at' | 'included_by' | 'tree_size'
>;

/** The exact bytes that the JWS of a receipt covers. */
export function receiptPayload(serviceId: string, root: Hash, promise: ReceiptPromise): Uint8Array {
  const { log_id, last_checkpoint, signed_at, included_by, tree_size } = promise;
  const facts = { log_id, last_checkpoint, signed_at, included_by, tree_size };
  const signed = { service_id: serviceId, ...facts, merkle_root: rootText(root) };
  return utf8(canonicalJson(signed));
}

export interface ReceiptTree {
  readonly root: Hash;
  /** The path of each receipt, leaf to root, in hex. */
  readonly paths: readonly (readonly string[])[];
}

/** Hashes each node once, and writes it as hex once: one turn may sign a thousand receipts. */
export function receiptTree(entries: readonly NamedEntry[]): ReceiptTree {
  let level = entries.map(receiptLeaf);
  const levels: string[][] = [];
  while (level.length > 1) {
    levels.push(level.map(toHex));
    level = parentsOf(level);
  }
  const paths = entries.map((_, index) => {
    return levels.flatMap((hashes, height) => hashes[siblingOf(index, height)] ?? []);
  });
  return { root: level[0] ?? EMPTY_ROOT, paths };
}

/** A last node without a sibling moves up unchanged, which gives the tree of RFC 6962. */
function parentsOf(level: readonly Hash[]): Hash[] {
  const parents: Hash[] = [];
  for (let at = 0; at < level.length; at += 2) {
    const [left, right] = [level[at] as Hash, level[at + 1]];
    parents.push(right ? hashNode(left, right) : left);
  }
  return parents;
}

/** The index of the node beside the one above this leaf. */
function siblingOf(leaf: number, height: number): number {
  const index = Math.floor(leaf / 2 ** height);
  return index % 2 === 0 ? index + 1 : index - 1;
}

/** The root that a receipt's path reaches; `undefined` for a path that has no such form. */
export function receiptRoot(
  entry: NamedEntry,
  { leaf_index, tree_size, path }: Pick<SignedReceipt, 'leaf_index' | 'tree_size' | 'path'>,
): Hash | undefined {
  const leaf = receiptLeaf(entry);
  const proof = path.map((hex) => fromHex(hex) as Hash);
  const joins = inclusionJoins({ index: leaf_index, size: tree_size, leaf, proof });
  return joins && topOf(leaf, joins);
}

function receiptLeaf({ entry_id, leaf_hash }: NamedEntry): Hash {
  return hashLeaf(canonicalJson({ entry_id, leaf_hash }));
}
