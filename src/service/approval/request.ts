/**
 * Asking for approval: the store has the request, with everything to decide on, before the caller
 * learns that approval is needed.
 *
 * The service makes the preview from the resolved parameters. Asking reserves nothing and claims no
 * idempotency key. The same question is the same request while it is pending. The store bounds how many
 * requests of one delegation and of one root principal are open.
 *
 * An approval goes through these files:
 *
 * 1. `request.ts` stores the request and its notices.
 * 2. `notices.ts` writes the notices and `webhooks.ts` sends them.
 * 3. `requests.ts` lists, shows and denies requests. `approvers.ts` says who may see and decide one.
 * 4. `grants.ts` counts approvals, and signs the grant with the last one.
 * 5. `expiry.ts` closes requests that were not decided in time.
 *
 * `invoke/approve-call.ts` decides whether a call needs approval and whether a grant covers it.
 *
 * @module
 */

import {
  type ExceededBound,
  keptBytes,
  type OpenBounds,
} from '../../domain/authority/approval-request.ts';
import { barredApprover } from '../../domain/authority/approver.ts';
import { firstDelegate } from '../../domain/authority/chain.ts';
import { sessionMismatch } from '../../domain/authority/grant.ts';
import { entitles } from '../../domain/authority/scope-pattern.ts';
import { declarationDigest } from '../../domain/catalog/declaration.ts';
import { failure, Refusal, refuse } from '../../domain/failure.ts';
import { requestFacts } from '../../domain/log/entry-facts.ts';
import { digestOf } from '../../domain/wire/canonical.ts';
import { isOfContent, readForeignObject } from '../../domain/wire/foreign.ts';
import { copyOf, type JsonLimits } from '../../domain/wire/json.ts';
import type { Capability } from '../../protocol/capability.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { JsonObject } from '../../protocol/primitives.ts';
import type { ApprovalRecord } from '../../storage/port/records.ts';
import type { LatestApproval, Question } from '../../storage/port/store.ts';
import { approverScope, requestLifetimeOf } from '../author/approval-policy.ts';
import type { CompletePolicy } from '../author/define.ts';
import { frozenCall } from '../authority/freeze.ts';
import { type Call, moneyOf } from '../call/call.ts';
import { priceContext } from '../call/price-context.ts';
import { acted, actorOf, type TokenCaller } from '../caller/caller.ts';
import { actEntry } from '../caller/entries.ts';
import { askWithin, noAnswer, returnedBy } from '../foreign/foreign.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { newId } from '../operations/random.ts';
import { LATE } from '../pace/deadline.ts';
import { noticesOf } from './notices.ts';

/** Bounds a preview: a person reads it at a glance. */
export const PREVIEW_LIMITS: JsonLimits = { bytes: 32_768, depth: 16, keys: 1_000 };

export interface AskingCall extends Call {
  readonly caller: TokenCaller;
  readonly capability: Capability;
  readonly parameters: JsonObject;
}

/**
 * Stores the request and returns the failure that names it. Rejects when the request was not
 * stored.
 */
export async function requestApproval(parts: ServiceParts, call: AskingCall): Promise<Failure> {
  refuse(frozenCall(call.caller));
  const { capability, caller } = call;
  const policy = parts.definition.code.get(capability.name)?.approval;
  if (!policy) throw new Error(`Cannot ask for approval: "${capability.name}" has no policy`);

  const answered = await standingAnswer(parts, call);
  if (answered) return answered;
  const request = await requestOf(parts, call, policy);
  const entry = actEntry(parts, caller, {
    entry_type: 'approval_request',
    capability: capability.name,
    task_id: call.ids.task_id,
    approval_request_id: request.approval_request_id,
    token_id: caller.token.token_id,
    parameters_digest: request.parameters_digest,
    detail: { ...requestFacts(request), requested_through: [...request.requested_through] },
  });
  const notices = noticesOf(parts, 'requested', request);
  const asking = { actor: actorOf(caller), bounds: boundsIn(parts.config) };
  const stored = acted(await parts.store.requestApproval(request, entry, notices, asking));
  if ('exceeded' in stored) throw new Refusal(tooManyOpen(call, stored.exceeded));
  parts.webhooks.nudge();
  call.approvalRequestId = stored.approval_request_id;
  return approvalRequired(parts, stored);
}

