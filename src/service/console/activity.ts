/**
 * Activity: spending and refusals by day, and one invocation with everything that belongs to it.
 *
 * The same entries are visible as in an audit query: a person sees those of the own root principal, an operator
 * with `operator:audit` sees all. A number of days is computed from a bounded number of the newest entries.
 *
 * @module
 */

import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { entryView } from '../../domain/log/entry.ts';
import { fromMinor, isWritable, toMinor } from '../../domain/values/money.ts';
import type { ApprovalRequest } from '../../protocol/approval.ts';
import type { AuditEntry } from '../../protocol/audit.ts';
import type { ConsoleRequest } from '../../protocol/console/methods.ts';
import type { Act, Day, Days, Invocation } from '../../protocol/console/views.ts';
import type { Money } from '../../protocol/primitives.ts';
import type { EntryQuery } from '../../storage/port/store.ts';
import { actView } from '../agents/acts.ts';
import { requestView, visibleRequest } from '../approval/approvers.ts';
import { handsOf } from '../approval/lineage.ts';
import { notOperator } from '../authority/freeze.ts';
import { unknownToken } from '../authority/tokens.ts';
import { inLane } from '../caller/audited.ts';
import { type Asking, type Caller, holdsScope, rememberedTokens } from '../caller/caller.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Slices } from '../pace/slices.ts';

/** Entries in one read: about a millisecond of an embedded store. */
const READ_MAX = 32;

/** Entries that are read for one answer, and reads: a read may find fewer entries than it asks for. */
const ENTRIES_MAX = 5_000;
const READS_MAX = 256;

const DAYS = 14;
const DAY_MS = 86_400_000;

/** Entries of one invocation: the call, its approval, its settlement, its reconciliation. */
const ENTRIES_OF_A_CALL = 64;

/** Calls below one call that are shown. */
const CHILDREN_MAX = 50;

export async function daysOf(
  parts: ServiceParts,
  { caller, ask }: Asking,
  { capability, token_id, root_principal }: ConsoleRequest<'activity.days'>,
): Promise<Days> {
  const isAuditor = holdsScope(caller, 'operator:audit');
  if (root_principal !== undefined && root_principal !== caller.root_principal) {
    refuse(notOperator(caller, 'audit'));
  }
  const branch = token_id === undefined ? undefined : await readableToken(parts, caller, token_id);
  const everybody = isAuditor ? undefined : caller.root_principal;
  const rootPrincipal = root_principal ?? branch?.root_principal ?? everybody;
  return inLane(parts, caller, ask, (slices) => {
    const query = { rootPrincipal, capability, entryType: 'invocation' as const };
    return readDays(parts, slices, query, branch?.token_id);
  });
}

/** Whose entries the caller may read decides whether the token is known. */
async function readableToken({ store }: ServiceParts, caller: Caller, tokenId: string) {
  const { token } = await store.load({ tokenId });
  const isOwn = token?.root_principal === caller.root_principal;
  if (token && (isOwn || holdsScope(caller, 'operator:audit'))) return token;
  throw new Refusal(unknownToken(tokenId));
}

async function readDays(
  parts: ServiceParts,
  slices: Slices,
  query: Omit<EntryQuery, 'limit'>,
  branch: string | undefined,
): Promise<Days> {
  const { store } = parts;
  const today = Math.floor(store.now().getTime() / DAY_MS) * DAY_MS;
  const first = today - (DAYS - 1) * DAY_MS;
  const since = new Date(first - 1);
  const tokens = rememberedTokens(parts);
  const days = new Map<string, Tally>();
  for (let at = first; at <= today; at += DAY_MS) days.set(dayOf(new Date(at)), newTally());
  let read = 0;
  let before: number | undefined;
  let oldest: string | undefined;
  for (let reads = 0; reads < READS_MAX && read < ENTRIES_MAX; reads++) {
    await slices.turn();
    const page = await store.queryEntries({ ...query, since, before, limit: READ_MAX });
    for (const entry of page.entries.map(entryView)) {
      read += 1;
      oldest = dayOf(new Date(entry.timestamp));
      const isCounted =
        branch === undefined || (await tokens(entry.token_id))?.lineage.includes(branch);
      if (isCounted) count(days.get(oldest), entry);
    }
    before = page.next;
    if (before === undefined) break;
  }
  const isComplete = before === undefined;
  const known = [...days].filter(([day]) => isComplete || (oldest !== undefined && day >= oldest));
  return {
    days: known.map(([day, tally]) => dayView(day, tally)),
    entries_read: read,
    is_complete: isComplete,
  };
}

