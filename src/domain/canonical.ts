/**
 * Canonical JSON (RFC 8785): the one form of a value that is hashed and signed.
 *
 * Knows nothing about what the value means. Everything given to it was made or read by us, so a
 * value that JSON cannot hold is a defect and throws; nothing is dropped or replaced on the way,
 * because a digest over less than the value would bless what it does not cover.
 *
 * @module
 */

import canonicalize from 'canonicalize';
import { sha256, toHex } from './hash.ts';

/**
 * Levels of nesting. A request body has at most 32; a record that wraps one in ours still fits.
 * The serialiser recurses, so without a bound a deep value would overflow the stack.
 */
export const CANONICAL_DEPTH_MAX = 64;

/** The canonical text of a JSON value. Equal values have equal texts, whatever their key order. */
export function canonicalJson(value: unknown): string {
  const why = whyNotJson(value);
  if (why !== undefined) throw new Error(`Cannot write canonical JSON: ${why}`);

  const text = canonicalize(value);
  if (text === undefined) throw new Error('Cannot write canonical JSON: the value has no text');
  return text;
}

/** `sha256:` and the lowercase hex of SHA-256 over the canonical text in UTF-8. */
export function digestOf(value: unknown): string {
  return `sha256:${toHex(sha256(encoder.encode(canonicalJson(value))))}`;
}

const encoder = new TextEncoder();

/**
 * The serialiser leaves out members that are undefined, writes undefined elements as null, spells
 * out functions as the word undefined, leaves holes empty and calls `toJSON`: each of them would
 * change the value without a word, so each is looked for first. A cycle shows as depth.
 */
function whyNotJson(root: unknown): string | undefined {
  const waiting: Place[] = [{ value: root, depth: 0 }];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    const why = isObject(place.value)
      ? whyNotObject(place.value, place.depth)
      : whyNotScalar(place.value);
    if (why !== undefined) return why;
    for (const value of membersOf(place.value)) waiting.push({ value, depth: place.depth + 1 });
  }
  return undefined;
}

interface Place {
  readonly value: unknown;
  readonly depth: number;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function whyNotObject(value: object, depth: number): string | undefined {
  if (depth === CANONICAL_DEPTH_MAX) return `nested deeper than ${CANONICAL_DEPTH_MAX} levels`;
  if (!isPlain(value)) return 'an object is neither plain nor an array';
  if (Object.keys(value).some(hasLoneSurrogate)) return 'a key has a lone surrogate';
  return undefined;
}

function whyNotScalar(value: unknown): string | undefined {
  if (value === null || typeof value === 'boolean') return undefined;
  if (typeof value === 'string') {
    return hasLoneSurrogate(value) ? 'a string has a lone surrogate' : undefined;
  }
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `${value} is no JSON`;
  return `${typeof value} is no JSON`;
}

/** Array.from reads a hole as undefined, which is then refused; Object.values would skip it. */
function membersOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return Array.from<unknown>(value);
  return isObject(value) ? Object.values(value) : [];
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  // The second test accepts Object.prototype of any realm.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** With the `u` flag a pair is one code point, so only a lone half has this category. */
function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}
