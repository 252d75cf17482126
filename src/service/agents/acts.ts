/**
 * Acts: what each agent of a root principal did last, how often it was refused today, and what it waits for.
 *
 * An act belongs to the token of the call, whatever name the call has: an agent chooses the names of its
 * sub-agents. A client with the consent of a person gets a new access token every few minutes; the acts under
 * all of them belong to the root token of the consent. Reads a bounded number of the newest entries.
 *
 * @module
 */

import { entryView } from '../../domain/log/entry.ts';
import type { AuditEntry } from '../../protocol/audit.ts';
import type { Act } from '../../protocol/console/views.ts';
import type { ConsentRecord } from '../../storage/port/sign-in-store.ts';
import { type RememberedToken, rememberedTokens } from '../caller/caller.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Slices } from '../pace/slices.ts';

/** Entries in one read: about a millisecond of an embedded store. */
const READ_MAX = 32;

/** Entries that are read for one answer. */
const ENTRIES_MAX = 2_000;

/** Approval requests that are looked up for one answer. */
const REQUESTS_MAX = 200;

export interface Acts {
  /** By the id of an agent's token; of a consent, its root token. */
  of(tokenId: string): AgentActs;
  /** Pending approval requests under a token and the tokens below it, as far as entries were read. */
  pendingBelow(tokenId: string): number;
  /** Whether all entries of calls were read, and all requests that they name were looked up. */
  readonly isWhole: boolean;
}

interface AgentActs {
  readonly acts_are_whole: boolean;
  readonly last_act: Act | null;
  readonly refused_today: number;
  readonly waits_for: string | null;
}

const NONE = { last_act: null, refused_today: 0, waits_for: null };

/** For a caller who may not read the entries of the root principal. */
export const NO_ACTS: Acts = {
  of: () => ({ ...NONE, acts_are_whole: false }),
  pendingBelow: () => 0,
  isWhole: false,
};

export async function actsOf(
  parts: Pick<ServiceParts, 'store'>,
  slices: Slices,
  rootPrincipal: string,
): Promise<Acts> {
  const { store } = parts;
  const tally = createTally(store.now());
  const tokens = rememberedTokens(parts);
  const consents = createConsents(parts);
  let before: number | undefined;
  for (let looked = 0; looked < ENTRIES_MAX; looked += READ_MAX) {
    await slices.turn();
    const query = { rootPrincipal, entryType: 'invocation' as const, limit: READ_MAX, before };
    const page = await store.queryEntries(query);
    for (const entry of page.entries.map(entryView)) {
      const token = await tokens(entry.token_id);
      if (token) tally.add(entry, token, await holderOf(consents, token));
    }
    before = page.next;
    if (before === undefined) break;
  }
  const { found, asked } = tally;
  const pending = await pendingOf(parts, slices, asked.keys());
  const isWhole = before === undefined && asked.size < REQUESTS_MAX;
  const acts_are_whole = isWhole;
  return {
    isWhole,
    of(tokenId) {
      const acts = found.get(tokenId);
      if (!acts) return { ...NONE, acts_are_whole };
      const waits_for = acts.asked.find((id) => pending.has(id)) ?? null;
      return { acts_are_whole, last_act: acts.last, refused_today: acts.refused, waits_for };
    },
    pendingBelow: (tokenId) =>
      [...pending].filter((id) => asked.get(id)?.lineage.includes(tokenId)).length,
  };
}

/** Takes entries from the newest on. */
function createTally(now: Date) {
  const today = now.toISOString().slice(0, 10);
  const found = new Map<string, { last: Act; refused: number; asked: string[] }>();
  /** The tokens that asked for approval, by request. */
  const asked = new Map<string, RememberedToken>();
  return {
    found,
    asked,
    add(entry: AuditEntry, token: RememberedToken, holder: string): void {
      const acts = found.get(holder) ?? { last: actView(entry), refused: 0, asked: [] };
      found.set(holder, acts);
      if (entry.state === 'refused' && entry.timestamp.startsWith(today)) acts.refused += 1;
      const { approval_request_id: id } = entry;
      if (id === null || asked.has(id) || asked.size === REQUESTS_MAX) return;
      asked.set(id, token);
      acts.asked.push(id);
    },
  };
}

/** The agent that a token belongs to: an access token belongs to the root token of its consent. */
async function holderOf(
  consents: (rootId: string) => Promise<ConsentRecord | undefined>,
  { token_id, lineage, subject }: RememberedToken,
): Promise<string> {
  const [root = token_id] = lineage;
  if (lineage.length !== 2) return token_id;
  return (await consents(root))?.subject === subject ? root : token_id;
}

async function pendingOf(
  { store }: Pick<ServiceParts, 'store'>,
  slices: Slices,
  ids: Iterable<string>,
): Promise<ReadonlySet<string>> {
  const pending = new Set<string>();
  for (const id of ids) {
    await slices.turn();
    const state = await store.approvalState(id);
    if (state?.status === 'pending' && state.expires_at > store.now()) pending.add(id);
  }
  return pending;
}

/** Reads consents by the ids of their root tokens. */
function createConsents({ store }: Pick<ServiceParts, 'store'>) {
  const known = new Map<string, ConsentRecord | undefined>();
  return async (token_id: string): Promise<ConsentRecord | undefined> => {
    if (!known.has(token_id)) known.set(token_id, await store.findConsent({ token_id }));
    return known.get(token_id);
  };
}

export function actView(entry: AuditEntry): Act {
  const { invocation_id, capability, timestamp, success, failure_type, cost_actual } = entry;
  return { invocation_id, capability, timestamp, success, failure_type, cost: cost_actual };
}
