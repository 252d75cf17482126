import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { test } from 'vitest';
import { generateJwk, type PrivateJwk, thumbprintOf } from './es256.ts';
import { LISTED_KEYS_MAX } from './key-list.ts';
import { openKeyring } from './keyring.ts';
import { ARTEFACTS } from './wire.ts';

const { use, typ } = ARTEFACTS.delegation;
const [first, second, log] = [generateJwk(), generateJwk(), generateJwk()];
const logKeys = JSON.stringify([log]);

const forms: [name: string, tokenKeys: string][] = [
  ['PEM blocks', pem(first) + pem(second)],
  ['PEM blocks without a line break between them', pem(first).trim() + pem(second).trim()],
  ['a JSON array of JWKs', JSON.stringify([first, second])],
];
for (const [name, tokenKeys] of forms) {
  test(`openKeyring() signs with the first of ${name} and publishes all`, () => {
    const keyring = open(tokenKeys);

    assert.equal(keyring.kid('token'), thumbprintOf(first));
    assert.deepEqual(
      keyring.jwks().keys.map(({ kid }) => kid),
      [first, second, log].map(thumbprintOf),
    );
    assert.equal(keyring.revision(), 1);
  });
}

test('openKeyring() verifies what the second of its keys has signed elsewhere', () => {
  const before = open(JSON.stringify([second]));
  const token = before.sign(use, typ, Buffer.from('{}'));

  const after = open(JSON.stringify([first, second]));
  assert.equal(after.verify(use, typ, token)?.kid, thumbprintOf(second));
});

test('openKeyring() ends a key that a deployment no longer lists', () => {
  const token = open(JSON.stringify([second])).sign(use, typ, Buffer.from('{}'));

  assert.equal(open(JSON.stringify([first])).verify(use, typ, token), undefined);
});

test('refresh() and close() leave the keys of the environment as they are', () => {
  const keyring = open(pem(first));
  keyring.refresh();
  keyring.close();

  assert.equal(keyring.kid('token'), thumbprintOf(first));
});

const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
const sec1 = key(first).export({ type: 'sec1', format: 'pem' }).toString();
const encrypted = key(first)
  .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
  .toString();
const many = Array.from({ length: LISTED_KEYS_MAX + 1 }, generateJwk);

const refused: [name: string, tokenKeys: string, fault: RegExp][] = [
  ['nothing', '', /^Cannot use WRIT_TOKEN_KEYS: it has no key$/],
  ['an empty array', '[]', /it has no key/],
  ['another text', 'secret', /WRIT_TOKEN_KEYS: it is neither PKCS#8 PEM blocks/],
  ['an object instead of an array', JSON.stringify(first), /it is neither PKCS#8 PEM blocks/],
  ['JSON that does not end', `[${JSON.stringify(first)}`, /it is not a JSON array/],
  ['a key with a member twice', `[{"d":"x",${JSON.stringify(first).slice(1)}]`, /not a JSON array/],
  ['text between the blocks', `${pem(first)}x${pem(second)}`, /it is neither PKCS#8 PEM blocks/],
  ['a SEC 1 block', sec1, /openssl pkcs8 -topk8 -nocrypt/],
  ['an encrypted block', encrypted, /it is neither PKCS#8 PEM blocks/],
  ['a block of nothing', block(''), /key 1 of WRIT_TOKEN_KEYS: the block is not a PKCS#8 key/],
  ['a key of another curve', pem(first) + exported(p384), /Cannot use key 2 of WRIT_TOKEN_KEYS/],
  [
    'a key twice',
    pem(first) + pem(first),
    /key 2 of WRIT_TOKEN_KEYS: the same key appears earlier/,
  ],
  ['too many keys', JSON.stringify(many), new RegExp(`more than ${LISTED_KEYS_MAX} keys`)],
  ['too much text', ' '.repeat(64 * 1024 + 1), /more than 65536 characters/],
  ['halves that differ', JSON.stringify([{ ...first, d: second.d }]), /halves of the key do not/],
];
for (const [name, tokenKeys, fault] of refused) {
  test(`openKeyring() refuses ${name} in the environment, and repeats nothing of it`, () => {
    assert.throws(
      () => open(tokenKeys),
      ({ message }: Error) => {
        assert.match(message, fault);
        for (const secret of [first.d, second.d, 'secret']) assert.ok(!message.includes(secret));
        return true;
      },
    );
  });
}

test('openKeyring() refuses one key for both uses', () => {
  assert.throws(() => open(logKeys), /Cannot use key 1 of WRIT_LOG_KEYS: the same key appears/);
});

test('openKeyring() names the faults of both variables at once', () => {
  const options = { now: () => new Date(0), onWarning: assert.fail };

  assert.throws(
    () => openKeyring({ tokenKeys: '', logKeys: '' }, options),
    /WRIT_TOKEN_KEYS.*\n.*WRIT_LOG_KEYS/,
  );
});

function open(tokenKeys: string) {
  return openKeyring({ tokenKeys, logKeys }, { now: () => new Date(0), onWarning: assert.fail });
}

function key(jwk: PrivateJwk) {
  return createPrivateKey({ key: { ...jwk }, format: 'jwk' });
}

function exported(privateKey: ReturnType<typeof key>): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function pem(jwk: PrivateJwk): string {
  return exported(key(jwk));
}

function block(content: string): string {
  return `-----BEGIN PRIVATE KEY-----\n${content}\n-----END PRIVATE KEY-----\n`;
}
