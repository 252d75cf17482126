/**
 * Everything that one decision needs, for the page and for the operation.
 *
 * The page shows it to those who may see the request. The operation answers those who may decide it and the root
 * principal in person: an agent learns nothing of the budgets above its own, or of other clients, by asking.
 *
 * @module
 */

import { isVoter } from '../../domain/authority/approval-request.ts';
import { declarationDigest } from '../../domain/catalog/declaration.ts';
import { refuse } from '../../domain/failure.ts';
import { handlesOf } from '../../domain/invocation/bindings.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Decision, Quote, Vote } from '../../protocol/decision.ts';
import type { ApprovalRecord } from '../../storage/port/records.ts';
import { moneyOf } from '../call/call.ts';
import { answered, inLane } from '../caller/audited.ts';
import { type Caller, callerOf } from '../caller/caller.ts';
import { type Answer, type Ask, requestOf } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { passkeyLabel, usableViews } from '../passkey/keys.ts';
import {
  approvingSide,
  closedRequest,
  isRootInPerson,
  notApprover,
  requestView,
  visibleRequest,
} from './approvers.ts';
import { needsPasskey } from './confirmation.ts';
import { historyOf, similarTo } from './history.ts';
import { requestHands } from './lineage.ts';

export async function readDecision(parts: ServiceParts, ask: Ask): Promise<Answer> {
  return answered(parts, await callerOf(parts, ask), async (caller) => {
    const { approval_request_id: id } = requestOf('approval_requests.decision', ask);
    const request = await visibleRequest(parts, caller, id);
    if (!isRootInPerson(caller, request)) refuse(await notApprover(parts, caller, request));
    return { body: await decisionOf(parts, request, { caller, ask }) };
  });
}

/** The caller must be one that may see the request. */
export async function decisionOf(
  parts: ServiceParts,
  request: ApprovalRecord,
  { caller, ask }: { readonly caller: Caller; readonly ask: Ask },
): Promise<Decision> {
  return inLane(parts, caller, ask, async (slices) => {
    const { store, definition } = parts;
    const capability = definition.catalog.capabilities.get(request.capability) ?? null;
    const now = store.now();
    const view = await requestView(parts, caller, request, slices);
    const asked = { caller, request, slices };
    return {
      now: now.toISOString(),
      request: view,
      capability,
      has_changed: hasChanged(request, capability),
      cost: request.cost ?? null,
      quotes: await quotesOf(parts, request, capability),
      ...(await requestHands(parts, request)),
      similar: await similarTo(parts, asked),
      history: await historyOf(parts, asked),
      passkey: {
        is_required: needsPasskey(parts, request),
        usable: await usableViews(parts, caller.principal),
      },
      votes: (await votesIn(parts, request)).slice(0, view.approvals.length),
      viewer: await viewerOf(parts, caller, request, now),
      decision_url: parts.decisionUrl(request.approval_request_id) ?? null,
    };
  });
}

/** As a grant is compared with the declaration when it is used. */
function hasChanged(
  { contract_version, declaration_digest }: ApprovalRecord,
  capability: Capability | null,
): boolean {
  if (capability?.contract_version !== contract_version) return true;
  return declaration_digest !== declarationDigest(capability);
}

async function quotesOf(
  { store }: ServiceParts,
  { token_id: tokenId, parameters }: ApprovalRecord,
  capability: Capability | null,
): Promise<Quote[]> {
  if (!capability?.requires_binding?.length) return [];
  const { bindings } = await store.load({ tokenId, bindingIds: handlesOf(capability, parameters) });
  return capability.requires_binding.map(({ field }) => {
    const issued = bindings.find(({ binding_id }) => binding_id === parameters[field]);
    return {
      field,
      issued_at: issued?.issued_at.toISOString() ?? null,
      price: issued?.price ? moneyOf(issued.price) : null,
    };
  });
}

function votesIn(parts: ServiceParts, { approvals }: ApprovalRecord): Promise<Vote[]> {
  return Promise.all(
    approvals.map(async ({ approver, approved_at, terms, credential_id }) => ({
      approver,
      approved_at: approved_at.toISOString(),
      terms: terms ?? null,
      passkey: credential_id ? await passkeyLabel(parts, approver, credential_id) : null,
    })),
  );
}

async function viewerOf(
  parts: ServiceParts,
  caller: Caller,
  request: ApprovalRecord,
  now: Date,
): Promise<Decision['viewer']> {
  const why = (await notApprover(parts, caller, request)) ?? closedRequest(request, now);
  return {
    principal: approvingSide(caller).root_principal,
    may_decide: why === undefined,
    why: why?.detail ?? null,
    has_approved: isVoter(request.approvals, caller.root_principal),
  };
}
