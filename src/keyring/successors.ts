/**
 * Successors: each key signs a statement that names the next key of its use.
 *
 * A rotation makes the statement and stores it beside the keys in its own file, so that it
 * outlives the old private key. A missing statement (after a crash) is
 * made when the folder is read, if the old key still exists. Keys follow each other by
 * generation, within one use.
 *
 * Invariant: no statement by or about a compromised key is published, and no key names two successors.
 *
 * @module
 */

import { createPublicKey } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  readSuccessor,
  SUCCESSOR_USES,
  SUCCESSORS_MAX,
  type SuccessorText,
  type SuccessorUse,
  successorPayload,
} from '../domain/log/successor.ts';
import { toBase64url } from '../domain/wire/base64.ts';
import { jwsHeader, signedBytes, TYPS } from '../domain/wire/jws.ts';
import type { PublicKey } from '../protocol/trust.ts';
import { isSignature, type SigningKey, signBytes } from './es256.ts';
import type { KeyFiles } from './key-file.ts';
import { errorCode, type KeyFile, keyFileOf, writeNewFile } from './key-file.ts';

/** A verified statement, with its text. */
export interface Successor extends SuccessorText {
  readonly text: string;
}

/** Statements by file name, in the order of generations. */
export type Successors = ReadonlyMap<string, Successor>;

/** Signs the statement of the old key about the new one. */
export function successorText(use: SuccessorUse, key: SigningKey, successor: PublicKey): string {
  const payload = toBase64url(successorPayload(use, key.jwk, successor));
  const header = jwsHeader(key.kid, TYPS.successor);
  return `${header}.${payload}.${toBase64url(signBytes(key, signedBytes(header, payload)))}`;
}

/** A well-formed statement whose signature verifies; `undefined` otherwise. */
export function verifiedSuccessor(text: string): Successor | undefined {
  const read = readSuccessor(text);
  if (read === undefined) return undefined;
  try {
    const key = createPublicKey({ key: Buffer.from(read.spki), format: 'der', type: 'spki' });
    return isSignature(key, read.signed, read.signature) ? { ...read, text } : undefined;
  } catch {
    // The platform throws when the coordinates are not a point of the curve.
    return undefined;
  }
}

/**
 * The statements of a folder, after it made the missing ones. `known` are those of the last
 * reading: an unchanged file is not verified again, and an unwritten statement stays in memory.
 */
export function completeSuccessors(
  folder: string,
  files: KeyFiles,
  known: Successors = new Map(),
): { successors: Successors; faults: readonly string[] } {
  const faults: string[] = [];
  const found = new Map<string, Successor>();
  for (const name of namesIn(folder)) {
    const read = readFile(join(folder, name), known.get(name));
    if (read) found.set(name, read);
    else faults.push(`Cannot use "${join(folder, name)}": it is not a statement of a successor`);
  }
  for (const { name, use, from, to } of missingPairs(files, [...usable(files, found).values()])) {
    const made = known.get(name)?.text ?? successorText(use, from.key, to.key.jwk);
    const written = writeStatement(folder, name, made);
    if ('fault' in written) faults.push(written.fault);
    const text = 'fault' in written ? made : written.text;
    const read = verifiedSuccessor(text);
    if (read) found.set(name, read);
  }
  const sorted = [...found].sort(([a], [b]) => (a < b ? -1 : 1));
  return { successors: new Map(sorted), faults };
}

/** The published statements, each use from the oldest to the newest. */
export function publishedSuccessors(files: KeyFiles, successors: Successors): string[] {
  // A key that was marked as compromised by mistake leaves two statements by the one before it: the
  // later generation counts.
  const byKey = new Map([...usable(files, successors).values()].map((each) => [each.kid, each]));
  const live = [...byKey.values()];
  return SUCCESSOR_USES.flatMap((use) =>
    live
      .filter((statement) => statement.use === use)
      .slice(-SUCCESSORS_MAX)
      .map(({ text }) => text),
  );
}

/** Reads the statements in `WRIT_SUCCESSORS`. Throws with all faults. */
export function listedSuccessors(text: string): string[] {
  const texts = text.split(/\s+/).filter(Boolean);
  const read = texts.map(verifiedSuccessor);
  const faults = read.flatMap((statement, index) => {
    if (!statement) return [`statement ${index + 1} does not verify`];
    const first = read.findIndex((other) => other?.kid === statement.kid);
    return first === index ? [] : [`statements ${first + 1} and ${index + 1} are by the same key`];
  });
  if (texts.length > SUCCESSORS_MAX) faults.push(`it has more than ${SUCCESSORS_MAX} statements`);
  if (faults.length > 0) throw new Error(`Cannot use WRIT_SUCCESSORS: ${faults.join(', ')}`);
  return texts;
}

/** Without those by or about a key that is marked as compromised. */
function usable(files: KeyFiles, successors: Successors): Successors {
  const stolen = new Set(
    [...files.values()].filter(({ compromised }) => compromised).map(({ key }) => key.kid),
  );
  return new Map(
    [...successors].filter(([, { kid, successorKid }]) => {
      return !stolen.has(kid) && !stolen.has(successorKid);
    }),
  );
}

interface Pair {
  readonly name: string;
  readonly use: SuccessorUse;
  readonly from: KeyFile;
  readonly to: KeyFile;
}

/** Adjacent generations without a statement about the later or by the earlier. */
function missingPairs(files: KeyFiles, known: readonly Successor[]): Pair[] {
  return SUCCESSOR_USES.flatMap((use) => {
    const own = [...files].filter(([, file]) => file.use === use && !file.compromised);
    return own.slice(1).flatMap(([name, to], index): Pair[] => {
      const [earlier, from] = own[index] as [string, KeyFile];
      const isNamed = known.some(({ kid, successorKid }) => {
        return successorKid === to.key.kid || kid === from.key.kid;
      });
      return isNamed ? [] : [{ name: statementName(use, name, earlier), use, from, to }];
    });
  });
}

const STATEMENT_NAME = /^(?:token|log)-\d{4}-from-\d{4}\.jws$/;

function statementName(use: SuccessorUse, name: string, earlier: string): string {
  const digits = (file: string) => String(keyFileOf(file)?.generation).padStart(4, '0');
  return `${use}-${digits(name)}-from-${digits(earlier)}.jws`;
}

/** A folder that cannot be listed is reported when its keys are read. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => STATEMENT_NAME.test(name));
  } catch {
    return [];
  }
}

function readFile(path: string, known: Successor | undefined): Successor | undefined {
  try {
    const text = readFileSync(path, 'utf8').trim();
    return known?.text === text ? known : verifiedSuccessor(text);
  } catch {
    return known;
  }
}

/** Of several processes that make the same statement, one writes it and all use it. */
function writeStatement(
  folder: string,
  name: string,
  text: string,
): { text: string } | { fault: string } {
  try {
    if (writeNewFile(folder, name, `${text}\n`)) return { text };
    return { text: readFileSync(join(folder, name), 'utf8').trim() };
  } catch (error) {
    return { fault: `Cannot write "${join(folder, name)}": ${errorCode(error)}` };
  }
}
