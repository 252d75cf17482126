/**
 * Row keys: authenticate the rows that carry authority, with a secret that the database does not have.
 *
 * HMAC-SHA-256 under 32 random bytes. A MAC is written as `<kid>.<base64url>`. The newest key whose
 * `sign_from` has passed makes MACs; every key verifies. Unlike signing keys these are secrets
 * on both sides, so none is ever published. The text of a row, and the treatment of a row that
 * does not match, are decided elsewhere (`storage/port/row-forms.ts`, `service/rows/sealing.ts`).
 *
 * In a folder each generation is one file, `row-0001.json`, beside those of the signing keys. In the
 * environment `WRIT_ROW_KEYS` lists them, the one that makes MACs first.
 *
 * Invariant: no message contains a value of a key.
 *
 * @module
 */

import {
  createHash,
  createHmac,
  createSecretKey,
  type Hmac,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type JsonLimits, readJson } from '../domain/wire/json.ts';
import { Timestamp } from '../protocol/primitives.ts';
import { errorCode, GENERATION_MAX, readPrivately, writeKeyFile } from './key-file.ts';
import type { Rotation } from './key-folder.ts';
import { openText, sealText } from './sealed-text.ts';
import { type KeyState, timeOf } from './timeline.ts';

export interface RowKeys {
  /** The MAC of a text under the current key. */
  macOf(text: string): string;
  /** Whether this is a MAC of the text under one of the keys. */
  isMacOf(text: string, mac: string): boolean;
  /** The same, also under a key that is compromised: shows that the key was used, and authenticates nothing. */
  wasMacOf(text: string, mac: string): boolean;
  /** Encrypts a secret under the current key. It opens only with the same `about`, such as the id of its row. */
  sealText(text: string, about: string): string;
  /** The secret; `undefined` when none of the keys sealed exactly this text about this. */
  openText(sealed: string, about: string): string | undefined;
  /** The key that makes MACs now. */
  kid(): string;
  /** What each key does now, oldest first. */
  states(): KeyState[];
  /** Changes when the verifying keys change. */
  revision(): string;
}

interface RowKey {
  readonly kid: string;
  readonly secret: KeyObject;
  /** Milliseconds since 1970. */
  readonly signFrom: number;
}

const SECRET_BYTES = 32;

/** Keys of `WRIT_ROW_KEYS`: the current one, its successor, and older ones. */
const LISTED_KEYS_MAX = 16;

/** The common part of both sources. `keys` are the usable ones, ordered by `sign_from`. */
function rowKeysOf(
  keys: () => readonly RowKey[],
  now: () => Date,
  compromised: () => readonly RowKey[] = () => [],
): RowKeys {
  const current = () => {
    const own = keys();
    const key = own.findLast(({ signFrom }) => signFrom <= now().getTime()) ?? own[0];
    if (key === undefined) throw new Error('Cannot authenticate rows: no row key may be used');
    return key;
  };
  return {
    kid: () => current().kid,
    states: () => {
      const at = now().getTime();
      const signing = keys().length > 0 ? current().kid : undefined;
      return keys().map(({ kid, signFrom }): KeyState => {
        // A listed key that is not the first never makes MACs.
        const isNext = signFrom > at && signFrom !== Number.POSITIVE_INFINITY;
        const state = kid === signing ? 'signs' : isNext ? 'next' : 'verifies';
        return { kid, use: 'row', state, since: timeOf(signFrom) };
      });
    },
    revision: () => revisionOf(keys()),
    sealText: (text, about) => sealText(current(), text, about),
    openText: (sealed, about) => openText(keys(), sealed, about),
    macOf: (text) => {
      const { kid, secret } = current();
      return `${kid}.${hmac(secret, text).digest('base64url')}`;
    },
    isMacOf: (text, mac) => isMacBy(keys(), text, mac),
    wasMacOf: (text, mac) => isMacBy([...keys(), ...compromised()], text, mac),
  };
}

