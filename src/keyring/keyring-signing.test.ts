import assert from 'node:assert/strict';
import { createPublicKey, hash, verify } from 'node:crypto';
import { CompactSign, compactVerify, createLocalJWKSet, importJWK } from 'jose';
import { test } from 'vitest';
import { vkeyText } from '../domain/log/note-key.ts';
import { PAYLOAD_BYTES_MAX } from '../domain/wire/jws.ts';
import { Jwks } from '../protocol/trust.ts';
import { generateJwk } from './es256.ts';
import { type Keyring, openKeyring } from './keyring.ts';
import { ARTEFACTS, type KeyUse } from './wire.ts';

const CLAIMS = Buffer.from('{"sub":"agent:a"}');
const { delegation, checkpoint } = ARTEFACTS;
const tokenJwk = generateJwk();
const logJwk = generateJwk();

test('sign() writes exactly three header members', () => {
  const keyring = open();
  const [header = ''] = sign(keyring, 'token').split('.');

  const expected = `{"alg":"ES256","kid":"${keyring.kid('token')}","typ":"svc-delegation+jwt"}`;
  assert.equal(Buffer.from(header, 'base64url').toString(), expected);
});

test('sign() makes what another implementation verifies with the published keys', async () => {
  const keyring = open();
  const keys = createLocalJWKSet(keyring.jwks());

  for (const use of ['token', 'log'] as const) {
    const { payload, protectedHeader } = await compactVerify(sign(keyring, use), keys);
    assert.deepEqual(Buffer.from(payload), CLAIMS);
    assert.equal(protectedHeader.kid, keyring.kid(use));
  }
});

test('signDetached() makes what another implementation verifies with its payload', async () => {
  const keyring = open();
  const text = keyring.signDetached('log', checkpoint.typ, CLAIMS);

  const whole = text.replace('..', `.${CLAIMS.toString('base64url')}.`);
  const { payload } = await compactVerify(whole, createLocalJWKSet(keyring.jwks()));
  assert.deepEqual(Buffer.from(payload), CLAIMS);
});

test('signNote() signs with the published log key, in the form that notes carry', () => {
  const keyring = open();
  const text = 'svc.example/log/1\n0\nroot\n';

  const [first, second] = keyring.signNote('svc.example/log/1', text);

  const jwk = keyring.jwks().keys.find(({ kid }) => kid === keyring.kid('log'));
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
  const spki = key.export({ type: 'spki', format: 'der' });
  assert.ok(first && second);
  assert.equal(first.name, 'svc.example/log/1');
  assert.deepEqual(Buffer.from(first.keyId), hash('sha256', spki, 'buffer').subarray(0, 4));
  assert.equal(verify('sha256', Buffer.from(text), key, first.signature), true);
  const derived = keyring.noteKeys('svc.example/log/1')[1];
  assert.deepEqual(second.keyId, derived?.id);
  const x = Buffer.from(derived?.key ?? []).toString('base64url');
  const edwards = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  assert.equal(verify(null, Buffer.from(text), edwards, second.signature), true);
});

test('noteKeys() gives the same keys wherever the same log key is, and others for others', () => {
  const names = (keyring: Keyring) => keyring.noteKeys('a').map(vkeyText);
  const others = JSON.stringify([generateJwk()]);
  const tokenKeys = JSON.stringify([tokenJwk]);
  const options = { now: () => new Date(), onWarning: () => undefined };

  assert.deepEqual(names(open()), names(open()));
  const other = openKeyring({ tokenKeys, logKeys: others }, options);
  assert.equal(
    names(other).some((name) => names(open()).includes(name)),
    false,
  );
});

test('signNote() refuses what could be the text of another artefact', () => {
  assert.throws(() => open().signNote('a', 'header.payload'), /no last line/);
});

test('verify() accepts what another implementation has signed with our key', async () => {
  const keyring = open();
  const kid = keyring.kid('token');
  const text = await new CompactSign(CLAIMS)
    .setProtectedHeader({ alg: 'ES256', kid, typ: delegation.typ })
    .sign(await importJWK({ ...tokenJwk }, 'ES256'));

  assert.deepEqual(
    Buffer.from(keyring.verify('token', delegation.typ, text)?.payload ?? []),
    CLAIMS,
  );
});

test('jwks() is what the protocol says, and holds no private half', () => {
  const keyring = open();

  assert.deepEqual(Jwks.parse(keyring.jwks()), keyring.jwks());
  assert.equal(JSON.stringify(keyring.jwks()).includes('"d"'), false);
  assert.deepEqual(
    keyring.jwks().keys.map(({ kid }) => kid),
    [keyring.kid('token'), keyring.kid('log')],
  );
});

for (const length of [0, PAYLOAD_BYTES_MAX + 1]) {
  test(`sign() refuses a payload of ${length} bytes, which nobody could verify`, () => {
    const keyring = open();

    assert.throws(
      () => keyring.sign('token', delegation.typ, new Uint8Array(length)),
      new RangeError(
        `Cannot sign "svc-delegation+jwt": the payload has ${length} bytes, 1 to 4500 fit`,
      ),
    );
  });
}

test('verify() hands out a payload that its caller may change', () => {
  const keyring = open();
  const token = sign(keyring, 'token');
  for (let i = 0; i < 3; i += 1) {
    const verified = keyring.verify('token', delegation.typ, token);

    assert.deepEqual(Buffer.from(verified?.payload ?? []), CLAIMS);
    verified?.payload.fill(0);
  }
});

test('verify() refuses the token of another service', () => {
  const theirs = open(generateJwk());

  assert.equal(open().verify('token', delegation.typ, sign(theirs, 'token')), undefined);
});

function open(jwk = tokenJwk): Keyring {
  const source = { tokenKeys: JSON.stringify([jwk]), logKeys: JSON.stringify([logJwk]) };
  return openKeyring(source, { now: () => new Date(0), onWarning: assert.fail });
}

function sign(keyring: Keyring, use: KeyUse): string {
  const typ = use === 'token' ? delegation.typ : checkpoint.typ;
  return keyring.sign(use, typ, CLAIMS);
}
