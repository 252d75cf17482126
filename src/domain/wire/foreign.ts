/**
 * Foreign values: what code outside this service returns, throws or passes in.
 *
 * Such a value may be a Proxy, have getters that throw or answer differently each time, or be endless. Each
 * is read once, into a plain copy that every reader and every store accepts: bounded in bytes, depth and
 * keys, without U+0000 and without lone surrogates. These functions never throw, whatever the value does,
 * and never repeat what it threw.
 *
 * @module
 */

import type { JsonObject } from '../../protocol/primitives.ts';
import { isObject, isPlainText, isWellFormed, type JsonLimits } from './json.ts';

export type ForeignReading<Value = unknown> =
  | { readonly value: Value }
  | { readonly fault: string };

/** Faults of the code that made the value. Others may follow from what the code was given: long texts, large numbers. */
const OWN_FAULTS = new Set([
  'it throws when it is read',
  'it has a bigint',
  'expected an object',
  'expected a value that JSON has',
]);

/** Whether what a value was made of may be why it cannot be used. */
export function isOfContent({ fault }: { readonly fault: string }): boolean {
  return !OWN_FAULTS.has(fault);
}

/** Copies a value as if JSON wrote it and read it again. A fault is the end of a sentence. */
export function readForeign(value: unknown, limits: JsonLimits): ForeignReading {
  const copying: Copying = { limits, bytes: 0, keys: 0, fault: 'it throws when it is read' };
  try {
    const copy = copied(copying, value, '', 0);
    return copy === ABSENT ? { fault: 'expected a value that JSON has' } : { value: copy };
  } catch {
    // Either `stop` threw and set the fault, or the value threw. The error of a value is not inspected.
    return { fault: copying.fault };
  }
}

export function readForeignObject(value: unknown, limits: JsonLimits): ForeignReading<JsonObject> {
  const reading = readForeign(value, limits);
  if ('fault' in reading) return reading;
  return isObject(reading.value) ? { value: reading.value } : { fault: 'expected an object' };
}

/** A member of a foreign value; `undefined` where it cannot be read. Read it once and keep the result. */
export function foreignMember(value: unknown, name: string): unknown {
  if (typeof value !== 'function' && (typeof value !== 'object' || value === null)) {
    return undefined;
  }
  try {
    return (value as Readonly<Record<string, unknown>>)[name];
  } catch {
    return undefined;
  }
}

/** Text for people: cut to a number of UTF-16 units, with unreadable characters replaced. */
export function foreignText(value: unknown, lengthMax: number): string {
  // Not `String(value)`: that would run the value's own code.
  if (typeof value !== 'string') return UNREADABLE;
  const isCut = value.length > lengthMax;
  const shown = isCut ? `${value.slice(0, lengthMax).replace(/[\ud800-\udbff]$/, '')}…` : value;
  if (isWellFormed(shown) && !shown.includes('\0')) return shown;
  return shown.replace(UNREADABLE_UNITS, '\ufffd');
}

/** A name that is stored and compared: refused rather than changed. */
export function readForeignName(value: unknown, lengthMax: number): ForeignReading<string> {
  if (typeof value !== 'string') return { fault: 'expected a text' };
  if (value.length === 0 || value.length > lengthMax) {
    return { fault: `expected a text of 1 to ${lengthMax} characters` };
  }
  if (value.includes('\0')) return { fault: 'the text has U+0000' };
  return isWellFormed(value) ? { value } : { fault: 'the text has a lone surrogate' };
}

