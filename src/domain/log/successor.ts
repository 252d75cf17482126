/**
 * Successor statements: an old key names the key that follows it.
 *
 * A verifier that pinned the old key can follow the statements without trusting the service's claims about
 * itself. A statement is a compact JWS of its own type. It contains both public keys, so that it verifies
 * after the old key has left the published set. It contains no time, because a time would prove nothing. It
 * applies to one use: a token key names a token key and a log key names a log key. Bytes only: `verify`
 * decides which keys to follow, and `keyring` signs.
 *
 * @module
 */

import { toBase64url } from '../wire/base64.ts';
import { canonicalJson } from '../wire/canonical.ts';
import { sha256 } from '../wire/hash.ts';
import { isObject } from '../wire/json.ts';
import { readClaims, readCompact, type SignedText, TYPS } from '../wire/jws.ts';
import { p256Spki } from './note-key.ts';

/** Keys of other kinds are not published, so verifiers cannot pin them. */
export const SUCCESSOR_USES = ['token', 'log'] as const;
export type SuccessorUse = (typeof SUCCESSOR_USES)[number];

/**
 * Statements that are published for one use, and the longest chain that is followed: 16 years with a
 * rotation every quarter. A verifier with an older pin must renew it in another way.
 */
export const SUCCESSORS_MAX = 64;

/** The coordinates of a public key on P-256. */
export interface Point {
  readonly x: string;
  readonly y: string;
}

/** A statement of the right form. Nothing in it is true until its signature has been verified. */
export interface SuccessorText extends SignedText {
  readonly use: SuccessorUse;
  /** The key that must have signed; `kid` is its name. */
  readonly spki: Uint8Array;
  readonly successorKid: string;
}

export function successorPayload(use: SuccessorUse, key: Point, successor: Point): Uint8Array {
  const [from, to] = [key, successor].map(({ x, y }) => ({ x, y }));
  return new TextEncoder().encode(canonicalJson({ use, key: from, successor: to }));
}

/** Reads a statement, or `undefined` unless it has exactly the form that `successorPayload` writes. */
export function readSuccessor(text: string): SuccessorText | undefined {
  const read = readCompact(text, TYPS.successor);
  const claims = read && readClaims(read.payload);
  if (!read || !isObject(claims)) return undefined;
  const { use, key, successor } = claims;
  if (!isUse(use) || !isPoint(key) || !isPoint(successor)) return undefined;
  // Refuses a second spelling, and any member that this version would ignore.
  if (toBase64url(successorPayload(use, key, successor)) !== toBase64url(read.payload)) {
    return undefined;
  }
  const spki = p256Spki(key);
  const successorKid = pointThumbprint(successor);
  const isOwn = pointThumbprint(key) === read.kid && successorKid !== read.kid;
  if (spki === undefined || p256Spki(successor) === undefined || !isOwn) return undefined;
  return { ...read, use, spki, successorKid };
}

/** RFC 7638: the digest of the required members in their fixed order, so equal keys have equal names. */
export function pointThumbprint({ x, y }: Point): string {
  const members = JSON.stringify({ crv: 'P-256', kty: 'EC', x, y });
  return toBase64url(sha256(new TextEncoder().encode(members)));
}

function isUse(value: unknown): value is SuccessorUse {
  return SUCCESSOR_USES.some((use) => use === value);
}

function isPoint(value: unknown): value is Point {
  return isObject(value) && typeof value.x === 'string' && typeof value.y === 'string';
}
