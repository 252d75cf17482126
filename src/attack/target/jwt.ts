/**
 * JSON Web Tokens as an attacker writes them: taken apart, changed and put together again.
 *
 * @module
 */

import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { toBase64url } from '../../domain/wire/base64.ts';
import { isObject } from '../../domain/wire/json.ts';
import { NotApplicable } from './outcome.ts';

export interface Parts {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** As they are spelt in the token. */
  readonly spelt: readonly [header: string, claims: string, signature: string];
}

export function jwtParts(jwt: string): Parts {
  const [header = '', claims = '', signature = '', ...more] = jwt.split('.');
  const [read, carried] = [objectIn(header), objectIn(claims)];
  if (!read || !carried || more.length > 0) {
    throw new NotApplicable('the tokens of this service are no readable JWTs');
  }
  return { header: read, claims: carried, spelt: [header, claims, signature] };
}

/** The claims of a token, unverified; empty for another text. */
export function jwtClaims(jwt: string): Readonly<Record<string, unknown>> {
  return objectIn(jwt.split('.')[1] ?? '') ?? {};
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function encoded(value: unknown): string {
  return toBase64url(new TextEncoder().encode(JSON.stringify(value)));
}

/** A key pair of the attacker, which no service knows. */
const OWN = generateKeyPairSync('ec', { namedCurve: 'P-256' });

export function ownJwk(): Record<string, unknown> {
  return { ...OWN.publicKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' };
}

/** Signed with the attacker's key. */
export function signedByOwnKey(header: object, claims: object): string {
  const text = `${encoded(header)}.${encoded(claims)}`;
  const key = { key: OWN.privateKey, dsaEncoding: 'ieee-p1363' } as const;
  return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`;
}

/** Signed with a secret that everyone knows, such as the public key. */
export function signedBySecret(header: object, claims: object, secret: string | Buffer): string {
  const text = `${encoded(header)}.${encoded(claims)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
}
