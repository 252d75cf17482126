/**
 * Ranks capabilities by the words of a query: over the name, the names of the inputs and the description.
 *
 * Pure and deterministic: the same query finds the same capabilities in the same order. Every text has a bound, so
 * the work for one capability has one too, whatever a declaration or a query contains.
 *
 * @module
 */

import type { CapabilityDeclaration } from '../protocol/capability.ts';

/** Words of a query that count. A request in plain words has fewer. */
const QUERY_WORDS_MAX = 16;

/** Characters of a description that count. */
const DESCRIPTION_LENGTH_MAX = 4_000;

/** Inputs whose names count. */
const INPUTS_MAX = 64;

/** Letters that two words must share at their beginning to be similar. */
const SIMILAR_MIN = 3;

/** Points for a word of the query, by where it stands; a similar word has less. */
const POINTS = { name: 8, similarName: 4, input: 3, similarInput: 1, description: 2 } as const;

/** The query is the name: first, whatever else matches. */
const POINTS_EXACT = 1_000;

/** Words that say nothing about what a capability does. */
const EMPTY_WORDS: ReadonlySet<string> = new Set(
  'a an and are as at be by can do for from how i in is it me my of on or that the this to with'.split(
    ' ',
  ),
);

export interface Query {
  /** As sent, in lower case. */
  readonly text: string;
  /** Empty where the query names nothing; every capability matches then. */
  readonly words: readonly string[];
}

export function searchQuery(text: string): Query {
  const words = searchWords(text);
  const telling = words.filter((word) => !EMPTY_WORDS.has(word));
  const kept = [...new Set(telling.length > 0 ? telling : words)].slice(0, QUERY_WORDS_MAX);
  return { text: text.trim().toLowerCase(), words: kept };
}

/** 0 where nothing matches. */
export function scoreOf(query: Query, name: string, capability: CapabilityDeclaration): number {
  const known = indexOf(name, capability);
  const exact = query.text === name.toLowerCase() ? POINTS_EXACT : 0;
  return query.words.reduce((sum, word) => sum + pointsOf(word, known), exact);
}

/** Best first; by name where the scores are equal. */
export function inRank(
  one: { readonly name: string; readonly score: number },
  other: { readonly name: string; readonly score: number },
): number {
  return other.score - one.score || (one.name < other.name ? -1 : 1);
}

interface Index {
  readonly name: ReadonlySet<string>;
  readonly inputs: ReadonlySet<string>;
  readonly description: ReadonlySet<string>;
}

/** A declaration never changes, and an agent searches often. */
const indexes = new WeakMap<CapabilityDeclaration, Index>();

function indexOf(name: string, capability: CapabilityDeclaration): Index {
  const known = indexes.get(capability);
  if (known) return known;
  const inputs = capability.inputs.slice(0, INPUTS_MAX).flatMap((input) => searchWords(input.name));
  const description = searchWords(capability.description.slice(0, DESCRIPTION_LENGTH_MAX));
  const made = {
    name: new Set(searchWords(name)),
    inputs: new Set(inputs),
    description: new Set(description),
  };
  indexes.set(capability, made);
  return made;
}

function pointsOf(word: string, { name, inputs, description }: Index): number {
  const byName = name.has(word) ? POINTS.name : hasSimilar(name, word) ? POINTS.similarName : 0;
  const byInput = inputs.has(word)
    ? POINTS.input
    : hasSimilar(inputs, word)
      ? POINTS.similarInput
      : 0;
  return byName + byInput + (description.has(word) ? POINTS.description : 0);
}

function hasSimilar(words: ReadonlySet<string>, wanted: string): boolean {
  if (wanted.length < SIMILAR_MIN) return false;
  for (const word of words) {
    if (word.length < SIMILAR_MIN) continue;
    if (word.startsWith(wanted) || wanted.startsWith(word)) return true;
  }
  return false;
}

/** Words in lower case, without the "s" of a plural. `bookingId` and `booking_id` are two words each. */
function searchWords(text: string): string[] {
  const apart = text.replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1 $2');
  const words = apart.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return words.map((word) => (/[^s]s$/.test(word) && word.length > 3 ? word.slice(0, -1) : word));
}
