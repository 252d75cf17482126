/**
 * Words with marks: what a page formats and a terminal prints, made once for both.
 *
 * A plain string is text of ours. Text of others stands in a piece of its own, so that each way of showing it marks
 * its hidden characters.
 *
 * @module
 */

import type { JsonObject, Money } from '../../protocol/primitives.ts';
import { sortedNames } from './hidden.ts';

export type Piece =
  | string
  /** Text of others. */
  | { readonly shown: string }
  /** A value exactly as it is stored. */
  | { readonly json: unknown }
  | { readonly money: Money }
  /** A time in the past, one in the future, and one without a relation to now. */
  | { readonly ago: string }
  | { readonly left: string }
  | { readonly at: string }
  | { readonly hash: string; readonly what: string }
  /** The one who acts comes first, the root principal last. */
  | { readonly chain: readonly string[] }
  /** Leads to another approval request. */
  | { readonly request: string; readonly of: Words }
  /** Named as in HTML; `look` only changes how it looks. */
  | { readonly as: Mark; readonly look?: string; readonly of: Words };

type Mark =
  | 'b'
  | 'blockquote'
  | 'br'
  | 'code'
  | 'del'
  | 'details'
  | 'ins'
  | 'p'
  | 'pre'
  | 'q'
  | 'small'
  | 'span'
  | 'summary';

export type Words = readonly Piece[];

/** A name and what is to be known under it. */
export interface Fact {
  readonly label: Words;
  readonly words: Words;
}

/** A part of the evidence, with its heading. */
export interface PartFacts {
  readonly title: Words;
  readonly aside?: Words | undefined;
  /** Before the facts, and in place of them where there are none. */
  readonly lead?: Words;
  readonly facts: readonly Fact[];
  readonly after?: Words;
}

/** What stands on a line of its own. */
export const BLOCKS: ReadonlySet<string> = new Set([
  'blockquote',
  'br',
  'details',
  'p',
  'pre',
  'summary',
]);

export function marked(as: Mark, of: Words | string, look?: string): Piece {
  const words = typeof of === 'string' ? [of] : of;
  return look === undefined ? { as, of: words } : { as, of: words, look };
}

/** Says that there is nothing, or that it is not known. */
export function empty(words: string): Piece {
  return marked('p', words, 'muted');
}

/** In characters: a shorter value stands on one line. */
const LINE_MAX = 60;

/** JSON of any depth in canonical order. */
export function jsonWords(value: unknown): Words {
  const isShort = (JSON.stringify(value) ?? '').length <= LINE_MAX;
  const words: Piece[] = [];
  writeJson(words, value, isShort ? undefined : '\n');
  return words;
}

/** `indent` is a line break and the spaces of this level; absent for a value on one line. */
function writeJson(words: Piece[], value: unknown, indent: string | undefined): void {
  if (typeof value !== 'object' || value === null) {
    words.push({ shown: JSON.stringify(value) ?? 'absent' });
    return;
  }
  const isList = Array.isArray(value);
  const members: [string | undefined, unknown][] = isList
    ? value.map((each: unknown) => [undefined, each])
    : sortedNames(value).map((name) => [name, (value as JsonObject)[name]]);
  const [open = '', close = ''] = isList ? '[]' : '{}';
  words.push(open);
  const inner = indent === undefined ? undefined : `${indent}  `;
  members.forEach(([name, member], at) => {
    words.push(inner ?? (at === 0 ? '' : ' '));
    if (name !== undefined) words.push({ shown: JSON.stringify(name) }, ': ');
    writeJson(words, member, inner);
    if (at < members.length - 1) words.push(',');
  });
  if (members.length > 0) words.push(indent ?? '');
  words.push(close);
}
