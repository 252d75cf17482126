/**
 * Row forms: which fields of each kind of row a MAC covers, and in which form.
 *
 * One line a field. A MAC covers what never changes: what the row grants, to whom and until when. It does not
 * cover counters, states and answers: fsck recomputes those from the log. Accounts, connected accounts, consents and
 * identities get a new MAC with each change. Holds no key; the text goes to `keyring/row-keys.ts`.
 *
 * Invariant: two rows of different kinds, or that differ in a covered field, have different texts.
 *
 * @module
 */

import { fromMinor, isWritable, toMinor } from '../../domain/values/money.ts';
import { canonicalJson } from '../../domain/wire/canonical.ts';
import type { ConnectedRecord } from './connected-store.ts';
import type { IdentityRecord } from './identity-store.ts';
import type { InvitationRecord } from './invitation-store.ts';
import type { PasskeyRecord } from './passkey-store.ts';
import type {
  ApprovalRecord,
  ApprovalVote,
  BindingRecord,
  BudgetState,
  FreezeRecord,
  GrantRecord,
  LineageLink,
  TokenRecord,
} from './records.ts';
import type { AccountRecord, ConsentRecord, SessionRecord } from './sign-in-store.ts';

/** A token's revocation, which is stored in the token's row. */
interface RevocationFacts {
  readonly token_id: string;
  readonly revoked_at: Date;
}

/** One approver's vote: for which request, and at which place. */
export interface VoteFacts extends ApprovalVote {
  readonly approval_request_id: string;
  readonly place: number;
}