function boundsIn(config: ServiceParts['config']): OpenBounds {
  return {
    chain: config.max_open_approvals_per_chain,
    root: config.max_open_approvals,
    bytes: config.max_open_approval_bytes,
  };
}

/** Only a decision or an expiry makes room, and people take minutes. */
const MORE_ROOM_AFTER = 'PT60S';

function tooManyOpen({ capability, caller }: AskingCall, exceeded: ExceededBound): Failure {
  const { of, unit, waiting, most } = exceeded;
  const whose =
    of === 'root' ? `root principal "${caller.root_principal}"` : 'this delegation and those below';
  const detail = `Cannot ask for approval of "${capability.name}": ${waiting} requests of ${whose} wait for a decision, and at most ${most} ${unit} may`;
  return failure('rate_limited', detail, { estimated_availability: MORE_ROOM_AFTER });
}

/**
 * The earlier answer to the same question, while it holds. A caller that repeats its call to see
 * whether it may go on gets this answer, and approvers are not asked again.
 */
export async function standingAnswer(
  parts: ServiceParts,
  call: AskingCall,
): Promise<Failure | undefined> {
  const { caller, capability, parameters } = call;
  if (!call.request?.continue_approved) return undefined;
  const question = approvalQuestion(caller, capability, digestOf(parameters));
  const latest = await parts.store.latestApproval(question);
  if (latest?.status === 'approved') return otherSession(parts, call, latest);
  return latest?.status === 'denied' ? standingDenial(parts, call, latest) : undefined;
}

/**
 * A grant for another session than that of the token. It can be used there, so until it ends it is
 * the answer.
 */
async function otherSession(
  { store }: ServiceParts,
  call: AskingCall,
  { approval_request_id: id }: LatestApproval,
): Promise<Failure | undefined> {
  const { token } = call.caller;
  const grantId = (await store.loadApproval(id))?.grant_id;
  const { grant } = grantId ? await store.load({ tokenId: token.token_id, grantId }) : {};
  if (grant?.grant_type !== 'session_bound' || grant.session_id === token.session_id) {
    return undefined;
  }
  if (grant.expires_at <= store.now() || grant.uses >= grant.max_uses) return undefined;

  call.approvalRequestId = id;
  const how = `call with a token of that session; the grant waits until ${grant.expires_at.toISOString()}`;
  const detail = `Cannot use grant "${grant.grant_id}": ${sessionMismatch(grant, token)}; ${how}`;
  return failure('approval_grant_invalid', detail, { approval_request_id: id });
}

/** A denial stands until its request would have expired. */
function standingDenial(
  { store }: ServiceParts,
  call: AskingCall,
  { approval_request_id: id, expires_at, reason }: LatestApproval,
): Failure | undefined {
  const { capability } = call;
  if (expires_at <= store.now()) return undefined;

  call.approvalRequestId = id;
  const until = expires_at.toISOString();
  const detail = `Cannot invoke "${capability.name}": approval request "${id}" was denied, and the denial holds until ${until}`;
  return failure('approval_request_decided', reason ? `${detail}: ${reason}` : detail, {
    approval_request_id: id,
  });
}

async function requestOf(
  parts: ServiceParts,
  call: AskingCall,
  policy: CompletePolicy,
): Promise<ApprovalRecord> {
  const { caller, capability, parameters, ids } = call;
  const { token_id, subject, root_principal, chain, session_id } = caller.token;
  const requested_through = caller.loaded.lineage.map((link) => link.subject);
  const preview = await shownTo(parts, call, policy);
  const note = call.request?.note ?? undefined;
  const now = parts.store.now();
  return {
    approval_request_id: newId(parts.platform, 'apr_'),
    capability: capability.name,
    contract_version: capability.contract_version,
    declaration_digest: declarationDigest(capability),
    scope: capability.minimum_scope,
    subject,
    root_principal,
    chain,
    requested_through,
    delegate: firstDelegate(root_principal, requested_through),
    kept_bytes: keptBytes({ parameters, preview, note }),
    token_id,
    session_id,
    invocation_id: ids.invocation_id,
    parameters,
    parameters_digest: digestOf(parameters),
    preview,
    preview_digest: preview && digestOf(preview),
    cost: call.charge && moneyOf(call.charge),
    note,
    grant_policy: policy.grant_policy,
    approvals_required: policy.approvals_required ?? 1,
    require: policy.require,
    approvals: [],
    status: 'pending',
    created_at: now,
    expires_at: new Date(now.getTime() + requestLifetimeOf(policy)),
  };
}

