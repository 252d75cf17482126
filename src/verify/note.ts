/**
 * Checks the note of a checkpoint: that it is of the same tree, and which keys signed it.
 *
 * @module
 */

import { logOrigin, rootText } from '../domain/log/checkpoint.ts';
import {
  type NoteClaim,
  type NoteHead,
  noteClaims,
  readHeadText,
  readNote,
} from '../domain/log/note.ts';
import { isKeyName, type NoteKey, noteKey, rawEcdsa, vkeyText } from '../domain/log/note-key.ts';
import { countText } from '../domain/values/count-text.ts';
import type { Keys, VerifyingKey } from './keys.ts';
import { type Check, failed, notChecked, passedCheck, unlessFound } from './report.ts';
import { isSignatureValid } from './signature.ts';
import type { CheckpointAnchors, SignedHead } from './signed.ts';
import { pinCheck } from './signed.ts';

export async function noteChecks(
  text: string,
  head: SignedHead,
  { keys, serviceId }: CheckpointAnchors,
): Promise<Check[]> {
  const note = readNote(text);
  const noted = note && readHeadText(note.text);
  if (!note || !noted) return [failed('note', 'it is not a signed note of a tree head')];

  const published = publishedKeys(noted.origin, keys);
  const known = [...published.map(({ key }) => key), ...keys.noteKeys];
  const claims = noteClaims(note, known);
  if (claims === undefined) return [failed('note signature', 'a signature line is malformed')];

  const made = await Promise.all(
    claims.map(async (claim) => ({ claim, outcome: await signatureCheck(claim) })),
  );
  return [
    unlessFound('note', headFault(noted, head, serviceId)),
    ...made.map(({ outcome }) => outcome),
    ...pinChecks(published, claims),
    ...missing(keys.noteKeys, claims),
    ...unsigned(noted, claims),
  ];
}

interface PublishedNoteKey {
  readonly key: NoteKey;
  readonly from: VerifyingKey;
}

/** The log signs notes with the key of its checkpoints, under the log's own name. */
function publishedKeys(origin: string, { keys, noteKeys }: Keys): PublishedNoteKey[] {
  if (!isKeyName(origin)) return [];
  return keys
    .filter(({ use }) => use !== 'token')
    .map((from) => ({ from, key: noteKey(origin, 'ecdsa', from.spki) }))
    .filter(({ key }) => !noteKeys.some((given) => vkeyText(given) === vkeyText(key)));
}

function headFault(noted: NoteHead, head: SignedHead, serviceId: string): string | undefined {
  if (!noted.origin.startsWith(logOrigin(serviceId, ''))) {
    return `it is of "${noted.origin}", no log of "${serviceId}"`;
  }
  const isSame = noted.size === head.size && rootText(noted.root) === rootText(head.root);
  return isSame
    ? undefined
    : `it says ${countText(noted.size, 'entry', 'entries')}, ${rootText(noted.root)}`;
}

async function signatureCheck(claim: NoteClaim): Promise<Check> {
  const { key, time } = claim;
  const what = `note signature of "${key.name}"`;
  const isHeld = await isHeldNote(claim);
  if (isHeld === undefined) return notChecked(what, 'this platform does not know its algorithm');
  if (!isHeld) return failed(what, `not by ${vkeyText(key)}`);
  return passedCheck(what, time === undefined ? key.type : `seen at ${timeText(time)}`);
}

async function isHeldNote({ key, message, signature }: NoteClaim): Promise<boolean | undefined> {
  if (key.type !== 'ecdsa')
    return isSignatureValid({ type: 'ed25519', key: key.key, message, signature });
  const raw = rawEcdsa(signature);
  return (
    raw !== undefined && isSignatureValid({ type: 'ecdsa', key: key.key, message, signature: raw })
  );
}

/** Shows seconds since 1970 as a number if a date cannot hold them. */
function timeText(seconds: number): string {
  const date = new Date(seconds * 1_000);
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString();
}

function pinChecks(published: readonly PublishedNoteKey[], claims: readonly NoteClaim[]): Check[] {
  return published
    .filter(({ key }) => claims.some((claim) => claim.key === key))
    .map(({ from }) => ({ ...pinCheck(from), what: 'note key' }));
}

/** The caller expects a signature of every key that it gave; a missing one is not checked. */
function missing(given: readonly NoteKey[], claims: readonly NoteClaim[]): Check[] {
  return given
    .filter((key) => !claims.some((claim) => claim.key === key))
    .map((key) => notChecked(`note signature of "${key.name}"`, `the note has none of this key`));
}

/** The log must have signed its note itself: cosignatures of witnesses do not replace that. */
function unsigned({ origin }: NoteHead, claims: readonly NoteClaim[]): Check[] {
  const isOwn = ({ key }: NoteClaim) => key.type !== 'cosignature' && key.name === origin;
  if (claims.some(isOwn)) return [];
  return [notChecked('note signature', `no key of "${origin}" at hand has signed it`)];
}