const FORMS = {
  token: (row: TokenRecord) => ({
    token_id: row.token_id,
    parent_token_id: row.parent_token_id,
    lineage: row.lineage,
    subject: row.subject,
    root_principal: row.root_principal,
    scope: row.scope,
    capability: row.capability,
    purpose: row.purpose,
    caller_class: row.caller_class,
    concurrent_branches: row.concurrent_branches,
    depth: row.depth,
    max_delegation_depth: row.max_delegation_depth,
    session_id: row.session_id,
    ...optionalField('conditions', row.conditions),
    issued_at: row.issued_at,
    expires_at: row.expires_at,
    kid: row.kid,
    claims_digest: row.claims_digest,
    chain: row.chain,
    // The budget's row: its currency and its ceiling.
    currency: row.budget?.currency,
    max: row.budget && (toMinor(row.budget.max_amount, row.budget.currency) ?? UNREADABLE),
  }),
  revocation: (row: RevocationFacts) => ({ token_id: row.token_id, revoked_at: row.revoked_at }),
  freeze: (row: FreezeRecord) => ({
    what: row.what,
    target: row.target,
    reason: row.reason,
    frozen_by: row.frozen_by,
    frozen_at: row.frozen_at,
    until: row.until,
  }),
  binding: (row: BindingRecord) => ({
    binding_id: row.binding_id,
    type: row.type,
    capability: row.capability,
    root_principal: row.root_principal,
    currency: row.price?.currency,
    amount: row.price?.amount,
    data: row.data,
    issued_at: row.issued_at,
  }),
  approval: (row: ApprovalRecord) => ({
    approval_request_id: row.approval_request_id,
    capability: row.capability,
    contract_version: row.contract_version,
    declaration_digest: row.declaration_digest,
    scope: row.scope,
    subject: row.subject,
    root_principal: row.root_principal,
    chain: row.chain,
    requested_through: row.requested_through,
    token_id: row.token_id,
    session_id: row.session_id,
    invocation_id: row.invocation_id,
    parameters: row.parameters,
    parameters_digest: row.parameters_digest,
    preview: row.preview,
    preview_digest: row.preview_digest,
    ...optionalField('cost', row.cost),
    ...optionalField('note', row.note),
    grant_policy: row.grant_policy,
    approvals_required: row.approvals_required,
    ...optionalField('require', row.require),
    created_at: row.created_at,
    expires_at: row.expires_at,
  }),
  vote: (row: VoteFacts) => ({
    approval_request_id: row.approval_request_id,
    place: row.place,
    approver: row.approver,
    approved_at: row.approved_at,
    terms: row.terms,
    ...optionalField('credential_id', row.credential_id),
  }),
  grant: (row: GrantRecord) => ({
    grant_id: row.grant_id,
    approval_request_id: row.approval_request_id,
    capability: row.capability,
    contract_version: row.contract_version,
    declaration_digest: row.declaration_digest,
    scope: row.scope,
    subject: row.subject,
    root_principal: row.root_principal,
    chain: row.chain,
    parameters: row.parameters,
    parameters_digest: row.parameters_digest,
    preview_digest: row.preview_digest,
    grant_type: row.grant_type,
    session_id: row.session_id,
    approved_by: row.approved_by,
    approved_through: row.approved_through,
    issued_at: row.issued_at,
    expires_at: row.expires_at,
    max_uses: row.max_uses,
    signature: row.signature,
  }),
  session: (row: SessionRecord) => ({
    session_id: row.session_id,
    secret_hash: row.secret_hash,
    principal: row.principal,
    account_id: row.account_id,
    issuer: row.issuer,
    sub: row.sub,
    sid: row.sid,
    acr: row.acr,
    user_agent: row.user_agent,
    auth_time: row.auth_time,
    created_at: row.created_at,
    expires_at: row.expires_at,
  }),
  passkey: (row: PasskeyRecord) => ({
    credential_id: row.credential_id,
    principal: row.principal,
    label: row.label,
    public_key: row.public_key,
    rp_id: row.rp_id,
    created_at: row.created_at,
    usable_from: row.usable_from,
    ...optionalField('invitation_id', row.invitation_id),
    ...optionalField('identity_id', row.identity_id),
  }),
  // Covers the removal, so that a row whose removal was taken away does not match.
  identity: (row: IdentityRecord) => ({
    identity_id: row.identity_id,
    key_sha256: row.key_sha256,
    principal: row.principal,
    scopes: row.scopes,
    subjects: row.subjects,
    caller_class: row.caller_class,
    caller_classes: row.caller_classes,
    created_at: row.created_at,
    created_by: row.created_by,
    removed_at: row.removed_at,
    removed_by: row.removed_by,
  }),
  invitation: (row: InvitationRecord) => ({
    invitation_id: row.invitation_id,
    secret_hash: row.secret_hash,
    code_hash: row.code_hash,
    principal: row.principal,
    identity_id: row.identity_id,
    scopes: row.scopes,
    subjects: row.subjects,
    caller_class: row.caller_class,
    caller_classes: row.caller_classes,
    invited_by: row.invited_by,
    created_at: row.created_at,
    expires_at: row.expires_at,
  }),
  // No entry states what these three contain, so their MACs cover what changes, too.
  account: (row: AccountRecord) => ({
    account_id: row.account_id,
    principal: row.principal,
    issuer: row.issuer,
    sub: row.sub,
    upstream: row.upstream,
    checked_at: row.checked_at,
    ended_at: row.ended_at,
  }),
  connected_account: (row: ConnectedRecord) => ({
    principal: row.principal,
    account: row.account,
    connection_id: row.connection_id,
    version: row.version,
    sealed: row.sealed,
    scopes: row.scopes,
    connected_at: row.connected_at,
    expires_at: row.expires_at,
    renewing_until: row.renewing_until,
  }),
  consent: (row: ConsentRecord) => ({
    consent_id: row.consent_id,
    token_id: row.token_id,
    principal: row.principal,
    subject: row.subject,
    account_id: row.account_id,
    client_id: row.client_id,
    client_name: row.client_name,
    redirect_uri: row.redirect_uri,
    user_agent: row.user_agent,
    challenge: row.challenge,
    resource: row.resource,
    code_hash: row.code_hash,
    code_expires_at: row.code_expires_at,
    code_used_at: row.code_used_at,
    generation: row.generation,
    rotated_at: row.rotated_at,
    created_at: row.created_at,
    expires_at: row.expires_at,
  }),
};