interface Tally {
  readonly spent: Map<string, bigint>;
  succeeded: number;
  failed: number;
  refused: number;
}

function newTally(): Tally {
  return { spent: new Map(), succeeded: 0, failed: 0, refused: 0 };
}

/** An entry dated after today, by another clock, belongs to no day. */
function count(tally: Tally | undefined, { state, cost_actual: cost }: AuditEntry): void {
  if (!tally) return;
  if (state === 'completed') tally.succeeded += 1;
  else if (state === 'refused') tally.refused += 1;
  else tally.failed += 1;
  const amount = cost ? toMinor(cost.amount, cost.currency) : undefined;
  if (!cost || amount === undefined) return;
  tally.spent.set(cost.currency, (tally.spent.get(cost.currency) ?? 0n) + amount);
}

function dayView(day: string, { spent, ...counts }: Tally): Day {
  const sums = [...spent].filter(([currency, amount]) => isWritable(amount, currency));
  const amounts = sums.map(
    ([currency, amount]): Money => ({ currency, amount: fromMinor(amount, currency) }),
  );
  return { day, spent: amounts, ...counts };
}

function dayOf(at: Date): string {
  return at.toISOString().slice(0, 10);
}

export async function invocationOf(
  parts: ServiceParts,
  { caller, ask }: Asking,
  { invocation_id }: ConsoleRequest<'activity.invocation'>,
): Promise<Invocation> {
  const rootPrincipal = holdsScope(caller, 'operator:audit') ? undefined : caller.root_principal;
  return inLane(parts, caller, ask, async (slices) => {
    const { store } = parts;
    const about = { rootPrincipal, invocationId: invocation_id };
    const entries = await someEntries(parts, slices, about, ENTRIES_OF_A_CALL);
    if (entries.length === 0) {
      throw new Refusal(failure('not_found', 'Cannot find the invocation: no entry names it'));
    }
    const call = entries.find(({ token_id }) => token_id !== null);
    const described = call?.token_id ? await store.describeToken(call.token_id, 0) : undefined;
    const below = { rootPrincipal, parentInvocationId: invocation_id };
    const children = await someEntries(parts, slices, below, CHILDREN_MAX);
    const asked = entries.find((entry) => entry.approval_request_id !== null);
    return {
      invocation_id,
      entries,
      chain: described ? await handsOf(parts, described) : [],
      request: await requestOf(parts, caller, asked?.approval_request_id ?? null),
      parent: entries.find((entry) => entry.parent_invocation_id)?.parent_invocation_id ?? null,
      children: children.filter(isCall).map((entry): Act => actView(entry)),
    };
  });
}

async function someEntries(
  { store }: ServiceParts,
  slices: Slices,
  query: Omit<EntryQuery, 'limit'>,
  most: number,
): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  let before: number | undefined;
  for (let reads = 0; reads < READS_MAX && found.length < most; reads++) {
    await slices.turn();
    const limit = Math.min(READ_MAX, most - found.length);
    const page = await store.queryEntries({ ...query, before, limit });
    found.push(...page.entries.map(entryView));
    before = page.next;
    if (before === undefined) break;
  }
  return found;
}

function isCall({ entry_type }: AuditEntry): boolean {
  return entry_type === 'invocation' || entry_type === 'compensation';
}

/** The approval request, where the person may see it. */
async function requestOf(
  parts: ServiceParts,
  caller: Caller,
  id: string | null,
): Promise<ApprovalRequest | null> {
  if (id === null) return null;
  try {
    return await requestView(parts, caller, await visibleRequest(parts, caller, id));
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}
