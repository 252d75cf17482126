/**
 * Who may decide an approval request, who may see it, and how much of it.
 *
 * @module
 */

import { closedAs, statusAt } from '../../domain/authority/approval-request.ts';
import {
  type ApprovingSide,
  barredApprover,
  type RequestingSide,
} from '../../domain/authority/approver.ts';
import { levelOf } from '../../domain/authority/disclosure.ts';
import { wordsText } from '../../domain/decision/text.ts';
import { titleOfCall } from '../../domain/decision/words.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { digestOf } from '../../domain/wire/canonical.ts';
import { visibleObject, visibleText } from '../../domain/wire/visible-text.ts';
import type { Approval, ApprovalRequest, QuorumAnswer } from '../../protocol/approval.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { ApprovalRecord } from '../../storage/port/records.ts';
import { approverScope } from '../author/approval-policy.ts';
import { capabilityOf } from '../author/definition.ts';
import { type Caller, holdsScope } from '../caller/caller.ts';
import type { ServiceParts } from '../operations/parts.ts';
import type { Slices } from '../pace/slices.ts';

/** Characters of a reason for a class with reduced detail. */
const REDUCED_REASON_MAX = 200;

/** The fields of a request that say who may decide it. */
type AskedRequest = RequestingSide & Pick<ApprovalRecord, 'capability'>;

/** The root principal that an approval counts for, and every principal in its lineage. */
export function approvingSide(caller: Caller): ApprovingSide {
  const { root_principal } = caller;
  if (caller.kind === 'identity') return { root_principal, through: [caller.principal] };
  return { root_principal, through: caller.loaded.lineage.map(({ subject }) => subject) };
}

export async function notApprover(
  parts: ServiceParts,
  caller: Caller,
  request: AskedRequest,
): Promise<Failure | undefined> {
  const scope = approverScope(request.capability);
  if (!(await mayHold(parts, caller, scope))) {
    const detail = `Cannot decide on "${request.capability}": ${caller.principal} lacks scope "${scope}"`;
    return failure('approver_not_authorized', detail, { requires: [scope] });
  }
  const why = otherBinding(caller, request) ?? barred(parts, caller, request);
  if (why === undefined) return undefined;
  return failure('approver_not_authorized', `Cannot decide on "${request.capability}": ${why}`);
}

export async function mayDecide(
  parts: ServiceParts,
  caller: Caller,
  request: ApprovalRecord,
): Promise<boolean> {
  return (await notApprover(parts, caller, request)) === undefined;
}

/**
 * Whether the caller is the requester: a token of the same chain, the subject by its own
 * credential, or the root principal itself. The service gives out credentials, so the name of an
 * identity is authentic. The name on a token was chosen by its issuer.
 */
function isRequester(caller: Caller, request: ApprovalRecord): boolean {
  if (isRootInPerson(caller, request)) return true;
  if (caller.kind === 'identity') return caller.principal === request.subject;
  return caller.token.chain === request.chain;
}

/** Whether the caller is the root principal of the request, by its own credential or a token that it holds itself. */
export function isRootInPerson(
  caller: Caller,
  { root_principal }: Pick<ApprovalRecord, 'root_principal'>,
): boolean {
  if (caller.principal !== root_principal) return false;
  return (
    caller.kind === 'identity' ||
    (caller.token.depth === 0 && caller.principal === caller.root_principal)
  );
}

/**
 * The request, if the caller may read or decide it. Otherwise the answer is the same as for an
 * unknown one.
 */
export function visibleRequest(
  parts: ServiceParts,
  caller: Caller,
  id: string,
): Promise<ApprovalRecord> {
  return requestFor(parts, caller, id, mayDecide);
}

/**
 * The request, for an approval. A caller that may approve anything in this service may know that it
 * exists, and learns why it may not approve this one.
 */
export function addressedRequest(
  parts: ServiceParts,
  caller: Caller,
  id: string,
): Promise<ApprovalRecord> {
  return requestFor(parts, caller, id, isAnyApprover);
}

async function requestFor(
  parts: ServiceParts,
  caller: Caller,
  id: string,
  mayKnow: typeof mayDecide,
): Promise<ApprovalRecord> {
  const request = await parts.store.loadApproval(id);
  if (request && isRequester(caller, request)) return request;
  if (request && (await mayKnow(parts, caller, request))) return request;
  throw new Refusal(failure('not_found', 'Cannot find the approval request'));
}

/** A request can outlive the policy, and the capability, that it was made for. */
function isAnyApprover(
  parts: ServiceParts,
  caller: Caller,
  { capability }: ApprovalRecord,
): Promise<boolean> {
  const asking = [...parts.definition.code].flatMap(([name, { approval }]) =>
    approval ? [name] : [],
  );
  return mayHold(parts, caller, ...[capability, ...asking].map(approverScope));
}

/** Why a request cannot be decided any more. */
export function closedRequest(
  { status, expires_at }: Pick<ApprovalRecord, 'status' | 'expires_at'>,
  now: Date,
): Failure | undefined {
  const closed = closedAs({ status, expires_at }, now);
  if (closed === undefined) return undefined;
  if (closed === 'decided') {
    return failure('approval_request_decided', 'Cannot decide the request: it was decided already');
  }
  const detail = `Cannot decide the request: it expired at ${expires_at.toISOString()}`;
  return failure('approval_request_expired', detail);
}

