/**
 * Checks that all signed artefacts share: form, key, signature, service and time.
 *
 * @module
 */

import type { Hash } from '../domain/log/merkle.ts';
import { canonicalJson } from '../domain/wire/canonical.ts';
import { type SignedText, TYPS } from '../domain/wire/jws.ts';
import type { Keys, VerifyingKey } from './keys.ts';
import { type Check, failed, notChecked, passedCheck, unlessFound } from './report.ts';
import { isSignatureValid } from './signature.ts';

/**
 * What a verification starts from: keys, service, time.
 *
 * @example
 * import { type TrustAnchors, readKeys } from 'writ/verify';
 *
 * const keys = readKeys({ pinned: [] });
 * if ('fault' in keys) throw new Error(keys.fault);
 * const lastYear: TrustAnchors = { keys, now: new Date('2025-06-30T12:00:00Z'), serviceId: 'travel-desk' };
 * console.log(lastYear.now.getUTCFullYear());
 */
export interface TrustAnchors {
  readonly keys: Keys;
  readonly now: Date;
  /** The expected service. Without it, any service that the keys belong to. */
  readonly serviceId?: string | undefined;
  /** Whether erased contents are accepted. Their hashes are checked in any case. */
  readonly allowErased?: boolean | undefined;
}

/** Checks a strictly parsed text. `isSigned` is true only if one of the given keys signed it. */
export async function signatureChecks(
  read: SignedText | undefined,
  typ: string,
  { keys }: Keys,
): Promise<{ checks: Check[]; isSigned: boolean }> {
  if (read === undefined) {
    const fault = `it is not exactly a JWS of ES256 and type "${typ}"`;
    return { checks: [failed('form', fault)], isSigned: false };
  }
  const form = passedCheck('form', typ);
  const key = keys.find(({ kid }) => kid === read.kid);
  if (key === undefined) {
    const why = `none of ${keys.length} keys at hand is "${read.kid}"`;
    return { checks: [form, notChecked('signature', why)], isSigned: false };
  }
  const { signed: message, signature } = read;
  const isHeld =
    (await isSignatureValid({ type: 'ecdsa', key: key.spki, message, signature })) === true;
  const check = unlessFound('signature', isHeld ? undefined : `not by key "${key.kid}"`);
  const misused = otherUse(key, typ);
  const isSigned = isHeld && misused === undefined;
  return { checks: [form, check, misused ?? pinCheck(key)], isSigned };
}

/** What log keys sign. */
const OF_THE_LOG: readonly string[] = [TYPS.checkpoint, TYPS.receipt];

/** A key of a known other use must not sign this artefact. */
function otherUse({ kid, use }: VerifyingKey, typ: string): Check | undefined {
  const expected = OF_THE_LOG.includes(typ) ? 'log' : 'token';
  if (use === undefined || use === expected) return undefined;
  return failed('key', `"${kid}" is a ${use} key, and this takes a ${expected} key`);
}

/** Whether the key is pinned. */
export function pinCheck({ kid, isPinned, follows }: VerifyingKey): Check {
  const detail = `"${kid}"`;
  if (follows !== undefined)
    return passedCheck('key', `${detail}, a successor of the pinned "${follows}"`);
  if (isPinned) return passedCheck('key', detail);
  const why = 'it came from the service and proves what the service says of itself; pin it';
  return notChecked('key', `${detail}: ${why}`);
}

export function serviceCheck(claimedId: string, { serviceId }: TrustAnchors): Check[] {
  if (serviceId === undefined) return [];
  const fault =
    claimedId === serviceId ? undefined : `it is of "${claimedId}", not of "${serviceId}"`;
  return [unlessFound('service', fault)];
}

/** The limit of a verification without an expected service. */
export function serviceLimit({ serviceId }: Pick<TrustAnchors, 'serviceId'>): string[] {
  return serviceId === undefined ? ['whether it is of the service you mean: none was named'] : [];
}

export function expiryCheck(expires: string, now: Date): Check {
  const fault = Date.parse(expires) > now.getTime() ? undefined : `it expired at ${expires}`;
  return unlessFound('time', fault);
}

/** `undefined` for a value that is not JSON: a signature cannot cover it. */
export function canonicalBytes(value: unknown): Uint8Array | undefined {
  try {
    return new TextEncoder().encode(canonicalJson(value));
  } catch {
    return undefined;
  }
}

/**
 * A checkpoint does not contain its service id; the signature covers the id given here.
 *
 * @example
 * import type { CheckpointAnchors, TrustAnchors } from 'writ/verify';
 *
 * const ofTheDesk = (anchors: TrustAnchors): CheckpointAnchors => ({ ...anchors, serviceId: 'travel-desk' });
 * console.log(ofTheDesk({ keys: { keys: [], noteKeys: [] }, now: new Date() }).serviceId);
 */
export interface CheckpointAnchors extends TrustAnchors {
  readonly serviceId: string;
}

/** The signed tree head that a proof is checked against. */
export interface SignedHead {
  /** The index of the log's first entry; a later log of the same store does not begin at 0. */
  readonly first: number;
  readonly size: number;
  readonly root: Hash;
}
