/**
 * Checks the signatures of a stored checkpoint with public keys.
 *
 * Stricter than a reader of notes: the service wrote what is stored, so a signature line of the
 * note that no published key verifies was inserted by someone else.
 *
 * @module
 */

import { createPublicKey } from 'node:crypto';
import { type CheckpointRecord, checkpointPayload } from '../domain/log/checkpoint.ts';
import { type Note, noteClaims, readHeadText, readNote } from '../domain/log/note.ts';
import type { NoteKey } from '../domain/log/note-key.ts';
import { readDetached } from '../domain/wire/jws.ts';
import type { PublicKey } from '../protocol/trust.ts';
import { isSignature } from './es256.ts';
import { isNoteClaim } from './note-signing.ts';
import { ARTEFACTS } from './wire.ts';

/** The fault of a checkpoint's signatures, if there is one. */
export function createCheckpointCheck(
  keys: readonly PublicKey[],
  noteKeys: (origin: string) => readonly NoteKey[],
): (checkpoint: CheckpointRecord) => string | undefined {
  return (checkpoint) => {
    const note = readNote(checkpoint.note);
    const head = note && readHeadText(note.text);
    if (!head) return 'its note does not state a tree head';
    const isSigned = serviceIdsOf(head.origin).some((id) => isJws(keys, checkpoint, id));
    if (!isSigned) return 'its signature does not verify';
    const isNoted = isNoteSigned(noteKeys(head.origin), note);
    return isNoted ? undefined : 'its note is not signed by these keys';
  };
}

/** If the service id is a URL, the origin omits its scheme. */
function serviceIdsOf(origin: string): string[] {
  const id = origin.slice(0, origin.lastIndexOf('/log/'));
  return ['', 'https://', 'http://'].flatMap((scheme) => [`${scheme}${id}`, `${scheme}${id}/`]);
}

function isJws(keys: readonly PublicKey[], record: CheckpointRecord, serviceId: string): boolean {
  const payload = checkpointPayload(serviceId, record);
  const read = readDetached(record.signature, ARTEFACTS.checkpoint.typ, payload);
  const jwk = read && keys.find(({ kid }) => kid === read.kid);
  if (!read || !jwk) return false;
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
  return isSignature(key, read.signed, read.signature);
}

function isNoteSigned(keys: readonly NoteKey[], note: Note): boolean {
  const claims = noteClaims(note, keys);
  return claims?.length === note.signatures.length && claims.every(isNoteClaim);
}
