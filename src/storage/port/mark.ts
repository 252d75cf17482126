/**
 * The high-water mark: the last checkpoint that was signed, kept outside the database it is about.
 *
 * A database can be restored from an older copy, and then knows nothing of what was signed since. The
 * mark does, so the signer asks it first. It is the whole signed checkpoint, so that one which was
 * signed and not yet kept when the process died is kept afterwards as it is, and none of its place is
 * ever signed twice. Marks of several logs may share a place: each is kept under its log's id.
 *
 * @module
 */

import { fromHex, toHex } from '../../domain/wire/hash.ts';
import type { CheckpointRecord } from './records.ts';

export interface MarkStore {
  read(logId: string): Promise<CheckpointRecord | undefined>;

  /**
   * Replaces the mark that was read by the next. False, and nothing changed, when it is another by
   * now; of several processes that try at once one succeeds. Durable when it resolves.
   */
  advance(
    logId: string,
    from: CheckpointRecord | undefined,
    to: CheckpointRecord,
  ): Promise<boolean>;

  /** What an operator said of the log, kept beside its mark. */
  word(logId: string): Promise<LogWord | undefined>;

  /** Keeps what an operator said. `ended` is never taken back. Durable when it resolves. */
  say(logId: string, word: LogWord): Promise<void>;

  /**
   * Says that the log has `ended`, and keeps which one begins after it. Returns that one: of several
   * that are named it is the first. Durable when it resolves.
   */
  end(logId: string, successor: string): Promise<string>;

  /** The log that begins after this one, as `end` kept it. */
  successor(logId: string): Promise<string | undefined>;

  /** The log that was last signed under this key, by the place of its store. */
  logsOf(kid: string): Promise<ReadonlyMap<string, string>>;

  /** Keeps under which key the log of the store at a place is signed. Durable when it resolves. */
  signsWith(kid: string, storePlace: string, logId: string): Promise<void>;

  close(): Promise<void>;
}

/** `accepted`: the log may be signed though nothing is marked yet. `ended`: another one began after it. */
export type LogWord = 'accepted' | 'ended';

/** There is a mark, and it cannot be read. Never the same as none. */
export class MarkDamaged extends Error {
  override readonly name = 'MarkDamaged';

  constructor(what: string, options?: ErrorOptions) {
    super(
      `Cannot read ${what}: it is damaged; see docs/operating.md, "The mark is missing"`,
      options,
    );
  }
}

/** What a place keeps: one text for each log, replaced only where it is still the one expected. */
export interface MarkPlace {
  read(logId: string): Promise<string | undefined>;
  replace(logId: string, from: string | undefined, to: string): Promise<boolean>;
  close(): Promise<void>;
}

export function markIn(place: MarkPlace): MarkStore {
  const successor = (logId: string) => place.read(successorKey(logId));
  const say = async (logId: string, word: LogWord) => {
    for (;;) {
      const said = await place.read(wordKey(logId));
      if (said === word || said === 'ended') return;
      if (await place.replace(wordKey(logId), said, word)) return;
    }
  };
  return {
    async read(logId) {
      const text = await place.read(logId);
      return text === undefined ? undefined : recordOf(text);
    },
    advance: (logId, from, to) => place.replace(logId, from && textOf(from), textOf(to)),
    word: async (logId) => wordOf(await place.read(wordKey(logId))),
    say,
    async end(logId, named) {
      // The successor first: a log that ended without one could never be gone on from.
      await place.replace(successorKey(logId), undefined, named);
      await say(logId, 'ended');
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
    const said = await place.read(logsKey(kid));
    const logs = logsIn(said);
    if (logs.get(storePlace) === logId) return;
    const next = JSON.stringify([...logs.set(storePlace, logId)]);
    if (await place.replace(logsKey(kid), said, next)) return;
  }
}

function logsIn(text: string | undefined): Map<string, string> {
  try {
    return new Map(text === undefined ? [] : JSON.parse(text));
  } catch (cause) {
    throw new MarkDamaged('which logs a key has signed', { cause });
  }
}

/** Beside the mark: no log has such an id. */
function wordKey(logId: string): string {
  return `${logId}/word`;
}

function logsKey(kid: string): string {
  return `${kid}/logs`;
}

function successorKey(logId: string): string {
  return `${logId}/successor`;
}

function wordOf(text: string | undefined): LogWord | undefined {
  if (text === undefined || text === 'accepted' || text === 'ended') return text;
  throw new MarkDamaged("the operator's word of the mark");
}

/** Equal records have equal texts: they are compared when one is to replace the other. */
function textOf(record: CheckpointRecord): string {
  const { checkpoint_id, sequence, size, root, created_at, signature, note } = record;
  const said = { checkpoint_id, sequence, size, root: toHex(root), created_at, signature, note };
  return JSON.stringify(said);
}

function recordOf(text: string): CheckpointRecord {
  try {
    const { root, created_at, ...said } = JSON.parse(text);
    const record = { ...said, root: fromHex(root), created_at: new Date(created_at) };
    if (textOf(record) === text) return record;
  } catch (cause) {
    throw new MarkDamaged('the mark', { cause });
  }
  throw new MarkDamaged('the mark');
}
