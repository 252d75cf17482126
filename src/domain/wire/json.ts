/**
 * Strict JSON: decides whether a text may be read at all, before anything is built from it.
 *
 * One linear scan checks the whole grammar of RFC 8259 and our bounds. Only then does `JSON.parse` get the
 * text. The scan never recurses, so nesting cannot exhaust the stack. Knows nothing about what the text
 * should contain: schemas decide that afterwards.
 *
 * Invariant: an accepted text means the same to every reader. No key repeats, no number changes when it
 * becomes a double, and no store or encoder cuts or replaces a string.
 *
 * @module
 */

export interface JsonLimits {
  /** UTF-8 bytes of the whole text. */
  readonly bytes: number;
  /** Objects and arrays open at once. */
  readonly depth: number;
  /** Keys of all objects together. */
  readonly keys: number;
}

/**
 * A request body. 256 KiB holds every honest request; 32 levels are safe for whatever recurses over
 * the value later (schemas, canonical form, clones); 10,000 keys bound the search for duplicates.
 */
export const BODY_LIMITS: JsonLimits = { bytes: 256 * 1024, depth: 32, keys: 10_000 };

/**
 * A result of a handler, which is held in memory and may be stored. Larger data belongs behind a link.
 * Clients read up to twice the depth and ten times the keys, so each of them can read it.
 */
export const RESULT_LIMITS: JsonLimits = { bytes: 1_048_576, depth: 32, keys: 100_000 };

/** An object of JSON: neither null nor a list. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A copy that shares nothing with the value. Only for what was read or checked as JSON. */
export function copyOf<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(copyOf) as Value;
  if (!isObject(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    // Assigning `__proto__` would set the prototype instead of a member.
    if (key === '__proto__') return structuredClone(value);
    copy[key] = copyOf(value[key]);
  }
  return copy as Value;
}

/** Text in which JSON escapes nothing, with one byte for each character. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** In UTF-16 units. A shorter text is compared unit by unit: to begin a regular expression takes longer. */
const SHORT_TEXT_MAX = 80;

/** Whether a text in JSON is the text itself between quotes, with one byte for each character. */
export function isPlainText(text: string): boolean {
  if (text.length > SHORT_TEXT_MAX) return PLAIN.test(text);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return false;
  }
  return true;
}

/** Whether every surrogate has its other half: only such a text survives UTF-8. */
export function isWellFormed(text: string): boolean {
  return (text as WellFormedText).isWellFormed();
}

/** Every Node and browser that we support has it; the library types that we compile against do not. */
type WellFormedText = string & { isWellFormed(): boolean };

export type JsonReading = { readonly value: unknown } | { readonly fault: string };

/** Reads one JSON text. A fault says where, as an offset in characters of the text. */
export function readJson(
  source: Uint8Array | string,
  limits: JsonLimits = BODY_LIMITS,
): JsonReading {
  try {
    const text = decodedSource(source, limits.bytes);
    scanText({ text, at: 0, keys: 0, limits, open: [] });
    return { value: JSON.parse(text) };
  } catch (error) {
    if (error instanceof JsonFault) return { fault: error.message };
    throw error;
  }
}

/** Carries the reason out of the scan. Caught only in `readJson`. */
class JsonFault extends Error {
  override readonly name = 'JsonFault';
}

/** Where the scan stands. `open` has an element for each open object or array. */
interface Scan {
  readonly text: string;
  readonly limits: JsonLimits;
  readonly open: Keys[];
  at: number;
  keys: number;
}

/** The keys of one open object. A set costs more to make than a few comparisons, so it is made late. */
interface Keys {
  readonly few: string[];
  many: Set<string> | undefined;
}

/** Stands for an open array, which has no keys. */
const ARRAY: Keys = { few: [], many: undefined };

/** Keys that are compared one by one; an object with more gets a set. */
const FEW_KEYS_MAX = 16;

/** Characters of a key that a message repeats: enough to find it, too few to flood a log. */
const SHOWN_KEY_MAX = 64;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const BYTE_ORDER_MARK = 0xfeff;

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const NUMBER_PARTS = /^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
const EXPONENT = /[eE]/;
const WORDS = ['true', 'false', 'null'];

/**
 * Characters of a number that needs no further look: without an exponent it has at most 15 digits,
 * and a double keeps every decimal of 15 digits.
 */
const PLAIN_NUMBER_MAX = 15;

const encoder = new TextEncoder();
/** `ignoreBOM` keeps the mark in the text, so that the scan can refuse it. */
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const lossyDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

function decodedSource(source: Uint8Array | string, bytesMax: number): string {
  const bytes = typeof source === 'string' ? byteLength(source, bytesMax) : source.length;
  if (bytes > bytesMax) {
    throw new JsonFault(`Cannot read JSON at byte ${bytesMax}: the text is longer than the limit`);
  }
  if (typeof source === 'string') return source;

  try {
    return strictDecoder.decode(source);
  } catch (cause) {
    const at = firstBadByte(source);
    throw new JsonFault(`Cannot read JSON at byte ${at}: the text is not UTF-8`, { cause });
  }
}

