/**
 * What the same requester asked before, for the same capability, and what was decided.
 *
 * The requester is the chain of principals: an agent cannot take the history of another by its name.
 *
 * @module
 */

import type { History, HistoryItem, Similar } from '../../protocol/decision.ts';
import type { ApprovalRecord } from '../../storage/port/records.ts';
import type { AskerQuery } from '../../storage/port/store.ts';

import type { Caller } from '../caller/caller.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Slices } from '../pace/slices.ts';
import { decisionView } from './approvers.ts';

/** A request, who looks at it, and the slices in which its history is read. */
interface Asked {
  readonly caller: Caller;
  readonly request: ApprovalRecord;
  readonly slices: Slices;
}

/** Requests in one read. Each may have parameters of 256 KiB. */
const READ_MAX = 4;

/** Approved requests that are looked at until one is authentic. */
const SIMILAR_READ_MAX = 2;

/** The newest approved request of the same requester for the same capability. */
export async function similarTo(
  parts: ServiceParts,
  { caller, request }: Asked,
): Promise<Similar | null> {
  const asker = askerOf(parts, request);
  // A request that was decided is compared with those before it.
  const before = request.status === 'pending' ? undefined : request;
  const query = { ...asker, approved: true, before, limit: SIMILAR_READ_MAX };
  const { requests } = await parts.store.approvalsOf(query);
  const [found] = requests.filter((each) => !isSame(each, request));
  if (!found) return null;
  return {
    approval_request_id: found.approval_request_id,
    decided_at: (found.decided_at ?? found.created_at).toISOString(),
    approved_by: (await decidersOf(parts, caller, found)).decided_by,
    parameters: found.parameters,
    cost: found.cost ?? null,
  };
}

/** Requests of one day that are counted. */
const COUNTED_MAX = 500;

/** Items that are shown, and the characters of their parameters in all. */
const ITEMS_MAX = 10;
const PARAMETERS_MAX = 131_072;

export async function historyOf(parts: ServiceParts, asked: Asked): Promise<History> {
  const asker = askerOf(parts, asked.request);
  const today = { approved: 0, denied: 0, expired: 0, pending: 0 };
  const since = new Date(asker.now);
  since.setUTCHours(0, 0, 0, 0);
  const states = await parts.store.statesSince({ ...asker, since, limit: COUNTED_MAX + 1 });
  for (const state of states.slice(0, COUNTED_MAX)) {
    if (!isSame(state, asked.request)) today[state.status] += 1;
  }
  const { items, isAll } = await itemsOf(parts, asked, asker);
  return { today, items, is_complete: isAll && states.length <= COUNTED_MAX };
}

async function itemsOf(
  parts: ServiceParts,
  { caller, request, slices }: Asked,
  asker: Asker,
): Promise<{ items: HistoryItem[]; isAll: boolean }> {
  const items: HistoryItem[] = [];
  let left = PARAMETERS_MAX;
  let before: AskerQuery['before'];
  do {
    await slices.turn();
    const page = await parts.store.approvalsOf({ ...asker, before, limit: READ_MAX });
    for (const each of page.requests) {
      if (isSame(each, request)) continue;
      if (items.length === ITEMS_MAX) return { items, isAll: false };
      const length = JSON.stringify(each.parameters).length;
      // An agent must not hide what it asked before behind one large request.
      const parameters = length <= left ? each.parameters : null;
      if (parameters) left -= length;
      items.push({ ...(await itemOf(parts, caller, each)), parameters });
    }
    before = page.next;
  } while (before);
  return { items, isAll: true };
}

async function itemOf(
  parts: ServiceParts,
  caller: Caller,
  request: ApprovalRecord,
): Promise<Omit<HistoryItem, 'parameters'>> {
  return {
    approval_request_id: request.approval_request_id,
    status: request.status,
    created_at: request.created_at.toISOString(),
    decided_at: request.decided_at?.toISOString() ?? null,
    ...(await decidersOf(parts, caller, request)),
    cost: request.cost ?? null,
  };
}

/** Who decided and why, as far as the class of the person may see it. */
async function decidersOf(
  parts: ServiceParts,
  caller: Caller,
  request: ApprovalRecord,
): Promise<Pick<HistoryItem, 'decided_by' | 'reason'>> {
  const { approvals, decided_by, reason } = await decisionView(parts, caller, request);
  if (request.status === 'approved') {
    return { decided_by: approvals.map(({ approver }) => approver), reason };
  }
  return { decided_by: decided_by === null ? [] : [decided_by], reason };
}

type Asker = Pick<AskerQuery, 'now' | 'chain' | 'capability'>;

function askerOf({ store }: ServiceParts, { chain, capability }: ApprovalRecord): Asker {
  return { now: store.now(), chain, capability };
}

function isSame(
  one: Pick<ApprovalRecord, 'approval_request_id'>,
  other: Pick<ApprovalRecord, 'approval_request_id'>,
): boolean {
  return one.approval_request_id === other.approval_request_id;
}
