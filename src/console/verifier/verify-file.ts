/**
 * Verifies a file that an auditor chose: an exported log, a trail, or saved evidence.
 *
 * @module
 */

import { type NoteKey, readVkey } from '../../domain/log/note-key.ts';
import { type ExportReport, verifyExport } from '../../verify/export/export.ts';
import { proofOfGiven, readEvidence } from '../trust/evidence.ts';
import { type Proof, pageAnchors, wordsIn } from '../trust/steps.ts';

/** What the auditor has from another source than the file. All are texts as they were pasted. */
export interface Known {
  readonly jwks: string;
  readonly thumbprints: string;
  readonly witnessKeys: string;
  readonly serviceId: string;
  readonly receipt: string;
  readonly after: string;
  readonly allowErased: boolean;
  readonly isTrail: boolean;
}

export type FileResult =
  | { readonly kind: 'export'; readonly report: ExportReport; readonly at: Date }
  | { readonly kind: 'evidence'; readonly proof: Proof; readonly at: Date };

interface Running {
  readonly signal: AbortSignal;
  onRead(bytes: number): void;
}

/** Rejects with a sentence when the given texts cannot be used, and when the signal aborts. */
export async function verifyFile(file: Blob, known: Known, running: Running): Promise<FileResult> {
  const given = givenOf(known);
  const evidence = readEvidence(await readJsonBlob(file));
  if (!evidence) {
    const report = await verifyExport(slicesOf(file, running), {
      keys: {
        ...(given.jwks !== undefined && { jwks: given.jwks }),
        pinned: given.pinned,
        noteKeys: given.noteKeys,
      },
      now: new Date(),
      serviceId: given.serviceId,
      allowErased: known.allowErased,
      isTrail: known.isTrail,
      receipt: given.receipt,
      after: given.after,
    });
    return { kind: 'export', report, at: new Date() };
  }
  const anchors = await pageAnchors({
    service_id: given.serviceId ?? evidence.service_id,
    jwks: given.jwks ?? evidence.jwks,
    // Witnesses that the file names could be anybody's.
    witness_keys: wordsIn(known.witnessKeys),
    noted: given.pinned,
  });
  if ('fault' in anchors) throw new Error(`Cannot use the keys: ${anchors.fault}`);
  const proof = await proofOfGiven(evidence.given, { ...anchors, isOfFile: true });
  return { kind: 'evidence', proof, at: new Date() };
}

interface Given {
  readonly jwks: unknown;
  readonly pinned: 'all' | readonly string[];
  readonly noteKeys: readonly NoteKey[];
  readonly serviceId: string | undefined;
  readonly receipt: unknown;
  readonly after: unknown;
}

/** As on the command line: all keys of a given set count, unless thumbprints name some of them. */
function givenOf(known: Known): Given {
  const jwks = valueIn(known.jwks, 'the key set');
  const thumbprints = wordsIn(known.thumbprints);
  return {
    jwks,
    pinned: jwks !== undefined && thumbprints.length === 0 ? 'all' : thumbprints,
    noteKeys: wordsIn(known.witnessKeys).map(witnessKey),
    serviceId: known.serviceId.trim() === '' ? undefined : known.serviceId.trim(),
    receipt: receiptIn(valueIn(known.receipt, 'the receipt')),
    after: checkpointIn(valueIn(known.after, 'the checkpoint')),
  };
}

function valueIn(text: string, what: string): unknown {
  if (text.trim() === '') return undefined;
  const value = parseJsonText(text);
  if (value === undefined) throw new Error(`Cannot use ${what}: it is not JSON`);
  return value;
}

function witnessKey(text: string): NoteKey {
  const key = readVkey(text);
  if (key) return key;
  throw new Error(`Cannot use "${text}": expected the key of a witness as name+id+key`);
}

/** The answer of an invocation has its receipt inside. */
function receiptIn(value: unknown): unknown {
  const { audit } = (value ?? {}) as { audit?: unknown };
  return audit ?? value;
}

/** A listing has its newest checkpoint first. */
function checkpointIn(value: unknown): unknown {
  const { checkpoints } = (value ?? {}) as { checkpoints?: unknown };
  return Array.isArray(checkpoints) ? checkpoints[0] : value;
}

/** Bytes of one slice: some ten milliseconds of verification, between which the page answers. */
const SLICE = 64 * 1_024;

/** Bytes of a file that is read at once: evidence has one entry and a few checkpoints. */
const WHOLE_MAX = 4 * 1_024 * 1_024;

interface Reading {
  readonly signal: AbortSignal;
  onRead(bytes: number): void;
}

/** Each slice arrives in a task of its own, so the page draws and takes clicks in between. Rejects when the signal aborts. */
async function* slicesOf(file: Blob, { signal, onRead }: Reading): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.size; at += SLICE) {
    signal.throwIfAborted();
    const slice = file.slice(at, at + SLICE);
    yield new Uint8Array(await slice.arrayBuffer());
    onRead(Math.min(at + SLICE, file.size));
  }
}

/** The JSON of a small file; `undefined` for one that is large or is not one JSON value. */
async function readJsonBlob(file: Blob): Promise<unknown> {
  if (file.size > WHOLE_MAX) return undefined;
  return parseJsonText(await file.text());
}

function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