/** Encodes only when the length does not decide: a code unit takes one to three bytes. */
function byteLength(text: string, bytesMax: number): number {
  if (text.length > bytesMax || text.length * 3 <= bytesMax) return text.length;
  return encoder.encode(text).length;
}

/** The decoder does not report where it stopped. The first byte that a lossy decoding changes is that place. */
function firstBadByte(source: Uint8Array): number {
  const repaired = encoder.encode(lossyDecoder.decode(source));
  return source.findIndex((byte, index) => byte !== repaired[index]);
}

function scanText(scan: Scan): void {
  if (scan.text.charCodeAt(0) === BYTE_ORDER_MARK)
    fail(0, 'the text begins with a byte order mark');
  do {
    // The length is checked first: reading an absent element makes the engine search the prototype chain.
    const keys = scan.open.length === 0 ? undefined : scan.open[scan.open.length - 1];
    if (keys !== undefined && keys !== ARRAY) scanKey(scan, keys);
    const opened = scanValue(scan);
    if (!opened) scanCloses(scan);
  } while (scan.open.length > 0);

  skipSpace(scan);
  if (scan.at < scan.text.length) failUnexpected(scan, 'the end of the text');
}

/** Reads a key and its colon. */
function scanKey(scan: Scan, keys: Keys): void {
  skipSpace(scan);
  const start = scan.at;
  if (scan.text.charCodeAt(start) !== QUOTE) failUnexpected(scan, 'a key');
  const special = scanString(scan);

  const key: string = special
    ? JSON.parse(scan.text.slice(start, scan.at))
    : scan.text.slice(start + 1, scan.at - 1);
  if (key === '__proto__') fail(start, 'key "__proto__" is not allowed');
  if (hasKey(keys, key)) fail(start, `key ${quotedKey(key)} appears twice`);
  scan.keys += 1;
  if (scan.keys > scan.limits.keys) fail(start, `more than ${scan.limits.keys} keys`);
  addKey(keys, key);

  skipSpace(scan);
  if (scan.text.charCodeAt(scan.at) !== COLON) failUnexpected(scan, 'a colon');
  scan.at += 1;
}

function hasKey({ few, many }: Keys, key: string): boolean {
  return many === undefined ? few.includes(key) : many.has(key);
}

function addKey(keys: Keys, key: string): void {
  if (keys.many !== undefined) keys.many.add(key);
  else if (keys.few.push(key) === FEW_KEYS_MAX) keys.many = new Set(keys.few);
}

/** Reads one value. Returns true when it opened an object or array that has members to read. */
function scanValue(scan: Scan): boolean {
  skipSpace(scan);
  const unit = scan.text.charCodeAt(scan.at);
  if (unit === OPEN_OBJECT) return scanOpen(scan, CLOSE_OBJECT);
  if (unit === OPEN_ARRAY) return scanOpen(scan, CLOSE_ARRAY);
  if (unit === QUOTE) scanString(scan);
  else if (unit === MINUS || isDigit(unit)) scanNumber(scan);
  else scanWord(scan);
  return false;
}

/** Finishes an empty object or array at once, so that an open one always expects a member. */
function scanOpen(scan: Scan, close: number): boolean {
  if (scan.open.length === scan.limits.depth) {
    fail(scan.at, `nested deeper than ${scan.limits.depth} levels`);
  }
  scan.at += 1;
  skipSpace(scan);
  if (scan.text.charCodeAt(scan.at) === close) {
    scan.at += 1;
    return false;
  }
  scan.open.push(close === CLOSE_ARRAY ? ARRAY : { few: [], many: undefined });
  return true;
}

/** After a value: closes what ends here, and consumes the comma before the next member. */
function scanCloses(scan: Scan): void {
  while (scan.open.length > 0) {
    skipSpace(scan);
    const unit = scan.text.charCodeAt(scan.at);
    const inArray = scan.open[scan.open.length - 1] === ARRAY;
    if (unit !== COMMA && unit !== (inArray ? CLOSE_ARRAY : CLOSE_OBJECT)) {
      failUnexpected(scan, inArray ? '"," or "]"' : '"," or "}"');
    }
    scan.at += 1;
    if (unit === COMMA) return;
    scan.open.pop();
  }
}

/** Reads a string, quote to quote. True if it has an escape or a surrogate pair. */
function scanString(scan: Scan): boolean {
  const { text } = scan;
  let at = scan.at + 1;
  let special = false;
  for (let unit = text.charCodeAt(at); unit !== QUOTE; unit = text.charCodeAt(at)) {
    const plain = unit >= 0x20 && unit !== BACKSLASH && (unit < 0xd800 || unit > 0xdfff);
    if (plain) at += 1;
    else {
      at = afterSpecial(text, at);
      special = true;
    }
  }
  scan.at = at + 1;
  return special;
}

