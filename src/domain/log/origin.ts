/**
 * Origins: where one log ends and the next begins in the same store.
 *
 * A store holds one log until an operator accepts that signed entries are lost. Then a new log begins, with
 * a tree and an id of its own. Positions of entries and numbers of checkpoints continue at the next multiple
 * of `ORIGIN_SPAN`, so that none is used twice and arithmetic alone shows to which log each belongs. A
 * subtree is named by its level and the positions it covers, so that nodes of two trees never collide.
 *
 * @module
 */

import { countText } from '../values/count-text.ts';
import { sha256, toHex, utf8 } from '../wire/hash.ts';
import { isObject } from '../wire/json.ts';
import { rootText } from './checkpoint.ts';
import type { Hash, NodeId } from './merkle.ts';

/** Positions of one log. No store that we support holds a trillion entries. */
export const ORIGIN_SPAN = 2 ** 40;

/** Logs of one store. The bound keeps positions exact numbers of at most 15 digits. */
export const ORIGINS_MAX = 512;

/** One log of a store. */
export interface Origin {
  readonly logId: string;
  /** The position of its first entry. Its checkpoints are numbered from the next number on. */
  readonly first: number;
}

/** The first position of the log to which this position, or this checkpoint number, belongs. */
export function firstPlaceOf(position: number): number {
  return position - leafIndexOf(position);
}

/** The index of a position in the tree of its log. */
export function leafIndexOf(position: number): number {
  return position % ORIGIN_SPAN;
}

/** The first position of the log after the one at `first`, where checkpoint numbers up to `signed` are used. */
export function nextPlaceAfter(first: number, signed: number): number {
  return firstPlaceOf(Math.max(first, signed)) + ORIGIN_SPAN;
}

/** The log label in the MAC of a row. Empty for the first log: its rows may be older than the label. */
export function rowLabelOf({ logId, first }: Origin): string {
  return first === 0 ? '' : logId;
}

/**
 * The id of the log that follows this one, equal in every copy of the store. Two copies therefore cannot
 * each begin a successor unnoticed: an observer of the first recognises the second as a different history.
 */
export function successorOf(logId: string): string {
  const hex = toHex(sha256(utf8(`writ successor of log\n${logId}`)));
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20, 32)].join('-');
}

/** The id that a store uses for a node of the tree that begins at `first`. */
export function nodeFrom(first: number, { level, index }: NodeId): NodeId {
  return { level, index: index + first / 2 ** level };
}

/** The detail of the first entry of a later log. */
export interface BreakDetail {
  readonly verb: 'recover';
  readonly accepted: 'loss';
  readonly log_id: string;
  readonly ended_log_id: string;
  /** The signed head that is lost, as far as it is known. */
  readonly lost: object;
  /** The head at which the previous log ended. */
  readonly surviving: { readonly entry_count: number; readonly merkle_root: string };
}

/** The tree at which the previous log ended. */
export interface EndedTree {
  readonly size: number;
  readonly root: Hash;
}

/** Checks that the first entry of a log names the head at which the previous log ended. */
export function breakFault(detail: unknown, ended: EndedTree): string | undefined {
  if (!isObject(detail) || detail.verb !== 'recover' || !isObject(detail.surviving)) {
    return 'it begins a log and does not name the heads of the one before';
  }
  const { entry_count, merkle_root } = detail.surviving;
  if (entry_count === ended.size && merkle_root === rootText(ended.root)) return undefined;
  return `it says that ${entry_count} entries survived with ${merkle_root}, the log before has ${ended.size} with ${rootText(ended.root)}`;
}

/** Describes the loss that the first entry of a log records. */
export function lossText(detail: unknown): string {
  const lost = isObject(detail) && isObject(detail.lost) ? detail.lost : {};
  const count =
    typeof lost.entry_count === 'number'
      ? countText(lost.entry_count, 'entry', 'entries')
      : 'an unknown number of entries';
  const by =
    typeof lost.checkpoint === 'number' ? ` that checkpoint ${lost.checkpoint} signed` : '';
  return `an operator accepted the loss of ${count}${by}`;
}
