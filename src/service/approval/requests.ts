/**
 * Lists and shows approval requests, waits for decisions, and denies requests.
 *
 * A caller sees the requests that it may decide and those that it made. All others are unknown to
 * it. A waiting caller polls the store, so a wait ends on every replica, and it ends early when the
 * caller leaves or the service stops.
 *
 * @module
 */

import { Refusal, refuse } from '../../domain/failure.ts';
import { preferenceIn } from '../../domain/wire/prefer.ts';
import { type ApprovalRequest, WAIT_SECONDS_MAX } from '../../protocol/approval.ts';
import type { DecisionPasskey } from '../../protocol/passkey.ts';
import type { ApprovalRecord } from '../../storage/port/records.ts';
import type { ApprovalPlace, ApprovalQuery } from '../../storage/port/store.ts';
import { approverScope } from '../author/approval-policy.ts';
import { answered, audited, inLane } from '../caller/audited.ts';
import { acted, actorOf, type Caller, callerOf, holdsScope } from '../caller/caller.ts';
import { actEntry } from '../caller/entries.ts';
import { type Answer, type Ask, requestOf } from '../operations/operations.ts';
import { createPage, cursorPosition } from '../operations/page.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Slices } from '../pace/slices.ts';
import type { Waiter } from '../pace/waits.ts';
import { unconfirmed } from '../passkey/decision.ts';
import {
  approvingSide,
  closedRequest,
  mayDecide,
  notApprover,
  requestView,
  visibleRequest,
} from './approvers.ts';
import { confirmationFacts, confirmationOf } from './confirmation.ts';
import { refusalFacts } from './grants.ts';
import { noticesOf } from './notices.ts';

/** In milliseconds: how often a wait asks the store. A decision in this process ends it at once. */
const LOOK_AGAIN_MS = 1_000;

/** Requests in one read. Each may have parameters of 256 KiB. */
const READ_MAX = 4;

/** Reads for one answer. A longer list continues on the next page. */
const READS_MAX = 100;

export async function listRequests(parts: ServiceParts, ask: Ask): Promise<Answer> {
  return answered(parts, await callerOf(parts, ask), async (caller) => {
    const { status, limit, cursor } = requestOf('approval_requests.list', ask);
    const names = [...parts.definition.catalog.capabilities.keys()];
    const capabilities = names.filter((name) => holdsScope(caller, approverScope(name)));
    const now = parts.store.now();
    const query = { now, status, capabilities, before: cursorPosition(cursor, readCursor), limit };
    // Most callers may decide nothing, so the store is not asked.
    if (capabilities.length === 0) return { body: { approval_requests: [], next_cursor: null } };
    return inLane(parts, caller, ask, (slices) => readPage(parts, slices, caller, query));
  });
}

async function readPage(
  parts: ServiceParts,
  slices: Slices,
  caller: Caller,
  query: ApprovalQuery,
): Promise<Answer> {
  const page = createPage<ApprovalRequest>('approval_requests', query.limit);
  let { before } = query;
  let isFull = false;
  for (let reads = 0; reads < READS_MAX && !isFull; reads++) {
    await slices.turn();
    const found = await parts.store.listApprovals({ ...query, before, limit: READ_MAX });
    for (const request of found.requests) {
      await slices.turn();
      if (await mayDecide(parts, caller, request)) {
        // One more than the limit shows whether there is a next page.
        isFull = !page.add(await requestView(parts, caller, request, slices));
      }
      if (isFull) break;
      before = request;
    }
    if (isFull) break;
    before = found.next;
    if (before === undefined) break;
  }
  return page.answer({ next_cursor: before ? cursorOf(before) : null });
}

export async function readRequest(parts: ServiceParts, ask: Ask): Promise<Answer> {
  return answered(parts, await callerOf(parts, ask), async (caller) => {
    const { approval_request_id: id, prefer } = requestOf('approval_requests.get', ask);
    const request = await visibleRequest(parts, caller, id);
    const seconds = waitOf(prefer);
    if (seconds === 0 || !isOpen(parts, request)) {
      return { body: await viewFor(parts, caller, ask, request) };
    }
    const { root_principal } = caller;
    const waiter = { id, root_principal, gone: ask.gone?.() };
    const waited = await decidedOrLate(parts, waiter, seconds * 1_000);
    // The caller may have lost its authority during the wait.
    const judged = await callerOf(parts, ask);
    if ('failure' in judged) throw new Refusal(judged.failure);
    const now = await visibleRequest(parts, judged.caller, id);
    return {
      body: await viewFor(parts, judged.caller, ask, now),
      ...(waited && { headers: { 'preference-applied': `wait=${seconds}` } }),
    };
  });
}