/**
 * Passes an escape or a surrogate pair. What counts is the string after unescaping, so a pair may
 * be spelt raw, escaped or mixed.
 */
function afterSpecial(text: string, at: number): number {
  const unit = unitAt(text, at);
  if (unit === 0) fail(at, 'character U+0000 is not allowed');
  const next = at + widthAt(text, at);
  if (unit < 0xd800 || unit > 0xdfff) return next;
  if (unit > 0xdbff || !isLowSurrogate(unitAt(text, next))) fail(at, 'a surrogate is unpaired');
  return next + widthAt(text, next);
}

/** The code unit that a character or an escape stands for; a short escape stands for its letter. */
function unitAt(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (Number.isNaN(unit)) fail(at, 'the string does not end');
  if (unit < 0x20) fail(at, 'a string contains a control character');
  if (unit !== BACKSLASH) return unit;

  if (text[at + 1] === 'u') {
    const escaped = fourHexAt(text, at + 2);
    if (Number.isNaN(escaped)) fail(at, 'four hexadecimal digits must follow "\\u"');
    return escaped;
  }
  if (!'"\\/bfnrt'.includes(text[at + 1] ?? '?')) fail(at, 'an escape that JSON does not have');
  return text.charCodeAt(at + 1);
}

/** The value of four hexadecimal digits, NaN unless all four are. */
function fourHexAt(text: string, start: number): number {
  let value = 0;
  for (let at = start; at < start + 4; at += 1) value = value * 16 + hexDigit(text.charCodeAt(at));
  return value;
}

function hexDigit(unit: number): number {
  if (isDigit(unit)) return unit - 0x30;
  const lower = unit | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : Number.NaN;
}

function widthAt(text: string, at: number): number {
  if (text.charCodeAt(at) !== BACKSLASH) return 1;
  return text[at + 1] === 'u' ? 6 : 2;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Well above the subnormal doubles, which have fewer digits. */
const ORDINARY_MIN = 1e-300;

/** Reads a number. Refuses one that a double cannot hold exactly. */
function scanNumber(scan: Scan): void {
  const start = scan.at;
  NUMBER.lastIndex = start;
  if (!NUMBER.test(scan.text)) failUnexpected(scan, 'a value');
  scan.at = NUMBER.lastIndex;

  const source = scan.text.slice(start, scan.at);
  const short = source.length <= PLAIN_NUMBER_MAX;
  if (short && !EXPONENT.test(source)) return;

  const value = Number(source);
  // A double of ordinary size keeps fifteen digits, so only other numbers are compared digit by digit.
  const size = Math.abs(value);
  if (short && size >= ORDINARY_MIN && size <= Number.MAX_SAFE_INTEGER) return;
  if (!Number.isFinite(value)) fail(start, 'the number is too large');
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    fail(start, 'the integer is beyond 2^53-1');
  }
  if (normalForm(source) !== normalForm(String(value))) {
    fail(start, 'the number has more digits than can be kept');
  }
}

/** The magnitude as digits without outer zeros and a power of ten: equal only for equal values. */
function normalForm(number: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = NUMBER_PARTS.exec(number) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  if (digits === '') return '0';

  // A loop, because /0+$/ takes quadratic time on a long run of zeros that does not end the text.
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  const power = Number(exponent) - fraction.length + (digits.length - end);
  return `${digits.slice(0, end)}e${power}`;
}

function scanWord(scan: Scan): void {
  for (const word of WORDS) {
    if (!scan.text.startsWith(word, scan.at)) continue;
    scan.at += word.length;
    return;
  }
  failUnexpected(scan, 'a value');
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39;
}

function skipSpace(scan: Scan): void {
  const { text } = scan;
  let unit = text.charCodeAt(scan.at);
  while (unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09) {
    scan.at += 1;
    unit = text.charCodeAt(scan.at);
  }
}

function failUnexpected(scan: Scan, wanted: string): never {
  const point = scan.text.codePointAt(scan.at);
  if (point === undefined) fail(scan.at, `the text ends where ${wanted} is expected`);
  fail(scan.at, `${JSON.stringify(String.fromCodePoint(point))} where ${wanted} is expected`);
}

function fail(at: number, why: string): never {
  throw new JsonFault(`Cannot read JSON at position ${at}: ${why}`);
}

/** Quotes a key for a message: cut to a bound, never in the middle of a surrogate pair. */
function quotedKey(key: string): string {
  if (key.length <= SHOWN_KEY_MAX) return JSON.stringify(key);
  const cut = key.slice(0, SHOWN_KEY_MAX).replace(/[\ud800-\udbff]$/, '');
  return JSON.stringify(`${cut}…`);
}
