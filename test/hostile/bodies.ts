/**
 * Bodies as bytes: JSON written in ways that readers disagree about, cut, packed and encoded.
 *
 * @module
 */

import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import type { Chance } from '../simulation/chance.ts';
import { hostileText } from './values.ts';

export interface SentBody {
  readonly bytes: Buffer;
  readonly headers: readonly (readonly [name: string, value: string])[];
}

const JSON_TYPE = ['content-type', 'application/json'] as const;

/** JSON as an honest client writes it. */
export function plainJson(value: unknown): SentBody {
  return { bytes: Buffer.from(JSON.stringify(value) ?? ''), headers: [JSON_TYPE] };
}

export function plainForm(fields: readonly (readonly [string, string])[]): SentBody {
  const body = new URLSearchParams(fields.map(([name, value]): [string, string] => [name, value]));
  return {
    bytes: Buffer.from(body.toString()),
    headers: [['content-type', 'application/x-www-form-urlencoded']],
  };
}

type Damage = (text: string, chance: Chance) => string | Buffer;

/** What happens to a text on its way to bytes. */
const DAMAGES: readonly Damage[] = [
  (text, chance) => text.slice(0, chance.below(text.length + 1)),
  (text, chance) => spliced(text, chance, hostileText(chance)),
  (text, chance) => flipped(Buffer.from(text), chance),
  (text) => `\ufeff${text}`,
  (text) => Buffer.from(text, 'utf16le'),
  (text) => `${text}${text}`,
  (text) => `${text}\0`,
  (text) => `${text}//`,
  (text) => text.replaceAll('"', "'"),
  (text) => text.replace('{', '{"__proto__":{"polluted":true},'),
  (text) => text.replace('{', '{"\\u005f_proto__":{"polluted":true},'),
  (text) => text.replace(/"(\w+)":/, '"$1":0,"$1":'),
  (text) => text.replace(/"(\w)(\w*)":/, '"$1$2":0,"\\u00$1$2":'),
  (text) => text.replace(/:\s*("[^"]*"|\d+)/, ':1e400'),
  (text) => text.replace(/:\s*("[^"]*"|\d+)/, ':-0.0'),
  (text) => text.replace(/:\s*("[^"]*"|\d+)/, ':0123'),
  (text) => text.replace(/:\s*("[^"]*"|\d+)/, ':12345678901234567890.123456789'),
  (text) => text.replace(/:\s*("[^"]*"|\d+)/, ':NaN'),
  (text) => text.replace(/:\s*("[^"]*"|\d+)/, ':"\\ud800"'),
  (text) => text.replace(/:\s*("[^"]*"|\d+)/, ':"\\u0000"'),
  (text) => text.replace(/:\s*("[^"]*"|\d+)/, () => `:${'['.repeat(5_000)}${']'.repeat(5_000)}`),
  (text) => Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from([0xc0, 0xaf, 0xed, 0xa0])]),
  (text) => ' '.repeat(100_000) + text,
  (text) => `${text.slice(0, -1)},"pad":"${'x'.repeat(256 * 1_024)}"}`,
];

export function brokenText({ bytes, headers }: SentBody, chance: Chance): SentBody {
  const made = chance.pick(DAMAGES)(bytes.toString('utf8'), chance);
  return { bytes: Buffer.from(made as string), headers };
}

function spliced(text: string, chance: Chance, piece: string): string {
  const at = chance.below(text.length + 1);
  return text.slice(0, at) + piece + text.slice(at + chance.below(4));
}

function flipped(bytes: Buffer, chance: Chance): Buffer {
  for (let left = 1 + chance.below(3); left > 0 && bytes.length > 0; left -= 1) {
    const at = chance.below(bytes.length);
    bytes[at] = (bytes[at] as number) ^ (1 << chance.below(8));
  }
  return bytes;
}

const PACKED = [
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
  ['gzip, gzip', (bytes: Buffer) => gzipSync(gzipSync(bytes))],
  ['identity', (bytes: Buffer) => bytes],
  ['nonsense', (bytes: Buffer) => bytes],
] as const;

const BOMB = gzipSync(Buffer.alloc(4_000_000, 0x20));

/** Packed, under another type, or in chunks. */
export function packedBody(body: SentBody, chance: Chance): SentBody {
  switch (chance.below(4)) {
    case 0: {
      const [name, pack] = chance.pick(PACKED);
      return { bytes: pack(body.bytes), headers: [...body.headers, ['content-encoding', name]] };
    }
    case 1:
      return { bytes: BOMB, headers: [...body.headers, ['content-encoding', 'gzip']] };
    case 2:
      return { bytes: body.bytes, headers: [['content-type', chance.pick(TYPES)]] };
    default:
      return chunked(body, chance);
  }
}

const TYPES = [
  'text/plain',
  'application/json; charset=utf-16',
  'application/json; charset=utf-8; charset=utf-16',
  'application/json;',
  'application/xml',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'application/json, text/plain',
  '',
];

function chunked({ bytes, headers }: SentBody, chance: Chance): SentBody {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = Math.min(bytes.length - at, 1 + chance.below(chance.pick([3, 100, 70_000])));
    const extension = chance.is(0.2) ? ';a=b' : '';
    pieces.push(Buffer.from(`${size.toString(16)}${extension}\r\n`));
    pieces.push(bytes.subarray(at, at + size), Buffer.from('\r\n'));
    at += size;
    // A body of very many chunks says no more than one of many.
    if (pieces.length > 1_500) return { bytes, headers };
  }
  const trailer = chance.is(0.3) ? 'X-Trailer: a\r\nAuthorization: Bearer b\r\n' : '';
  const end = Buffer.from(`0\r\n${trailer}\r\n`);
  return {
    bytes: Buffer.concat([...pieces, end]),
    headers: [...headers, ['transfer-encoding', 'chunked']],
  };
}
