/**
 * `add-checkpoint` of C2SP tlog-witness: cosigns a tree head that extends the last one it saw.
 *
 * Decides from the request, the keys of the watched logs and the stored heads; the time
 * is a parameter. Stores a head durably before it cosigns it, so that it never vouches
 * for two histories of one log.
 *
 * @module
 */

import { EMPTY_ROOT, type Hash } from '../domain/log/merkle.ts';
import { isConsistent } from '../domain/log/merkle-proof.ts';
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
import { readSeen, type SeenHead, storeSeenHead } from './state.ts';

export interface Witness {
  readonly folder: string;
  readonly key: WitnessKey;
  /** The keys of the watched logs. The name of a key is the name of its log. */
  readonly logKeys: readonly NoteKey[];
}

export interface WitnessAnswer {
  readonly status: 200 | 400 | 403 | 404 | 409 | 422;
  readonly type: string;
  readonly body: string;
}

/** The bound of the specification: the longest proof in a tree of 2^63 leaves. */
const PROOF_LINES_MAX = 63;

export function addCheckpoint(witness: Witness, body: string, now: Date): WitnessAnswer {
  const request = readRequest(body);
  if (!request) return refusal(400, 'the request is not of the form of add-checkpoint');
  const { note, head, old, proof } = request;

  const keys = witness.logKeys.filter(({ name }) => name === head.origin);
  if (keys.length === 0) return refusal(404, 'the origin is not one of the logs that are watched');
  if (!isSigned(note, keys)) return refusal(403, 'no signature of a known key of the log');
  if (old > head.size) return refusal(400, 'the old size is greater than that of the checkpoint');

  const seen = readSeen(witness.folder, head.origin);
  const { size, root } = seen.head ?? { size: 0, root: EMPTY_ROOT };
  if (old !== size) return conflict(size);
  const claim = { from: old, to: head.size, fromRoot: root, toRoot: head.root, proof };
  if (!isConsistent(claim)) return refusal(422, 'the checkpoint does not extend the last one');

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

/** A line with the old size, proof lines, an empty line, and the checkpoint. */
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

/** Ignores unknown keys. A wrong signature of a known key makes the note unsigned. */
function isSigned(note: Note, keys: readonly NoteKey[]): boolean {
  const claims = noteClaims(note, keys) ?? [];
  return claims.length > 0 && claims.every(isNoteClaim);
}

/** The head that was seen last is already stored. */
function isKept({ folder }: Witness, seen: SeenHead, head: NoteHead): boolean {
  return seen.head?.size === head.size || storeSeenHead(folder, seen, head);
}

const TEXT = 'text/plain; charset=utf-8';

function refusal(status: 400 | 403 | 404 | 422, why: string): WitnessAnswer {
  return { status, type: TEXT, body: `${why}\n` };
}

function conflict(size: number): WitnessAnswer {
  return { status: 409, type: 'text/x.tlog.size', body: `${size}\n` };
}