/**
 * The request as this caller may see it. An approver sees all of it, others what their class may
 * see.
 */
export async function requestView(
  parts: ServiceParts,
  caller: Caller,
  request: ApprovalRecord,
  slices: Slices = parts.lane.slices(),
): Promise<ApprovalRequest> {
  const now = parts.store.now();
  const preview = request.preview ?? null;
  const { cost, note } = request;
  return {
    approval_request_id: request.approval_request_id,
    capability: request.capability,
    title: titleText(capabilityOf(parts.definition, request.capability), request),
    scope: [...request.scope],
    requester: {
      subject: request.subject,
      root_principal: request.root_principal,
      chain: request.chain,
    },
    // An agent does not learn through whom its own authority came.
    ...((isRootInPerson(caller, request) || (await mayDecide(parts, caller, request))) && {
      requested_through: handsIn(request),
    }),
    session_id: request.session_id ?? null,
    invocation_id: request.invocation_id,
    parameters: request.parameters,
    requested_parameters_digest: request.parameters_digest,
    preview,
    preview_digest: request.preview_digest ?? null,
    ...(cost && { cost }),
    ...(note !== undefined && { note }),
    grant_policy: request.grant_policy,
    approvals_required: request.approvals_required,
    terms: null,
    terms_digest: null,
    ...proposedTerms(request),
    status: statusAt(request, now),
    created_at: request.created_at.toISOString(),
    expires_at: request.expires_at.toISOString(),
    decided_at: request.decided_at?.toISOString() ?? null,
    contract_version: request.contract_version,
    declaration_digest: request.declaration_digest,
    grant_id: request.grant_id ?? null,
    safe: {
      parameters: await slices.finish(visibleObject(request.parameters)),
      preview: preview && (await slices.finish(visibleObject(preview))),
      requester: {
        subject: visibleText(request.subject),
        root_principal: visibleText(request.root_principal),
      },
      session_id: request.session_id === undefined ? null : visibleText(request.session_id),
      ...(note !== undefined && { note: visibleText(note) }),
    },
    ...(await decisionView(parts, caller, request)),
  };
}

/** What is asked, in one line of bounded length. */
export function titleText(
  capability: Capability | undefined,
  { capability: name, parameters, cost }: ApprovalRecord,
): string {
  // No piece of a title is a time.
  const of = { name, capability: capability ?? null, parameters, cost: cost ?? null };
  return wordsText(titleOfCall(of), 0);
}

/** From the one who acts to the root principal. Equal consecutive names are one hand. */
export function handsIn({
  root_principal,
  requested_through,
}: Pick<ApprovalRecord, 'root_principal' | 'requested_through'>): string[] {
  return [root_principal, ...requested_through]
    .filter((name, index, all) => name !== all[index - 1])
    .reverse();
}

export function approvalViews({ approvals }: ApprovalRecord): Approval[] {
  return approvals.map(({ approver, approved_at }) => ({
    approver,
    approved_at: approved_at.toISOString(),
  }));
}

/** The terms that the first approver proposed. */
export function proposedTerms({
  approvals,
}: ApprovalRecord): Pick<QuorumAnswer, 'terms' | 'terms_digest'> | undefined {
  const terms = approvals[0]?.terms;
  return terms && { terms, terms_digest: digestOf(terms) };
}

/** Who decided and why. Names and reason depend on the class of the caller. */
export async function decisionView(
  parts: ServiceParts,
  caller: Caller,
  request: ApprovalRecord,
): Promise<Pick<ApprovalRequest, 'approvals' | 'decided_by' | 'reason'>> {
  const level = levelOf(parts.config.disclosure, caller.caller_class);
  const reason = request.reason ?? null;
  if (level === 'full' || (await mayDecide(parts, caller, request))) {
    const decided_by = request.decided_by ?? null;
    return { approvals: approvalViews(request), decided_by, reason };
  }
  const words =
    level === 'reduced' ? [...(reason ?? '')].slice(0, REDUCED_REASON_MAX).join('') : '';
  return { approvals: [], decided_by: null, reason: words === '' ? null : words };
}

/**
 * Whether the caller holds any of the scopes. Checks the current entitlement too: a token can outlive it, but an
 * approval must not. What an identity holds was read for this request.
 */
async function mayHold(
  { identities }: ServiceParts,
  caller: Caller,
  ...scopes: string[]
): Promise<boolean> {
  const held = scopes.filter((scope) => holdsScope(caller, scope));
  if (held.length === 0) return false;
  return caller.kind === 'identity' || identities.isEntitled(caller.root_principal, ...held);
}

function otherBinding(caller: Caller, { capability }: AskedRequest): string | undefined {
  const bound = caller.kind === 'token' ? caller.token.capability : undefined;
  if (bound === undefined || bound === capability) return undefined;
  return `the token is bound to "${bound}"`;
}

function barred({ definition }: ServiceParts, caller: Caller, request: AskedRequest) {
  const policy = definition.code.get(request.capability)?.approval;
  return barredApprover(request, approvingSide(caller), policy);
}
