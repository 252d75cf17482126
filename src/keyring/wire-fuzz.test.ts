import assert from 'node:assert/strict';
import { test } from 'vitest';
import { fuzzTokens } from '../../test/hostile/token-edits.ts';
import { generateJwk } from './es256.ts';
import { openKeyring } from './keyring.ts';
import { ARTEFACTS } from './wire.ts';

// A signature costs some 200 µs, and thousands of these texts get as far as that.
const SLOW = 120_000;

const { use, typ } = ARTEFACTS.delegation;
const keyring = openKeyring(
  { tokenKeys: JSON.stringify([generateJwk()]), logKeys: JSON.stringify([generateJwk()]) },
  { now: () => new Date(0), onWarning: assert.fail },
);
const token = keyring.sign(use, typ, Buffer.from('{"sub":"agent:a"}'));

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const OTHERS = '.=+/ \n\t"{}\0é';

test('verify() refuses every substitution of one character', { timeout: SLOW }, () => {
  const accepted: string[] = [];
  for (let at = 0; at < token.length; at += 1) {
    for (const character of BASE64URL + OTHERS) {
      if (character === token[at]) continue;
      const text = token.slice(0, at) + character + token.slice(at + 1);
      if (keyring.verify(use, typ, text) !== undefined) accepted.push(text);
    }
  }

  assert.deepEqual(accepted, []);
  assert.notEqual(keyring.verify(use, typ, token), undefined);
});

test('verify() refuses every prefix and every suffix', () => {
  for (let at = 1; at < token.length; at += 1) {
    assert.equal(keyring.verify(use, typ, token.slice(0, at)), undefined);
    assert.equal(keyring.verify(use, typ, token.slice(at)), undefined);
  }
});

test('verify() refuses 50,000 edits of valid tokens', { timeout: SLOW }, () => {
  const { edited, wellFormed, accepted } = fuzzTokens({ seed: 0x5eed, count: 50_000 });

  assert.deepEqual(accepted, []);
  assert.ok(edited > 45_000);
  // Some must get past the form, or the signature was never asked.
  assert.ok(wellFormed > 50, `${wellFormed} of the sampled texts reached the signature`);
});
