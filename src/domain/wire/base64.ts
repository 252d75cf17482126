/**
 * Base64 and base64url (RFC 4648 sections 4 and 5), read strictly: each value has exactly one text.
 *
 * Platform decoders accept spaces, missing padding and unused bits. A text that is signed or compared must
 * be unique, so every other spelling is refused. Implemented here because the functions that browsers and
 * Node share would have to encode every value again to detect other spellings.
 *
 * @module
 */

export function toBase64(bytes: Uint8Array): string {
  const text = encode(bytes, STANDARD_CODES);
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}

/** The bytes, or `undefined` unless `text` is their only spelling. */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  return decode(text.replace(PADDING, ''), STANDARD_VALUES);
}

/** The alphabet of URLs, without padding. */
export function toBase64url(bytes: Uint8Array): string {
  return encode(bytes, URL_SAFE_CODES);
}

export function fromBase64url(text: string): Uint8Array | undefined {
  return decode(text, URL_SAFE_VALUES);
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const STANDARD = `${LETTERS}+/`;
const URL_SAFE = `${LETTERS}-_`;

const STANDARD_VALUES = valuesOf(STANDARD);
const URL_SAFE_VALUES = valuesOf(URL_SAFE);

const STANDARD_CODES = new TextEncoder().encode(STANDARD);
const URL_SAFE_CODES = new TextEncoder().encode(URL_SAFE);

const PADDING = /={1,2}$/;

const decoder = new TextDecoder();

/** The value of each character by its code; absent for all others. */
function valuesOf(alphabet: string): readonly (number | undefined)[] {
  const values: (number | undefined)[] = new Array(128).fill(undefined);
  for (const [value, letter] of [...alphabet].entries()) values[letter.charCodeAt(0)] = value;
  return values;
}

/** Writes bytes first: appending letters to a string takes ten times as long. */
function encode(bytes: Uint8Array, alphabet: Uint8Array): string {
  const letters = new Uint8Array(Math.ceil((bytes.length * 4) / 3));
  let at = 0;
  for (let i = 0; i < bytes.length; i += 3) {
    // Missing bytes of the last group count as zero. Their letters fall past the end of the array.
    const three = ((bytes[i] as number) << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    letters[at] = alphabet[three >> 18] as number;
    letters[at + 1] = alphabet[(three >> 12) & 63] as number;
    letters[at + 2] = alphabet[(three >> 6) & 63] as number;
    letters[at + 3] = alphabet[three & 63] as number;
    at += 4;
  }
  return decoder.decode(letters);
}

function decode(text: string, values: readonly (number | undefined)[]): Uint8Array | undefined {
  if (text.length % 4 === 1) return undefined;
  const bytes = new Uint8Array(Math.floor((text.length * 3) / 4));
  let [held, bits, at] = [0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const value = values[text.charCodeAt(i)];
    if (value === undefined) return undefined;
    held = ((held << 6) | value) & 0xfff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = held >> bits;
  }
  // Bits that belong to no byte must be zero, or a second text would have the same value.
  return (held & ((1 << bits) - 1)) === 0 ? bytes : undefined;
}
