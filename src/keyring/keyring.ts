/**
 * The keyring: signs texts of the service, and verifies that a text is one of them.
 *
 * The only holder of private keys. Decides which key signs, which are published, and whether the service
 * signed a text. The store decides what the text means and whether it is still valid. Time comes
 * from the given clock.
 *
 * Invariant: the keyring accepts a text only if its exact form, its artefact, the use of its key and its
 * signature are right, and that key is published now, even if the text verified before.
 *
 * @module
 */

import type { NoteSignature } from '../domain/log/note.ts';
import type { NoteKey } from '../domain/log/note-key.ts';
import { createRecent, type Recent } from '../domain/values/recent.ts';
import {
  type ArtefactTyp,
  jwsHeader,
  PAYLOAD_BYTES_MAX,
  readCompact,
  readDetached,
} from '../domain/wire/jws.ts';
import { type Platform, system } from '../platform.ts';
import type { Jwks } from '../protocol/trust.ts';
import { isSignature, signBytes, signBytesAside } from './es256.ts';
import type { KeyFiles } from './key-file.ts';
import { longestLifetime, prepareKeyFolder, REREAD_MS, readKeyFolder } from './key-folder.ts';
import { readKeyLists } from './key-list.ts';
import { noteKeysOf, noteSignatures } from './note-signing.ts';
import { folderRowKeys, listedRowKeys, missingRowKeys, type RowKeys } from './row-keys.ts';
import { completeSuccessors, listedSuccessors, publishedSuccessors } from './successors.ts';
import {
  currentKey,
  type DatedKey,
  isPublished,
  type KeyState,
  keyState,
  type PublishedKey,
  type Timeline,
  timelineOf,
} from './timeline.ts';
import { KEY_USES, type KeyUse, signedPayload } from './wire.ts';

export interface Keyring {
  /**
   * The published keys: token keys, then log keys, each from the oldest to the newest; and what they
   * sign about their successors, if there are any.
   */
  jwks(): Jwks;
  /** Increases when the published set changes, by a new file or by time. */
  revision(): number;
  /** What each key does now, in the order of `jwks()`; a key of the next generation signs later. */
  states(): KeyState[];
  /** The key that signs now. Throws when every key of this use is compromised, as signing does. */
  kid(use: KeyUse): string;
  /** The key that signs now, for a signature that is made later. Throws as `kid` does. */
  signer(use: KeyUse): Signer;
  /**
   * A compact JWS by the key that signs now. Throws when the payload is empty or would not fit, or no key may be used.
   */
  sign(use: KeyUse, typ: ArtefactTyp, payload: Uint8Array): string;
  /** `header..signature` over a payload of any length that is sent separately. */
  signDetached(use: KeyUse, typ: ArtefactTyp, payload: Uint8Array): string;
  /** The payload is a copy. A text that was verified not long ago has the same result again, as long as it verifies. */
  verify(
    use: KeyUse,
    typ: ArtefactTyp,
    text: string,
  ): { readonly payload: Uint8Array; readonly kid: string } | undefined;
  verifyDetached(
    use: KeyUse,
    typ: ArtefactTyp,
    text: string,
    payload: Uint8Array,
  ): { kid: string } | undefined;
  /** The signature lines of a note (`domain/log/note.ts`) under the log key that signs now. */
  signNote(name: string, text: string): NoteSignature[];
  /** The note keys of every published log key, oldest first. */
  noteKeys(name: string): NoteKey[];
  /** The keys that authenticate rows; they are never published. */
  readonly rows: RowKeys;
  /** Reads the folder now. Never throws: reports faults, and keeps the known keys. */
  refresh(): void;
  /** Stops the re-reading. The keys in memory stay usable. */
  close(): void;
}

/** One key. It may have been replaced when it signs, and what it signs verifies as long as it is published. */
export interface Signer {
  readonly kid: string;
  /**
   * A compact JWS, made beside the event loop; `undefined` when the key was withdrawn meanwhile. Rejects when the
   * payload is empty or would not fit: no such text verifies.
   */
  sign(typ: ArtefactTyp, payload: Uint8Array): Promise<string | undefined>;
}

/** A folder of key files, or the texts of `WRIT_TOKEN_KEYS`, `WRIT_LOG_KEYS` and `WRIT_ROW_KEYS`. */
export type KeySource = { readonly folder: string } | ListedKeys;

interface ListedKeys {
  readonly tokenKeys: string;
  readonly logKeys: string;
  /** Absent where no rows are stored. */
  readonly rowKeys?: string | undefined;
  /** The text of `WRIT_SUCCESSORS`. */
  readonly successors?: string | undefined;
}

export interface KeyringOptions {
  readonly platform?: Pick<Platform, 'every' | 'cancel'> | undefined;
  readonly now: () => Date;
  /** Called with the faults of the folder, once until they change. */
  readonly onWarning: (message: string) => void;
  /** A token key is published for this long after its last signature. */
  readonly tokenLifetimeMaxMs?: number | undefined;
  readonly rereadMs?: number | undefined;
}

