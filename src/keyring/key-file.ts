/**
 * One key file: the form of a generation on disk, and whether it may be used.
 *
 * Reads a file whole and refuses it for the first fault, with a message that
 * names the file and the remedy. An unknown member is a fault too: a misspelt
 * `compromised` must not leave a stolen key in force.
 *
 * Invariant: a file appears complete and durable under its name, or not at all, and is never
 * overwritten. No message contains a value of a key.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { sha256, toHex } from '../domain/wire/hash.ts';
import { type JsonLimits, readJson } from '../domain/wire/json.ts';
import { Timestamp } from '../protocol/primitives.ts';
import { type PrivateJwk, readPrivateJwk, type SigningKey } from './es256.ts';
import type { KeyUse } from './wire.ts';

/** The contents of a file. */
export interface KeyFileContent {
  readonly use: KeyUse;
  readonly kid: string;
  readonly created_at: string;
  readonly sign_from: string;
  readonly jwk: PrivateJwk;
  readonly compromised?: boolean;
}

/** A file that was read without a fault. */
export interface KeyFile {
  readonly use: KeyUse;
  readonly key: SigningKey;
  readonly signFrom: number;
  readonly compromised: boolean;
  /** Shows whether the file has changed since. */
  readonly digest: string;
}

export type KeyFileReading = { readonly file: KeyFile } | { readonly fault: string };

/** The last generation that four digits allow: a rotation each day for 27 years. */
export const GENERATION_MAX = 9_999;

export function keyFileName(use: KeyUse, generation: number): string {
  return `${use}-${String(generation).padStart(4, '0')}.json`;
}

/** Use and generation of a file name; `undefined` for other files, which may be in the folder too. */
export function keyFileOf(name: string): { use: KeyUse; generation: number } | undefined {
  const [, use, generation] = KEY_FILE_NAME.exec(name) ?? [];
  return use === undefined ? undefined : { use: use as KeyUse, generation: Number(generation) };
}
const KEY_FILE_NAME = /^(token|log)-(\d{4})\.json$/;

/** Reads one file. When it has not changed since `known`, that is returned with its keys. */
export function readKeyFile(path: string, use: KeyUse, known?: KeyFile): KeyFileReading {
  const opened = readPrivately(path);
  if ('fault' in opened) return { fault: `Cannot use key file "${path}": ${opened.fault}` };

  const digest = toHex(sha256(opened.bytes));
  if (known?.digest === digest) return { file: known };
  const read = readContent(opened.bytes, use);
  if ('fault' in read) {
    return { fault: `Cannot use key file "${path}": ${read.fault}; restore it from a backup` };
  }
  return { file: { ...read, use, digest } };
}

/**
 * Writes a file under a name that is free. Returns false, and changes nothing, when the name is
 * taken: of many writers one wins. A crash leaves at most a temporary file, whose key was never used.
 */
export function writeKeyFile(folder: string, name: string, content: object): boolean {
  try {
    return writeNewFile(folder, name, `${JSON.stringify(content, undefined, 2)}\n`);
  } catch (cause) {
    const path = join(folder, name);
    throw new Error(`Cannot write key file "${path}": ${errorCode(cause)}`, { cause });
  }
}

/** The same for a file of any text. */
export function writeNewFile(folder: string, name: string, text: string): boolean {
  const temporary = join(folder, `.${name}.${randomUUID()}.tmp`);
  try {
    writeDurably(temporary, text);
    const isFirst = linked(temporary, join(folder, name));
    // Also for the loser of a race, which will sign with the winner's key: the winner may not yet
    // have made the name durable.
    syncFolder(folder);
    return isFirst;
  } finally {
    rmSync(temporary, { force: true });
  }
}

export function errorCode(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}

/** A key file has some 400 bytes; the rest is room for formatting by an editor. */
const KEY_FILE_LIMITS: JsonLimits = { bytes: 16 * 1024, depth: 4, keys: 32 };

/** Reads the bytes, and checks the permissions of the same open file. */
export function readPrivately(path: string): { bytes: Uint8Array } | { fault: string } {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    const { mode, size } = fstatSync(descriptor);
    if ((mode & OTHERS_ACCESS) !== 0) {
      const octal = (mode & 0o777).toString(8).padStart(4, '0');
      return { fault: `others have access to it (mode ${octal}); run: chmod 600 "${path}"` };
    }
    if (size > KEY_FILE_LIMITS.bytes) {
      return { fault: `it has ${size} bytes, a key has fewer; restore it from a backup` };
    }
    return { bytes: new Uint8Array(readFileSync(descriptor)) };
  } catch (error) {
    const mend = `make it a file of this user, then run: chmod 600 "${path}"`;
    return { fault: `it cannot be read (${errorCode(error)}); ${mend}` };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
const OTHERS_ACCESS = 0o077;

type ContentReading = Pick<KeyFile, 'key' | 'signFrom' | 'compromised'> | { fault: string };

/** Does not repeat the message of the JSON reader: it may quote the text. */
function readContent(bytes: Uint8Array, use: KeyUse): ContentReading {
  const reading = readJson(bytes, KEY_FILE_LIMITS);
  if (!('value' in reading)) return { fault: 'it is not JSON' };
  const { value } = reading;
  if (!isContent(value)) return { fault: `it has other members than ${MEMBERS.join(', ')}` };
  if (value.use !== use) return { fault: `it is not a ${use} key` };
  if (!isTime(value.created_at) || !isTime(value.sign_from)) {
    return { fault: 'created_at or sign_from is not a time such as 2030-01-31T00:00:00.000Z' };
  }
  const { compromised = false } = value;
  if (typeof compromised !== 'boolean') return { fault: 'compromised is neither true nor false' };

  const made = readPrivateJwk(value.jwk);
  if ('fault' in made) return made;
  if (made.key.kid !== value.kid) return { fault: 'its kid does not match its key' };
  return { key: made.key, signFrom: Date.parse(value.sign_from), compromised };
}

const MEMBERS = ['use', 'kid', 'created_at', 'sign_from', 'jwk', 'compromised'] as const;
const OPTIONAL_MEMBERS: readonly string[] = ['compromised'];

function isContent(value: unknown): value is Record<(typeof MEMBERS)[number], unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const known: readonly string[] = MEMBERS;
  return (
    Object.keys(value).every((member) => known.includes(member)) &&
    known.every((member) => member in value || OPTIONAL_MEMBERS.includes(member))
  );
}

function isTime(value: unknown): value is string {
  return Timestamp.safeParse(value).success;
}

function writeDurably(path: string, text: string): void {
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    writeFileSync(descriptor, text);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** A link, unlike a rename, fails when the name is taken; this decides a race. */
function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Files by name, sorted by name, which is the order of generations. */
export type KeyFiles = ReadonlyMap<string, KeyFile>;
