/**
 * Compares stored rows with the folded log: tokens, approval requests, votes, grants, freezes, calls.
 *
 * A row must equal its entry in every field; an entry without its row, and a row without its entry, are
 * findings. Where retention erased entries of a type, as many rows may lack an entry: the log no longer shows
 * which.
 *
 * @module
 */

import { widenedFields } from '../../domain/authority/narrowing.ts';
import {
  type Facts,
  grantFacts,
  issuanceFacts,
  requestFacts,
} from '../../domain/log/entry-facts.ts';
import { shownMinor } from '../../domain/values/money.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import type { EntryType } from '../../protocol/audit.ts';
import { freezeKey, type TokenState, type UnknownCall } from '../port/ledger-store.ts';
import type { ApprovalRecord, FreezeRecord, GrantRecord, TokenRecord } from '../port/records.ts';
import {
  type Expected,
  type ExpectedGrant,
  type ExpectedRequest,
  mayLackReconciliation,
  tokenOf,
} from './fold.ts';

export type LedgerPart =
  | 'token'
  | 'budget'
  | 'debt'
  | 'request'
  | 'grant'
  | 'freeze'
  | 'passkey'
  | 'identity'
  | 'call'
  | 'declaration';

export interface RowCheck {
  readonly expected: Expected;
  /** Ids of the rows read so far, by kind. */
  readonly seen: Record<Exclude<LedgerPart, 'budget' | 'debt'>, Set<string>>;
  /** How many erased entries of a type already explain a row without an entry. */
  readonly explained: Map<EntryType, number>;
  report(what: LedgerPart, where: string, detail: string): void;
  /** Counts what could not be compared, by a sentence with the reason. */
  note(sentence: string): void;
}

export function createRowCheck(
  expected: Expected,
  tell: Pick<RowCheck, 'report' | 'note'>,
): RowCheck {
  const ids = () => new Set<string>();
  const seen = {
    token: ids(),
    request: ids(),
    grant: ids(),
    freeze: ids(),
    passkey: ids(),
    identity: ids(),
    call: ids(),
    declaration: ids(),
  };
  return { expected, seen, explained: new Map(), ...tell };
}

export function checkToken(check: RowCheck, state: TokenState): void {
  const { token, parent, revoked_at, children } = state;
  const id = token.token_id;
  check.seen.token.add(id);
  const known = tokenOf(check.expected.tokens, id);
  if (known.issuedBy === undefined) {
    unexplained(check, 'token', id, 'issuance');
  } else if (known.logged === undefined) {
    check.note('tokens whose issuance was erased, except that they were issued');
  } else {
    checkClaims(check, token, JSON.parse(known.logged));
    checkLineage(check, id, token.lineage);
    checkChildren(check, id, { found: children, expected: known.children });
  }
  // Without a readable issuance only the row names the parent, to which its calls count.
  if (known.logged === undefined) known.parent = token.parent_token_id;
  checkRevocation(check, id, { revoked_at, by: known.revokedBy });
  // Tokens below a revoked root have no authority either.
  if (known.isVoid && revoked_at === undefined && token.parent_token_id === undefined) {
    check.report('token', id, 'it is not revoked, and an operator has voided it');
  }
  checkWidth(check, token, parent);
}

function checkWidth(check: RowCheck, token: TokenRecord, parent: TokenRecord | undefined): void {
  const { token_id, parent_token_id } = token;
  if (parent) {
    const wider = widenedFields(parent, token).join(', ');
    const detail = `it allows more than its parent ${parent.token_id}: ${wider}`;
    if (wider !== '') check.report('token', token_id, detail);
  } else if (parent_token_id !== undefined) {
    check.report('token', token_id, `its parent ${parent_token_id} is missing`);
  } else if (token.depth !== 0) {
    check.report('token', token_id, `it has depth ${token.depth} and no parent`);
  }
}

function checkClaims(check: RowCheck, token: TokenRecord, logged: Facts): void {
  const id = token.token_id;
  const service = String(logged.service ?? '');
  const found = { capability: token.capability ?? null, ...issuanceFacts(service, token) };
  for (const key of differing(logged, found)) {
    check.report(key === 'budget' ? 'budget' : 'token', id, difference(key, logged, found));
  }
  const { claims_digest } = token;
  if (claims_digest !== logged.claims_digest) {
    check.report('token', id, difference('claims_digest', logged, { claims_digest }));
  }
}

function checkLineage(check: RowCheck, id: string, found: readonly string[]): void {
  const lineage = lineageOf(check.expected, id);
  if (canonicalJson(lineage) === canonicalJson(found)) return;
  check.report(
    'token',
    id,
    `its lineage is ${found.join(' > ')}, the log says ${lineage.join(' > ')}`,
  );
}

