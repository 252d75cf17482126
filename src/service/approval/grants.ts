/**
 * Grants: checks an approval in the order of the specification, and signs the grant.
 *
 * The grant copies everything it is bound to from the stored request. The store records the
 * approval, the grant and the new state in one transaction, so one request never yields two grants.
 * Below the quorum the approval is counted, and the approver gets the current state.
 *
 * @module
 */

import { completesQuorum, isVoter } from '../../domain/authority/approval-request.ts';
import {
  type GrantFacts,
  type GrantTerms,
  grantTerms,
  unsignedGrant,
} from '../../domain/authority/grant.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { grantFacts } from '../../domain/log/entry-facts.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import { ARTEFACTS } from '../../keyring/wire.ts';
import type { Grant, GrantRequest, QuorumAnswer } from '../../protocol/approval.ts';
import type { DecisionPasskey } from '../../protocol/passkey.ts';
import type { ApprovalRecord, GrantRecord } from '../../storage/port/records.ts';
import { frozenFor } from '../authority/freeze.ts';
import { audited } from '../caller/audited.ts';
import { acted, actorOf, type Caller, callerOf } from '../caller/caller.ts';
import { actEntry } from '../caller/entries.ts';
import { type Answer, type Ask, requestOf } from '../operations/operations.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { newId } from '../operations/random.ts';
import {
  addressedRequest,
  approvalViews,
  approvingSide,
  closedRequest,
  notApprover,
  proposedTerms,
} from './approvers.ts';
import { confirmationFacts, confirmationOf } from './confirmation.ts';
import { noticesOf } from './notices.ts';

/** Attempts. Each lost race means one more stored approval, and a quorum is smaller than this. */
const RIVALS_MAX = 32;

export async function issueGrant(parts: ServiceParts, ask: Ask): Promise<Answer> {
  return audited(parts, await callerOf(parts, ask), 'approval_decision', async (caller, about) => {
    const asked = requestOf('approval_grants.issue', ask);
    for (let rivals = 0; rivals < RIVALS_MAX; rivals += 1) {
      const request = await addressedRequest(parts, caller, asked.approval_request_id);
      Object.assign(about, refusalFacts(request));
      const answer = await approve(parts, caller, asked, request);
      if (answer) return answer;
    }
    const detail = 'Cannot approve now: too many approve at once; nothing happened';
    throw new Refusal(failure('service_unavailable', detail));
  });
}

/**
 * One attempt. Returns `undefined` when another approver was faster and the request must be read
 * again.
 */
async function approve(
  parts: ServiceParts,
  caller: Caller,
  asked: GrantRequest,
  request: ApprovalRecord,
): Promise<Answer | undefined> {
  const now = parts.store.now();
  refuse(await notApprover(parts, caller, request));
  refuse(await frozenFor(parts, caller.root_principal));
  refuse(closedRequest(request, now));
  const given = grantTerms(request.grant_policy, asked, request.approvals[0]?.terms);
  if ('failure' in given) throw new Refusal(given.failure);
  const { terms } = given;

  const { root_principal: approver, through } = approvingSide(caller);
  const { approvals } = request;
  // A repeated approval, for example after a lost answer, counts once.
  if (isVoter(approvals, approver)) return quorumAnswer(request);
  const passkey = await confirmationOf(parts, caller, { request, terms }, asked.passkey);
  const credential_id = passkey?.credential_id;
  const approved = [...approvals, { approver, approved_at: now, terms, credential_id }];
  const grant = completesQuorum(request)
    ? signedGrant(parts, { request, terms, approved, through })
    : undefined;
  const decided: ApprovalRecord = {
    ...request,
    approvals: approved,
    ...(grant && {
      status: 'approved',
      decided_at: now,
      decided_by: approver,
      grant_id: grant.grant_id,
    }),
  };
  const outcome = acted(
    await parts.store.approve({
      approval_request_id: request.approval_request_id,
      approver,
      actor: actorOf(caller),
      now,
      approvalsSeen: approvals.length,
      terms,
      credential_id,
      grant,
      entry: decisionEntry(parts, caller, decided, { grant, passkey }),
      deliveries: grant ? noticesOf(parts, 'granted', decided) : [],
    }),
  );
  if (outcome === 'stale') return undefined;
  if (outcome === 'decided' || outcome === 'expired') {
    refuse(
      closedRequest({ ...request, status: outcome === 'expired' ? outcome : 'approved' }, now),
    );
  }
  parts.waits.wake(request.approval_request_id);
  parts.webhooks.nudge();
  return grant ? { body: grantView(grant) } : quorumAnswer(decided);
}

/** What the entry of a refusal contains about the request. */
export function refusalFacts({ capability, approval_request_id }: ApprovalRecord) {
  return { capability, approval_request_id };
}

function signedGrant(
  { keyring, platform }: ServiceParts,
  {
    request,
    terms,
    approved,
    through,
  }: {
    request: ApprovalRecord;
    terms: GrantTerms;
    approved: ApprovalRecord['approvals'];
    through: readonly string[];
  },
): GrantRecord {
  const issued_at = approved.at(-1)?.approved_at as Date;
  const lifetimeMs = Math.round(terms.expires_in_seconds * 1_000);
  const facts: GrantFacts = {
    grant_type: terms.grant_type,
    session_id: terms.session_id ?? undefined,
    max_uses: terms.max_uses,
    grant_id: newId(platform, 'gnt_'),
    approval_request_id: request.approval_request_id,
    capability: request.capability,
    contract_version: request.contract_version,
    declaration_digest: request.declaration_digest,
    scope: request.scope,
    subject: request.subject,
    root_principal: request.root_principal,
    chain: request.chain,
    parameters: request.parameters,
    parameters_digest: request.parameters_digest,
    preview_digest: request.preview_digest,
    approved_by: approved.map(({ approver }) => approver),
    // With several approvers each approves in person, so the lineage of the last one is complete.
    approved_through: through,
    issued_at,
    expires_at: new Date(issued_at.getTime() + lifetimeMs),
    uses: 0,
  };
  const { use, typ } = ARTEFACTS.grant;
  const payload = new TextEncoder().encode(canonicalJson(unsignedGrant(facts)));
  return { ...facts, signature: keyring.signDetached(use, typ, payload) };
}

function grantView(grant: GrantRecord): Grant {
  return { ...unsignedGrant(grant), signature: grant.signature };
}

function quorumAnswer(request: ApprovalRecord): Answer {
  const body: QuorumAnswer = {
    approval_request_id: request.approval_request_id,
    status: 'pending',
    approvals_required: request.approvals_required,
    approvals: approvalViews(request),
    ...proposedTerms(request),
  };
  return { body, accepted: true };
}

function decisionEntry(
  parts: ServiceParts,
  caller: Caller,
  request: ApprovalRecord,
  { grant, passkey }: { grant: GrantRecord | undefined; passkey: DecisionPasskey | undefined },
) {
  return actEntry(parts, caller, {
    entry_type: 'approval_decision',
    capability: request.capability,
    approval_request_id: request.approval_request_id,
    approval_grant_id: grant?.grant_id,
    parameters_digest: request.parameters_digest,
    token_id: actorOf(caller),
    detail: {
      decision: grant ? 'granted' : 'approved',
      approvals: request.approvals.length,
      approvals_required: request.approvals_required,
      ...proposedTerms(request),
      ...(grant && grantFacts(grant)),
      ...confirmationFacts(request, passkey),
    },
  });
}