/** In characters: above this, showing takes several milliseconds. */
const LONG_PARAMETERS = 16_384;

/** A long request takes as much time as a list, so it takes a slot in the lane. */
function viewFor(
  parts: ServiceParts,
  caller: Caller,
  ask: Ask,
  request: ApprovalRecord,
): Promise<ApprovalRequest> {
  const { parameters, preview } = request;
  const isLong = JSON.stringify([parameters, preview]).length > LONG_PARAMETERS;
  if (!isLong) return requestView(parts, caller, request);
  return inLane(parts, caller, ask, (slices) => requestView(parts, caller, request, slices));
}

export async function denyRequest(parts: ServiceParts, ask: Ask): Promise<ApprovalRequest> {
  return audited(parts, await callerOf(parts, ask), 'approval_decision', async (caller, about) => {
    const asked = requestOf('approval_requests.deny', ask);
    const { approval_request_id: id, reason } = asked;
    const request = await visibleRequest(parts, caller, id);
    Object.assign(about, refusalFacts(request));
    const now = parts.store.now();
    refuse(await notApprover(parts, caller, request));
    refuse(closedRequest(request, now));
    const decided_by = approvingSide(caller).root_principal;
    const passkey = await confirmationOf(parts, caller, { request, terms: null }, asked.passkey);
    const denied: ApprovalRecord = {
      ...request,
      status: 'denied',
      decided_at: now,
      decided_by,
      reason,
    };
    const outcome = acted(
      await parts.store.deny({
        approval_request_id: id,
        decided_by,
        actor: actorOf(caller),
        reason,
        credential_id: passkey?.credential_id,
        now,
        entry: denialEntry(parts, caller, denied, passkey),
        deliveries: noticesOf(parts, 'denied', denied),
      }),
    );
    if (outcome === 'stale') throw unconfirmed(request.capability, 'it was removed meanwhile');
    if (outcome !== 'denied') {
      const status = outcome === 'expired' ? 'expired' : 'approved';
      refuse(closedRequest({ ...request, status }, now));
    }
    parts.waits.wake(id);
    parts.webhooks.nudge();
    return requestView(parts, caller, denied);
  });
}

/** RFC 7240: `wait=<seconds>`, cut to our maximum. Other preferences are ignored. */
function waitOf(prefer: string | undefined): number {
  const wanted = preferenceIn(prefer, 'wait') ?? '';
  return /^\d{1,6}$/.test(wanted) ? Math.min(Number(wanted), WAIT_SECONDS_MAX) : 0;
}

/** Waits for a decision or the end of the time. False when too many wait already. */
async function decidedOrLate(
  parts: ServiceParts,
  waiter: Waiter,
  waitMs: number,
): Promise<boolean> {
  const slot = parts.waits.enter(waiter);
  if (!slot) return false;
  const until = parts.platform.monotonic() + waitMs;
  try {
    for (let left = waitMs; left > 0 && !slot.isOver(); left = until - parts.platform.monotonic()) {
      await slot.pause(Math.min(left, LOOK_AGAIN_MS));
      const state = await parts.store.approvalState(waiter.id);
      if (!state || !isOpen(parts, state)) return true;
    }
    return true;
  } finally {
    slot.leave();
  }
}

function isOpen({ store }: ServiceParts, state: Parameters<typeof closedRequest>[0]): boolean {
  return closedRequest(state, store.now()) === undefined;
}

function denialEntry(
  parts: ServiceParts,
  caller: Caller,
  request: ApprovalRecord,
  passkey: DecisionPasskey | undefined,
) {
  return actEntry(parts, caller, {
    entry_type: 'approval_decision',
    capability: request.capability,
    approval_request_id: request.approval_request_id,
    parameters_digest: request.parameters_digest,
    token_id: actorOf(caller),
    detail: {
      decision: 'denied',
      reason: request.reason ?? null,
      ...confirmationFacts(request, passkey),
    },
  });
}

function cursorOf({ created_at, approval_request_id }: ApprovalPlace): string {
  return `${created_at.getTime()}-${approval_request_id}`;
}

function readCursor(cursor: string): ApprovalPlace | undefined {
  const [, time, id] = /^(\d{1,15})-(apr_[0-9a-f]{32})$/.exec(cursor) ?? [];
  if (time === undefined || id === undefined) return undefined;
  return { created_at: new Date(Number(time)), approval_request_id: id };
}