/** Root first, the token itself last. */
export function lineageOf({ tokens }: Expected, id: string): string[] {
  const lineage = [id];
  for (let above = tokens.get(id)?.parent; above; above = tokens.get(above)?.parent) {
    // No issuance makes a cycle, but a forged log may contain one.
    if (lineage.includes(above)) break;
    lineage.unshift(above);
  }
  return lineage;
}

function checkChildren(
  check: RowCheck,
  id: string,
  { found, expected }: { found: number; expected: number },
): void {
  const { erased, erasedPersonal } = check.expected;
  if (found === expected || erased.get('issuance') || erasedPersonal.get('issuance')) return;
  check.report('token', id, `it counts ${found} children, the log says ${expected}`);
}

function checkRevocation(
  check: RowCheck,
  id: string,
  { revoked_at, by }: { revoked_at: Date | undefined; by: string | undefined },
): void {
  if (revoked_at === undefined && by !== undefined) {
    check.report('token', id, `it is not revoked, entry ${by} says that it was`);
  }
  if (revoked_at !== undefined && by === undefined && !explain(check, 'revocation')) {
    check.report('token', id, 'it is revoked, no entry says so');
  }
}

export function checkRequest(check: RowCheck, request: ApprovalRecord): void {
  const id = request.approval_request_id;
  check.seen.request.add(id);
  const known = check.expected.requests.get(id);
  if (known?.askedBy === undefined) {
    unexplained(check, 'request', id, 'approval_request');
    return;
  }
  if (known.logged === undefined) {
    check.note('approval requests whose entry was erased, except that they were requested');
  } else {
    const logged: Facts = JSON.parse(known.logged);
    const found = { capability: request.capability, ...requestFacts(request) };
    for (const key of differing(logged, found))
      check.report('request', id, difference(key, logged, found));
  }
  const hands = known.askedThrough.filter((each) => !request.requested_through.includes(each));
  if (hands.length > 0) {
    check.report('request', id, `it does not name ${hands.join(', ')}, whose tokens requested it`);
  }
  checkDecision(check, request, known);
  if (known.isVoid && request.status === 'pending') {
    check.report('request', id, 'it is pending, and an operator has voided it');
  }
}

function checkDecision(check: RowCheck, request: ApprovalRecord, known: ExpectedRequest): void {
  const id = request.approval_request_id;
  if (known.isUncertain) {
    check.note('approval requests whose decision was erased');
    return;
  }
  const approvers = request.approvals.map(({ approver, place }) =>
    place === undefined ? approver : `${approver} in place ${place}`,
  );
  const votes = known.votes.map((vote, place) => vote ?? approvers[place] ?? null);
  const logged: Facts = {
    status: known.status,
    approvals: votes,
    grant_id: known.grantId ?? null,
    ...(known.decidedBy !== null && { decided_by: known.decidedBy ?? null }),
    reason: known.reason ?? null,
    decided_at: known.decidedAt ?? null,
    ...(known.terms !== undefined && { terms: known.terms }),
  };
  const found: Facts = {
    status: request.status,
    approvals: approvers,
    grant_id: request.grant_id ?? null,
    decided_by: request.decided_by ?? null,
    reason: request.reason ?? null,
    decided_at: decidedAt(request, known),
    terms: request.approvals[0]?.terms ?? null,
  };
  for (const key of differing(logged, found))
    check.report('request', id, difference(key, logged, found));
}

/** The entry is made a moment before or after the decision: times as close as this count as equal. */
const DECIDED_WITHIN_MS = 60_000;

function decidedAt({ decided_at }: ApprovalRecord, known: ExpectedRequest): string | null {
  if (decided_at === undefined) return null;
  const logged = known.decidedAt;
  const isNear =
    logged !== undefined &&
    Math.abs(decided_at.getTime() - Date.parse(logged)) <= DECIDED_WITHIN_MS;
  return isNear ? logged : decided_at.toISOString();
}

export function checkGrant(check: RowCheck, grant: GrantRecord): void {
  const id = grant.grant_id;
  check.seen.grant.add(id);
  const known = check.expected.grants.get(id);
  if (known?.givenBy === undefined) {
    unexplained(check, 'grant', id, 'approval_decision');
    return;
  }
  if (known.logged === undefined) {
    check.note('grants whose entry was erased, except their existence and their uses');
  } else {
    const logged: Facts = JSON.parse(known.logged);
    const found = grantFacts(grant);
    for (const key of differing(logged, found))
      check.report('grant', id, difference(key, logged, found));
  }
  if (grant.approval_request_id !== known.requestId) {
    const both = `it answers ${grant.approval_request_id}, its entry says ${known.requestId}`;
    check.report('grant', id, both);
  }
  const fault = usesFault(check, grant, known);
  if (fault) check.report('grant', id, fault);
}

