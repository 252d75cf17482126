/**
 * Folds the log into the state that the rows of authority and money must have.
 *
 * Takes every entry once, in order, and keeps less than one kilobyte for each token, approval request and
 * grant, and a line for each call of unknown outcome. Erased entries cannot be folded: they are counted by
 * type, and the comparisons tolerate that many differences.
 *
 * @module
 */

import { capabilityTarget } from '../../domain/authority/freeze.ts';
import type { Charge } from '../../domain/invocation/budget.ts';
import { entryView, type StoredEntry } from '../../domain/log/entry.ts';
import type { Facts } from '../../domain/log/entry-facts.ts';
import { leafIndexOf } from '../../domain/log/origin.ts';
import { toMinor } from '../../domain/values/money.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import { isObject } from '../../domain/wire/json.ts';
import type { ApprovalStatus } from '../../protocol/approval.ts';
import type { AuditEntry, EntryType } from '../../protocol/audit.ts';
import { IdentityAdded, IdentityRemoved } from '../../protocol/identity.ts';
import { PasskeyAdded, PasskeyRemoved } from '../../protocol/passkey.ts';
import { freezeKey } from '../port/ledger-store.ts';
import { foldClosing, foldErased } from './calls.ts';
import { createIds, type Ids } from './ids.ts';

export interface Expected {
  readonly tokens: Map<string, ExpectedToken>;
  readonly requests: Map<string, ExpectedRequest>;
  readonly grants: Map<string, ExpectedGrant>;
  /** By kind and target. */
  readonly freezes: Map<string, ExpectedFreeze>;
  readonly passkeys: Map<string, ExpectedPasskey>;
  readonly identities: Map<string, ExpectedIdentity>;
  /** Calls of unknown outcome without a later entry, by invocation. */
  readonly unknown: Map<string, UnknownCost>;
  /** Fingerprints of what closed calls. */
  readonly closed: Ids;
  /** The cost that calls of unknown outcome reported so far, by invocation. */
  readonly reported: Map<string, Charge>;
  /** Entries without contents, and entries that have contents and no personal fields. */
  readonly erased: Erased;
  readonly erasedPersonal: Erased;
}

type Erased = Map<EntryType, number>;

export interface ExpectedToken {
  /** The fields of its issuance, in canonical form; absent where the entry cannot be read. */
  logged?: string | undefined;
  issuedBy?: string | undefined;
  parent?: string | undefined;
  children: number;
  /** By calls under this token itself, in minor units. */
  spent: bigint;
  /** What those calls reported beyond their reservations, by currency. */
  owes?: Map<string, bigint>;
  revokedBy?: string | undefined;
  /** Created before a log that an operator ended; the same for requests and grants. */
  isVoid?: boolean;
}

export interface ExpectedRequest {
  logged?: string | undefined;
  askedBy?: string | undefined;
  askedThrough: readonly string[];
  /** In their order; null where the name was erased. */
  readonly votes: (string | null)[];
  /** What the first approver proposed. */
  terms?: unknown;
  status: ApprovalStatus;
  grantId?: string | undefined;
  decidedBy?: string | null | undefined;
  /** The time of the entry that decided it. */
  decidedAt?: string | undefined;
  reason?: unknown;
  /** A decision with an erased outcome names this request. */
  isUncertain: boolean;
  isVoid?: boolean;
}

export interface ExpectedGrant {
  logged?: string | undefined;
  givenBy?: string | undefined;
  requestId?: string | undefined;
  uses: number;
  /** Calls that may have been admitted: the store did not answer before their entry was made. */
  perhapsUsed: number;
  isVoid?: boolean;
}

interface ExpectedFreeze {
  readonly reason: unknown;
  readonly frozenBy: string | null;
  readonly until: number | undefined;
  readonly by: string;
}

export interface ExpectedPasskey {
  readonly principal: string | null;
  readonly added: PasskeyAdded;
  readonly by: string;
  removedBy?: string;
}

