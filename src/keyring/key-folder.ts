/**
 * The key folder: one file per generation of each use, shared by all replicas.
 *
 * The files are the only state. The times in them decide which key signs, so a
 * rotation is one new file, and replicas agree once they have read it. Statements of successors
 * are in `successors.ts`.
 *
 * Invariant: a file that is broken at the moment loses no key: a reading keeps
 * the known key of that name and reports the fault.
 *
 * @module
 */

import { closeSync, openSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../folder.ts';
import { generateJwk, thumbprintOf } from './es256.ts';
import {
  errorCode,
  GENERATION_MAX,
  type KeyFile,
  type KeyFileContent,
  type KeyFiles,
  keyFileName,
  keyFileOf,
  readKeyFile,
  writeKeyFile,
} from './key-file.ts';
import { completeSuccessors } from './successors.ts';
import { KEY_USES, type KeyUse } from './wire.ts';

/** How often replicas look for new keys: often compared with the lead of a rotation, rarely compared with the cost. */
export const REREAD_MS = 5_000;

/** How long a verifier may use a fetched JWKS: its `max-age`. */
const JWKS_MAX_AGE_MS = 300_000;

/** A margin for different clocks, a slow shared folder, and a failed reading that is repeated. */
const ROTATION_MARGIN_MS = 295_000;

/**
 * From publishing a key to signing with it. Before that every replica has read it and no verifier
 * still uses a JWKS without it, so no verifier gets a signature of an unknown key.
 */
export const ROTATION_LEAD_MS = JWKS_MAX_AGE_MS + REREAD_MS + ROTATION_MARGIN_MS;

export interface FolderReading {
  readonly files: KeyFiles;
  /** One message for each fault. */
  readonly faults: readonly string[];
}

export interface Rotation {
  readonly file: string;
  readonly kid: string;
  readonly signFrom: Date;
}

/**
 * Creates the folder and the first generation of each use if they are missing. Of several
 * processes that start at once, one creates each file and all use it.
 */
export function prepareKeyFolder(folder: string, now: Date): void {
  makeFolder(folder);
  refuseSharedFolder(folder);

  const uses = new Set(readdirSync(folder).map((name) => keyFileOf(name)?.use));
  for (const use of KEY_USES) {
    if (!uses.has(use)) writeGeneration({ folder, use, generation: 1 }, { now, signFrom: now });
  }
}

/** Reads all key files; `known` are those of the last reading, which stay where a file fails. */
export function readKeyFolder(folder: string, known: KeyFiles = new Map()): FolderReading {
  const listed = namesIn(folder);
  if ('fault' in listed) return { files: known, faults: [listed.fault] };

  const files = new Map<string, KeyFile>();
  const faults = KEY_USES.flatMap((use) => {
    const own = listed.names.filter((name) => keyFileOf(name)?.use === use);
    if (own.length === 0) {
      keepKnown(files, known, use);
      return [`Cannot find a ${use} key: "${folder}" has no file like "${keyFileName(use, 1)}"`];
    }
    return own.flatMap((name) => {
      return addFile(files, { path: join(folder, name), name, use }, known.get(name)) ?? [];
    });
  });
  return { files, faults };
}

/**
 * Writes the next generation. Replicas publish it once they read it and sign with it after the lead,
 * except that a lead of 0 changes keys at once: for a key that is compromised, when waiting is
 * worse than a few minutes in which verifiers with an old JWKS refuse what we sign.
 */
export function rotateKey(
  folder: string,
  use: KeyUse,
  { now, leadMs = ROTATION_LEAD_MS }: { now: Date; leadMs?: number | undefined },
): Rotation {
  if (!Number.isFinite(leadMs) || leadMs < 0) {
    throw new RangeError(
      `Cannot rotate the ${use} key: expected a lead of 0 ms or more, not ${leadMs} ms`,
    );
  }
  const { files, faults } = readKeyFolder(folder);
  // Does not add to a faulty folder, and does not create a mistyped one.
  if (faults.length > 0) throw new Error(faults.join('\n'));

  const own = [...files.keys()].map(keyFileOf).filter((file) => file?.use === use);
  const generation = Math.max(...own.map((file) => file?.generation ?? 0)) + 1;
  if (generation > GENERATION_MAX) {
    throw new Error(`Cannot rotate the ${use} key: "${folder}" has ${GENERATION_MAX} generations`);
  }
  const signFrom = new Date(now.getTime() + leadMs);
  const written = writeGeneration({ folder, use, generation }, { now, signFrom });
  if (written !== undefined) {
    // A crash before this leaves a key without a statement; a service that reads the folder adds it.
    completeSuccessors(folder, readKeyFolder(folder).files);
    return written;
  }
  const name = keyFileName(use, generation);
  throw new Error(`Cannot rotate the ${use} key: another process has just written "${name}"`);
}

/**
 * The longest lifetime that a token signed by these keys was ever allowed, in milliseconds. Each longer
 * one leaves an empty file with its name, so a setting that is lowered later retires no key too early.
 */
export function longestLifetime(
  folder: string,
  allowedMs: number,
): { readonly keptMs: number; readonly fault?: string } {
  const listed = namesIn(folder);
  const longest = Math.max(0, ...('names' in listed ? listed.names.map(lifetimeOf) : []));
  if (allowedMs <= longest) return { keptMs: longest };
  const path = join(folder, `token-lifetime-${Math.ceil(allowedMs)}`);
  try {
    closeSync(openSync(path, 'a', 0o600));
    return { keptMs: allowedMs };
  } catch (error) {
    // A read-only folder is allowed for keys; only this value is then not stored.
    const fault = `Cannot remember the longest token lifetime in "${path}": ${errorCode(error)}`;
    return { keptMs: allowedMs, fault };
  }
}

function lifetimeOf(name: string): number {
  return Number(/^token-lifetime-(\d{1,15})$/.exec(name)?.[1] ?? 0);
}

/** A user who can write here can add a signing key. */
function refuseSharedFolder(folder: string): void {
  const mode = statSync(folder).mode & 0o777;
  if ((mode & OTHERS_WRITE) === 0) return;
  const octal = mode.toString(8).padStart(4, '0');
  const state = `others may write to it (mode ${octal}); run: chmod 700 "${folder}"`;
  throw new Error(`Cannot use key folder "${folder}": ${state}`);
}
const OTHERS_WRITE = 0o022;

function namesIn(folder: string): { names: string[] } | { fault: string } {
  try {
    return { names: readdirSync(folder).sort() };
  } catch (error) {
    return { fault: `Cannot read key folder "${folder}": ${errorCode(error)}` };
  }
}

function keepKnown(files: Map<string, KeyFile>, known: KeyFiles, use: KeyUse): void {
  for (const [name, file] of known) if (file.use === use) files.set(name, file);
}

/** Adds a file, or the known one of its name if it cannot be used. Returns the fault. */
function addFile(
  files: Map<string, KeyFile>,
  { path, name, use }: { path: string; name: string; use: KeyUse },
  known: KeyFile | undefined,
): string | undefined {
  const reading = readKeyFile(path, use, known);
  const file = 'file' in reading ? reading.file : known;
  const twin = [...files].find(([, other]) => other.key.kid === file?.key.kid);
  if (file !== undefined && twin === undefined) files.set(name, file);

  if ('fault' in reading) return reading.fault;
  if (twin === undefined) return undefined;
  return `Cannot use key file "${path}": "${twin[0]}" has the same key; move one of them away`;
}

function writeGeneration(
  { folder, use, generation }: { folder: string; use: KeyUse; generation: number },
  { now, signFrom }: { now: Date; signFrom: Date },
): Rotation | undefined {
  const jwk = generateJwk();
  const kid = thumbprintOf(jwk);
  const name = keyFileName(use, generation);
  const created_at = now.toISOString();
  const sign_from = signFrom.toISOString();
  const content: KeyFileContent = { use, kid, created_at, sign_from, jwk };
  return writeKeyFile(folder, name, content) ? { file: name, kid, signFrom } : undefined;
}