/** A field that the text names only where the row has it. */
function optionalField(field: string, value: unknown): Readonly<Record<string, unknown>> {
  return value === undefined ? {} : { [field]: value };
}

export type RowKind = keyof typeof FORMS;
export type RowOf<Kind extends RowKind> = Parameters<(typeof FORMS)[Kind]>[0];

/**
 * A revocation or a freeze stays valid when a log ends, so its text names no log. So does a passkey: it gives no
 * authority, and a person without one could add a first one that counts at once.
 */
const OF_NO_LOG: ReadonlySet<RowKind> = new Set(['revocation', 'freeze', 'passkey']);

/**
 * The text under a row's MAC, for the log that the row was stored under (`rowLabelOf`). Throws when the row
 * contains a value that canonical JSON cannot represent.
 */
export function rowText<Kind extends RowKind>(kind: Kind, row: RowOf<Kind>, log = ''): string {
  const form = FORMS[kind] as (row: RowOf<Kind>) => Record<string, unknown>;
  const said = form(row);
  for (const field of Object.keys(said)) said[field] = wordOf(said[field]);
  const of = log === '' || OF_NO_LOG.has(kind) ? '' : ` of log ${log}`;
  return `writ row ${kind}${of}\n${canonicalJson(said)}`;
}

/** Amounts become text, because they may exceed what a JSON number holds. Absent is null. */
function wordOf(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}`;
  if (value instanceof Date) return value.getTime();
  return value ?? null;
}

/** Replaces an unreadable value. It has no canonical text, so no MAC matches: the row counts as altered. */
export const UNREADABLE = Number.NaN;

/** The row of a token's budget. Throws on a ceiling that cannot be counted: validation above is defective. */
export function newBudget({ token_id, budget }: TokenRecord): BudgetState | undefined {
  if (!budget) return undefined;
  const { currency, max_amount } = budget;
  const max = toMinor(max_amount, currency);
  if (max === undefined) {
    throw new Error(`Cannot insert token "${token_id}": its budget is ${max_amount} ${currency}`);
  }
  return { token_id, currency, max, reserved: 0n, consumed: 0n };
}

/** The ceiling of a budget's row, in the unit of its token. */
export function ceilingOf(max: bigint, currency: string): number {
  return isWritable(max, currency) ? fromMinor(max, currency) : UNREADABLE;
}

/** When a token was revoked. A row with a revocation MAC and no time was edited: it stays revoked. */
export function revokedAt(
  token: Pick<TokenRecord, 'issued_at'>,
  time: Date | undefined,
  mac: string | null | undefined,
): Date | undefined {
  return time ?? (mac === null || mac === undefined ? undefined : token.issued_at);
}

/** The votes of a request, each with its place. */
export function votesOf({ approval_request_id, approvals }: ApprovalRecord): VoteFacts[] {
  return approvals.map((vote, index) => ({
    ...vote,
    approval_request_id,
    place: vote.place ?? index,
  }));
}

/** The votes of a request as its record lists them, from rows in the order of their places. */
export function listedVotes(rows: readonly VoteFacts[]): ApprovalVote[] {
  return rows.map(({ approver, approved_at, terms, credential_id, place, mac }, index) => ({
    approver,
    approved_at,
    terms,
    credential_id,
    place: place === index ? undefined : place,
    mac,
  }));
}

/** Whether the locked rows differ from those on which the rules decided. */
export function isAltered(
  held: readonly LineageLink[],
  judged: readonly LineageLink[] | undefined,
): boolean {
  if (judged === undefined) return false;
  return (
    held.length !== judged.length ||
    held.some((link, place) => !isSameToken(link, judged[place] as LineageLink))
  );
}

function isSameToken(held: LineageLink, judged: LineageLink): boolean {
  if (held.budget?.max !== judged.budget?.max) return false;
  if (held.token === judged.token) return true;
  return held.token.mac === judged.token.mac && textOf(held) === textOf(judged);
}

function textOf({ token }: LineageLink): string {
  return rowText('token', token);
}