export interface ExpectedIdentity {
  readonly added: IdentityAdded;
  /** Null where the name was erased. */
  readonly createdBy: string | null;
  readonly by: string;
  removedBy?: string;
}

interface UnknownCost {
  readonly tokenId: string;
  readonly currency: string | undefined;
  readonly amount: bigint;
}

export function createExpected(): Expected {
  return {
    tokens: new Map(),
    requests: new Map(),
    grants: new Map(),
    freezes: new Map(),
    passkeys: new Map(),
    identities: new Map(),
    unknown: new Map(),
    closed: createIds(),
    reported: new Map(),
    erased: new Map(),
    erasedPersonal: new Map(),
  };
}

export function foldEntry(expected: Expected, stored: StoredEntry): void {
  const { entry_type } = stored;
  if (!stored.leaf || !stored.personal) {
    count(stored.leaf ? expected.erasedPersonal : expected.erased, entry_type);
  }
  // The first entry of a later log follows the voiding of everything before it.
  if (isFirstOfLater(stored)) voidAll(expected);
  if (!stored.leaf) {
    foldErased(expected.closed, stored.entry_id);
    return;
  }
  const entry = readable(stored);
  if (!entry) return;
  foldClosing(expected.closed, entry, amountOf(entry));
  FOLDS[entry_type]?.(expected, entry);
}

/** Identities of a log that ended are deleted. */
function voidAll({ tokens, requests, grants, identities }: Expected): void {
  identities.clear();
  for (const each of [tokens, requests, grants]) {
    for (const made of each.values()) made.isVoid = true;
  }
}

function isFirstOfLater({ sequence }: StoredEntry): boolean {
  return sequence > 0 && leafIndexOf(sequence) === 0;
}

/** A leaf that does not match its hash may be unreadable; fsck reports that separately. */
function readable(stored: StoredEntry): AuditEntry | undefined {
  try {
    return entryView(stored);
  } catch {
    return undefined;
  }
}

function count(erased: Erased, type: EntryType): void {
  erased.set(type, (erased.get(type) ?? 0) + 1);
}

type Fold = (expected: Expected, entry: AuditEntry) => void;

/** Entries of other types change no compared row. */
const FOLDS: Partial<Record<EntryType, Fold>> = {
  issuance: foldIssuance,
  revocation: foldRevocation,
  invocation: foldInvocation,
  settlement: foldSettlement,
  compensation: foldOverrun,
  approval_request: foldRequest,
  approval_decision: foldDecision,
  operator: foldOperator,
  session: foldSession,
};

/** A refusal names the requesting token and creates none. */
function foldIssuance({ tokens }: Expected, entry: AuditEntry): void {
  if (entry.state !== 'completed' || entry.token_id === null) return;
  const token = tokenOf(tokens, entry.token_id);
  token.issuedBy ??= entry.entry_id;
  const { detail } = entry;
  if (detail === null || token.issuedBy !== entry.entry_id) return;
  token.logged = loggedFacts({ capability: entry.capability, ...detail }, ISSUANCE_KEYS);
  if (typeof detail.parent_token_id !== 'string') return;
  token.parent = detail.parent_token_id;
  tokenOf(tokens, token.parent).children += 1;
}

function foldRevocation({ tokens }: Expected, entry: AuditEntry): void {
  if (entry.state !== 'completed' || entry.token_id === null) return;
  tokenOf(tokens, entry.token_id).revokedBy ??= entry.entry_id;
}

/** An entry that is not a refusal is of an admitted call, which was charged what the entry says. */
function foldInvocation(expected: Expected, entry: AuditEntry): void {
  const { token_id, invocation_id, state, approval_grant_id: grantId } = entry;
  if (state === 'refused') return;
  foldOverrun(expected, entry);
  const amount = amountOf(entry);
  if (token_id !== null && amount > 0n) tokenOf(expected.tokens, token_id).spent += amount;
  if (state === 'indeterminate' && invocation_id !== null) {
    const currency = chargeOf(entry.cost_actual)?.currency;
    expected.unknown.set(invocation_id, { tokenId: token_id ?? '', currency, amount });
  }
  if (grantId === null) return;
  const grant = grantOf(expected.grants, grantId);
  // This call did not run, and it is unknown whether the store admitted it.
  const isLost = state === 'failed' && entry.failure_type === 'outcome_unknown';
  if (isLost) grant.perhapsUsed += 1;
  else grant.uses += 1;
}

