/**
 * The operations table: every operation of a service, for every transport.
 *
 * A row has the name of the operation, its HTTP route, its request and answer schemas, and
 * where each field of the request comes from. HTTP routes, stdio methods (`svc.<name>`), the typed
 * client and the API description are read from this table. CONTRIBUTING.md says what else a new one needs. Which
 * rows a service offers is decided by the service, which binds a method to each.
 *
 * @module
 */

import type * as z from 'zod';
import * as agents from './agents.ts';
import * as approval from './approval.ts';
import * as audit from './audit.ts';
import * as decision from './decision.ts';
import * as identity from './identity.ts';
import * as invocation from './invocation.ts';
import * as operator from './operator.ts';
import * as permissions from './permissions.ts';
import { Nothing } from './primitives.ts';
import * as token from './token.ts';
import * as trust from './trust.ts';

/** Who may call. With `bearer` the operation decides whether it takes a credential, a token or both. */
export type Authentication = 'none' | 'optional' | 'bearer' | 'token';

export interface Operation {
  readonly method: 'GET' | 'POST';
  /** `{field}` is a field of the request. */
  readonly path: `/${string}`;
  readonly auth: Authentication;
  /** The name under which discovery advertises the path. */
  readonly endpoint: string;
  readonly summary: string;
  readonly request: z.ZodType;
  readonly response: z.ZodType;
  /** Where HTTP carries the fields that are neither in the path nor in a header. */
  readonly rest: 'query' | 'body';
  /** Fields that HTTP carries in a header; other transports carry them beside the rest. */
  readonly headers?: Readonly<Record<string, string>>;
}

