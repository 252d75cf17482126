import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { verifyAuthenticationResponse } from '@simplewebauthn/server';
import fc from 'fast-check';
import { test } from 'vitest';
import { readNewPasskey } from '../../src/domain/passkey/assertion.ts';
import { type CborMap, readCbor } from '../../src/domain/passkey/cbor.ts';
import { keyOfCose } from '../../src/domain/passkey/key.ts';
import type { PasskeyKey } from '../../src/protocol/passkey.ts';
import {
  type Algorithm,
  type Asked,
  cborMap,
  type Oddities,
  PRESENT,
  type SoftwareKey,
  softwareKey,
  VERIFIED,
} from '../../src/testing/authenticator.ts';
import { assertionFault, isPasskeyKey } from '../../src/verify/assertion.ts';

const [RP_ID, ORIGIN] = ['writ.example', 'https://writ.example'];
const ALGORITHMS = ['ES256', 'EdDSA', 'RS256'] as const satisfies readonly Algorithm[];
const KEYS = new Map(ALGORITHMS.map((algorithm) => [algorithm, softwareKey(algorithm)]));

function asked(): Asked {
  return { challenge: randomBytes(32), rpId: RP_ID, origin: ORIGIN };
}

function expectedOf({ challenge, rpId, origin }: Asked) {
  return { challenge, rpId, origins: [origin] };
}

function keyOf({ cose }: SoftwareKey): PasskeyKey {
  return keyOfCose(readCbor(cose, 0)?.value as CborMap) as PasskeyKey;
}

/** What an independent implementation says of the same assertion. */
async function oracle(
  key: SoftwareKey,
  assertion: ReturnType<SoftwareKey['assert']>,
  question: Asked,
): Promise<boolean> {
  try {
    const { verified } = await verifyAuthenticationResponse({
      response: {
        id: key.credentialId,
        rawId: key.credentialId,
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: assertion.client_data,
          authenticatorData: assertion.authenticator_data,
          signature: assertion.signature,
        },
      },
      expectedChallenge: Buffer.from(question.challenge).toString('base64url'),
      expectedOrigin: question.origin,
      expectedRPID: question.rpId,
      requireUserVerification: true,
      credential: { id: key.credentialId, publicKey: Uint8Array.from(key.cose), counter: 0 },
    });
    return verified;
  } catch {
    return false;
  }
}

for (const algorithm of ALGORITHMS) {
  test(`assertionFault() accepts what an authenticator signs by ${algorithm}, as the oracle does`, async () => {
    const key = KEYS.get(algorithm) as SoftwareKey;
    const question = asked();
    const assertion = key.assert(question);

    assert.equal(await assertionFault(assertion, keyOf(key), expectedOf(question)), undefined);
    assert.equal(await oracle(key, assertion, question), true);
  });

  test(`assertionFault() refuses an assertion by ${algorithm} with any byte changed`, async () => {
    const key = KEYS.get(algorithm) as SoftwareKey;
    const question = asked();
    const assertion = key.assert(question);
    const fields = ['client_data', 'authenticator_data', 'signature'] as const;

    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...fields),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (field, place, mask) => {
          const bytes = Buffer.from(assertion[field], 'base64url');
          const at = place % bytes.length;
          bytes[at] = (bytes[at] as number) ^ mask;
          const changed = { ...assertion, [field]: bytes.toString('base64url') };

          assert.ok(await assertionFault(changed, keyOf(key), expectedOf(question)));
          // The oracle accepts other forms of DER around the same two numbers.
          if (field !== 'signature') assert.equal(await oracle(key, changed, question), false);
        },
      ),
      { numRuns: 200 },
    );
  });
}

test('assertionFault() refuses an assertion with any byte of its challenge or its key changed', async () => {
  const key = KEYS.get('ES256') as SoftwareKey;
  const question = asked();
  const assertion = key.assert(question);
  const jwk = keyOf(key) as PasskeyKey & { x: string };

  await fc.assert(
    fc.asyncProperty(fc.nat({ max: 31 }), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
      const challenge = Uint8Array.from(question.challenge);
      challenge[at] = (challenge[at] as number) ^ mask;
      const x = Buffer.from(jwk.x, 'base64url');
      x[at] = (x[at] as number) ^ mask;
      const other = { ...jwk, x: x.toString('base64url') } as PasskeyKey;

      const expected = expectedOf(question);
      assert.ok(await assertionFault(assertion, jwk, { ...expected, challenge }));
      assert.ok(await assertionFault(assertion, other, expected));
    }),
  );
});

const ODD: [name: string, odd: Oddities, fault: RegExp, isForeign?: boolean][] = [
  ['without a verified person', { flags: PRESENT }, /did not verify/],
  ['without a person who is present', { flags: VERIFIED }, /did not verify/],
  ['of a registration', { type: 'webauthn.create' }, /"webauthn.get"/],
  ['for a page of another origin', { client: { origin: 'https://evil.example' } }, /origin/],
  ['for a page of a port', { client: { origin: `${ORIGIN}:8443` } }, /origin/],
  ['for a page in a frame', { client: { crossOrigin: true } }, /inside a page/],
  ['for a page in a frame of its own', { client: { topOrigin: ORIGIN } }, /inside a page/],
  ['with bytes behind its end', { extensions: Buffer.from([0xa0, 0]) }, /form/],
  ['with extensions that are no map', { extensions: Buffer.from([1]) }, /form/],
];
for (const [name, odd, fault] of ODD) {
  test(`assertionFault() refuses an assertion ${name}`, async () => {
    const key = KEYS.get('ES256') as SoftwareKey;
    const question = asked();
    const found = await assertionFault(key.assert(question, odd), keyOf(key), expectedOf(question));
    assert.match(found?.fault ?? '', fault);
  });
}

