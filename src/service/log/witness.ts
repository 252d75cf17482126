/**
 * Witnesses: asks witnesses to cosign sealed checkpoints, as in C2SP tlog-witness.
 *
 * A witness remembers the last tree it saw and signs only a tree that extends it. So a log that
 * shows two histories cannot get both cosigned. Witnesses are asked after sealing and never delay
 * it. A witness that is down is asked again with the next checkpoint. Only an answer that verifies
 * is stored.
 *
 * @module
 */

import { bareHost } from '../../address/host.ts';
import type { CheckpointRecord } from '../../domain/log/checkpoint.ts';
import { noteClaims, readNote, readSignatureLines, signatureLine } from '../../domain/log/note.ts';
import { type NoteKey, readVkey } from '../../domain/log/note-key.ts';
import { firstPlaceOf } from '../../domain/log/origin.ts';
import { countText } from '../../domain/values/count-text.ts';
import { toBase64 } from '../../domain/wire/base64.ts';
import { isNoteClaim } from '../../keyring/note-signing.ts';
import type { Logger } from '../../log.ts';
import { type Store, StoreUnavailable } from '../../storage/port/store.ts';
import type { CallOut } from '../outbound/outbound.ts';
import { type SealGuard, SealingRefused } from './compare-log.ts';
import { consistencyHashes } from './proofs.ts';

/**
 * In milliseconds. A witness signs in about one; a slower answer means a network or server problem.
 */
const WITNESS_TIMEOUT_MS = 5_000;

/** A cosignature has some 150 bytes; a witness may have several keys. */
const ANSWER_BYTES_MAX = 16 * 1024;

interface Asking {
  readonly store: Store;
  readonly callOut: CallOut;
}

/** A witness that serves as the mark: it sees each checkpoint before the store inserts it. */
export function witnessGuard(parts: Asking, witness: Witness): SealGuard {
  return {
    async seen(last) {
      if (!last || last.size === 0) return 0;
      // Asks with the last published checkpoint, so that the question reveals no new signature.
      const { status, body } = await orUnavailable(addCheckpoint(parts, witness, last, last.size));
      if (status === 200) return last.size;
      return status === 409 ? sizeOf(body) : refuseStatus(status);
    },
    async remember(next, seen) {
      // An empty tree has no history, and witnesses do not accept one.
      if (next.size === 0) return '';
      const { status, body } = await orUnavailable(addCheckpoint(parts, witness, next, seen));
      if (status === 200) return cosignatureIn(body, witness, next);
      if (status === 409) {
        // Either another process was first, or this log is a fork of one that grew elsewhere.
        if (sizeOf(body) <= next.size) return undefined;
        const found = `a witness has seen ${countText(sizeOf(body), 'entry', 'entries')}, the log has ${next.size}`;
        throw new SealingRefused(found, 'rollback', { entry_count: sizeOf(body) });
      }
      if (status === 422) {
        throw new SealingRefused(
          `a witness has seen ${countText(seen, 'entry', 'entries')} that are not those of the log`,
        );
      }
      return refuseStatus(status);
    },
  };
}

/**
 * An unreachable witness is not a refusal: nothing is sealed until it answers, and the log stays
 * usable.
 */
async function orUnavailable<Answer>(asking: Promise<Answer>): Promise<Answer> {
  try {
    return await asking;
  } catch (cause) {
    throw new StoreUnavailable(
      'Cannot seal: the witness that serves as the mark is not reachable',
      {
        cause,
      },
    );
  }
}

function refuseStatus(status: number): never {
  const why =
    status === 404 || status === 403
      ? 'it does not know this log; give it the log key that the start of the service names'
      : `it answered with status ${status}`;
  throw new StoreUnavailable(`Cannot ask the witness that serves as the mark: ${why}`);
}

interface Witness {
  readonly url: string;
  readonly vkey: string;
}

interface WitnessOptions extends Asking {
  readonly witnesses: readonly Witness[];
  readonly log: Logger;
}

