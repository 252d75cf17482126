/**
 * Reads lines of a file that arrives in pieces, in bounded memory.
 *
 * @module
 */

import type { Hash } from '../../domain/log/merkle.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import { type JsonLimits, readJson } from '../../domain/wire/json.ts';
import type { Checkpoint } from '../../protocol/audit.ts';
import type { KeySource } from '../keys.ts';
import { type Check, failed, notChecked, passedCheck } from '../report.ts';

export type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Fits the longest leaf in base64 and the fields of its entry, with a margin. */
const LINE_LIMITS: JsonLimits = { bytes: 512 * 1024, depth: 64, keys: 100_000 };

const LINE_BREAK = 0x0a;

/**
 * The value of each line; `undefined` for a line that is not canonical JSON, so that a value
 * has one spelling only. A last line without a line break is skipped: it may be cut.
 */
export async function* valuesOf(chunks: Chunks): AsyncGenerator<{ value: unknown } | undefined> {
  let held: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let at = chunk.indexOf(LINE_BREAK); at >= 0; at = chunk.indexOf(LINE_BREAK, start)) {
      yield readLine([...held, chunk.subarray(start, at)]);
      [held, length, start] = [[], 0, at + 1];
    }
    const rest = chunk.slice(start);
    length += rest.length;
    if (length > LINE_LIMITS.bytes) return yield undefined;
    if (rest.length > 0) held.push(rest);
  }
  if (length > 0) yield undefined;
}

function readLine(pieces: readonly Uint8Array[]): { value: unknown } | undefined {
  const line = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    line.set(piece, at);
    at += piece.length;
  }
  const reading = readJson(line, LINE_LIMITS);
  if (!('value' in reading)) return undefined;
  return canonicalJson(reading.value) === new TextDecoder().decode(line) ? reading : undefined;
}

/**
 * What the verification of a file starts from: keys, service, time, and a receipt to look for.
 *
 * @example
 * import type { ExportAnchors } from 'writ/verify';
 *
 * const anchors: ExportAnchors = {
 *   keys: { pinned: ['hZf83EZEkvxqmuAKasjHqhs5BS0E9kgVgCAheimoEMg'] },
 *   now: new Date(),
 *   serviceId: 'travel-desk',
 *   isTrail: true,
 * };
 */
export interface ExportAnchors {
  /** Given keys replace those of the file. */
  readonly keys: KeySource;
  readonly now: Date;
  readonly serviceId?: string | undefined;
  readonly allowErased?: boolean | undefined;
  /** Whether a trail is expected; otherwise the report notes that a trail is not a whole log. */
  readonly isTrail?: boolean | undefined;
  /** A receipt to look for. */
  readonly receipt?: unknown;
  /**
   * The newest checkpoint that the holder of the receipt fetched after the receipt arrived. With it the
   * absence of the leaf from a whole log can be a proof (`receipt-search.ts`).
   */
  readonly after?: unknown;
}

/** Takes the lines after the header, and returns its checks at the end. */
export interface ExportReader {
  read(value: unknown): Promise<ReadLine>;
  finish(): Promise<Check[]>;
}

/** A leaf or a checkpoint; neither if the line cannot be used. */
export interface ReadLine {
  readonly leaf?: Hash | undefined;
  readonly checkpoint?: Checkpoint | undefined;
}

/** Enough to see the kind of damage. */
const EXAMPLES_MAX = 5;

export interface Tally {
  /** Adds one check of the kind `what`; its detail is kept only if the check is not ok. */
  add(what: string, check: Pick<Check, 'outcome' | 'detail'>): void;
  /** One check for each kind, in the order of their first appearance. */
  checks(): Check[];
}

/** Combines many checks of a kind into one: their number, and the first few that failed. */
export function createTally(): Tally {
  const kinds = new Map<string, Kind>();
  return {
    add(what, { outcome, detail = '' }) {
      const kind = kinds.get(what) ?? newKind();
      kinds.set(what, kind);
      kind.counts[outcome] += 1;
      const examples = kind.examples[outcome];
      if (examples.size < EXAMPLES_MAX) examples.add(detail);
    },
    checks: () => [...kinds].map(([what, kind]) => checkOf(what, kind)),
  };
}

interface Kind {
  readonly counts: Record<Check['outcome'], number>;
  /** Keeps different details only. */
  readonly examples: Record<Check['outcome'], Set<string>>;
}

function newKind(): Kind {
  return {
    counts: { ok: 0, failed: 0, not_checked: 0 },
    examples: { ok: new Set(), failed: new Set(), not_checked: new Set() },
  };
}

function checkOf(what: string, { counts, examples }: Kind): Check {
  const summary = (outcome: Check['outcome']) => {
    const shown = [...examples[outcome]].join('; ');
    return counts[outcome] > 1 ? `${counts[outcome]} times: ${shown}` : shown;
  };
  if (counts.failed > 0) return failed(what, summary('failed'));
  if (counts.not_checked > 0) return notChecked(what, summary('not_checked'));
  return passedCheck(what, String(counts.ok));
}
