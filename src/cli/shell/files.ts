/**
 * Reads files that a command is given: whole, up to a bound, as bytes or as JSON.
 *
 * @module
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { type JsonLimits, readJson } from '../../domain/wire/json.ts';
import { errorCode } from '../../keyring/key-file.ts';

/** Fits one page of an export with the longest leaves. Exported logs are read in pieces instead. */
export const FILE_BYTES_MAX = 32 * 1024 * 1024;

const FILE_LIMITS: JsonLimits = { bytes: FILE_BYTES_MAX, depth: 64, keys: 1_000_000 };

/** Bytes that are read at a time. */
const CHUNK_BYTES = 64 * 1024;

/** Everyone but the owner. */
const OTHERS_ACCESS = 0o077;

export function bytesIn(path: string): Uint8Array {
  return contentOf(path, () => undefined);
}

/** The text of a file with a credential or a private key. Refuses one that others can read. */
export function secretIn(path: string): string {
  const bytes = contentOf(path, (file) => {
    const found = fstatSync(file);
    // A pipe, such as <(pass show token), has no mode of its own.
    if (!found.isFile() || process.platform === 'win32') return;
    if ((found.mode & OTHERS_ACCESS) === 0) return;
    throw new Error(`others can read "${path}"; run: chmod 600 "${path}"`);
  });
  return new TextDecoder().decode(bytes);
}

function contentOf(path: string, check: (file: number) => void): Uint8Array {
  // A token in the place of a file: the message must not repeat it.
  if (/^(?:Bearer )?eyJ[\w-]+\./i.test(path)) {
    throw new Error('expected a file, not a token: arguments show in the list of processes');
  }
  const file = namingFile(path, () => openSync(path, 'r'));
  try {
    check(file);
    return namingFile(path, () => readUpTo(file, path));
  } finally {
    closeSync(file);
  }
}

/** Names the file in the fault when `act` cannot read it. */
export function namingFile<Result>(path: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new Error(`"${path}" cannot be read (${errorCode(error)})`, { cause: error });
  }
}

/** In pieces: a pipe or a device does not say how long it is. */
function readUpTo(file: number, path: string): Uint8Array {
  const chunks: Buffer[] = [];
  for (let size = 0; ; ) {
    const chunk = Buffer.alloc(CHUNK_BYTES);
    const count = readSync(file, chunk);
    if (count === 0) return new Uint8Array(Buffer.concat(chunks));
    size += count;
    if (size > FILE_BYTES_MAX) throw new Error(`"${path}" has more than ${FILE_BYTES_MAX} bytes`);
    chunks.push(chunk.subarray(0, count));
  }
}

export function readJsonFile(path: string): unknown {
  return parseJsonBytes(bytesIn(path), `"${path}"`);
}

/** Strict: refuses JSON that two parsers could read differently. */
export function parseJsonBytes(bytes: Uint8Array, from: string): unknown {
  const reading = readJson(bytes, FILE_LIMITS);
  if ('fault' in reading) throw new Error(`${from} is not JSON (${reading.fault})`);
  return reading.value;
}
