/**
 * SHA-256 (FIPS 180-4) where there is no `node:crypto`: pure, synchronous, without dependency.
 *
 * Web Crypto answers only through promises and the domain is synchronous, so a verifier in a page runs
 * this. For public data only: it is not constant-time. Bit operators are safe in this file because the
 * words of SHA-256 have 32 bits.
 *
 * @module
 */

export function sha256(data: Uint8Array | string): Uint8Array {
  const state = stateAfter(typeof data === 'string' ? utf8(data) : data);
  const digest = new DataView(new ArrayBuffer(DIGEST_BYTES));
  for (let word = 0; word < state.length; word++) digest.setUint32(word * 4, at(state, word));
  return new Uint8Array(digest.buffer);
}

export function sha256Hex(data: Uint8Array | string): string {
  return toHex(sha256(data));
}

export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function stateAfter(data: Uint8Array): Uint32Array {
  const message = pad(data);
  const state = INITIAL_STATE.slice();
  for (let offset = 0; offset < message.byteLength; offset += BLOCK_BYTES) {
    compress(state, scheduleOf(message, offset));
  }
  return state;
}

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const ROUNDS = 64;

/** FIPS 180-4, 5.1.1: one bit, zeros, and the length in bits as 64 bits that end a block. */
function pad(data: Uint8Array): DataView {
  const blocks = Math.ceil((data.length + 9) / BLOCK_BYTES);
  const bytes = new Uint8Array(blocks * BLOCK_BYTES);
  bytes.set(data);
  bytes[data.length] = 0x80;

  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 8, Math.floor(data.length / 2 ** 29));
  view.setUint32(bytes.length - 4, data.length << 3);
  return view;
}

/** FIPS 180-4, 6.2.2 step 1: the sixteen words of a block, stretched to one word a round. */
function scheduleOf(message: DataView, offset: number): Uint32Array {
  const words = new Uint32Array(ROUNDS);
  for (let t = 0; t < 16; t++) words[t] = message.getUint32(offset + t * 4);
  for (let t = 16; t < ROUNDS; t++) {
    const [near, far] = [at(words, t - 2), at(words, t - 15)];
    const sigma0 = rotate(far, 7) ^ rotate(far, 18) ^ (far >>> 3);
    const sigma1 = rotate(near, 17) ^ rotate(near, 19) ^ (near >>> 10);
    words[t] = sigma1 + at(words, t - 7) + sigma0 + at(words, t - 16);
  }
  return words;
}

/** FIPS 180-4, 6.2.2 steps 2 to 4: sixty-four rounds over a copy, then added to `state`. */
function compress(state: Uint32Array, words: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = state as unknown as EightWords;
  for (let t = 0; t < ROUNDS; t++) {
    const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + sum1 + choice + at(ROUND_CONSTANTS, t) + at(words, t)) | 0;
    const sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + sum0 + majority) | 0];
  }
  const added = Uint32Array.of(a, b, c, d, e, f, g, h);
  for (let word = 0; word < added.length; word++) {
    state[word] = at(state, word) + at(added, word);
  }
}

type EightWords = [number, number, number, number, number, number, number, number];

function rotate(word: number, bits: number): number {
  return (word >>> bits) | (word << (32 - bits));
}

/** Every index in this file is within its array by construction; the compiler cannot see it. */
function at(words: Uint32Array, index: number): number {
  return words[index] as number;
}

/** FIPS 180-4, 5.3.3: fractions of the square roots of the first eight primes. */
const INITIAL_STATE = hexWords(`
  6a09e667 bb67ae85 3c6ef372 a54ff53a 510e527f 9b05688c 1f83d9ab 5be0cd19`);

/** FIPS 180-4, 4.2.2: fractions of the cube roots of the first sixty-four primes. */
const ROUND_CONSTANTS = hexWords(`
  428a2f98 71374491 b5c0fbcf e9b5dba5 3956c25b 59f111f1 923f82a4 ab1c5ed5
  d807aa98 12835b01 243185be 550c7dc3 72be5d74 80deb1fe 9bdc06a7 c19bf174
  e49b69c1 efbe4786 0fc19dc6 240ca1cc 2de92c6f 4a7484aa 5cb0a9dc 76f988da
  983e5152 a831c66d b00327c8 bf597fc7 c6e00bf3 d5a79147 06ca6351 14292967
  27b70a85 2e1b2138 4d2c6dfc 53380d13 650a7354 766a0abb 81c2c92e 92722c85
  a2bfe8a1 a81a664b c24b8b70 c76c51a3 d192e819 d6990624 f40e3585 106aa070
  19a4c116 1e376c08 2748774c 34b0bcb5 391c0cb3 4ed8aa4a 5b9cca4f 682e6ff3
  748f82ee 78a5636f 84c87814 8cc70208 90befffa a4506ceb bef9a3f7 c67178f2`);

function hexWords(hex: string): Uint32Array {
  return Uint32Array.from(hex.trim().split(/\s+/), (word) => Number.parseInt(word, 16));
}
