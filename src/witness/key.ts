/**
 * The key of the witness: created once, stored in its folder, readable for its user only.
 *
 * @module
 */

import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto';
import { existsSync, linkSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cosignatureOf, cosignedBytes, signatureLine } from '../domain/log/note.ts';
import { type NoteKey, noteKey } from '../domain/log/note-key.ts';
import { makeFolder } from '../folder.ts';
import { syncFolder, writeDurably } from './durable.ts';

export interface WitnessKey {
  readonly noteKey: NoteKey;
  /** The signature line for a note that was seen at `now`. */
  cosign(text: string, now: Date): string;
}

const KEY_FILE = 'witness-key.pem';
const OTHERS = 0o077;

/** Opens the key of the folder. Creates folder and key if they are missing. */
export function openWitnessKey(folder: string, name: string): WitnessKey {
  makeFolder(folder);
  const path = join(folder, KEY_FILE);
  if (!existsSync(path)) makeKey(folder, path);
  const privateKey = readKey(path);
  const spki = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const key = noteKey(name, 'cosignature', new Uint8Array(spki.subarray(-ED25519_BYTES)));
  return {
    noteKey: key,
    cosign(text, now) {
      const time = Math.floor(now.getTime() / 1_000);
      const signature = new Uint8Array(sign(null, cosignedBytes(text, time), privateKey));
      return signatureLine({ name, keyId: key.id, signature: cosignatureOf(time, signature) });
    },
  };
}

const ED25519_BYTES = 32;

/** If two processes create the key at the same time, both use the first one. */
function makeKey(folder: string, path: string): void {
  const { privateKey } = generateKeyPairSync('ed25519');
  const part = join(folder, `${KEY_FILE}.${randomUUID()}`);
  writeDurably(part, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
  try {
    linkSync(part, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(part);
  }
  syncFolder(folder);
}

/** No message contains any part of the key; messages of the platform are not passed on. */
function readKey(path: string): KeyObject {
  if ((statSync(path).mode & OTHERS) !== 0) {
    throw new Error(`Cannot use "${path}": others have access to it; chmod 600 "${path}"`);
  }
  let key: KeyObject | undefined;
  try {
    key = createPrivateKey(readFileSync(path));
  } catch {
    key = undefined;
  }
  if (key?.asymmetricKeyType === 'ed25519') return key;
  throw new Error(`Cannot use "${path}": it is not a private Ed25519 key`);
}
