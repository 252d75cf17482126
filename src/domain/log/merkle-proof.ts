/**
 * Proofs over the audit tree, as in RFC 6962 section 2.1: which nodes form a proof, and whether a proof
 * holds.
 *
 * The proving half names nodes and never reads them, so that a store can fetch a whole proof in one query.
 * The verifying half treats its input as hostile: it returns true or false for any input and never throws.
 *
 * A proof binds a root, not a size: trees of 3 and of 4 leaves reach leaf 0 by the same path. A verifier
 * must therefore take size and root from one signed checkpoint.
 *
 * @module
 */

import { equalBytes } from '../wire/hash.ts';
import {
  EMPTY_ROOT,
  foldPeaks,
  type Hash,
  hashNode,
  isTreeSize,
  type NodeId,
  peaksOf,
} from './merkle.ts';

export interface InclusionClaim {
  index: number;
  size: number;
  leaf: Hash;
  proof: readonly Hash[];
  root: Hash;
}

export interface ConsistencyClaim {
  from: number;
  to: number;
  fromRoot: Hash;
  toRoot: Hash;
  proof: readonly Hash[];
}

/** For each hash of the proof, leaf to root, the stored nodes that fold to it as peaks. */
export function inclusionNodes(index: number, size: number): NodeId[][] {
  if (!isTreeSize(size) || !isTreeSize(index) || index >= size) {
    throw new RangeError(`Cannot prove leaf ${index}: tree has ${size} leaves`);
  }

  return descend(index, size, ({ start, end }) => end - start === 1).siblings.map(nodesOf);
}

/** The same for the proof that a tree of `to` leaves extends its first `from`. */
export function consistencyNodes(from: number, to: number): NodeId[][] {
  if (!isTreeSize(from) || !isTreeSize(to) || from > to) {
    throw new RangeError(`Cannot prove growth to ${to} leaves: earlier tree has ${from} leaves`);
  }
  // Every tree extends the empty tree, so the proof is empty.
  if (from === 0) return [];

  const { reached, siblings } = descend(from - 1, to, ({ end }) => end === from);
  // A subtree at the left edge is the earlier tree itself, whose root the verifier has.
  const proof = reached.start === 0 ? siblings : [reached, ...siblings];
  return proof.map(nodesOf);
}

export function foldAll(
  groups: readonly (readonly NodeId[])[],
  read: (id: NodeId) => Hash,
): Hash[] {
  return groups.map((nodes) => foldPeaks(nodes.map((id) => read(id))));
}

export function verifyInclusion(claim: InclusionClaim | null | undefined): boolean {
  if (!claim) return false;
  const { index, size, leaf, proof, root } = claim;
  if (!isTreeSize(size) || !isTreeSize(index) || index >= size) return false;
  if (!isHash(leaf) || !isHash(root)) return false;

  const path = pathOf(index, size);
  if (!isProof(proof, path.length)) return false;
  return equalBytes(climb(leaf, stepsOf(path, proof)), root);
}

/**
 * Whether the tree of `to` leaves begins with the whole tree of `from` leaves. From size 0 this holds for
 * every tree, with an empty proof and the empty root, and so says nothing about `toRoot`.
 */
export function verifyConsistency(claim: ConsistencyClaim | null | undefined): boolean {
  if (!claim) return false;
  const { from, to, fromRoot, toRoot, proof } = claim;
  if (!isTreeSize(from) || !isTreeSize(to) || from > to) return false;
  if (!isHash(fromRoot) || !isHash(toRoot)) return false;
  if (from === 0 && !equalBytes(fromRoot, EMPTY_ROOT)) return false;
  if (from === to) return isProof(proof, 0) && equalBytes(fromRoot, toRoot);
  if (from === 0) return isProof(proof, 0);

  // Climbs from the largest subtree that ends where the earlier tree ends: it is complete in both trees.
  const path = pathOf(from - 1, to).slice(trailingZeros(from));
  const seeded = countOnes(from) === 1;
  if (!isProof(proof, path.length + (seeded ? 0 : 1))) return false;

  const [seed, hashes] = seeded ? [fromRoot, proof] : [proof[0] as Hash, proof.slice(1)];
  const steps = stepsOf(path, hashes);
  // Nodes that join from the right were added after the earlier tree.
  const earlier = steps.filter(({ side }) => side === 'left');
  return equalBytes(climb(seed, earlier), fromRoot) && equalBytes(climb(seed, steps), toRoot);
}

const HASH_BYTES = 32;

/** Leaves from `start` up to, not including, `end`. */
interface Range {
  start: number;
  end: number;
}

/** Halves the tree towards `leaf` until `isReached`. The halves it does not enter are the proof, leaf first. */
function descend(leaf: number, size: number, isReached: (range: Range) => boolean) {
  const siblings: Range[] = [];
  let reached: Range = { start: 0, end: size };
  while (!isReached(reached)) {
    const split = reached.start + splitPoint(reached.end - reached.start);
    const left = { start: reached.start, end: split };
    const right = { start: split, end: reached.end };
    siblings.unshift(leaf < split ? right : left);
    reached = leaf < split ? left : right;
  }
  return { reached, siblings };
}

/** The largest power of two smaller than `size`. Doubles, because Math.log2 rounds up near 2^53. */
function splitPoint(size: number): number {
  let split = 1;
  while (split * 2 < size) split *= 2;
  return split;
}

/** The peaks of a range of the tree: it starts at a multiple of each of their widths. */
function nodesOf({ start, end }: Range): NodeId[] {
  return peaksOf(end - start).map(({ level, index }) => ({
    level,
    index: start / 2 ** level + index,
  }));
}

type Side = 'left' | 'right';

interface Step {
  side: Side;
  hash: Hash;
}

/**
 * The side on which each hash of an inclusion proof joins, leaf to root. Up to the level where the
 * paths of `index` and of the last leaf meet there is one hash a level; above it, where the right
 * edge is not whole, only the subtrees to the left remain.
 */
function pathOf(index: number, size: number): Side[] {
  const path: Side[] = [];
  let [node, last] = [index, size - 1];
  while (node !== last) {
    path.push(node % 2 === 1 ? 'left' : 'right');
    node = Math.floor(node / 2);
    last = Math.floor(last / 2);
  }
  return [...path, ...new Array<Side>(countOnes(node)).fill('left')];
}

function stepsOf(path: readonly Side[], proof: readonly Hash[]): Step[] {
  return path.map((side, i) => ({ side, hash: proof[i] as Hash }));
}

function climb(seed: Hash, steps: readonly Step[]): Hash {
  return steps.reduce(
    (node, { side, hash }) => (side === 'left' ? hashNode(hash, node) : hashNode(node, hash)),
    seed,
  );
}

function countOnes(value: number): number {
  return peaksOf(value).length;
}

function trailingZeros(value: number): number {
  return peaksOf(value).at(-1)?.level ?? 0;
}

/** Checks the length first, which bounds the work. `Array.from` turns the holes of an array into values. */
function isProof(proof: readonly Hash[], length: number): boolean {
  return Array.isArray(proof) && proof.length === length && Array.from(proof).every(isHash);
}

function isHash(value: unknown): boolean {
  return value instanceof Uint8Array && value.length === HASH_BYTES;
}
