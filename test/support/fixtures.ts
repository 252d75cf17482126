/**
 * Records for the store contract: valid, unique, and equal except for what a case changes.
 *
 * Times are far from any real clock, which exposes a store that uses its own clock in place of a given time.
 * Ids are random, so that cases do not share rows by accident.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import { chainOf } from '../../src/domain/authority/chain.ts';
import { delegationClaims } from '../../src/domain/authority/claims.ts';
import { digestOf } from '../../src/domain/wire/canonical.ts';
import type { GrantTerms } from '../../src/protocol/approval.ts';
import type { Budget } from '../../src/protocol/primitives.ts';
import type { Admission, GrantUse, Settlement } from '../../src/storage/port/invocation-store.ts';
import type {
  ActorEnded,
  ApprovalRecord,
  BindingRecord,
  Charge,
  DeliveryRecord,
  FreezeRecord,
  GrantRecord,
  IntentRecord,
  TokenRecord,
} from '../../src/storage/port/records.ts';
import type { Crowded, Store } from '../../src/storage/port/store.ts';
import {
  approvalEntry,
  at,
  ISSUER,
  issuanceEntry,
  newId,
  outcomeEntry,
  requestEntry,
} from './entries.ts';

export { at, entry, newId, unstorableEntry, variedEntry } from './entries.ts';

export const SECOND = 1_000;
export const HOUR = 3_600 * SECOND;

/** Later than every time of every case. */
export const FAR = new Date('2100-01-01T00:00:00.000Z');

export function usd(amount: bigint): Charge {
  return { currency: 'USD', amount };
}

/** A budget of so many cents. */
export function cents(amount: number): Budget {
  return { currency: 'USD', max_amount: amount / 100 };
}

/** What a token has under which one call runs at a time. */
export const EXCLUSIVE = { concurrent_branches: 'exclusive' } as const;

export function rootToken(changed: Partial<TokenRecord> = {}): TokenRecord {
  const token_id = newId('tok_');
  const principal = `human:${token_id.slice(-8)}@example.com`;
  const { subject = principal, root_principal = principal } = changed;
  return digested({
    token_id,
    lineage: [token_id],
    chain: chainOf(root_principal, [subject]),
    subject,
    root_principal,
    scope: ['travel.book', 'travel.search'],
    purpose: {},
    caller_class: 'default',
    concurrent_branches: 'allowed',
    depth: 0,
    max_delegation_depth: 5,
    issued_at: at(0),
    expires_at: at(24 * HOUR),
    kid: 'key-1',
    ...changed,
  });
}

function digested(token: Omit<TokenRecord, 'claims_digest'>): TokenRecord {
  return { ...token, claims_digest: digestOf(delegationClaims(ISSUER, token)) };
}

export function childToken(parent: TokenRecord, changed: Partial<TokenRecord> = {}): TokenRecord {
  const token_id = newId('tok_');
  const { subject = `agent:${token_id.slice(-8)}` } = changed;
  return digested({
    ...rootToken(),
    token_id,
    parent_token_id: parent.token_id,
    lineage: [...parent.lineage, token_id],
    // Any value that depends on parent and subject: a store compares digests and makes none.
    chain: subject === parent.subject ? parent.chain : chainOf(parent.chain, [subject]),
    subject,
    root_principal: parent.root_principal,
    depth: parent.depth + 1,
    expires_at: parent.expires_at,
    ...changed,
  });
}

function intent(token: TokenRecord, changed: Partial<IntentRecord> = {}): IntentRecord {
  return {
    operation_id: `op_${randomBytes(16).toString('hex')}`,
    invocation_id: newId('inv-'),
    token_id: token.token_id,
    subject: token.subject,
    root_principal: token.root_principal,
    capability: 'book_flight',
    facts: { task: 'trip', nested: { list: [1, 'two', null, true] } },
    instance_id: 'instance-1',
    admitted_at: at(SECOND),
    ...changed,
  };
}

