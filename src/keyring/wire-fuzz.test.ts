import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readCompact } from '../domain/wire/jws.ts';
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

/** Reading the form twice for every text would double the time. */
const SAMPLED_EVERY = 10;

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

test('verify() refuses 100,000 random edits of valid tokens', { timeout: SLOW }, () => {
  const random = generator(0x5eed);
  const tokens = ['{}', '{"sub":"agent:a"}', `{"scope":["${'a'.repeat(60)}"]}`].map((claims) =>
    keyring.sign(use, typ, Buffer.from(claims)),
  );
  const accepted: string[] = [];
  let edited = 0;
  let wellFormed = 0;
  while (edited < 100_000) {
    const original = tokens[random(tokens.length)] ?? token;
    const text = edit(original, random);
    if (tokens.includes(text)) continue;
    edited += 1;
    if (edited % SAMPLED_EVERY === 0 && readCompact(text, typ) !== undefined) wellFormed += 1;
    if (keyring.verify(use, typ, text) !== undefined) accepted.push(text);
  }

  assert.deepEqual(accepted, []);
  // Some must get past the form, or the signature was never asked.
  assert.ok(wellFormed > 100, `${wellFormed} of the sampled texts reached the signature`);
});

type Random = (below: number) => number;

/** One to three edits. Most fall on the header, where no signature has to be computed. */
function edit(text: string, random: Random): string {
  let edited = text;
  for (let count = 1 + random(3); count > 0; count -= 1) {
    const at = random(4) === 0 ? random(edited.length) : random(edited.indexOf('.') + 1);
    const kind = EDITS[random(EDITS.length)];
    if (kind !== undefined) edited = kind(edited, at, random);
  }
  return edited;
}

type Edit = (text: string, at: number, random: Random) => string;

const EDITS: readonly Edit[] = [
  function substitute(text, at, random) {
    return text.slice(0, at) + character(random) + text.slice(at + 1);
  },
  function insert(text, at, random) {
    return text.slice(0, at) + character(random) + text.slice(at);
  },
  function remove(text, at) {
    return text.slice(0, at) + text.slice(at + 1);
  },
  function swap(text, at) {
    return (
      text.slice(0, at) +
      text
        .slice(at, at + 2)
        .split('')
        .reverse()
        .join('') +
      text.slice(at + 2)
    );
  },
  function changeCase(text, at) {
    const old = text.charAt(at);
    const changed = old === old.toLowerCase() ? old.toUpperCase() : old.toLowerCase();
    return text.slice(0, at) + changed + text.slice(at + 1);
  },
];

function character(random: Random): string {
  const alphabet = random(4) === 0 ? OTHERS : BASE64URL;
  return alphabet.charAt(random(alphabet.length));
}

/** Mulberry32: small, and the same on every machine. */
function generator(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
