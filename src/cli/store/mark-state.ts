/**
 * How the log of a store relates to what was signed of it, for commands that read a store and its mark.
 *
 * @module
 */

import type { Config } from '../../config/config.ts';
import { countText } from '../../domain/values/count-text.ts';
import { system } from '../../platform.ts';
import {
  type ComparedLog,
  compareLog,
  SealingRefused,
  seenElsewhere,
} from '../../service/log/compare-log.ts';
import { witnessGuard } from '../../service/log/witness.ts';
import { callOutBy } from '../../service/outbound/outbound.ts';
import { openMark } from '../../storage/open.ts';
import { MarkDamaged, type MarkStore } from '../../storage/port/mark.ts';
import type { CheckpointRecord } from '../../storage/port/records.ts';
import { type Store, StoreUnavailable } from '../../storage/port/store.ts';

/** `ready`: a service signs it. `rolled_back`, `mark_missing`: a service refuses until an operator decides. */
export interface LogState {
  readonly state: 'ready' | 'rolled_back' | 'mark_missing' | 'unknown';
  /** Completes a sentence for a person. */
  readonly why: string;
  readonly entries: number;
  readonly signed?: number | undefined;
  readonly checkpoint?: number | undefined;
}

type MarkSettings = Pick<Config, 'mark' | 'witnesses'>;

/** The address of the mark, if there is one that is not a witness. */
export function markAddressOf({ mark }: MarkSettings): string | undefined {
  return mark === undefined || mark === 'none' || mark === 'witness' ? undefined : mark;
}

/** Reads the mark of a log. */
export async function readMark(
  config: MarkSettings,
  logId: string,
): Promise<CheckpointRecord | undefined> {
  return withMark(config, false, async (mark) => mark?.read(logId));
}

/** Compares the log of the store with its mark or its witness, as a service does when it starts. */
export async function logState(config: MarkSettings, store: Store): Promise<LogState> {
  return withAnchor(config, store, false, async ({ mark, guard }) => {
    const { size: entries } = await store.sequence();
    try {
      const compared = await compareLog({ store, mark, guard });
      if (compared === undefined) {
        return { state: 'unknown', why: 'another process changes the log or its mark', entries };
      }
      await seenElsewhere({ store, guard }, compared);
      const { marked, last } = compared;
      const signed = marked ?? last;
      return {
        state: 'ready',
        entries,
        signed: signed?.size,
        checkpoint: signed?.sequence,
        why: extensionText(signed, mark !== undefined || guard !== undefined),
      };
    } catch (error) {
      return refusedState(error, entries);
    }
  });
}

function extensionText(signed: CheckpointRecord | undefined, isMarked: boolean): string {
  if (!isMarked) return 'no mark is configured, so a service does not notice an older copy';
  if (!signed) return 'nothing of the log was signed yet';
  return `the log extends checkpoint ${signed.sequence} over ${countText(signed.size, 'entry', 'entries')}`;
}

function refusedState(error: unknown, entries: number): LogState {
  if (error instanceof SealingRefused) {
    const { kind, lost } = error;
    return {
      state: kind === 'rollback' ? 'rolled_back' : 'mark_missing',
      entries,
      signed: lost?.entry_count,
      checkpoint: lost?.checkpoint,
      why: error.message.replace(/^Cannot seal: /, ''),
    };
  }
  if (error instanceof MarkDamaged || error instanceof StoreUnavailable) {
    return { state: 'unknown', why: error.message, entries };
  }
  throw error;
}

/** What a log is compared with: its mark, or its witness. */
type Anchor = Pick<ComparedLog, 'mark' | 'guard'>;

/** Without `create`, makes no file and no table of a mark where there is none. */
export async function withAnchor<Result>(
  config: MarkSettings,
  store: Store,
  create: boolean,
  work: (anchor: Anchor) => Promise<Result>,
): Promise<Result> {
  const [witness] = config.witnesses;
  const isWitnessed = config.mark === 'witness' && witness !== undefined;
  const asking = { store, callOut: callOutBy(system) };
  const guard = isWitnessed ? witnessGuard(asking, witness) : undefined;
  return withMark(config, create, (mark) => work({ mark, guard }));
}

async function withMark<Result>(
  config: MarkSettings,
  create: boolean,
  work: (mark: MarkStore | undefined) => Promise<Result>,
): Promise<Result> {
  const address = markAddressOf(config);
  const mark = address === undefined ? undefined : await openMark(address, { create });
  try {
    return await work(mark);
  } finally {
    await mark?.close();
  }
}