/** An admission of one call. The intent also has charge and grant, as in the service. */
export function admission(
  token: TokenRecord,
  changed: Partial<Omit<Admission, 'intent'>> & { intent?: Partial<IntentRecord> } = {},
): Admission {
  const { intent: changedIntent, ...rest } = changed;
  const now = rest.now ?? at(SECOND);
  const noted = rest.charge ? { charge: rest.charge } : {};
  const { facts, ...call } = intent(token, { admitted_at: now, ...noted, ...changedIntent });
  const used = rest.grant && { approval_grant_id: rest.grant.grant_id };
  return {
    now,
    leaseUntil: new Date(now.getTime() + 30 * SECOND),
    ...rest,
    intent: { ...call, facts: { ...facts, ...used } },
  };
}

/** An admission that the store took. */
export async function admitCall(
  store: Store,
  ...[token, changed]: Parameters<typeof admission>
): Promise<Admission> {
  const call = admission(token, changed);
  const result = await store.admit(call);
  if (!result.admitted) throw new Error(`Cannot admit for the case: ${result.reason}`);
  return call;
}

/** The idempotency part of an admission. */
export function keyOf(token: TokenRecord, key: string, fingerprint = 'sha256:aa') {
  return {
    chain: token.chain,
    capability: 'book_flight',
    key,
    fingerprint,
    keepUntil: at(24 * HOUR),
  };
}

export function settlement(
  { intent: call }: Pick<Admission, 'intent'>,
  changed: Partial<Settlement> = {},
): Settlement {
  const outcome = changed.outcome ?? 'completed';
  return {
    operation_id: call.operation_id,
    outcome,
    bindings: [],
    answer: new TextEncoder().encode(`answer of ${call.operation_id}`),
    entry: outcomeEntry(call, { outcome, actual: changed.actual, overrun: changed.overrun }),
    now: at(2 * SECOND),
    ...changed,
  };
}

export function binding(token: TokenRecord, changed: Partial<BindingRecord> = {}): BindingRecord {
  return {
    binding_id: newId('bnd_'),
    type: 'quote',
    capability: 'book_flight',
    root_principal: token.root_principal,
    data: { flight: 'LH 400' },
    issued_at: at(SECOND),
    ...changed,
  };
}

export function approval(changed: Partial<ApprovalRecord> = {}): ApprovalRecord {
  return {
    approval_request_id: newId('apr_'),
    capability: 'book_flight',
    contract_version: '1.0.0',
    declaration_digest: `sha256:${'de'.repeat(32)}`,
    scope: ['travel.book'],
    subject: 'agent:asker',
    root_principal: 'human:root@example.com',
    chain: chainOf('human:root@example.com', ['agent:asker']),
    requested_through: ['human:root@example.com', 'agent:asker'],
    delegate: 'agent:asker',
    kept_bytes: 100,
    token_id: newId('tok_'),
    invocation_id: newId('inv-'),
    parameters: { to: 'Zürich', seats: 2 },
    parameters_digest: `sha256:${randomBytes(32).toString('hex')}`,
    grant_policy: {
      allowed_grant_types: ['one_time', 'session_bound'],
      default_grant_type: 'one_time',
      expires_in_seconds: 900,
      max_uses: 10,
    },
    approvals_required: 1,
    approvals: [],
    status: 'pending',
    created_at: at(0),
    expires_at: at(24 * HOUR),
    ...changed,
  };
}

/** The terms that an approver accepts. */
export const TERMS: GrantTerms = {
  grant_type: 'one_time',
  session_id: null,
  expires_in_seconds: 900,
  max_uses: 1,
};

export function grantFor(request: ApprovalRecord, changed: Partial<GrantRecord> = {}): GrantRecord {
  return {
    grant_id: newId('gnt_'),
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
    grant_type: 'one_time',
    approved_by: ['human:approver@example.com'],
    approved_through: ['human:approver@example.com', 'human:deputy@example.com'],
    issued_at: at(SECOND),
    expires_at: at(HOUR),
    max_uses: 1,
    uses: 0,
    signature: 'header..signature',
    ...changed,
  };
}

