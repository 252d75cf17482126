/**
 * Acts of agents: what each did last, and how often it was refused today.
 *
 * An act belongs to the delegation whose root token is above the token of the call, whatever name the call
 * has: an agent chooses the names of its sub-agents. Reads a bounded number of the newest entries of the
 * person, and says when older ones were not read.
 *
 * @module
 */

import { entryView } from '../../domain/log/entry.ts';
import type { AuditEntry } from '../../protocol/audit.ts';
import { rememberedTokens } from '../core/remembered-tokens.ts';
import type { SignInParts } from './parts.ts';

/** Entries in one read: about a millisecond of an embedded store. */
const READ_MAX = 32;

/** Entries that are read for one page. */
const ENTRIES_MAX = 2_000;

interface LastAct {
  readonly at: Date;
  readonly capability?: string | undefined;
  /** `success`, or the type of the failure. */
  readonly outcome: string;
}

/** What was found in the entries that were read. */
export interface Acts {
  readonly lastAct?: LastAct | undefined;
  readonly refusalsToday: number;
  /** Whether every entry of today was read, and every entry at all. */
  readonly isWholeDay: boolean;
  readonly isWhole: boolean;
}

/** By the id of the root token. */
export async function actsOf(
  { store, lane }: SignInParts,
  rootPrincipal: string,
): Promise<(rootTokenId: string) => Acts> {
  const tally = createTally(store.now());
  const tokens = rememberedTokens({ store });
  const slices = lane.slices();
  let looked = 0;
  let before: number | undefined;
  do {
    await slices.turn();
    const query = { rootPrincipal, entryType: 'invocation' as const, limit: READ_MAX, before };
    const page = await store.queryEntries(query);
    for (const entry of page.entries.map(entryView)) {
      tally.add(entry, (await tokens(entry.token_id))?.lineage[0]);
    }
    looked += READ_MAX;
    before = page.next;
  } while (before !== undefined && looked < ENTRIES_MAX);
  const isWhole = before === undefined;
  return (root) => tally.of(root, isWhole);
}

/** Takes entries from the newest on. */
function createTally(now: Date) {
  const today = new Date(now);
  today.setUTCHours(0, 0, 0, 0);
  const last = new Map<string, LastAct>();
  const refusals = new Map<string, number>();
  let isBeforeToday = false;
  return {
    add(entry: AuditEntry, root: string | undefined): void {
      isBeforeToday ||= new Date(entry.timestamp) < today;
      if (root === undefined) return;
      if (!last.has(root)) last.set(root, actOf(entry));
      if (isBeforeToday || entry.state !== 'refused') return;
      refusals.set(root, (refusals.get(root) ?? 0) + 1);
    },
    of: (root: string, isWhole: boolean): Acts => ({
      lastAct: last.get(root),
      refusalsToday: refusals.get(root) ?? 0,
      isWholeDay: isBeforeToday || isWhole,
      isWhole,
    }),
  };
}

function actOf({ timestamp, capability, failure_type }: AuditEntry): LastAct {
  return {
    at: new Date(timestamp),
    capability: capability ?? undefined,
    outcome: failure_type ?? 'success',
  };
}
