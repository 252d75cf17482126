/**
 * The high-water mark: the last signed checkpoint, stored outside the database it describes.
 *
 * A database restored from an older copy does not contain what was signed since. The mark does, so the signer
 * reads it first. The mark is the whole signed checkpoint: if the process dies after signing and before
 * storing it, the next start stores the same checkpoint, and no sequence is ever signed twice. Marks of
 * several logs may share a place, each under its log's id.
 *
 * @module
 */

import { fromHex, toHex } from '../../domain/wire/hash.ts';
import type { CheckpointRecord } from './records.ts';

export interface MarkStore {
  read(logId: string): Promise<CheckpointRecord | undefined>;

  /**
   * Replaces the mark that was read by the next one. False, and nothing changes, when another process
   * replaced it first. Durable when it resolves.
   */
  advance(
    logId: string,
    from: CheckpointRecord | undefined,
    to: CheckpointRecord,
  ): Promise<boolean>;

  /** The operator's statement about the log, stored beside its mark. */
  status(logId: string): Promise<LogStatus | undefined>;

  /** Stores the operator's statement. `ended` is never reverted. Durable when it resolves. */
  setStatus(logId: string, status: LogStatus): Promise<void>;

  /**
   * Stores the first successor that was named, and ends the log. Returns that one. Durable when it resolves.
   */
  end(logId: string, successor: string): Promise<string>;

  /** The successor that `end` stored. */
  successor(logId: string): Promise<string | undefined>;

  /** The last log signed with this key, by the place of its store. */
  logsOf(kid: string): Promise<ReadonlyMap<string, string>>;

  /** Stores which key signs the log of the store at a place. Durable when it resolves. */
  signsWith(kid: string, storePlace: string, logId: string): Promise<void>;

  close(): Promise<void>;
}

/** `accepted`: the log may be signed although it has no mark yet. `ended`: it has a successor. */
export type LogStatus = 'accepted' | 'ended';

/** A mark exists and cannot be read. Never treated as an absent mark. */
export class MarkDamaged extends Error {
  override readonly name = 'MarkDamaged';

  constructor(what: string, options?: ErrorOptions) {
    super(
      `Cannot read ${what}: it is damaged; see docs/operating.md, "The mark is missing"`,
      options,
    );
  }
}

/** A place stores one text a key, and replaces it only while it equals the expected text. */
export interface MarkPlace {
  read(logId: string): Promise<string | undefined>;
  replace(logId: string, from: string | undefined, to: string): Promise<boolean>;
  close(): Promise<void>;
}

export function markIn(place: MarkPlace): MarkStore {
  const successor = (logId: string) => place.read(successorKey(logId));
  const setStatus = async (logId: string, status: LogStatus) => {
    for (;;) {
      const stored = await place.read(statusKey(logId));
      if (stored === status || stored === 'ended') return;
      if (await place.replace(statusKey(logId), stored, status)) return;
    }
  };
  return {
    async read(logId) {
      const text = await place.read(logId);
      return text === undefined ? undefined : recordOf(text);
    },
    advance: (logId, from, to) => place.replace(logId, from && textOf(from), textOf(to)),
    status: async (logId) => statusOf(await place.read(statusKey(logId))),
    setStatus,
    async end(logId, named) {
      // The successor first: a log that ended without one could never be continued.
      await place.replace(successorKey(logId), undefined, named);
      await setStatus(logId, 'ended');
      return (await successor(logId)) ?? named;
    },
    successor,
    logsOf: async (kid) => logsIn(await place.read(logsKey(kid))),
    signsWith: (kid, storePlace, logId) => signsWith(place, kid, [storePlace, logId]),
    close: () => place.close(),
  };
}

async function signsWith(
  place: MarkPlace,
  kid: string,
  [storePlace, logId]: [storePlace: string, logId: string],
): Promise<void> {
  for (;;) {
    const stored = await place.read(logsKey(kid));
    const logs = logsIn(stored);
    if (logs.get(storePlace) === logId) return;
    const next = JSON.stringify([...logs.set(storePlace, logId)]);
    if (await place.replace(logsKey(kid), stored, next)) return;
  }
}

function logsIn(text: string | undefined): Map<string, string> {
  try {
    return new Map(text === undefined ? [] : JSON.parse(text));
  } catch (cause) {
    throw new MarkDamaged('which logs a key has signed', { cause });
  }
}

/** Beside the mark: no log id has this form. */
function statusKey(logId: string): string {
  return `${logId}/word`;
}

function logsKey(kid: string): string {
  return `${kid}/logs`;
}

function successorKey(logId: string): string {
  return `${logId}/successor`;
}

function statusOf(text: string | undefined): LogStatus | undefined {
  if (text === undefined || text === 'accepted' || text === 'ended') return text;
  throw new MarkDamaged("the operator's statement about the log");
}

/** Equal records have equal texts, because `replace` compares texts. */
function textOf(record: CheckpointRecord): string {
  const { checkpoint_id, sequence, size, root, created_at, signature, note } = record;
  const stored = { checkpoint_id, sequence, size, root: toHex(root), created_at, signature, note };
  return JSON.stringify(stored);
}

function recordOf(text: string): CheckpointRecord {
  try {
    const { root, created_at, ...stored } = JSON.parse(text);
    const record = { ...stored, root: fromHex(root), created_at: new Date(created_at) };
    if (textOf(record) === text) return record;
  } catch (cause) {
    throw new MarkDamaged('the mark', { cause });
  }
  throw new MarkDamaged('the mark');
}
