/**
 * Random JSON, and its canonical form by two other implementations: a package, and one written here from
 * RFC 8785 that shares neither the sorting nor the layout of numbers with ours.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { canonicalJson, digestOf } from '../../src/domain/wire/canonical.ts';
import { readJson } from '../../src/domain/wire/json.ts';
import { type Chance, chanceOf } from '../simulation/chance.ts';

export interface DigestFuzz {
  readonly seed: number;
  readonly from?: number;
  readonly count: number;
  onProgress?(done: number): void;
}

const PROGRESS_EVERY = 10_000;

/** The first value that two implementations write differently, with the number that repeats it. */
export function digestFault({ seed, from = 0, count, onProgress }: DigestFuzz): string | undefined {
  const chance = chanceOf(seed);
  for (let number = from; number < from + count; number += 1) {
    const value = randomJson(chance.fork(`value ${number}`), 5);
    const fault = differenceOf(value);
    if (fault) return `${fault}\nnpm run fuzz -- --seed ${seed} --from ${number} --values 1`;
    if ((number + 1 - from) % PROGRESS_EVERY === 0) onProgress?.(number + 1 - from);
  }
  return undefined;
}

function differenceOf(value: unknown): string | undefined {
  const ours = canonicalJson(value);
  const theirs = [canonicalize(value), writtenHere(value)];
  for (const other of theirs) {
    if (other !== ours)
      return `${ours.slice(0, 500)}\n is also written as\n${other?.slice(0, 500)}`;
  }
  const expected = `sha256:${createHash('sha256').update(ours, 'utf8').digest('hex')}`;
  if (digestOf(value) !== expected) return `another digest of ${ours.slice(0, 500)}`;
  // What a caller sends is read first, in any layout and order of keys.
  const reading = readJson(JSON.stringify(shuffled(value), null, 1));
  if ('fault' in reading) return undefined;
  return digestOf(reading.value) === expected ? undefined : `another digest when read: ${ours}`;
}

function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).reverse();
  return Object.fromEntries(entries.map(([key, part]) => [key, shuffled(part)]));
}

function randomJson(chance: Chance, levels: number): unknown {
  switch (chance.below(levels > 0 ? 8 : 5)) {
    case 0:
      return chance.pick([null, true, false]);
    case 1:
    case 2:
      return randomNumber(chance);
    case 3:
    case 4:
      return randomText(chance);
    case 5:
      return Array.from({ length: chance.below(5) }, () => randomJson(chance, levels - 1));
    default:
      return Object.fromEntries(
        Array.from({ length: chance.below(6) }, () => [
          randomText(chance),
          randomJson(chance, levels - 1),
        ]),
      );
  }
}

/** Any double, of any size: half of them by their bits. */
function randomNumber(chance: Chance): number {
  if (chance.is(0.3)) return chance.below(2_000_001) - 1_000_000;
  if (chance.is(0.3)) return (chance.below(2_000_001) - 1_000_000) / 10 ** chance.below(25);
  const [number = 0] = new Float64Array(chance.bytes(8).buffer as ArrayBuffer);
  return Number.isFinite(number) ? number : 0;
}

const CHARACTERS = [
  'a',
  'B',
  '0',
  '_',
  ' ',
  '"',
  '\\',
  '/',
  '\b',
  '\f',
  '\n',
  '\r',
  '\t',
  '\u0001',
  '\u001f',
  '\u007f',
  '\u0080',
  'é',
  '\u2028',
  '\u2029',
  '\ufb33',
  '\uffff',
  '\ud7ff',
  '\ue000',
  '€',
  '\u{10000}',
  '\u{1f602}',
  '\u{10ffff}',
];

function randomText(chance: Chance): string {
  return Array.from({ length: chance.below(6) }, () => chance.pick(CHARACTERS)).join('');
}

/** RFC 8785, section 3.2, from its text. */
function writtenHere(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return numberHere(value);
  if (typeof value === 'string') return textHere(value);
  if (Array.isArray(value)) return `[${value.map(writtenHere).join(',')}]`;
  const members = Object.entries(value as object).sort(([one], [other]) => unitsOrder(one, other));
  return `{${members.map(([key, part]) => `${textHere(key)}:${writtenHere(part)}`).join(',')}}`;
}

/** By the UTF-16 code units of the names, one after the other. */
function unitsOrder(one: string, other: string): number {
  for (let at = 0; at < Math.min(one.length, other.length); at += 1) {
    const order = one.charCodeAt(at) - other.charCodeAt(at);
    if (order !== 0) return order;
  }
  return one.length - other.length;
}

const SHORT: Readonly<Record<number, string>> = {
  8: '\\b',
  9: '\\t',
  10: '\\n',
  12: '\\f',
  13: '\\r',
  34: '\\"',
  92: '\\\\',
};

function textHere(text: string): string {
  let written = '';
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    const short = SHORT[unit];
    if (short !== undefined) written += short;
    else if (unit < 32) written += `\\u${unit.toString(16).padStart(4, '0')}`;
    else written += text.charAt(at);
  }
  return `"${written}"`;
}

/** The digits are the fewest that lead back to the double; their layout is that of ECMA-262, Number::toString. */
function numberHere(number: number): string {
  if (number === 0) return '0';
  if (number < 0) return `-${numberHere(-number)}`;
  const [digits = '', power = '0'] = number.toExponential().split('e');
  const s = digits.replace('.', '');
  const n = Number(power) + 1;
  if (s.length <= n && n <= 21) return s + '0'.repeat(n - s.length);
  if (0 < n && n <= 21) return `${s.slice(0, n)}.${s.slice(n)}`;
  if (-6 < n && n <= 0) return `0.${'0'.repeat(-n)}${s}`;
  const exponent = `e${n - 1 < 0 ? '-' : '+'}${Math.abs(n - 1)}`;
  return s.length === 1 ? s + exponent : `${s[0]}.${s.slice(1)}${exponent}`;
}
