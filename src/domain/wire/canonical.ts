/**
 * Canonical JSON (RFC 8785): the single form of a value that is hashed and signed.
 *
 * Knows nothing about what the value means. This service made or read every value that comes here, so a
 * value that JSON cannot hold is a defect and throws. Nothing is dropped or replaced, because a digest must
 * cover the whole value. The language's own text of a double is the RFC's, and so is the form of a
 * well-formed string that `JSON.stringify` writes.
 *
 * @module
 */

import { sha256Hex } from './hash.ts';
import { isPlainText, isWellFormed } from './json.ts';

/**
 * Levels of nesting. A request body has at most 32, and a record that wraps one still fits. The writer
 * recurses, so the bound prevents a stack overflow. A cycle also exceeds it.
 */
export const CANONICAL_DEPTH_MAX = 64;

/** The canonical text of a JSON value. Equal values have equal texts, whatever their key order. */
export function canonicalJson(value: unknown): string {
  return canonicalText(value, 0);
}

/** The canonical text of an object, from the canonical texts of its members. No name may repeat. */
export function canonicalRecord(members: Iterable<readonly [name: string, text: string]>): string {
  const texts = new Map(members);
  const names = [...texts.keys()].sort();
  return `{${names.map((name) => `${quoted(name, 'a key')}:${texts.get(name)}`).join(',')}}`;
}

/** `sha256:` and the lowercase hex of SHA-256 over the canonical text in UTF-8. */
export function digestOf(value: unknown): string {
  return textDigest(canonicalJson(value));
}

/** The digest of a value, from its canonical text. */
export function textDigest(canonical: string): string {
  return `sha256:${sha256Hex(canonical)}`;
}

function canonicalText(value: unknown, depth: number): string {
  switch (typeof value) {
    case 'string':
      return quoted(value, 'a string');
    case 'number':
      if (Number.isFinite(value)) return `${value}`;
      throw unfit(`${value} is not JSON`);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'object':
      return value === null ? 'null' : compound(value, depth);
    default:
      throw unfit(`${typeof value} is not JSON`);
  }
}

function compound(value: object, depth: number): string {
  if (depth === CANONICAL_DEPTH_MAX) {
    throw unfit(`nested deeper than ${CANONICAL_DEPTH_MAX} levels`);
  }
  if (Array.isArray(value)) return list(value, depth);
  if (isPlain(value)) return record(value as Readonly<Record<string, unknown>>, depth);
  throw unfit('an object is neither plain nor an array');
}

/** Reads by index: `map` and `join` skip a hole, which must be refused. */
function list(value: readonly unknown[], depth: number): string {
  let text = '';
  for (let i = 0; i < value.length; i++) {
    text += `${i === 0 ? '' : ','}${canonicalText(value[i], depth + 1)}`;
  }
  return `[${text}]`;
}

/** Own members in the order of their UTF-16 code units, which is how `sort` compares. */
function record(value: Readonly<Record<string, unknown>>, depth: number): string {
  let text = '';
  for (const key of Object.keys(value).sort()) {
    text += `${text === '' ? '' : ','}${quoted(key, 'a key')}:${canonicalText(value[key], depth + 1)}`;
  }
  return `{${text}}`;
}

function quoted(text: string, what: string): string {
  if (isPlainText(text)) return `"${text}"`;
  if (isWellFormed(text)) return JSON.stringify(text);
  throw unfit(`${what} has a lone surrogate`);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // The second test accepts Object.prototype of any realm.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function unfit(why: string): Error {
  return new Error(`Cannot write canonical JSON: ${why}`);
}
