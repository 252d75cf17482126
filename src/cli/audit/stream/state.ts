/**
 * The place of a stream, in a file: how far the target has the log, and the chunk that is being sent.
 *
 * A chunk is stored beside the state before it is sent, and the state names it. A process that was killed while it sent
 * therefore sends the same bytes again, whatever the service answers by then.
 *
 * @module
 */

import { existsSync, rmSync } from 'node:fs';
import { type Hash, peaksOf } from '../../../domain/log/merkle.ts';
import { fromHex, sha256, toHex } from '../../../domain/wire/hash.ts';
import { errorCode } from '../../../keyring/key-file.ts';
import { STREAM_STATE_FORMAT, type StreamPlace, StreamState } from '../../../protocol/export.ts';
import { holdLock } from '../../../storage/file-lock.ts';
import { writeTextAtomically } from '../../shell/atomic-file.ts';
import { bytesIn, readJsonFile } from '../../shell/files.ts';

/** The state of a target that has nothing yet. */
export function newState(target: string, serviceId: string): StreamState {
  const place = { chunk: 0, log_id: NO_LOG, first: 0, size: 0, peaks: [] };
  return { format: STREAM_STATE_FORMAT, target, service_id: serviceId, place };
}

/** Before the first chunk the log has no name yet. */
export const NO_LOG = '-';

export function peaksIn({ peaks: texts }: Pick<StreamPlace, 'peaks'>): Hash[] {
  return texts.map((hex) => fromHex(hex) as Hash);
}

export interface StateFile {
  readonly path: string;
  /** `undefined` when there is no file. */
  read(): StreamState | undefined;
  save(state: StreamState): Promise<void>;
  /** Stores a chunk before it is sent. */
  keep(text: string): Promise<void>;
  /** The stored chunk. Throws when it is not the one that the state names. */
  kept(pending: NonNullable<StreamState['pending']>): string;
  /** Removes the stored chunk. */
  drop(): void;
  /** Lets another process use the state. */
  release(): void;
}

/** Throws when another process uses the state. */
export function openState(path: string): StateFile {
  const release = locked(path);
  const chunk = `${path}.pending`;
  return {
    path,
    release,
    read: () => (existsSync(path) ? stateIn(path) : undefined),
    save: (state) => writeTextAtomically(path, JSON.stringify(state)),
    // A chunk ends with a line break, which the writer adds.
    keep: (text) => writeTextAtomically(chunk, text.slice(0, -1)),
    kept({ sha256: digest }) {
      const bytes = bytesIn(chunk);
      if (sha256Of(bytes) === digest) return new TextDecoder().decode(bytes);
      throw new Error(`"${chunk}" is not the chunk that "${path}" names; restore both or neither`);
    },
    drop: () => rmSync(chunk, { force: true }),
  };
}

export function sha256Of(bytes: Uint8Array): string {
  return toHex(sha256(bytes));
}

function locked(path: string): () => void {
  let release: (() => void) | undefined;
  try {
    release = holdLock(`${path}.lock`);
  } catch (error) {
    throw new Error(`"${path}" cannot be locked (${errorCode(error)})`, { cause: error });
  }
  if (release) return release;
  throw new Error(`another process uses the state "${path}"; one at a time writes a stream`);
}

function stateIn(path: string): StreamState {
  const parsed = StreamState.safeParse(readJsonFile(path));
  const state = parsed.data;
  const places = state ? [state.place, ...(state.pending ? [state.pending.after] : [])] : [];
  const isWhole = places.every((place) => place.peaks.length === peaksOf(place.size).length);
  if (state && isWhole) return state;
  throw new Error(
    `"${path}" is not a state of "writ audit stream"; restore it, or see docs/export.md`,
  );
}
