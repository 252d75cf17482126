/**
 * Origins: where one log ends and the next begins in the same store.
 *
 * A store holds one log, until an operator accepts that signed entries are lost. Then a new log begins,
 * with a tree and an id of its own. Places of entries and numbers of checkpoints go on at the next
 * multiple of `ORIGIN_SPAN`, so that no place and no number is given twice, and arithmetic alone tells
 * to which log either belongs. A subtree is named by its level and the places it covers, so that nodes
 * of two trees never collide either.
 *
 * @module
 */

import type { NodeId } from './merkle.ts';

/** Places of one log. A trillion entries do not fit into any store that we support. */
export const ORIGIN_SPAN = 2 ** 40;

/** Logs of one store: their places stay exact numbers of at most 15 digits. */
export const ORIGINS_MAX = 512;

/** One log of a store. */
export interface Origin {
  readonly logId: string;
  /** The place of its first entry. Its checkpoints are numbered from the next number on. */
  readonly first: number;
}

/** The first place of the log that has this place, or this number of a checkpoint. */
export function firstPlaceOf(place: number): number {
  return place - leafIndexOf(place);
}

/** The index of a place in the tree of its log. */
export function leafIndexOf(place: number): number {
  return place % ORIGIN_SPAN;
}

/** How a store names a node of the tree that begins at `first`. */
export function nodeFrom(first: number, { level, index }: NodeId): NodeId {
  return { level, index: index + first / 2 ** level };
}