/** The longest lifetime of a token when nothing else is configured: 720 hours. */
export const TOKEN_LIFETIME_MAX_MS = 720 * 3_600_000;

/**
 * Opens the keys. Throws with all faults when one cannot be used, which stops the start.
 */
export function openKeyring(source: KeySource, options: KeyringOptions): Keyring {
  const { tokenLifetimeMaxMs = TOKEN_LIFETIME_MAX_MS } = options;
  if (!Number.isFinite(tokenLifetimeMaxMs) || tokenLifetimeMaxMs < 0) {
    throw new RangeError(`Cannot keep keys for a token lifetime of ${tokenLifetimeMaxMs} ms`);
  }
  return 'folder' in source
    ? folderKeyring(source.folder, options, tokenLifetimeMaxMs)
    : listKeyring(source, options.now, tokenLifetimeMaxMs);
}

function listKeyring(
  { tokenKeys, logKeys, rowKeys, successors = '' }: ListedKeys,
  now: () => Date,
  lifetimeMs: number,
): Keyring {
  const timeline = timelineOf(readKeyLists({ token: tokenKeys, log: logKeys }), lifetimeMs);
  const held = { timeline, successors: listedSuccessors(successors) };
  const rows = rowKeys === undefined ? missingRowKeys() : listedRowKeys(rowKeys, now);
  const fixed = { rows, refresh: () => {}, close: () => {} };
  return { ...keyringOf(() => held, now), ...fixed };
}

function folderKeyring(
  folder: string,
  { now, onWarning, rereadMs = REREAD_MS, platform = system }: KeyringOptions,
  lifetimeMs: number,
): Keyring {
  prepareKeyFolder(folder, now());
  const first = readKeyFolder(folder);
  const faults = [...first.faults, ...missingSigners(folder, first.files)];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  const rows = folderRowKeys(folder, now);

  let { files } = first;
  const { keptMs, fault } = longestLifetime(folder, lifetimeMs);
  if (fault !== undefined) onWarning(fault);
  let statements = completeSuccessors(folder, files);
  let held: Held = {
    timeline: timelineOf(keysOf(files), keptMs),
    successors: publishedSuccessors(files, statements.successors),
  };
  // Not fatal: only clients that pinned an old key need the missing statement.
  let reported = statements.faults.join('\n');
  if (reported !== '') onWarning(reported);
  const refresh = () => {
    const reading = readKeyFolder(folder, files);
    files = reading.files;
    statements = completeSuccessors(folder, files, statements.successors);
    held = {
      timeline: timelineOf(keysOf(files), longestLifetime(folder, lifetimeMs).keptMs),
      successors: publishedSuccessors(files, statements.successors),
    };

    const broken = [...reading.faults, ...missingSigners(folder, files), ...statements.faults];
    const warning = [...broken, ...rows.refresh()].join('\n');
    // Warns once: a fault lasts until an operator fixes it, and a line every few seconds would hide others.
    if (warning !== '' && warning !== reported) onWarning(warning);
    reported = warning;
  };
  const timer = platform.every(rereadMs, refresh);
  timer.unref();
  return { ...keyringOf(() => held, now), rows, refresh, close: () => platform.cancel(timer) };
}

/** A compromised key is treated as if it were not there: it neither signs nor verifies. */
function keysOf(files: KeyFiles): DatedKey[] {
  return [...files.values()]
    .filter(({ compromised }) => !compromised)
    .map(({ key, use, signFrom }) => ({ ...key, use, signFrom }));
}

function missingSigners(folder: string, files: KeyFiles): string[] {
  return KEY_USES.filter((use) => {
    const own = [...files.values()].filter((file) => file.use === use);
    return own.length > 0 && own.every(({ compromised }) => compromised);
  }).map((use) => {
    const state = `every one in "${folder}" is compromised; rotate with a lead of 0`;
    return `Cannot sign with a ${use} key: ${state}`;
  });
}

/** The result of a reading. */
interface Held {
  readonly timeline: Timeline;
  readonly successors: readonly string[];
}