/** A later end of a call of unknown outcome. Without an effect the charge is refunded. */
function foldSettlement(expected: Expected, entry: AuditEntry): void {
  const { invocation_id, state, cost_actual } = entry;
  foldOverrun(expected, entry);
  if (invocation_id === null || state === 'indeterminate') return;
  reconcile(expected, invocation_id, state === 'failed' && cost_actual === null);
}

/**
 * Compares the reported cost with the reservation: what a step drew, or what the call was charged. A later
 * entry of the same call adds only the difference from the earlier report.
 */
function foldOverrun({ tokens, reported }: Expected, entry: AuditEntry): void {
  const { token_id, invocation_id, detail, cost_actual, state } = entry;
  const charge = chargeOf(detail?.cost_reported);
  if (!charge || token_id === null) return;
  const earlier = reported.get(invocation_id ?? '');
  if (state === 'indeterminate' && invocation_id !== null) reported.set(invocation_id, charge);
  const reserved = chargeOf(detail?.drawn) ?? chargeOf(cost_actual);
  if (reserved?.currency !== charge.currency) return;
  const isMore = earlier?.currency === charge.currency && earlier.amount > reserved.amount;
  const owed = charge.amount - (isMore ? earlier : reserved).amount;
  const token = tokenOf(tokens, token_id);
  token.owes ??= new Map();
  if (owed > 0n) token.owes.set(charge.currency, (token.owes.get(charge.currency) ?? 0n) + owed);
}

function reconcile({ unknown, tokens }: Expected, invocationId: string, refund: boolean): void {
  const cost = unknown.get(invocationId);
  unknown.delete(invocationId);
  if (refund && cost) tokenOf(tokens, cost.tokenId).spent -= cost.amount;
}

function foldRequest({ requests }: Expected, entry: AuditEntry): void {
  const { approval_request_id: id, state, detail } = entry;
  if (state !== 'completed' || id === null) return;
  const request = requestOf(requests, id);
  request.askedBy = entry.entry_id;
  if (detail === null) return;
  request.logged = loggedFacts({ capability: entry.capability, ...detail }, REQUEST_KEYS);
  request.askedThrough = textsOf(detail.requested_through);
}

function foldDecision(expected: Expected, entry: AuditEntry): void {
  const { approval_request_id: id, approval_grant_id: grantId, state, detail } = entry;
  if (id === null) return;
  const request = requestOf(expected.requests, id);
  // Once `detail` is erased, only the id of a grant shows the decision.
  const decision = detail?.decision ?? (grantId === null ? undefined : 'granted');
  if (decision === undefined) {
    if (entry.erased) request.isUncertain = true;
    return;
  }
  if (decision === 'expired') request.status = 'expired';
  if (state !== 'completed') return;
  if (decision === 'approved' || decision === 'granted') {
    request.votes.push(entry.root_principal);
    request.terms ??= detail?.terms;
  }
  if (decision === 'denied') {
    Object.assign(request, { status: 'denied', decidedBy: entry.root_principal });
    request.decidedAt = entry.timestamp;
    request.reason = detail?.reason;
  }
  if (decision !== 'granted' || grantId === null) return;
  Object.assign(request, { status: 'approved', decidedBy: entry.root_principal, grantId });
  request.decidedAt = entry.timestamp;
  const grant = grantOf(expected.grants, grantId);
  Object.assign(grant, { givenBy: entry.entry_id, requestId: id });
  if (detail) grant.logged = loggedFacts(detail, GRANT_KEYS);
}

