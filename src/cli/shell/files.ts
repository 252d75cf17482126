/**
 * Reads files that a command is given: whole, up to a bound, as bytes or as JSON.
 *
 * @module
 */

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { type JsonLimits, readJson } from '../../domain/wire/json.ts';
import { codeOf } from '../../keyring/key-file.ts';

/** Fits one page of an export with the longest leaves. Exported logs are read in pieces instead. */
export const FILE_BYTES_MAX = 32 * 1024 * 1024;

const FILE_LIMITS: JsonLimits = { bytes: FILE_BYTES_MAX, depth: 64, keys: 1_000_000 };

export function bytesIn(path: string): Uint8Array {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    throw new Error(`"${path}" cannot be read (${codeOf(error)})`, { cause: error });
  }
  try {
    const { size } = fstatSync(file);
    if (size > FILE_BYTES_MAX) throw new Error(`"${path}" has more than ${FILE_BYTES_MAX} bytes`);
    return new Uint8Array(readFileSync(file));
  } finally {
    closeSync(file);
  }
}

export function jsonIn(path: string): unknown {
  return jsonOf(bytesIn(path), `"${path}"`);
}

/** Strict: refuses JSON that two parsers could read differently. */
export function jsonOf(bytes: Uint8Array, from: string): unknown {
  const reading = readJson(bytes, FILE_LIMITS);
  if ('fault' in reading) throw new Error(`${from} is not JSON (${reading.fault})`);
  return reading.value;
}
