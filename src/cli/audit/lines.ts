/**
 * The lines of an export, oldest first, from what was fetched newest first.
 *
 * @module
 */

import { firstPlaceOf } from '../../domain/log/origin.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import type { AuditEntry, Checkpoint } from '../../protocol/audit.ts';
import {
  type ExportedDetail,
  LOG_FORMAT,
  type LogHeader,
  TRAIL_FORMAT,
  type TrailHeader,
} from '../../protocol/export.ts';
import type { Jwks } from '../../protocol/trust.ts';
import type { Spool } from './spool.ts';

/** Values of the whole export. */
export interface ExportFacts {
  readonly serviceId: string;
  readonly jwks: Jwks;
  /** The newest checkpoint when the export began: the one that covers all of it. */
  readonly checkpoint: ExportedDetail;
}

export interface FetchedLog {
  readonly entries: Spool<AuditEntry>;
  /** All checkpoints but the newest, as the service lists them. */
  readonly earlier: Spool<Checkpoint>;
  readonly earlierCount: number;
  /** Entries of all logs of the store. */
  readonly count: number;
}

export async function* logLines(
  { serviceId, jwks, checkpoint }: ExportFacts,
  { entries, earlier, earlierCount, count }: FetchedLog,
): AsyncGenerator<string> {
  const header: LogHeader = {
    format: LOG_FORMAT,
    service_id: serviceId,
    tree_size: count,
    checkpoints: earlierCount + 1,
    jwks,
  };
  yield canonicalJson(header);
  const sealed = earlier.backwards();
  let [end, next] = [0, sealed.next()];
  // Several checkpoints may cover the same entries, and the first may cover none.
  const sealedHere = function* () {
    for (; !next.done && coveredEnd(next.value) === end; next = sealed.next()) {
      yield canonicalJson({ checkpoint: next.value });
    }
  };
  yield* sealedHere();
  for (const entry of entries.backwards()) {
    yield canonicalJson({ entry });
    end = entry.sequence + 1;
    yield* sealedHere();
  }
  yield canonicalJson({ checkpoint });
}

/** The index after the last entry that a checkpoint covers. */
export function coveredEnd({ sequence, entry_count }: Checkpoint): number {
  return firstPlaceOf(sequence) + entry_count;
}

/** `prove` fetches the proof of the entry at one index; `undefined` when no checkpoint covers it. */
export async function* trailLines(
  { serviceId, jwks, checkpoint }: ExportFacts,
  entries: Spool<AuditEntry>,
  count: number,
  prove: (position: number) => Promise<object | undefined>,
): AsyncGenerator<string> {
  const facts = { format: TRAIL_FORMAT, service_id: serviceId, entries: count } as const;
  yield canonicalJson({ ...facts, checkpoint, jwks } satisfies TrailHeader);
  for (const entry of entries.backwards()) {
    const proved = await prove(entry.sequence);
    if (proved) yield canonicalJson({ entry, ...proved });
  }
}