function foldOperator(expected: Expected, entry: AuditEntry): void {
  const { state, detail } = entry;
  if (state !== 'completed' || detail === null) return;
  foldIdentity(expected, entry);
  const { verb, what, target = '', root_principal, reason, until, invocation_id, outcome } = detail;
  if (verb === 'reconcile' && typeof invocation_id === 'string') {
    reconcile(expected, invocation_id, outcome === 'not_executed');
  }
  const principal = typeof root_principal === 'string' ? root_principal : undefined;
  const place = freezeKey({ what, target: capabilityTarget(String(target), principal) });
  if (verb === 'unfreeze') expected.freezes.delete(place);
  if (verb !== 'freeze') return;
  const end = typeof until === 'string' ? Date.parse(until) : undefined;
  expected.freezes.set(place, {
    reason,
    frozenBy: entry.actor_key,
    until: end,
    by: entry.entry_id,
  });
}

function foldIdentity({ identities }: Expected, entry: AuditEntry): void {
  const { detail, actor_key: createdBy, entry_id: by } = entry;
  const added = IdentityAdded.safeParse(detail).data;
  if (added) identities.set(added.identity_id, { added, createdBy, by });
  const removed = IdentityRemoved.safeParse(detail).data;
  const known = removed && identities.get(removed.identity_id);
  if (known) known.removedBy ??= by;
}

function foldSession({ passkeys }: Expected, entry: AuditEntry): void {
  const { state, detail, root_principal: principal, entry_id } = entry;
  if (state !== 'completed') return;
  const added = PasskeyAdded.safeParse(detail).data;
  if (added) passkeys.set(added.credential_id, { principal, added, by: entry_id });
  const removed = PasskeyRemoved.safeParse(detail).data;
  const known = removed && passkeys.get(removed.credential_id);
  if (known && known.principal === principal) known.removedBy = entry_id;
}

/** The fields that entries of each type have of their row. */
const ISSUANCE_KEYS = [
  ...['service', 'subject', 'scope', 'capability', 'depth', 'parent_token_id', 'budget'],
  ...['expires_at', 'kid', 'chain', 'claims_digest'],
];
const REQUEST_KEYS = [
  ...['capability', 'invocation_id', 'preview_digest', 'approvals_required', 'expires_at'],
  ...['require', 'request_digest'],
];
const GRANT_KEYS = ['grant_type', 'max_uses', 'expires_at', 'grant_digest'];

function loggedFacts(facts: Facts, keys: readonly string[]): string {
  const known = keys.filter((key) => facts[key] !== undefined);
  return canonicalJson(Object.fromEntries(known.map((key) => [key, facts[key]])));
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
}

function amountOf({ cost_actual }: AuditEntry): bigint {
  return chargeOf(cost_actual)?.amount ?? 0n;
}

function chargeOf(money: unknown): Charge | undefined {
  if (!isObject(money) || typeof money.currency !== 'string') return undefined;
  const amount = toMinor(money.amount as number, money.currency);
  return amount === undefined ? undefined : { currency: money.currency, amount };
}

/** Whether an erased entry may have been the reconciliation of a call, with a refund. */
export function mayLackReconciliation({ erased, erasedPersonal }: Expected): boolean {
  return erased.has('operator') || erased.has('settlement') || erasedPersonal.has('operator');
}

export function tokenOf(tokens: Expected['tokens'], id: string): ExpectedToken {
  return getOrCreate(tokens, id, () => ({ children: 0, spent: 0n }));
}

function requestOf(requests: Expected['requests'], id: string): ExpectedRequest {
  return getOrCreate(requests, id, () => ({
    askedThrough: [],
    votes: [],
    status: 'pending',
    isUncertain: false,
  }));
}

export function grantOf(grants: Expected['grants'], id: string): ExpectedGrant {
  return getOrCreate(grants, id, () => ({ uses: 0, perhapsUsed: 0 }));
}

function getOrCreate<Value>(map: Map<string, Value>, id: string, make: () => Value): Value {
  const found = map.get(id);
  if (found) return found;
  const made = make();
  map.set(id, made);
  return made;
}