export const operations = {
  discovery: {
    ...get('/.well-known/svc', 'discovery', 'The service, its endpoints and capabilities'),
    auth: 'none',
    request: Nothing,
    response: trust.DiscoveryAnswer,
  },
  jwks: {
    ...get('/.well-known/jwks.json', 'jwks', 'The public keys that verify what the service signs'),
    auth: 'none',
    request: Nothing,
    response: trust.Jwks,
  },
  manifest: {
    ...get('/svc/manifest', 'manifest', 'The signed declarations of all capabilities'),
    auth: 'none',
    request: Nothing,
    response: trust.Manifest,
  },
  graph: {
    ...get('/svc/graph', 'graph', 'How the capabilities relate to each other'),
    auth: 'none',
    request: Nothing,
    response: trust.Graph,
  },
  'graph.get': {
    ...get('/svc/graph/{capability}', 'graph_capability', 'The neighbours of one capability'),
    auth: 'none',
    request: trust.GraphRequest,
    response: trust.Graph,
  },
  handshake: {
    ...post('/svc/handshake', 'handshake', 'Whether the versions a caller was built for still fit'),
    auth: 'none',
    request: trust.HandshakeRequest,
    response: trust.HandshakeAnswer,
  },
  'tokens.issue': {
    ...post('/svc/tokens', 'tokens', 'Issue a root token, or a narrower one below a token'),
    auth: 'bearer',
    request: token.IssueRequest,
    response: token.IssueAnswer,
  },
  'tokens.revoke': {
    ...post('/svc/tokens/revoke', 'tokens_revoke', 'End a token and everything delegated from it'),
    auth: 'bearer',
    request: token.RevokeRequest,
    response: token.RevokeAnswer,
  },
  'tokens.get': {
    ...get(
      '/svc/tokens/{token_id}',
      'token',
      'The stored authority, state and spending of a token',
    ),
    auth: 'bearer',
    request: token.TokenRequest,
    response: token.TokenView,
  },
  'agents.list': {
    ...get('/svc/agents', 'agents', 'The delegations of a root principal, as trees'),
    auth: 'bearer',
    request: agents.AgentListRequest,
    response: agents.AgentListAnswer,
  },
  permissions: {
    ...post(
      '/svc/permissions',
      'permissions',
      'What the presented token may do, and what it lacks',
    ),
    auth: 'token',
    request: Nothing,
    response: permissions.PermissionsAnswer,
  },
  invoke: {
    ...post('/svc/invoke/{capability}', 'invoke', 'Use a capability'),
    auth: 'token',
    headers: { idempotency_key: 'idempotency-key', prefer: 'prefer' },
    request: invocation.InvokeRequest,
    response: invocation.InvokeAnswer,
  },
  test: {
    ...post('/svc/test/{capability}', 'test', 'Every check of an invocation, and no effect'),
    auth: 'token',
    headers: { prefer: 'prefer' },
    request: invocation.TestRequest,
    response: invocation.TestAnswer,
  },
  'approval_grants.issue': {
    ...post('/svc/approval_grants', 'approval_grants', 'Approve one pending request'),
    auth: 'bearer',
    request: approval.GrantRequest,
    response: approval.GrantAnswer,
  },
  'approval_requests.list': {
    ...get('/svc/approval_requests', 'approval_requests', 'The requests the caller may decide'),
    auth: 'bearer',
    request: approval.ApprovalListRequest,
    response: approval.ApprovalListAnswer,
  },
  'approval_requests.get': {
    ...get(
      '/svc/approval_requests/{approval_request_id}',
      'approval_request',
      'One request, for those who may decide it and for its requester',
    ),
    auth: 'bearer',
    headers: { prefer: 'prefer' },
    request: approval.ApprovalReadRequest,
    response: approval.ApprovalRequest,
  },
  'approval_requests.decision': {
    ...get(
      '/svc/approval_requests/{approval_request_id}/decision',
      'approval_request_decision',
      'Everything that one decision needs, for those who may decide it',
    ),
    auth: 'bearer',
    request: decision.DecisionRequest,
    response: decision.Decision,
  },
  'approval_requests.deny': {
    ...post(
      '/svc/approval_requests/{approval_request_id}/deny',
      'approval_request_deny',
      'Refuse one pending request',
    ),
    auth: 'bearer',
    request: approval.DenyRequest,
    response: approval.ApprovalRequest,
  },
  'audit.query': {
    ...post('/svc/audit', 'audit', "The caller's own trail, newest first"),
    auth: 'bearer',
    rest: 'query',
    request: audit.AuditQuery,
    response: audit.AuditAnswer,
  },
  'checkpoints.list': {
    ...get('/svc/checkpoints', 'checkpoints', 'The signed heads of the log, newest first'),
    auth: 'none',
    request: audit.CheckpointListRequest,
    response: audit.CheckpointListAnswer,
  },
  'checkpoints.get': {
    ...get(
      '/svc/checkpoints/{checkpoint_id}',
      'checkpoint',
      'One signed head, with proofs on request',
    ),
    auth: 'optional',
    request: audit.CheckpointReadRequest,
    response: audit.CheckpointDetail,
  },
  'operator.freeze': {
    ...post(
      '/svc/operator/freeze',
      'operator_freeze',
      'Refuse a principal, a capability or everything',
    ),
    auth: 'bearer',
    request: operator.FreezeRequest,
    response: operator.Freeze,
  },
  'operator.unfreeze': {
    ...post('/svc/operator/unfreeze', 'operator_unfreeze', 'Lift a freeze'),
    auth: 'bearer',
    request: operator.UnfreezeRequest,
    response: operator.UnfreezeAnswer,
  },
  'operator.frozen': {
    ...get('/svc/operator/frozen', 'operator_frozen', 'What is frozen now, newest first'),
    auth: 'bearer',
    request: operator.FrozenRequest,
    response: operator.FrozenAnswer,
  },
  'operator.indeterminate': {
    ...get('/svc/operator/indeterminate', 'operator_indeterminate', 'Calls of unknown outcome'),
    auth: 'bearer',
    request: Nothing,
    response: operator.IndeterminateAnswer,
  },
  'operator.reconcile': {
    ...post('/svc/operator/reconcile', 'operator_reconcile', 'Say what an unknown outcome was'),
    auth: 'bearer',
    request: operator.ReconcileRequest,
    response: operator.ReconcileAnswer,
  },
  'operator.checkpoints': {
    ...post('/svc/operator/checkpoints', 'operator_checkpoints', 'Seal a checkpoint now'),
    auth: 'bearer',
    request: Nothing,
    response: operator.SealAnswer,
  },
  'operator.deliveries': {
    ...get('/svc/operator/deliveries', 'operator_deliveries', 'The state of every notification'),
    auth: 'bearer',
    request: Nothing,
    response: operator.DeliveriesAnswer,
  },
  'identities.list': {
    ...get('/svc/operator/identities', 'operator_identities', 'The identities in the store'),
    auth: 'bearer',
    request: identity.IdentityListRequest,
    response: identity.IdentityListAnswer,
  },
  'identities.add': {
    ...post(
      '/svc/operator/identities',
      'operator_identities_add',
      'Add an identity, by the SHA-256 of its key',
    ),
    auth: 'bearer',
    request: identity.IdentityAddRequest,
    response: identity.StoredIdentity,
  },
  'identities.remove': {
    ...post(
      '/svc/operator/identities/remove',
      'operator_identities_remove',
      'Remove an identity; what it issued lives on',
    ),
    auth: 'bearer',
    request: identity.IdentityRemoveRequest,
    response: identity.IdentityRemoveAnswer,
  },
} as const satisfies Record<string, Operation>;

/**
 * The name of an operation, as `client.ask()` takes it.
 *
 * @example
 * import type { OperationName } from 'writ/client';
 *
 * const audits: readonly OperationName[] = ['audit.query', 'checkpoints.list', 'checkpoints.get'];
 * console.log(audits.length);
 */
export type OperationName = keyof typeof operations;
export type RequestOf<Name extends OperationName> = z.output<(typeof operations)[Name]['request']>;
/**
 * The input of a caller: fields with a default may be absent.
 *
 * @example
 * import type { InputOf } from 'writ/client';
 *
 * const request: InputOf<'tokens.issue'> = {
 *   subject: 'agent:planner',
 *   scope: ['travel.search'],
 *   budget: { currency: 'USD', max_amount: 500 },
 * };
 * console.log(request.subject);
 */
export type InputOf<Name extends OperationName> = z.input<(typeof operations)[Name]['request']>;
export type AnswerOf<Name extends OperationName> = z.output<(typeof operations)[Name]['response']>;

function get<Path extends `/${string}`>(path: Path, endpoint: string, summary: string) {
  return { method: 'GET', path, endpoint, summary, rest: 'query' } as const;
}

function post<Path extends `/${string}`>(path: Path, endpoint: string, summary: string) {
  return { method: 'POST', path, endpoint, summary, rest: 'body' } as const;
}