export function useOf(grant: GrantRecord, changed: Partial<GrantUse> = {}): GrantUse {
  return {
    grant_id: grant.grant_id,
    capability: grant.capability,
    contract_version: grant.contract_version,
    declaration_digest: grant.declaration_digest,
    parameters_digest: grant.parameters_digest,
    chain: grant.chain,
    session_id: grant.session_id,
    expires_at: grant.expires_at,
    max_uses: grant.max_uses,
    ...changed,
  };
}

export function delivery(
  request: ApprovalRecord,
  changed: Partial<DeliveryRecord> = {},
): DeliveryRecord {
  return {
    delivery_id: `dlv_${randomBytes(8).toString('hex')}`,
    event: 'requested',
    approval_request_id: request.approval_request_id,
    target: 'https://hooks.example.com/approvals',
    payload: { approval_request_id: request.approval_request_id },
    state: 'pending',
    attempts: 0,
    next_attempt_at: at(0),
    ...changed,
  };
}

export function freezeOf(changed: Partial<FreezeRecord> = {}): FreezeRecord {
  return {
    what: 'service',
    target: '',
    reason: 'drill',
    frozen_by: 'human:operator@example.com',
    frozen_at: at(0),
    ...changed,
  };
}

/** Inserts a root and a line of descendants, one for each change after the first. */
export async function chain<const Changes extends readonly Partial<TokenRecord>[]>(
  store: Store,
  changes: Changes,
): Promise<{ -readonly [Place in keyof Changes]: TokenRecord }> {
  const tokens: TokenRecord[] = [];
  for (const changed of changes) {
    const parent = tokens.at(-1);
    const token = parent ? childToken(parent, changed) : rootToken(changed);
    await insert(store, token);
    tokens.push(token);
  }
  return tokens as { -readonly [Place in keyof Changes]: TokenRecord };
}

/** Inserts one token, root or child. A refusal by the parent is a defect of the case. */
export async function insert(store: Store, token: TokenRecord): Promise<TokenRecord> {
  const logged = issuanceEntry(token);
  if (token.parent_token_id === undefined) {
    await store.insertRoot(token, logged);
    return token;
  }
  const result = await store.insertChild(token, logged, { now: at(0), childrenMax: 10_000 });
  if (result !== 'inserted') throw new Error(`Cannot store token "${token.token_id}": ${result}`);
  return token;
}

/** The outcome of a transition without an actor, which cannot have ended, and without bounds. */
export function happened<Outcome>(outcome: Outcome): Exclude<Outcome, ActorEnded | Crowded> {
  const isCrowded = typeof outcome === 'object' && outcome !== null && 'exceeded' in outcome;
  if (outcome !== 'actor_revoked' && outcome !== 'actor_expired' && !isCrowded) {
    return outcome as Exclude<Outcome, ActorEnded | Crowded>;
  }
  throw new Error(`Cannot continue with the case: ${isCrowded ? 'crowded' : outcome}`);
}

/** A token whose requester holds an approved grant. */
export async function granted(
  store: Store,
  token: TokenRecord,
  changed: Partial<GrantRecord> = {},
): Promise<GrantRecord> {
  const { subject, root_principal, chain } = token;
  const request = approval({ subject, root_principal, chain });
  const grant = grantFor(request, changed);
  await store.requestApproval(request, requestEntry(request), []);
  const approver = 'human:approver@example.com';
  const result = await store.approve({
    approval_request_id: request.approval_request_id,
    approver,
    now: at(SECOND),
    approvalsSeen: 0,
    terms: TERMS,
    grant,
    entry: approvalEntry(request, { approver, terms: TERMS }, grant),
    deliveries: [],
  });
  if (result !== 'approved') throw new Error(`Cannot grant: ${result}`);
  return grant;
}
