/**
 * `add-checkpoint` of C2SP tlog-witness: cosigns a tree head that extends the last one it saw.
 *
 * Decides by what was sent, by the keys of the logs it was given and by what it has kept; the time
 * is given to it. What it cosigns it has kept durably before it answers, so that it never vouches
 * for two histories of one log.
 *
 * @module
 */

import { EMPTY_ROOT, type Hash } from '../domain/log/merkle.ts';
import { verifyConsistency } from '../domain/log/merkle-proof.ts';
import {
  type Note,
  type NoteHead,
  noteClaims,
  readHeadText,
  readNote,
} from '../domain/log/note.ts';
import type { NoteKey } from '../domain/log/note-key.ts';
import { fromBase64 } from '../domain/wire/base64.ts';
import { isNoteClaim } from '../keyring/note-signing.ts';
import type { WitnessKey } from './key.ts';
import { keepSeen, readSeen, type SeenHead } from './state.ts';

export interface Witness {
  readonly folder: string;
  readonly key: WitnessKey;
  /** The keys of the logs that it watches. A log is named by the name of its keys. */
  readonly logKeys: readonly NoteKey[];
}

export interface WitnessAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422;
  readonly type: string;
  readonly body: string;
}

/** The specification's bound: no proof in a tree of 2^63 leaves is longer. */
const PROOF_LINES_MAX = 63;

export function addCheckpoint(witness: Witness, body: string, now: Date): WitnessAnswer {
  const request = readRequest(body);
  if (!request) return told(400, 'the request is not of the form of add-checkpoint');
  const { note, head, old, proof } = request;

  const keys = witness.logKeys.filter(({ name }) => name === head.origin);
  if (keys.length === 0) return told(404, 'the origin is not one of the logs that are watched');
  if (!isSigned(note, keys)) return told(403, 'no signature of a known key of the log');
  if (old > head.size) return told(400, 'the old size is greater than that of the checkpoint');

  const seen = readSeen(witness.folder, head.origin);
  const { size, root } = seen.head ?? { size: 0, root: EMPTY_ROOT };
  if (old !== size) return conflict(size);
  const claim = { from: old, to: head.size, fromRoot: root, toRoot: head.root, proof };
  if (!verifyConsistency(claim)) return told(422, 'the checkpoint does not extend the last one');

  if (!isKept(witness, seen, head)) {
    return conflict(readSeen(witness.folder, head.origin).head?.size ?? 0);
  }
  return { status: 200, type: TEXT, body: witness.key.cosign(note.text, now) };
}

interface Request {
  readonly old: number;
  readonly proof: readonly Hash[];
  readonly note: Note;
  readonly head: NoteHead;
}

const OLD = /^old (0|[1-9]\d{0,14})$/;

/** An old size line, proof lines, an empty line, and the checkpoint. */
function readRequest(body: string): Request | undefined {
  const end = body.indexOf('\n\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = body.slice(0, end).split('\n');
  const old = OLD.exec(first)?.[1];
  const proof = lines.map(fromBase64);
  const note = readNote(body.slice(end + 2));
  const head = note && readHeadText(note.text);
  if (old === undefined || !note || !head || proof.length > PROOF_LINES_MAX) return undefined;
  const isProof = proof.every((hash) => hash?.length === HASH_BYTES);
  return isProof ? { old: Number(old), proof: proof as Hash[], note, head } : undefined;
}

const HASH_BYTES = 32;

/** Unknown keys are passed over; a known key whose signature does not hold spoils the note. */
function isSigned(note: Note, keys: readonly NoteKey[]): boolean {
  const claims = noteClaims(note, keys) ?? [];
  return claims.length > 0 && claims.every(isNoteClaim);
}

/** The very head that was seen last is kept already. */
function isKept({ folder }: Witness, seen: SeenHead, head: NoteHead): boolean {
  return seen.head?.size === head.size || keepSeen(folder, seen, head);
}

const TEXT = 'text/plain; charset=utf-8';

function told(status: 400 | 403 | 404 | 422, why: string): WitnessAnswer {
  return { status, type: TEXT, body: `${why}\n` };
}

function conflict(size: number): WitnessAnswer {
  return { status: 409, type: 'text/x.tlog.size', body: `${size}\n` };
}
