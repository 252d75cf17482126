/**
 * The Merkle tree over audit entries, as in RFC 6962 section 2.1: hashing and growing.
 *
 * Leaves and nodes are hashed under different prefixes, so that no node can be passed off as a leaf. A
 * complete subtree never changes after its last leaf is added. A tree of any size is represented by its
 * peaks: the complete subtrees that cover it from left to right. The store keeps the nodes, `entry.ts`
 * makes the leaves, and `merkle-proof.ts` makes the proofs.
 *
 * Sizes and indexes exceed 32 bits, where bit operators truncate, so this file uses division.
 *
 * @module
 */

import { countText } from '../values/count-text.ts';
import { sha256 } from '../wire/hash.ts';

export type Hash = Uint8Array;

/** Names the complete subtree over the leaves from index * 2^level up to (index + 1) * 2^level. */
export interface NodeId {
  level: number;
  index: number;
}

export interface TreeNode extends NodeId {
  hash: Hash;
}

export interface GrownTree {
  size: number;
  peaks: Hash[];
  /** Every subtree the append completed, each leaf as a node of level 0, children first. */
  nodes: TreeNode[];
}

/** In leaves. Above it, one number stands for several sizes. */
export const TREE_SIZE_MAX = Number.MAX_SAFE_INTEGER;

export const EMPTY_ROOT: Hash = sha256(new Uint8Array());

/** A string is hashed as its UTF-8 bytes. */
export function hashLeaf(data: Uint8Array | string): Hash {
  if (typeof data === 'string') return sha256(`${LEAF_PREFIX_TEXT}${data}`);
  const message = new Uint8Array(1 + data.length);
  message[0] = LEAF_PREFIX;
  message.set(data, 1);
  return sha256(message);
}

export function hashNode(left: Hash, right: Hash): Hash {
  if (left.length !== HASH_BYTES || right.length !== HASH_BYTES) {
    throw new RangeError(`Cannot hash a node of ${left.length} and ${right.length} bytes`);
  }
  nodeMessage.set(left, 1);
  nodeMessage.set(right, 1 + HASH_BYTES);
  return sha256(nodeMessage);
}

/** The complete subtrees that cover a tree of `size` leaves, left to right: one for each set bit of `size`. */
export function peaksOf(size: number): NodeId[] {
  if (!isTreeSize(size)) {
    throw new RangeError(`Cannot find peaks: tree size is ${size}, not 0 to ${TREE_SIZE_MAX}`);
  }

  const peaks: NodeId[] = [];
  for (let level = 0, rest = size; rest > 0; level++, rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) peaks.unshift({ level, index: rest - 1 });
  }
  return peaks;
}

/** The root over peaks given left to right. */
export function foldPeaks(hashes: readonly Hash[]): Hash {
  if (hashes.length === 0) return EMPTY_ROOT;
  return hashes.reduceRight((right, left) => hashNode(left, right));
}

/** Grows a tree known by its size and peaks. Hashes at most two nodes a leaf on average. */
export function appendLeaves(
  size: number,
  peaks: readonly Hash[],
  leaves: readonly Hash[],
): GrownTree {
  const expected = peaksOf(size).length;
  if (peaks.length !== expected) {
    const state = `a tree of ${size} has ${countText(expected, 'peak')}, not ${peaks.length}`;
    throw new RangeError(`Cannot append leaves: ${state}`);
  }
  if (leaves.length > TREE_SIZE_MAX - size) {
    throw new RangeError(`Cannot append ${leaves.length} leaves: tree has ${size}`);
  }

  const grown: GrownTree = { size, peaks: [...peaks], nodes: [] };
  for (const leaf of leaves) appendLeaf(grown, leaf);
  return grown;
}

/** The root of a whole tree held in memory. */
export function rootOf(leaves: readonly Hash[]): Hash {
  return foldPeaks(appendLeaves(0, [], leaves).peaks);
}

export function isTreeSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

const LEAF_PREFIX = 0x00;
const LEAF_PREFIX_TEXT = '\u0000';
const NODE_PREFIX = 0x01;

export const HASH_BYTES = 32;

/** Overwritten by each call and read before the call returns: allocating one costs as much as hashing it. */
const nodeMessage = Uint8Array.of(NODE_PREFIX, ...new Uint8Array(2 * HASH_BYTES));

/** Joins the new node with each peak of its own height, like the carry of an addition. */
function appendLeaf(tree: GrownTree, leaf: Hash): void {
  let node: TreeNode = { level: 0, index: tree.size, hash: leaf };
  tree.nodes.push(node);
  while (node.index % 2 === 1) {
    const left = tree.peaks.pop() as Hash;
    node = {
      level: node.level + 1,
      index: (node.index - 1) / 2,
      hash: hashNode(left, node.hash),
    };
    tree.nodes.push(node);
  }
  tree.peaks.push(node.hash);
  tree.size += 1;
}
