import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { test } from 'vitest';
import { generateJwk, readPrivateJwk, readPrivatePem, thumbprintOf } from './es256.ts';

// The key of RFC 7515, appendix A.3; its thumbprint computed from the rules of RFC 7638 elsewhere.
const rfcKey = {
  kty: 'EC',
  crv: 'P-256',
  x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
  y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
  d: 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI',
} as const;
const RFC_THUMBPRINT = 'oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U';

test('thumbprintOf() gives the known answer for the key of RFC 7515', () => {
  assert.equal(thumbprintOf(rfcKey), RFC_THUMBPRINT);
});

test('thumbprintOf() agrees with another implementation', async () => {
  for (let i = 0; i < 20; i += 1) {
    const jwk = generateJwk();
    assert.equal(thumbprintOf(jwk), await calculateJwkThumbprint({ ...jwk }));
  }
});

test('readPrivateJwk() publishes the public half and its name, and nothing else', () => {
  const reading = readPrivateJwk(rfcKey);

  const { kty, crv, x, y } = rfcKey;
  const expected = { kty, crv, x, y, kid: RFC_THUMBPRINT, use: 'sig', alg: 'ES256' };
  assert.deepEqual('key' in reading && reading.key.jwk, expected);
});

test('readPrivateJwk() accepts what other tools write beside the key', () => {
  const described = { use: 'sig', alg: 'ES256', key_ops: ['sign'], kid: RFC_THUMBPRINT, ext: true };

  assert.ok('key' in readPrivateJwk({ ...rfcKey, ...described }));
});

const other = generateJwk();
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
const k256 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;

// Order of P-256: a private key is a number from 1 to one less than this.
const ORDER = 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551';

const jwks: [name: string, jwk: unknown, fault: RegExp][] = [
  ['a key on P-384', p384.export({ format: 'jwk' }), /not an EC key on curve P-256/],
  ['a key on secp256k1', k256.export({ format: 'jwk' }), /not an EC key on curve P-256/],
  ['an RSA key', rsa.export({ format: 'jwk' }), /not an EC key on curve P-256/],
  ['a public key', { ...rfcKey, d: undefined }, /not an EC key on curve P-256/],
  ['null', null, /not an EC key on curve P-256/],
  ['a text', 'key', /not an EC key on curve P-256/],
  ['a coordinate with padding', { ...rfcKey, x: `${rfcKey.x}=` }, /not an EC key/],
  ['a coordinate of 31 bytes', { ...rfcKey, x: rfcKey.x.slice(0, -2) }, /not an EC key/],
  ['a coordinate in another spelling', { ...rfcKey, x: `${rfcKey.x.slice(0, -1)}V` }, /not an EC/],
  ['the public half of another key', { ...rfcKey, x: other.x, y: other.y }, /halves/],
  ['the private half of another key', { ...rfcKey, d: other.d }, /halves/],
  ['x and y exchanged', { ...rfcKey, x: rfcKey.y, y: rfcKey.x }, /halves/],
  ['a private half of zero', { ...rfcKey, d: hex('00'.repeat(32)) }, /halves/],
  ['a private half equal to the order', { ...rfcKey, d: hex(ORDER) }, /halves/],
  ['a key for encryption', { ...rfcKey, use: 'enc' }, /not allow signing/],
  ['a key for another algorithm', { ...rfcKey, alg: 'ES384' }, /not allow signing/],
  ['a key that may not sign', { ...rfcKey, key_ops: ['verify'] }, /not allow signing/],
  ['a key whose operations are a text', { ...rfcKey, key_ops: 'sign' }, /not allow signing/],
  ['a kid that is not its thumbprint', { ...rfcKey, kid: 'mine' }, /kid does not match/],
];
for (const [name, jwk, fault] of jwks) {
  test(`readPrivateJwk() refuses ${name}`, () => {
    const reading = readPrivateJwk(jwk);

    assert.match('fault' in reading ? reading.fault : 'accepted', fault);
  });
}

test('readPrivatePem() reads PKCS#8', () => {
  const pem = createPrivateKey({ key: { ...rfcKey }, format: 'jwk' }).export(PKCS8);

  const reading = readPrivatePem(pem.toString());
  assert.equal('key' in reading && reading.key.kid, RFC_THUMBPRINT);
});

test('readPrivatePem() refuses a block whose public half is that of another key', () => {
  const der = createPrivateKey({ key: { ...rfcKey }, format: 'jwk' }).export(PKCS8_DER);
  const point = Buffer.concat([bytes(rfcKey.x), bytes(rfcKey.y)]);
  const at = der.indexOf(point);
  Buffer.concat([bytes(other.x), bytes(other.y)]).copy(der, at);
  const pem = `-----BEGIN PRIVATE KEY-----\n${der.toString('base64')}\n-----END PRIVATE KEY-----\n`;

  assert.notEqual(at, -1);
  assert.ok('fault' in readPrivatePem(pem));
});

const PKCS8 = { type: 'pkcs8', format: 'pem' } as const;
const PKCS8_DER = { type: 'pkcs8', format: 'der' } as const;
// A kind of key that has no form as a JWK at all.
const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey;
for (const [name, key] of Object.entries({ p384, k256, rsa, pss })) {
  test(`readPrivatePem() refuses a key of another kind (${name})`, () => {
    assert.ok('fault' in readPrivatePem(key.export(PKCS8).toString()));
  });
}

function bytes(base64url: string): Buffer {
  return Buffer.from(base64url, 'base64url');
}

function hex(text: string): string {
  return Buffer.from(text, 'hex').toString('base64url');
}