function isMacBy(keys: readonly RowKey[], text: string, mac: string): boolean {
  const [kid] = mac.split('.', 1);
  const key = keys.find((each) => each.kid === kid);
  if (key === undefined) return false;
  // Compared as text: base64url has several spellings of the same bytes, and the service writes one.
  const given = Buffer.from(mac);
  const expected = Buffer.from(`${kid}.${hmac(key.secret, text).digest('base64url')}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

const REVISIONS = new WeakMap<readonly RowKey[], string>();

function revisionOf(keys: readonly RowKey[]): string {
  const known = REVISIONS.get(keys);
  if (known !== undefined) return known;
  const revision = keys.map(({ kid }) => kid).join(' ');
  REVISIONS.set(keys, revision);
  return revision;
}

function hmac(secret: KeyObject, text: string): Hmac {
  return createHmac('sha256', secret).update(text);
}

/** Keys of the environment. Throws with every fault, naming the position of the key. */
export function listedRowKeys(text: string, now: () => Date): RowKeys {
  const parts = text.split(/[\s,]+/).filter((part) => part !== '');
  const faults: string[] = [];
  if (parts.length === 0) faults.push('Cannot use WRIT_ROW_KEYS: it has no key');
  if (parts.length > LISTED_KEYS_MAX) {
    faults.push(`Cannot use WRIT_ROW_KEYS: it has more than ${LISTED_KEYS_MAX} keys`);
  }
  const keys: RowKey[] = [];
  for (const [index, part] of parts.entries()) {
    const secret = secretOf(part);
    const kid = secret && kidOf(secret);
    const twin = keys.some((key) => key.kid === kid);
    if (secret && kid && !twin) {
      // The first key makes MACs always, the others never.
      const signFrom = index === 0 ? 0 : Number.POSITIVE_INFINITY;
      keys.push({ kid, secret: createSecretKey(secret), signFrom });
    } else {
      const why = twin
        ? 'the same key appears earlier in the list'
        : 'expected 32 bytes in base64; make one with: openssl rand -base64 32';
      faults.push(`Cannot use key ${index + 1} of WRIT_ROW_KEYS: ${why}`);
    }
  }
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return rowKeysOf(() => keys, now);
}

/** For a keyring without row keys: every use of one throws. */
export function missingRowKeys(): RowKeys {
  return rowKeysOf(
    () => [],
    () => new Date(0),
  );
}

export interface RowKeyFolder extends RowKeys {
  /** Reads the folder again. Returns the faults; the known keys stay in use. */
  refresh(): string[];
}

/**
 * The row keys of a folder that exists. A folder without one gets the first generation; of several
 * processes that start at once, one creates it and all use it. Throws with all faults.
 */
export function folderRowKeys(folder: string, now: () => Date): RowKeyFolder {
  if (generationsIn(folder).length === 0) {
    writeGeneration(folder, 1, { now: now(), signFrom: now() });
  }
  const first = readFolder(folder);
  if (first.faults.length > 0) throw new Error(first.faults.join('\n'));
  let { keys, compromised } = first;
  return {
    ...rowKeysOf(
      () => keys,
      now,
      () => compromised,
    ),
    refresh: () => {
      const { faults, ...found } = readFolder(folder);
      if (faults.length === 0) ({ keys, compromised } = found);
      return faults;
    },
  };
}

/**
 * Writes the next generation of the row key. Every replica reads it, and so verifies by it, before
 * it makes MACs. Older keys verify as long as their files exist.
 */
export function rotateRowKey(
  folder: string,
  { now, leadMs }: { now: Date; leadMs: number },
): Rotation {
  const generation = Math.max(0, ...generationsIn(folder)) + 1;
  if (generation > GENERATION_MAX) {
    throw new Error(`Cannot rotate the row key: "${folder}" has ${GENERATION_MAX} generations`);
  }
  const signFrom = new Date(now.getTime() + leadMs);
  const written = writeGeneration(folder, generation, { now, signFrom });
  if (written) return written;
  const name = fileName(generation);
  throw new Error(`Cannot rotate the row key: another process has just written "${name}"`);
}

/** The readable keys of a folder, to verify rows without the service. */
export function readRowKeys(folder: string): { rowKeys: RowKeys; faults: readonly string[] } {
  const { keys, compromised, faults } = readFolder(folder);
  return {
    rowKeys: rowKeysOf(
      () => keys,
      () => new Date(),
      () => compromised,
    ),
    faults,
  };
}

/** Every row key of a folder by its file, also compromised ones. */
export function rowKeyFiles(folder: string): {
  readonly files: readonly RowKeyFile[];
  readonly faults: readonly string[];
} {
  const { files, faults } = readFolder(folder);
  return { files, faults };
}

export interface RowKeyFile {
  readonly name: string;
  readonly kid: string;
  readonly signFrom: number;
  readonly compromised: boolean;
}

const FILE_NAME = /^row-(\d{4})\.json$/;

function fileName(generation: number): string {
  return `row-${String(generation).padStart(4, '0')}.json`;
}

function generationsIn(folder: string): number[] {
  return readdirSync(folder).flatMap((name) => {
    const generation = FILE_NAME.exec(name)?.[1];
    return generation === undefined ? [] : [Number(generation)];
  });
}

interface FolderKeys {
  readonly keys: RowKey[];
  readonly compromised: RowKey[];
  readonly files: RowKeyFile[];
  readonly faults: string[];
}

function readFolder(folder: string): FolderKeys {
  const keys: RowKey[] = [];
  const stolen: RowKey[] = [];
  const files: RowKeyFile[] = [];
  const faults: string[] = [];
  try {
    const generations = generationsIn(folder).sort((one, other) => one - other);
    if (generations.length === 0) {
      faults.push(`Cannot find a row key: "${folder}" has no file like "${fileName(1)}"`);
    }
    for (const generation of generations) {
      const name = fileName(generation);
      const path = join(folder, name);
      const reading = readRowKeyFile(path);
      if ('fault' in reading) {
        faults.push(`Cannot use key file "${path}": ${reading.fault}`);
        continue;
      }
      const { key, compromised } = reading;
      (compromised ? stolen : keys).push(key);
      files.push({ name, kid: key.kid, signFrom: key.signFrom, compromised });
    }
    if (keys.length === 0 && faults.length === 0) {
      const mend = 'rotate with a lead of 0';
      faults.push(`Cannot use a row key: every one in "${folder}" is compromised; ${mend}`);
    }
  } catch (error) {
    faults.push(`Cannot read key folder "${folder}": ${errorCode(error)}`);
  }
  keys.sort((one, other) => one.signFrom - other.signFrom);
  return { keys, compromised: stolen, files, faults };
}

const FILE_LIMITS: JsonLimits = { bytes: 16 * 1024, depth: 4, keys: 32 };
const MEMBERS = ['compromised', 'created_at', 'jwk', 'kid', 'sign_from', 'use'];

/** A compromised key neither makes nor verifies MACs. */
function readRowKeyFile(path: string): { key: RowKey; compromised: boolean } | { fault: string } {
  const opened = readPrivately(path);
  if ('fault' in opened) return opened;
  const read = readJson(opened.bytes, FILE_LIMITS);
  const content = 'value' in read ? (read.value as Record<string, unknown> | null) : null;
  if (content === null || typeof content !== 'object' || Array.isArray(content)) {
    return { fault: 'it is not a JSON object; restore it from a backup' };
  }
  const { use, kid, sign_from, jwk, compromised = false } = content;
  if (Object.keys(content).some((member) => !MEMBERS.includes(member)) || use !== 'row') {
    return { fault: `it is not a row key with ${MEMBERS.join(', ')}; restore it from a backup` };
  }
  const secret = secretOf((jwk as { k?: unknown } | undefined)?.k);
  if (secret === undefined || kidOf(secret) !== kid) {
    return { fault: 'its kid does not match its key; restore it from a backup' };
  }
  if (!Timestamp.safeParse(sign_from).success) return { fault: 'sign_from is not a time' };
  if (typeof compromised !== 'boolean') return { fault: 'compromised is neither true nor false' };
  const signFrom = Date.parse(sign_from as string);
  return { key: { kid, secret: createSecretKey(secret), signFrom }, compromised };
}

function writeGeneration(
  folder: string,
  generation: number,
  { now, signFrom }: { now: Date; signFrom: Date },
): Rotation | undefined {
  const secret = randomBytes(SECRET_BYTES);
  const file = fileName(generation);
  const kid = kidOf(secret);
  const times = { created_at: now.toISOString(), sign_from: signFrom.toISOString() };
  const jwk = { kty: 'oct', k: secret.toString('base64url') };
  return writeKeyFile(folder, file, { use: 'row', kid, ...times, jwk })
    ? { file, kid, signFrom }
    : undefined;
}

/** Reveals nothing of the key: a digest with its own label. */
function kidOf(secret: Uint8Array): string {
  const digest = createHash('sha256').update('writ row key id\n').update(secret).digest();
  return digest.subarray(0, 12).toString('base64url');
}

function secretOf(text: unknown): Buffer | undefined {
  if (typeof text !== 'string' || !/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined;
  const secret = Buffer.from(text, 'base64url');
  return secret.length === SECRET_BYTES ? secret : undefined;
}