test('assertionFault() accepts extensions that the authenticator signed', async () => {
  const key = KEYS.get('ES256') as SoftwareKey;
  const question = asked();
  // {"credProtect": 2, "minPinLength": true}
  const extensions = Buffer.from('a26b6372656450726f74656374026c6d696e50696e4c656e677468f5', 'hex');

  const assertion = key.assert(question, { extensions });

  assert.equal(await assertionFault(assertion, keyOf(key), expectedOf(question)), undefined);
  assert.equal(await oracle(key, assertion, question), true);
});

test('assertionFault() refuses an assertion for another relying party', async () => {
  const key = KEYS.get('ES256') as SoftwareKey;
  const question = asked();
  const expected = { ...expectedOf(question), rpId: 'other.example' };

  const found = await assertionFault(key.assert(question), keyOf(key), expected);

  assert.match(found?.fault ?? '', /"other.example"/);
});

for (const algorithm of ALGORITHMS) {
  test(`readNewPasskey() reads the key that an authenticator made for ${algorithm}`, async () => {
    const key = KEYS.get(algorithm) as SoftwareKey;
    const question = asked();

    const read = readNewPasskey(key.register(question), expectedOf(question));

    assert.ok('credential' in read);
    assert.equal(Buffer.from(read.credential.id).toString('base64url'), key.credentialId);
    assert.deepEqual(read.credential.key, key.jwk);
    assert.equal(await isPasskeyKey(read.credential.key), true);
  });
}

test('readNewPasskey() refuses an assertion in place of a new key', () => {
  const key = KEYS.get('ES256') as SoftwareKey;
  const question = asked();
  const made = key.assert(question, { type: 'webauthn.create' });

  const read = readNewPasskey(made, expectedOf(question));

  assert.match('fault' in read ? read.fault : '', /no new key/);
});

test('isPasskeyKey() refuses a point that is not on the curve', async () => {
  const { x = '' } = (KEYS.get('ES256') as SoftwareKey).jwk;
  const y = createHash('sha256').update('no point').digest('base64url');
  assert.equal(await isPasskeyKey({ kty: 'EC', crv: 'P-256', x, y }), false);
});

const bytes = (length: number, first = 0x80) => Buffer.alloc(length, 1).fill(first, 0, 1);
const COSE: [name: string, cose: Buffer][] = [
  [
    'of another curve',
    cborMap([
      [1, 2],
      [3, -7],
      [-1, 2],
      [-2, bytes(32)],
      [-3, bytes(32)],
    ]),
  ],
  [
    'of another algorithm',
    cborMap([
      [1, 2],
      [3, -35],
      [-1, 1],
      [-2, bytes(32)],
      [-3, bytes(32)],
    ]),
  ],
  [
    'with a short number',
    cborMap([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(31)],
      [-3, bytes(32)],
    ]),
  ],
  [
    'with a long Ed25519 key',
    cborMap([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytes(33)],
    ]),
  ],
  [
    'of a weak RSA modulus',
    cborMap([
      [1, 3],
      [3, -257],
      [-1, bytes(128)],
      [-2, bytes(3, 1)],
    ]),
  ],
  [
    'of another RSA exponent',
    cborMap([
      [1, 3],
      [3, -257],
      [-1, bytes(256)],
      [-2, bytes(1, 3)],
    ]),
  ],
  [
    'with a member too many',
    cborMap([
      [1, 1],
      [3, -8],
      [-1, 6],
      [-2, bytes(32)],
      [-4, bytes(32)],
    ]),
  ],
];
for (const [name, cose] of COSE) {
  test(`keyOfCose() refuses a key ${name}`, () => {
    assert.equal(keyOfCose(readCbor(cose, 0)?.value as CborMap), undefined);
  });
}

const CBOR: [name: string, hex: string][] = [
  ['a number in a longer form', '1817'],
  ['a length in a longer form', '590001ff'],
  ['a number of eight bytes', '1b0000000100000000'],
  ['a list without an end', '9f01ff'],
  ['text that is not UTF-8', '61ff'],
  ['bytes that are missing', '4401'],
  ['a count above the bytes', '9affffffff'],
  ['a repeated key', 'a201010102'],
  ['a key that is a list', 'a18001'],
  ['a tag', 'c001'],
  ['a float', 'f90000'],
  ['more than four levels', '8181818181818101'],
  ['nothing', ''],
];
for (const [name, hex] of CBOR) {
  test(`readCbor() refuses ${name}`, () => {
    assert.equal(readCbor(Buffer.from(hex, 'hex'), 0), undefined);
  });
}

test('readCbor() never throws, and never reads past the end', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (input) => {
      const read = readCbor(input, 0);
      assert.ok(read === undefined || read.end <= input.length);
    }),
  );
});