function usesFault(
  { expected }: RowCheck,
  { uses, max_uses }: GrantRecord,
  known: ExpectedGrant,
): string | undefined {
  if (known.isVoid) {
    return uses === max_uses ? undefined : 'it has uses left, and an operator has voided it';
  }
  const most = known.uses + known.perhapsUsed + (expected.erased.get('invocation') ?? 0);
  if (uses >= known.uses && uses <= most) return undefined;
  const range = most === known.uses ? `${most}` : `${known.uses} to ${most}`;
  return `it says ${uses} uses, the log says ${range}`;
}

export function checkFreeze(check: RowCheck, freeze: FreezeRecord): void {
  const key = freezeKey(freeze);
  check.seen.freeze.add(key);
  const known = check.expected.freezes.get(key);
  if (!known) {
    if (check.expected.erasedPersonal.get('operator')) {
      check.note('freezes, because entries of operators were erased');
    } else {
      unexplained(check, 'freeze', key, 'operator');
    }
    return;
  }
  const logged: Facts = {
    reason: known.reason,
    until: known.until ?? null,
    ...(known.frozenBy !== null && { frozen_by: known.frozenBy }),
  };
  const { reason, frozen_by, until } = freeze;
  const found: Facts = { reason, frozen_by, until: until?.getTime() ?? null };
  for (const each of differing(logged, found))
    check.report('freeze', key, difference(each, logged, found));
}

/** Such a call can be refunded, so a reconciled call must not appear here again. */
export function checkUnknownCall(check: RowCheck, call: UnknownCall): void {
  const { invocation_id: id, token_id, currency, amount, consumed } = call;
  const known = check.expected.unknown.get(id);
  if (!known) {
    if (explain(check, 'invocation')) return;
    const detail =
      'its row says that the outcome is unknown, the log has another or a later outcome';
    check.report('call', id, detail);
    return;
  }
  check.seen.call.add(id);
  if (token_id !== known.tokenId) {
    check.report('call', id, `it is of token ${token_id}, the log says ${known.tokenId}`);
  }
  const isOther = known.amount > 0n && currency !== known.currency;
  if (!isOther && amount === known.amount && consumed === known.amount) return;
  const kept = shownMinor(amount === known.amount ? consumed : amount, currency ?? '');
  const logged = shownMinor(known.amount, known.currency ?? '');
  check.report('call', id, `it was charged ${kept}, the log says ${logged}`);
}

/** Reports entries without a row. */
export function checkMissing({ expected, seen, report }: RowCheck): void {
  const missing = (
    what: Exclude<keyof RowCheck['seen'], 'call' | 'passkey' | 'identity' | 'declaration'>,
    id: string,
    by: string | undefined,
  ) => {
    if (by !== undefined && !seen[what].has(id))
      report(what, id, `it is missing, entry ${by} made it`);
  };
  for (const [id, { issuedBy }] of expected.tokens) missing('token', id, issuedBy);
  for (const [id, { askedBy }] of expected.requests) missing('request', id, askedBy);
  for (const [id, { givenBy }] of expected.grants) missing('grant', id, givenBy);
  for (const [key, { by }] of expected.freezes) missing('freeze', key, by);
  // Only the log has calls without a charge and steps of composed calls.
  for (const [id, { amount }] of mayLackReconciliation(expected) ? [] : expected.unknown) {
    if (amount > 0n && !seen.call.has(id)) {
      report('call', id, 'the log says that its outcome is unknown, no row says so');
    }
  }
}

export function unexplained(check: RowCheck, what: LedgerPart, id: string, type: EntryType): void {
  if (!explain(check, type)) check.report(what, id, 'no entry says that it was made');
}

/** Whether an erased entry of this type may explain the missing one. */
function explain(check: RowCheck, type: EntryType): boolean {
  const explained = check.explained.get(type) ?? 0;
  if (explained >= (check.expected.erased.get(type) ?? 0)) return false;
  check.explained.set(type, explained + 1);
  check.note(`rows that have no entry, where entries of type "${type}" were erased`);
  return true;
}

/** Digests cover the other fields, so they are reported only where no other field differs. */
/** An entry may say more than its row, such as how a token came to be. */
export function differing(logged: Facts, found: Facts): string[] {
  const keys = Object.keys(logged).filter(
    (key) => Object.hasOwn(found, key) && textOf(logged[key]) !== textOf(found[key]),
  );
  const plain = keys.filter((key) => !key.endsWith('_digest'));
  return plain.length > 0 ? plain : keys;
}

export function difference(key: string, logged: Facts, found: Facts): string {
  return `its ${key} is ${textOf(found[key])}, the log says ${textOf(logged[key])}`;
}

function textOf(value: unknown): string {
  return canonicalJson(value ?? null);
}
