/**
 * Successor statements: what an old key says of the one that follows it.
 *
 * Whoever pinned the old key can go on from there without believing the service about itself. A
 * statement is a compact JWS of a type of its own. Both public keys stand in it, so that it verifies
 * after the old key has left the published set; no time does, because none would be evidence. It
 * speaks of one use: a token key names a token key and a log key a log key. Bytes only: who is
 * followed is decided in `verify`, who signs in `keyring`.
 *
 * @module
 */

import { toBase64url } from '../wire/base64.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { sha256 } from '../wire/hash.ts';
import { isObject } from '../wire/json.ts';
import { readClaims, readCompact, type SignedText, TYPS } from '../wire/jws.ts';
import { p256Spki } from './note-key.ts';

/** Keys of other kinds are not published, so nobody pins them. */
export const SUCCESSOR_USES = ['token', 'log'] as const;
export type SuccessorUse = (typeof SUCCESSOR_USES)[number];

/**
 * Statements of one use that are published, and the longest chain that is followed: with a rotation
 * every quarter 16 years. A pin that is older has to be renewed by another way.
 */
export const SUCCESSORS_MAX = 64;

/** A public key on P-256, as far as it matters. */
export interface Point {
  readonly x: string;
  readonly y: string;
}

/** A statement of the right form. Nothing in it is true until its signature has been verified. */
export interface SuccessorText extends SignedText {
  readonly use: SuccessorUse;
  /** The key that must have signed, whose name is `kid`. */
  readonly spki: Uint8Array;
  readonly successorKid: string;
}

export function successorPayload(use: SuccessorUse, key: Point, successor: Point): Uint8Array {
  const [from, to] = [key, successor].map(({ x, y }) => ({ x, y }));
  return new TextEncoder().encode(canonicalJson({ use, key: from, successor: to }));
}

/** Reads a statement, or nothing unless it has exactly the form that is written here. */
export function readSuccessor(text: string): SuccessorText | undefined {
  const read = readCompact(text, TYPS.successor);
  const claims = read && readClaims(read.payload);
  if (!read || !isObject(claims)) return undefined;
  const { use, key, successor } = claims;
  if (!isUse(use) || !isPoint(key) || !isPoint(successor)) return undefined;
  // One statement has one spelling, and no member that this version would pass over.
  if (toBase64url(successorPayload(use, key, successor)) !== toBase64url(read.payload)) {
    return undefined;
  }
  const spki = p256Spki(key);
  const successorKid = thumbprintOf(successor);
  const isOwn = thumbprintOf(key) === read.kid && successorKid !== read.kid;
  if (spki === undefined || p256Spki(successor) === undefined || !isOwn) return undefined;
  return { ...read, use, spki, successorKid };
}

/** RFC 7638: the digest of the required members in their one order, so equal keys have one name. */
export function thumbprintOf({ x, y }: Point): string {
  const members = JSON.stringify({ crv: 'P-256', kty: 'EC', x, y });
  return toBase64url(sha256(new TextEncoder().encode(members)));
}

function isUse(value: unknown): value is SuccessorUse {
  return SUCCESSOR_USES.some((use) => use === value);
}

function isPoint(value: unknown): value is Point {
  return isObject(value) && typeof value.x === 'string' && typeof value.y === 'string';
}
