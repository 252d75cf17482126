/**
 * Files that a command is given: read whole, up to a bound, and as JSON where that is meant.
 *
 * @module
 */

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { type JsonLimits, readJson } from '../domain/wire/json.ts';
import { codeOf } from '../keyring/key-file.ts';

/** A page of an export with leaves of the greatest length; logs are read in pieces. */
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

/** Strictly: a value that two readers could take differently is none. */
export function jsonOf(bytes: Uint8Array, from: string): unknown {
  const reading = readJson(bytes, FILE_LIMITS);
  if ('fault' in reading) throw new Error(`${from} is not JSON (${reading.fault})`);
  return reading.value;
}
