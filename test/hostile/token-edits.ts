/**
 * Edits of valid tokens: random ones, and those that a reader of JWS was once fooled by elsewhere.
 *
 * No edit makes the twin of a signature (n−s), which verifies by the mathematics of ECDSA.
 *
 * @module
 */

import { readCompact } from '../../src/domain/wire/jws.ts';
import { generateJwk } from '../../src/keyring/es256.ts';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { ARTEFACTS } from '../../src/keyring/wire.ts';
import { type Chance, chanceOf } from '../simulation/chance.ts';

export interface TokenFuzz {
  readonly seed: number;
  readonly from?: number;
  readonly count: number;
  /** Called for every ten thousand. */
  onProgress?(done: number): void;
}

export interface TokenReport {
  readonly edited: number;
  /** Edited texts that got as far as the signature, among those that were sampled. */
  readonly wellFormed: number;
  /** Texts that were accepted, with the number that repeats each. */
  readonly accepted: readonly string[];
}

/** Reading the form twice for every text would double the time. */
const SAMPLED_EVERY = 10;
const PROGRESS_EVERY = 10_000;

const { use, typ } = ARTEFACTS.delegation;

const CLAIMS = ['{}', '{"sub":"agent:a"}', `{"scope":["${'a'.repeat(60)}"]}`];

/** Verifies edited tokens of a keyring of its own. */
export function fuzzTokens({ seed, from = 0, count, onProgress }: TokenFuzz): TokenReport {
  const keyring = openKeyring(
    { tokenKeys: JSON.stringify([generateJwk()]), logKeys: JSON.stringify([generateJwk()]) },
    { now: () => new Date(0), onWarning: () => undefined },
  );
  const tokens = CLAIMS.map((claims) => keyring.sign(use, typ, Buffer.from(claims)));
  const chance = chanceOf(seed);
  const accepted: string[] = [];
  let edited = 0;
  let wellFormed = 0;
  for (let number = from; number < from + count; number += 1) {
    const text = editedToken(tokens, chance.fork(`token ${number}`));
    if (tokens.includes(text)) continue;
    edited += 1;
    if (number % SAMPLED_EVERY === 0 && readCompact(text, typ) !== undefined) wellFormed += 1;
    if (keyring.verify(use, typ, text) !== undefined) {
      accepted.push(`npm run fuzz -- --seed ${seed} --from ${number} --tokens 1: ${text}`);
    }
    if (edited % PROGRESS_EVERY === 0) onProgress?.(edited);
  }
  return { edited, wellFormed, accepted };
}

function editedToken(tokens: readonly string[], chance: Chance): string {
  const token = chance.pick(tokens);
  if (chance.is(0.2)) return chance.pick(REWRITES)(token, chance, tokens);
  let edited = token;
  for (let left = 1 + chance.below(3); left > 0; left -= 1) {
    // Most fall on the header, where no signature has to be computed.
    const length = chance.is(0.25) ? edited.length : edited.indexOf('.') + 1;
    edited = chance.pick(EDITS)(edited, chance.below(Math.max(1, length)), chance);
  }
  return edited;
}

type Edit = (text: string, at: number, chance: Chance) => string;

const EDITS: readonly Edit[] = [
  function substitute(text, at, chance) {
    return text.slice(0, at) + character(chance) + text.slice(at + 1);
  },
  function insert(text, at, chance) {
    return text.slice(0, at) + character(chance) + text.slice(at);
  },
  function remove(text, at) {
    return text.slice(0, at) + text.slice(at + 1);
  },
  function swap(text, at) {
    const [one = '', other = ''] = text.slice(at, at + 2);
    return text.slice(0, at) + other + one + text.slice(at + 2);
  },
  function changeCase(text, at) {
    const old = text.charAt(at);
    const changed = old === old.toLowerCase() ? old.toUpperCase() : old.toLowerCase();
    return text.slice(0, at) + changed + text.slice(at + 1);
  },
];

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const OTHERS = '.=+/ \n\t"{}\0é';

function character(chance: Chance): string {
  const alphabet = chance.is(0.25) ? OTHERS : BASE64URL;
  return alphabet.charAt(chance.below(alphabet.length));
}

type Rewrite = (token: string, chance: Chance, tokens: readonly string[]) => string;

const encoded = (text: string | Uint8Array) => Buffer.from(text as string).toString('base64url');

function withHeader(token: string, change: (header: Record<string, unknown>) => object): string {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const read = JSON.parse(Buffer.from(header, 'base64url').toString());
  return [encoded(JSON.stringify(change(read))), payload, signature].join('.');
}

function withSignature(token: string, change: (signature: Buffer) => Uint8Array): string {
  const [header = '', payload = '', signature = ''] = token.split('.');
  return [header, payload, encoded(change(Buffer.from(signature, 'base64url')))].join('.');
}

/** The order of P-256. */
const ORDER = Buffer.from(
  'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551',
  'hex',
);

const REWRITES: readonly Rewrite[] = [
  (token, chance) =>
    withHeader(token, (header) => ({
      ...header,
      alg: chance.pick(['none', 'None', 'NONE', 'HS256', 'ES384', 'ES256K', 'RS256', '', null, 0]),
    })),
  (token, chance) =>
    withHeader(token, (header) => ({
      ...header,
      [chance.pick(['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c', 'zip', 'cty', 'alg '])]: chance.pick(
        [['exp'], false, 'https://evil.example/keys', { kty: 'oct', k: '' }],
      ),
    })),
  (token) => withHeader(token, ({ kid: _, ...header }) => header),
  (token) => withHeader(token, ({ typ: _, ...header }) => header),
  (token) => withHeader(token, (header) => Object.fromEntries(Object.entries(header).reverse())),
  (token, chance) => {
    const [header = '', , signature = ''] = token.split('.');
    const claims = { sub: 'human:root', scope: ['*'], n: chance.below(1_000) };
    return [header, encoded(JSON.stringify(claims)), signature].join('.');
  },
  (token, chance, tokens) => {
    const [header = '', payload = ''] = token.split('.');
    return [header, payload, chance.pick(tokens).split('.')[2]].join('.').concat('A');
  },
  (token) => withSignature(token, () => new Uint8Array(64)),
  (token) => withSignature(token, () => Buffer.concat([ORDER, ORDER])),
  (token) =>
    withSignature(token, (signature) => Buffer.concat([signature.subarray(32), signature])),
  (token) => withSignature(token, (signature) => Buffer.concat([signature, Buffer.from([0])])),
  (token) =>
    withSignature(token, (signature) =>
      Buffer.concat([
        Buffer.from([0x30, 68, 2, 32]),
        signature.subarray(0, 32),
        Buffer.from([2, 32]),
        signature.subarray(32),
      ]),
    ),
  (token) => token.replaceAll('-', '+').replaceAll('_', '/').concat('='),
  (token) => `${token}.`,
  (token) => `.${token}`,
  (token) => token.replaceAll('.', '..'),
  (token) => `${token}\n`,
  (token) => ` ${token}`,
  (token) => token.split('.').slice(0, 2).join('.').concat('.'),
  (token) => {
    const [protectedHeader = '', payload = '', signature = ''] = token.split('.');
    return JSON.stringify({ payload, protected: protectedHeader, signature });
  },
  (token) => token.split('').join('\u200b'),
];
