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
  HASH_BYTES,
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

/** Leaves from `start` up to, not including, `end`. */
export interface LeafRange {
  start: number;
  end: number;
}

/** One step of a path: the hash that a proof gives for some leaves, and the node above both. */
export interface Join {
  /** Where the given hash stands. */
  side: 'left' | 'right';
  given: Hash;
  /** The leaves that the given hash stands for, if the proof is of this tree. */
  covers: LeafRange;
  joined: Hash;
}

/** The joins of an inclusion proof, leaf to root; `undefined` for a proof that has no such form. */
export function inclusionJoins(claim: Omit<InclusionClaim, 'root'>): Join[] | undefined {
  const { index, size, leaf, proof } = claim;
  if (!isTreeSize(size) || !isTreeSize(index) || index >= size || !isHash(leaf)) return undefined;

  const { siblings } = descend(index, size, ({ start, end }) => end - start === 1);
  return isProof(proof, siblings.length) ? climb(leaf, stepsOf(index, siblings, proof)) : undefined;
}

export function verifyInclusion(claim: InclusionClaim | null | undefined): boolean {
  if (!claim || !isHash(claim.root)) return false;
  const joins = inclusionJoins(claim);
  return joins !== undefined && equalBytes(topOf(claim.leaf, joins), claim.root);
}

/**
 * Whether the tree begins with the leaves under `peaks`, and then has the proved leaf: the hashes that join from the
 * left are the peaks of everything before the leaf.
 */
export function verifyPrefix(claim: InclusionClaim, peaks: readonly Hash[]): boolean {
  if (!verifyInclusion(claim)) return false;
  const left = (inclusionJoins(claim) ?? []).filter(({ side }) => side === 'left').reverse();
  if (left.length !== peaks.length) return false;
  return left.every(({ given }, index) => equalBytes(given, peaks[index] as Hash));
}

/** The joins of a consistency proof: from one subtree to the root of each tree. */
export interface GrowthJoins {
  /** The largest subtree that ends where the earlier tree ends: it is complete in both trees. */
  seed: Hash;
  covers: LeafRange;
  earlier: Join[];
  later: Join[];
}

/** `undefined` for a proof that has no such form, and where the earlier tree is empty or equally large. */
export function consistencyJoins(claim: Omit<ConsistencyClaim, 'toRoot'>): GrowthJoins | undefined {
  const { from, to, fromRoot, proof } = claim;
  if (!isTreeSize(from) || !isTreeSize(to) || from === 0 || from >= to) return undefined;
  if (!isHash(fromRoot)) return undefined;

  const { reached: covers, siblings } = descend(from - 1, to, ({ end }) => end === from);
  // A subtree at the left edge is the earlier tree itself.
  const isSeeded = covers.start === 0;
  if (!isProof(proof, siblings.length + (isSeeded ? 0 : 1))) return undefined;

  const [seed, hashes] = isSeeded ? [fromRoot, proof] : [proof[0] as Hash, proof.slice(1)];
  const steps = stepsOf(from - 1, siblings, hashes);
  // Nodes that join from the right were added after the earlier tree.
  const before = steps.filter(({ side }) => side === 'left');
  return { seed, covers, earlier: climb(seed, before), later: climb(seed, steps) };
}

/**
 * Whether the tree of `to` leaves begins with the whole tree of `from` leaves. From size 0 this holds for
 * every tree, with an empty proof and the empty root, and so says nothing about `toRoot`.
 */
export function isConsistent(claim: ConsistencyClaim | null | undefined): boolean {
  if (!claim) return false;
  const { from, to, fromRoot, toRoot, proof } = claim;
  if (!isTreeSize(from) || !isTreeSize(to) || from > to) return false;
  if (!isHash(fromRoot) || !isHash(toRoot)) return false;
  if (from === 0 && !equalBytes(fromRoot, EMPTY_ROOT)) return false;
  if (from === to) return isProof(proof, 0) && equalBytes(fromRoot, toRoot);
  if (from === 0) return isProof(proof, 0);

  const joins = consistencyJoins(claim);
  if (joins === undefined) return false;
  const { seed, earlier, later } = joins;
  return equalBytes(topOf(seed, earlier), fromRoot) && equalBytes(topOf(seed, later), toRoot);
}

/** The root that a path reaches. */
export function topOf(seed: Hash, joins: readonly Join[]): Hash {
  return joins.at(-1)?.joined ?? seed;
}

/** Halves the tree towards `leaf` until `isReached`. The halves it does not enter are the proof, leaf first. */
function descend(leaf: number, size: number, isReached: (range: LeafRange) => boolean) {
  const siblings: LeafRange[] = [];
  let reached: LeafRange = { start: 0, end: size };
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
function nodesOf({ start, end }: LeafRange): NodeId[] {
  return peaksOf(end - start).map(({ level, index }) => ({
    level,
    index: start / 2 ** level + index,
  }));
}

type Step = Omit<Join, 'joined'>;

function stepsOf(leaf: number, siblings: readonly LeafRange[], proof: readonly Hash[]): Step[] {
  return siblings.map((covers, i) => ({
    side: covers.end <= leaf ? 'left' : 'right',
    given: proof[i] as Hash,
    covers,
  }));
}

function climb(seed: Hash, steps: readonly Step[]): Join[] {
  let node = seed;
  return steps.map((step) => {
    node = step.side === 'left' ? hashNode(step.given, node) : hashNode(node, step.given);
    return { ...step, joined: node };
  });
}

/** Checks the length first, which bounds the work. `Array.from` turns the holes of an array into values. */
function isProof(proof: readonly Hash[], length: number): boolean {
  return Array.isArray(proof) && proof.length === length && Array.from(proof).every(isHash);
}

function isHash(value: unknown): boolean {
  return value instanceof Uint8Array && value.length === HASH_BYTES;
}