/** The field of a preview that shows the price of the call. The service sets it, not the author. */
export const PRICE_FIELD = 'price';

/** What approvers see. The price of a quoted call is part of it, so that the approval pins the price. */
async function shownTo(
  parts: ServiceParts,
  { capability, caller, charge, parameters, bound = new Map() }: AskingCall,
  { preview: make }: CompletePolicy,
): Promise<JsonObject | undefined> {
  const show = () => make?.(copyOf(parameters), priceContext(caller, bound));
  const preview = make && (await previewOf(parts, capability, show));
  if (!charge || !parts.definition.code.get(capability.name)?.price) return preview;
  return { ...preview, [PRICE_FIELD]: moneyOf(charge) };
}

/**
 * Reads the preview within limits. A preview that cannot be shown must not be approved. It is made of the parameters
 * and of what their bindings pinned, so one that is too long or has a value that JSON has not is for the caller to correct.
 */
async function previewOf(
  { definition, platform }: ServiceParts,
  { name }: Capability,
  make: () => unknown,
): Promise<JsonObject> {
  const what = 'the preview of the call';
  const deadlineMs = definition.code.get(name)?.deadlineMs as number;
  const heard = await askWithin(platform, deadlineMs, make);
  if (heard === LATE) throw noAnswer(`Cannot show "${name}" to an approver`, deadlineMs);
  const reading = readForeignObject(returnedBy(heard, what), PREVIEW_LIMITS);
  if ('value' in reading) return reading.value;
  if (!isOfContent(reading)) throw new Error(`Cannot use ${what}: ${reading.fault}`);
  const detail = `Cannot invoke "${name}": an approver must see the call, and its preview cannot be shown: ${reading.fault}`;
  throw new Refusal(failure('invalid_parameters', detail));
}

function approvalRequired(parts: ServiceParts, request: ApprovalRecord): Failure {
  const { capability, approvals_required: count } = request;
  const people = count === 1 ? 'one approver' : `${count} approvers`;
  const detail = `Cannot invoke "${capability}" yet: ${people} must approve request "${request.approval_request_id}" first`;
  const approver = configuredApprover(parts, request);
  const decisionUrl = parts.decisionUrl(request.approval_request_id);
  return failure('approval_required', detail, {
    approval_request_id: request.approval_request_id,
    requested_parameters_digest: request.parameters_digest,
    grant_policy: request.grant_policy,
    requires: [approverScope(capability)],
    ...(request.preview_digest && { preview_digest: request.preview_digest }),
    ...(decisionUrl && { decision_url: decisionUrl }),
    ...(approver && { grantable_by: approver }),
  });
}

/** A principal that could approve this request, if the configuration names one. */
function configuredApprover(
  { config, definition }: ServiceParts,
  request: ApprovalRecord,
): string | undefined {
  const policy = definition.code.get(request.capability)?.approval;
  const scope = approverScope(request.capability);
  return config.identities.find(
    ({ principal, scopes }) =>
      scopes.some((pattern) => entitles(pattern, scope)) &&
      !barredApprover(request, { root_principal: principal, through: [principal] }, policy),
  )?.principal;
}

/** The fields by which two calls ask the same question. */
export function approvalQuestion(
  { token: { chain, session_id } }: TokenCaller,
  capability: Capability,
  parametersDigest: string,
): Question {
  return {
    chain,
    session_id,
    capability: capability.name,
    contract_version: capability.contract_version,
    declaration_digest: declarationDigest(capability),
    parameters_digest: parametersDigest,
  };
}