function keyringOf(held: () => Held, now: () => Date): Omit<Keyring, 'rows' | 'refresh' | 'close'> {
  const timeline = () => held().timeline;
  const verified = createVerifiedTexts();
  let revision = 0;
  let revised = '';

  const published = () => {
    const at = now();
    return timeline().keys.filter((key) => isPublished(key, at));
  };
  const current = (use: KeyUse) => {
    const key = currentKey(timeline(), use, now());
    if (key === undefined) throw new Error(`Cannot sign: no ${use} key may be used`);
    return key;
  };
  const keyFor = (use: KeyUse, kid: string): PublishedKey | undefined => {
    const key = timeline().byKid.get(kid);
    return key?.use === use && isPublished(key, now()) ? key : undefined;
  };
  const signer = (use: KeyUse) => {
    const key = current(use);
    return signerOf(key, () => keyFor(use, key.kid) !== undefined);
  };

  return {
    jwks: () => {
      const { successors } = held();
      const keys = published().map(({ jwk }) => jwk);
      return { keys, ...(successors.length > 0 && { svc_successors: [...successors] }) };
    },
    revision: () => {
      // A statement is never rewritten, so their number changes when one is added or withdrawn with
      // its key.
      const names = [...published().map(({ kid }) => kid), held().successors.length].join(' ');
      if (names !== revised) revision += 1;
      revised = names;
      return revision;
    },
    states: () => {
      const at = now();
      const signing = new Set(KEY_USES.map((use) => currentKey(timeline(), use, at)?.kid));
      return published().map((key) => keyState(key, signing.has(key.kid), at));
    },
    kid: (use) => current(use).kid,
    signer,
    sign: (use, typ, payload) => {
      refuseUnfit(typ, payload);
      const encoded = base64url(payload);
      const { header, signature } = signatureOf(current(use), typ, encoded);
      return `${header}.${encoded}.${signature}`;
    },
    signDetached: (use, typ, payload) => {
      const { header, signature } = signatureOf(current(use), typ, base64url(payload));
      return `${header}..${signature}`;
    },
    verify: (use, typ, text) => {
      const before = verified.get(text);
      if (before !== undefined) {
        // The header names one artefact, so the full check would refuse any other too.
        const isSame = before.use === use && before.typ === typ;
        return isSame && keyFor(use, before.kid) !== undefined ? before : undefined;
      }
      const read = readCompact(text, typ);
      const key = read && keyFor(use, read.kid);
      if (!key || !isSignature(key.publicKey, read.signed, read.signature)) return undefined;
      const found = new VerifiedText(text, { kid: key.kid, use, typ });
      verified.set(text, found);
      return found;
    },
    verifyDetached: (use, typ, text, payload) => {
      const read = readDetached(text, typ, payload);
      const key = read && keyFor(use, read.kid);
      if (!key || !isSignature(key.publicKey, read.signed, read.signature)) return undefined;
      return { kid: key.kid };
    },
    signNote: (name, text) => noteSignatures(current('log'), name, text),
    noteKeys: (name) => {
      const logKeys = published().filter(({ use }) => use === 'log');
      return logKeys.flatMap((key) => noteKeysOf(key, name));
    },
  };
}

function signerOf(key: PublishedKey, isInUse: () => boolean): Signer {
  return {
    kid: key.kid,
    sign: async (typ, payload) => {
      refuseUnfit(typ, payload);
      if (!isInUse()) return undefined;
      const signed = `${knownHeader(key, typ)}.${base64url(payload)}`;
      const signature = await signBytesAside(key, Buffer.from(signed, 'latin1'));
      return isInUse() ? `${signed}.${base64url(signature)}` : undefined;
    },
  };
}

function refuseUnfit(typ: ArtefactTyp, payload: Uint8Array): void {
  if (payload.length > 0 && payload.length <= PAYLOAD_BYTES_MAX) return;
  const state = `the payload has ${payload.length} bytes, 1 to ${PAYLOAD_BYTES_MAX} fit`;
  throw new RangeError(`Cannot sign "${typ}": ${state}`);
}

function signatureOf(key: PublishedKey, typ: ArtefactTyp, payload: string) {
  const header = knownHeader(key, typ);
  const signed = Buffer.from(`${header}.${payload}`, 'latin1');
  return { header, signature: base64url(signBytes(key, signed)) };
}

/** The encoded headers of a key: one for each artefact. */
const HEADERS = new WeakMap<PublishedKey, Map<ArtefactTyp, string>>();

function knownHeader(key: PublishedKey, typ: ArtefactTyp): string {
  const known = HEADERS.get(key) ?? new Map<ArtefactTyp, string>();
  HEADERS.set(key, known);
  const header = known.get(typ) ?? jwsHeader(key.kid, typ);
  known.set(typ, header);
  return header;
}

/** By the platform: a tenth of the time of `domain/wire/base64.ts`, which browsers run too. */
function base64url({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64url');
}

/** Characters of all texts together, 16 Mi: more than the tokens in use on one replica. */
const VERIFIED_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Decoded on demand: a caller that verified a text before has usually read its payload before. */
class VerifiedText {
  readonly kid: string;
  readonly use: KeyUse;
  readonly typ: ArtefactTyp;
  readonly #text: string;

  constructor(text: string, { kid, use, typ }: Pick<VerifiedText, 'kid' | 'use' | 'typ'>) {
    this.kid = kid;
    this.use = use;
    this.typ = typ;
    this.#text = text;
  }

  get payload(): Uint8Array {
    return signedPayload(this.#text);
  }
}

/**
 * Which exact texts have a valid signature, and by which key. A signature over the same bytes does not change, so it is
 * computed once; what can change (a published key, a revoked token) the caller checks each time. Only valid texts are
 * here: an attacker can make many invalid ones cheaply, all different.
 */
function createVerifiedTexts(): Recent<string, VerifiedText> {
  return createRecent(VERIFIED_CHARACTERS_MAX, (text) => text.length);
}
