/**
 * Begins a state: for a new target, or from the last chunk of a target whose state was lost.
 *
 * The last chunk is enough, because its header has the tree before it and its checkpoint signs the tree after it.
 *
 * @module
 */

import { basename } from 'node:path';
import { toHex, utf8 } from '../../../domain/wire/hash.ts';
import type { StreamState } from '../../../protocol/export.ts';
import { verifyStream } from '../../../verify/export/stream.ts';
import { bytesIn } from '../../shell/files.ts';
import { checkpointSigner } from './heads.ts';
import type { Patience } from './patience.ts';
import { patiently } from './patience.ts';
import { CHUNK_NAME, chunkName, type Sink } from './sink.ts';
import { newState } from './state.ts';

export interface Begin {
  readonly sink: Sink;
  readonly patience: Patience;
  readonly serviceId: string;
  readonly pins: readonly string[];
  /** The file of the last chunk, where the target cannot list what it has. */
  readonly resumeFrom: string | undefined;
}

/** Throws when the target has chunks and nothing says where they end. */
export async function beginState(begin: Begin): Promise<StreamState> {
  const { sink, patience, serviceId, resumeFrom } = begin;
  const stored = async (name: string) => {
    return patiently(patience, () => sink.get(name, patience.signal));
  };
  if (resumeFrom !== undefined) {
    const state = await stateAfter(begin, basename(resumeFrom), bytesIn(resumeFrom));
    const next = chunkName(state.place.chunk + 1);
    if ((await stored(next)) === undefined) return state;
    throw new Error(`the target has "${next}" too; give the last chunk (--resume-from)`);
  }
  const last = sink.last?.();
  const text = last === undefined ? undefined : await stored(last);
  if (last !== undefined && text !== undefined) return stateAfter(begin, last, utf8(text));
  if ((await stored(chunkName(1))) !== undefined) {
    const ways = 'give its state (--state), or its last chunk as a file (--resume-from)';
    throw new Error(`the target has chunks and there is no state; ${ways}`);
  }
  return newState(sink.target, serviceId);
}

async function stateAfter(
  { sink, serviceId, pins }: Begin,
  name: string,
  bytes: Uint8Array,
): Promise<StreamState> {
  const number = Number(CHUNK_NAME.exec(name)?.[1] ?? Number.NaN);
  const keys = { pinned: pins.length > 0 ? pins : ('all' as const) };
  const ground = { keys, now: new Date(), serviceId, allowErased: true, isLast: true };
  const { checks, position, newest } = await verifyStream(
    [{ name, number, content: [bytes] }],
    ground,
  );
  const fault = checks.find(({ outcome }) => outcome !== 'ok');
  if (fault || !position || !newest) {
    const why = fault ? `${fault.what}: ${fault.detail}` : 'it has no checkpoint';
    throw new Error(`"${name}" does not say where to continue: ${why}`);
  }
  const { chunk, logId: log_id, first, size, peaks } = position;
  const after = { chunk, log_id, first, size, peaks: peaks.map(toHex), checkpoint: newest };
  return {
    ...newState(sink.target, serviceId),
    key: checkpointSigner(serviceId, newest),
    place: after,
  };
}
