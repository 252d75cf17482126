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

import { sha256, toHex, utf8 } from '../wire/hash.ts';
import { isObject } from '../wire/json.ts';
import { rootText } from './checkpoint.ts';
import type { Hash, NodeId } from './merkle.ts';

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

/** The first place of the log that begins after one, where numbers up to `signed` are given. */
export function nextPlaceAfter(first: number, signed: number): number {
  return firstPlaceOf(Math.max(first, signed)) + ORIGIN_SPAN;
}

/** What the MAC of a row says of the log that the row was kept under. Before there were several it said nothing. */
export function rowLabelOf({ logId, first }: Origin): string {
  return first === 0 ? '' : logId;
}

/**
 * The id of the log that begins after this one, the same for every copy of the store: two copies of one log
 * never have a successor each, since one who saw the first sees that the second is another history.
 */
export function successorOf(logId: string): string {
  const hex = toHex(sha256(utf8(`writ successor of log\n${logId}`)));
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20, 32)].join('-');
}

/** How a store names a node of the tree that begins at `first`. */
export function nodeFrom(first: number, { level, index }: NodeId): NodeId {
  return { level, index: index + first / 2 ** level };
}

/** What the first entry of a later log says in its detail. */
export interface BreakDetail {
  readonly verb: 'recover';
  readonly accepted: 'loss';
  readonly log_id: string;
  readonly ended_log_id: string;
  /** The head that was signed and is lost, as far as it is known. */
  readonly lost: object;
  /** The head at which the log before ended. */
  readonly surviving: { readonly entry_count: number; readonly merkle_root: string };
}

/** The tree at which the log before ended. */
export interface EndedTree {
  readonly size: number;
  readonly root: Hash;
}

/** What is wrong with the first entry of a log: it names the head at which the log before ended. */
export function breakFault(detail: unknown, ended: EndedTree): string | undefined {
  if (!isObject(detail) || detail.verb !== 'recover' || !isObject(detail.surviving)) {
    return 'it begins a log and does not name the heads of the one before';
  }
  const { entry_count, merkle_root } = detail.surviving;
  if (entry_count === ended.size && merkle_root === rootText(ended.root)) return undefined;
  return `it says that ${entry_count} entries survived with ${merkle_root}, the log before has ${ended.size} with ${rootText(ended.root)}`;
}

/** What the first entry of a log tells of the loss before it. */
export function lossText(detail: unknown): string {
  const lost = isObject(detail) && isObject(detail.lost) ? detail.lost : {};
  const count =
    typeof lost.entry_count === 'number' ? `${lost.entry_count}` : 'an unknown number of';
  const by = typeof lost.checkpoint === 'number' ? ` by checkpoint ${lost.checkpoint}` : '';
  return `${count} entries were signed${by} before an operator accepted their loss`;
}