/** Milliseconds since 1970 of a real `Date` with a real time, and of nothing else. */
export function foreignTime(value: unknown): number | undefined {
  try {
    const time = Date.prototype.getTime.call(value);
    return Number.isFinite(time) ? time : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a value is an error. Safe for a Proxy that throws when it is tested. */
export function isForeignError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** Replaces text that cannot be read. */
const UNREADABLE = '[unreadable]';

/** U+0000 and lone surrogates. */
const UNREADABLE_UNITS = /\0|\p{Surrogate}/gu;

/** A value that JSON omits from an object and writes as null in a list. */
const ABSENT = Symbol('absent');

interface Copying {
  readonly limits: JsonLimits;
  bytes: number;
  keys: number;
  /** Why the copy ended early. */
  fault: string;
}

function copied(copying: Copying, given: unknown, key: string, depth: number): unknown {
  const value = written(given, key);
  switch (typeof value) {
    case 'string':
      take(copying, textBytes(copying, value));
      return value;
    case 'number':
      return copiedNumber(copying, value);
    case 'boolean':
      take(copying, value ? 4 : 5);
      return value;
    case 'object':
      if (value !== null) return copiedCompound(copying, value, depth);
      take(copying, 4);
      return null;
    case 'bigint':
      return stop(copying, 'it has a bigint');
    default:
      return ABSENT;
  }
}

/** The value that JSON writes instead: the result of `toJSON`, or the content of a wrapper object. */
function written(given: unknown, key: string): unknown {
  if (typeof given !== 'bigint' && (typeof given !== 'object' || given === null)) return given;
  const { toJSON } = given as { toJSON?: unknown };
  const value: unknown = typeof toJSON === 'function' ? toJSON.call(given, key) : given;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof String) return String(value);
  if (value instanceof Number) return Number(value);
  return value instanceof Boolean ? value.valueOf() : value;
}

function copiedNumber(copying: Copying, value: number): number | null {
  if (!Number.isFinite(value)) {
    take(copying, 4);
    return null;
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    stop(copying, 'it has an integer beyond 2^53-1');
  }
  take(copying, String(value).length);
  // JSON has no negative zero.
  return value === 0 ? 0 : value;
}

function copiedCompound(copying: Copying, value: object, depth: number): unknown {
  const { limits } = copying;
  if (depth === limits.depth) stop(copying, `it is nested deeper than ${limits.depth} levels`);
  take(copying, 2);
  return Array.isArray(value)
    ? copiedList(copying, value, depth)
    : copiedObject(copying, value as Readonly<Record<string, unknown>>, depth);
}

function copiedList(copying: Copying, value: readonly unknown[], depth: number): unknown[] {
  const copy: unknown[] = [];
  const { length } = value;
  for (let index = 0; index < length; index++) {
    if (index > 0) take(copying, 1);
    const item = copied(copying, value[index], String(index), depth + 1);
    // An absent item costs bytes too, so that an endless list of them reaches the limit.
    if (item === ABSENT) take(copying, 4);
    copy.push(item === ABSENT ? null : item);
  }
  return copy;
}

function copiedObject(
  copying: Copying,
  value: Readonly<Record<string, unknown>>,
  depth: number,
): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  let count = 0;
  for (const key of Object.keys(value)) {
    if (key === '__proto__') stop(copying, 'it has a key "__proto__"');
    copying.keys += 1;
    if (copying.keys > copying.limits.keys) {
      stop(copying, `it has more than ${copying.limits.keys} keys`);
    }
    const member = copied(copying, value[key], key, depth + 1);
    if (member === ABSENT) continue;
    take(copying, textBytes(copying, key) + (count === 0 ? 1 : 2));
    copy[key] = member;
    count += 1;
  }
  return copy;
}

const encoder = new TextEncoder();

/** Bytes of a text in JSON. */
function textBytes(copying: Copying, text: string): number {
  if (text.length > copying.limits.bytes) tooLong(copying);
  if (isPlainText(text)) return text.length + 2;
  if (text.includes('\0')) stop(copying, 'it has the character U+0000');
  if (!isWellFormed(text)) stop(copying, 'it has a lone surrogate');
  return encoder.encode(JSON.stringify(text)).length;
}

function take(copying: Copying, bytes: number): void {
  copying.bytes += bytes;
  if (copying.bytes > copying.limits.bytes) tooLong(copying);
}

function tooLong(copying: Copying): never {
  return stop(copying, `it is longer than ${copying.limits.bytes} bytes`);
}

function stop(copying: Copying, fault: string): never {
  copying.fault = fault;
  throw copying;
}