interface Witnesses {
  /**
   * Has the checkpoint cosigned. If several arrive while witnesses are asked, only the last is
   * sent.
   */
  show(checkpoint: CheckpointRecord): void;
  /** Resolves when no question is open. */
  stop(): Promise<void>;
}

export function createWitnesses(parts: WitnessOptions): Witnesses {
  const seen = new Map<string, number>();
  let next: CheckpointRecord | undefined;
  let asking: Promise<void> | undefined;
  const askAll = async () => {
    for (let checkpoint = next; checkpoint; checkpoint = next) {
      next = undefined;
      const current = checkpoint;
      await Promise.all(
        parts.witnesses.map((witness) =>
          askOne(parts, witness, current, seen).catch((error: Error) => {
            parts.log.warn({ witness: witness.url, err: error }, 'a witness did not cosign');
          }),
        ),
      );
    }
    asking = undefined;
  };
  return {
    show(checkpoint) {
      if (parts.witnesses.length === 0 || checkpoint.size === 0) return;
      next = checkpoint;
      asking ??= askAll();
    },
    async stop() {
      next = undefined;
      await asking;
    },
  };
}

/** Asks one witness, from the size it last confirmed, or from 0 at first. */
async function askOne(
  parts: WitnessOptions,
  witness: Witness,
  checkpoint: CheckpointRecord,
  seen: Map<string, number>,
): Promise<void> {
  const { store, log } = parts;
  // A witness has a separate state for each log.
  const key = `${firstPlaceOf(checkpoint.sequence)} ${witness.url}`;
  let answer = await addCheckpoint(parts, witness, checkpoint, seen.get(key) ?? 0);
  if (answer.status === 409) {
    const size = sizeOf(answer.body);
    if (size > checkpoint.size) {
      const facts = { witness: witness.url, seen: size, entries: checkpoint.size };
      log.error(facts, 'a witness has seen more entries than the log has');
      return;
    }
    answer = await addCheckpoint(parts, witness, checkpoint, size);
  }
  if (answer.status !== 200) throw new Error(`Cannot get a cosignature: status ${answer.status}`);

  const line = cosignatureIn(answer.body, witness, checkpoint);
  seen.set(key, checkpoint.size);
  await store.insertCosignature(checkpoint.checkpoint_id, line);
}

async function addCheckpoint(
  { store, callOut }: Asking,
  { url }: Witness,
  { sequence, size, note }: CheckpointRecord,
  old: number,
): Promise<{ status: number; body: string }> {
  const first = firstPlaceOf(sequence);
  const proof = await consistencyHashes(store, { first, from: old, to: size });
  const lines = [`old ${old}`, ...proof.map(toBase64), '', note];
  const { status, body } = await callOut({
    url: `${url.replace(/\/+$/, '')}/add-checkpoint`,
    method: 'POST',
    headers: { 'content-type': 'text/plain; charset=utf-8', accept: 'text/plain' },
    body: lines.join('\n'),
    timeoutMs: WITNESS_TIMEOUT_MS,
    bytesMax: ANSWER_BYTES_MAX,
    // An operator configured it, so it may be on this machine or in this network.
    insideHosts: [bareHost(new URL(url))],
  });
  return { status, body: body.toString() };
}

function sizeOf(body: string): number {
  const digits = /^(0|[1-9]\d{0,14})\n$/.exec(body)?.[1];
  if (digits === undefined) throw new Error('Cannot get a cosignature: a conflict without a size');
  return Number(digits);
}

/** The line of this witness that verifies. Other lines are ignored. */
function cosignatureIn(body: string, witness: Witness, checkpoint: CheckpointRecord): string {
  const key = readVkey(witness.vkey) as NoteKey;
  const text = readNote(checkpoint.note)?.text ?? '';
  const signatures = readSignatureLines(body) ?? [];
  for (const signature of signatures) {
    const [claim] = noteClaims({ text, signatures: [signature] }, [key]) ?? [];
    if (claim && isNoteClaim(claim)) return signatureLine(signature);
  }
  throw new Error('Cannot get a cosignature: no answer that verifies');
}
