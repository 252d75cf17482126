import assert from 'node:assert/strict';
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { test } from 'vitest';
import { sha256, toHex } from '../wire/hash.ts';
import { noteKey, p256Spki, rawEcdsa, readVkey, vkeyText } from './note-key.ts';

const VKEY = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';

const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const spki = new Uint8Array(pair.publicKey.export({ type: 'spki', format: 'der' }));

test('readVkey() reads a key of another implementation, and vkeyText() writes it back', () => {
  const key = readVkey(VKEY);

  assert.equal(key?.name, 'PeterNeumann');
  assert.equal(key?.type, 'ed25519');
  assert.equal(key && vkeyText(key), VKEY);
});

test('noteKey() names an ECDSA key by the hash of its SPKI alone', () => {
  const key = noteKey('svc.example.com/log/1', 'ecdsa', spki);

  assert.equal(toHex(key.id), toHex(sha256(spki)).slice(0, 8));
  assert.deepEqual(readVkey(vkeyText(key)), key);
});

test('noteKey() gives a witness another id than a log with the same key', () => {
  const bytes = new Uint8Array(32).fill(3);
  const [log, witness] = [noteKey('a', 'ed25519', bytes), noteKey('a', 'cosignature', bytes)];

  assert.notDeepEqual(log.id, witness.id);
  assert.deepEqual(readVkey(vkeyText(witness)), witness);
});

const refused: Record<string, string> = {
  'another id': VKEY.replace('c74f20a3', 'c74f20a4'),
  'an id in capitals': VKEY.replace('c74f20a3', 'C74F20A3'),
  'another name': VKEY.replace('Peter', 'Paul'),
  'an unknown type': VKEY.replace('+ARpc', '+AxRc'),
  'a key that is too short': 'PeterNeumann+c74f20a3+ARpc',
  'a space': VKEY.replace('Peter', 'Peter '),
  'two parts only': 'PeterNeumann+c74f20a3',
  'no name': VKEY.slice('PeterNeumann'.length),
  'lax base64': `${VKEY}=`,
};

for (const [name, text] of Object.entries(refused)) {
  test(`readVkey() refuses a text with ${name}`, () => {
    assert.equal(readVkey(text), undefined);
  });
}

test('noteKey() throws on bytes that are no key of the type, and on a name that is no key name', () => {
  assert.throws(() => noteKey('a', 'ed25519', new Uint8Array(31)), /31 bytes/);
  assert.throws(() => noteKey('a', 'ecdsa', new Uint8Array(91)), /91 bytes/);
  assert.throws(() => noteKey('a+b', 'ed25519', new Uint8Array(32)), /"a\+b"/);
});

test('p256Spki() builds the SPKI that the platform exports', () => {
  const { x = '', y = '' } = pair.publicKey.export({ format: 'jwk' });

  assert.deepEqual(p256Spki({ x, y }), spki);
  assert.equal(p256Spki({ x: x.slice(1), y }), undefined);
  assert.ok(createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' }));
});

test('rawEcdsa() returns the two numbers of every DER signature', () => {
  for (let round = 0; round < 300; round++) {
    const message = Buffer.from(`message ${round}`);
    const der = sign('sha256', message, { key: pair.privateKey, dsaEncoding: 'der' });
    const raw = rawEcdsa(new Uint8Array(der));

    assert.equal(raw?.length, 64);
    assert.ok(isSigned(message, raw as Uint8Array));
  }
});

const one = [0x02, 0x01, 0x01];
const badDer: Record<string, number[]> = {
  nothing: [],
  'a byte left over': [0x30, 0x07, ...one, ...one, 0x00],
  'a wrong length': [0x30, 0x07, ...one, ...one],
  'a negative number': [0x30, 0x06, 0x02, 0x01, 0x80, ...one],
  'a needless zero': [0x30, 0x07, 0x02, 0x02, 0x00, 0x01, ...one],
  'one number': [0x30, 0x03, ...one],
  'an empty number': [0x30, 0x05, 0x02, 0x00, ...one],
  'a number of 33 bytes': [0x30, 0x26, 0x02, 0x21, 0x01, ...new Array(32).fill(0), ...one],
  'a number beyond the end': [0x30, 0x06, ...one, 0x02, 0x05, 0x01],
};

for (const [name, bytes] of Object.entries(badDer)) {
  test(`rawEcdsa() refuses ${name}`, () => {
    assert.equal(rawEcdsa(Uint8Array.from(bytes)), undefined);
  });
}

test('rawEcdsa() pads small numbers to 32 bytes', () => {
  const raw = rawEcdsa(Uint8Array.from([0x30, 0x07, ...one, 0x02, 0x02, 0x00, 0x80]));

  assert.deepEqual(raw, new Uint8Array(64).with(31, 1).with(63, 0x80));
});

function isSigned(message: Uint8Array, raw: Uint8Array): boolean {
  return verify('sha256', message, { key: pair.publicKey, dsaEncoding: 'ieee-p1363' }, raw);
}
