/**
 * Sessions, accounts, consents, passkeys, connected accounts and identities for the store contract, with every field that a record can have.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto';
import type { EntryRecord } from '../../src/domain/log/entry.ts';
import type { ConnectedRecord } from '../../src/storage/port/connected-store.ts';
import type { IdentityRecord } from '../../src/storage/port/identity-store.ts';
import type { Enrolment, InvitationRecord } from '../../src/storage/port/invitation-store.ts';
import type { PasskeyRecord } from '../../src/storage/port/passkey-store.ts';
import type { TokenRecord } from '../../src/storage/port/records.ts';
import type {
  AccountRecord,
  ConsentRecord,
  SessionRecord,
} from '../../src/storage/port/sign-in-store.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { issuanceEntry } from './entries.ts';
import { at, childToken, entry, HOUR, newId, rootToken, SECOND } from './fixtures.ts';

const ISSUER = 'https://id.example.com';

/** A digest as of a secret that no other case has. */
function newHash(): string {
  return createHash('sha256').update(randomBytes(32)).digest('hex');
}

export function session(changed: Partial<SessionRecord> = {}): SessionRecord {
  const sub = `00u${randomBytes(6).toString('hex')}`;
  return {
    session_id: newId('ses_'),
    secret_hash: newHash(),
    principal: 'human:ann@example.com',
    account_id: `sha256:${newHash()}`,
    issuer: ISSUER,
    sub,
    sid: `sid-${sub}`,
    acr: 'urn:example:phishing-resistant',
    user_agent: 'Mozilla/5.0 (東京)',
    auth_time: at(-SECOND),
    created_at: at(0),
    expires_at: at(12 * HOUR),
    ...changed,
  };
}

/** The account of a session. */
export function accountOf(
  { account_id, principal, issuer, sub, created_at }: SessionRecord,
  changed: Partial<AccountRecord> = {},
): AccountRecord {
  const upstream = 'v1.encrypted';
  return { account_id, principal, issuer, sub, upstream, checked_at: created_at, ...changed };
}

export function sessionEntry(
  { session_id, principal }: SessionRecord,
  verb: 'sign_in' | 'sign_out' = 'sign_in',
): EntryRecord {
  return entry({
    entry_type: 'session',
    actor_key: principal,
    root_principal: principal,
    detail: { verb, session_id, how: ISSUER },
  });
}

/** Sessions of one person that a case allows, unless it is about the bound. */
const SESSIONS_MAX = 100;

export async function begin(
  store: Store,
  begun: SessionRecord,
  sessionsMax = SESSIONS_MAX,
): Promise<SessionRecord> {
  await store.beginSession(begun, accountOf(begun), sessionEntry(begun), sessionsMax);
  return begun;
}

/** A consent beside its root token. */
export function consentBeside(
  token: TokenRecord,
  changed: Partial<ConsentRecord> = {},
): ConsentRecord {
  return {
    consent_id: newId('con_'),
    token_id: token.token_id,
    principal: token.root_principal,
    subject: token.subject,
    account_id: `sha256:${newHash()}`,
    client_id: 'https://client.example.com/metadata.json',
    client_name: 'Claude Code "東京"',
    redirect_uri: 'http://127.0.0.1:51004/callback',
    user_agent: 'Mozilla/5.0',
    challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    resource: 'https://desk.example.com/mcp',
    code_hash: newHash(),
    code_expires_at: at(60 * SECOND),
    generation: 0,
    created_at: at(0),
    expires_at: token.expires_at,
    ...changed,
  };
}

export async function consented(
  store: Store,
  { token: changed = {}, ...rest }: Partial<ConsentRecord> & { token?: Partial<TokenRecord> } = {},
): Promise<{ token: TokenRecord; consent: ConsentRecord }> {
  const token = rootToken({ subject: 'agent:client/1a2b', ...changed });
  const consent = consentBeside(token, rest);
  await store.insertConsent(consent, token, issuanceEntry(token));
  return { token, consent };
}

/** The consent after the use of its code, or after one more rotation. */
export function rotated(consent: ConsentRecord, rotated_at: Date = at(SECOND)): ConsentRecord {
  const code_used_at = consent.code_used_at ?? rotated_at;
  return { ...consent, code_used_at, generation: consent.generation + 1, rotated_at };
}

/** The access token of a renewal: a child with the same subject. */
export function accessToken(token: TokenRecord, changed: Partial<TokenRecord> = {}): TokenRecord {
  return childToken(token, { subject: token.subject, expires_at: at(HOUR / 4), ...changed });
}

export function passkey(changed: Partial<PasskeyRecord> = {}): PasskeyRecord {
  const [x, y] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')];
  return {
    credential_id: randomBytes(32).toString('base64url'),
    principal: 'human:ann@example.com',
    label: 'Phone "東京"',
    public_key: { kty: 'EC', crv: 'P-256', x, y },
    rp_id: 'desk.example.com',
    created_at: at(0),
    usable_from: at(24 * HOUR),
    ...changed,
  };
}

export function passkeyEntry(
  { credential_id, principal }: PasskeyRecord,
  verb: 'passkey_added' | 'passkey_removed' = 'passkey_added',
): EntryRecord {
  return entry({
    entry_type: 'session',
    actor_key: principal,
    root_principal: principal,
    detail: { verb, credential_id },
  });
}

/** A passkey beside those that the person has. */
export async function added(store: Store, made: PasskeyRecord): Promise<PasskeyRecord> {
  const seen = await store.listPasskeys(made.principal, 1_000);
  const ids = seen.map((each) => each.passkey.credential_id);
  await store.insertPasskey(made, passkeyEntry(made), ids);
  return made;
}

export function connected(changed: Partial<ConnectedRecord> = {}): ConnectedRecord {
  return {
    principal: 'human:ann@example.com',
    account: 'github',
    connection_id: randomBytes(16).toString('hex'),
    version: 1,
    sealed: 'kid.encrypted',
    scopes: ['repo', 'read:org'],
    connected_at: at(0),
    expires_at: at(HOUR),
    renewing_until: at(SECOND),
    ...changed,
  };
}

export function connectedEntry(
  { principal, account, scopes }: ConnectedRecord,
  verb: 'account_connected' | 'account_disconnected' = 'account_connected',
): EntryRecord {
  return entry({
    entry_type: 'session',
    actor_key: principal,
    root_principal: principal,
    detail: { verb, account, scopes },
  });
}

/** An identity that has a key. */
type Keyed = IdentityRecord & { readonly key_sha256: string };

export function identity(changed: Partial<Keyed> = {}): Keyed {
  return {
    identity_id: `idn_${randomBytes(16).toString('hex')}`,
    key_sha256: randomBytes(32).toString('hex'),
    principal: 'human:ann@example.com',
    scopes: ['travel.*', 'approver:book_flight'],
    subjects: ['agent:*', 'human:東京'],
    caller_class: 'internal',
    caller_classes: ['default', 'partner'],
    created_at: at(0),
    created_by: 'human:operator',
    ...changed,
  };
}

/** The identity of a person who signs in with passkeys. */
export function personIdentity(changed: Partial<IdentityRecord> = {}): IdentityRecord {
  return { ...identity(), ...changed, key_sha256: undefined };
}

/** The entry of an identity, as the service writes it. */
export function identityEntry(identity: IdentityRecord): EntryRecord {
  const { identity_id, removed_by, created_by, created_at: _, ...rest } = identity;
  const { removed_at, mac, key_sha256 = null, ...others } = rest;
  const facts = { key_sha256, ...others };
  const actor_key = removed_by ?? created_by;
  const detail =
    removed_at === undefined
      ? { verb: 'identity_added', identity_id, ...facts }
      : { verb: 'identity_removed', identity_id };
  return entry({ entry_type: 'operator', actor_key, root_principal: actor_key, detail });
}

/** An invitation of somebody who is new. */
export function invitation(changed: Partial<InvitationRecord> = {}): InvitationRecord {
  return {
    invitation_id: `pin_${randomBytes(16).toString('hex')}`,
    secret_hash: newHash(),
    code_hash: newHash(),
    principal: 'human:ann@example.com',
    scopes: ['travel.*', 'approver:book_flight'],
    subjects: ['agent:*', 'human:東京'],
    caller_class: 'internal',
    caller_classes: ['default', 'partner'],
    invited_by: 'human:operator',
    created_at: at(0),
    expires_at: at(24 * HOUR),
    ...changed,
  };
}

export function invitationEntry({ invitation_id, principal }: InvitationRecord): EntryRecord {
  return entry({
    entry_type: 'operator',
    actor_key: 'human:operator',
    root_principal: principal,
    detail: { verb: 'person_invited', invitation_id },
  });
}

export async function invited(store: Store, made: InvitationRecord): Promise<InvitationRecord> {
  await store.insertInvitation(made, invitationEntry(made), 1_000);
  return made;
}

/** What completes an invitation: a passkey, and the identity of somebody who is new. */
export function enrolmentOf(
  { invitation_id, principal, identity_id }: InvitationRecord,
  changed: Partial<Enrolment> = {},
): Enrolment {
  const record = personIdentity({ principal });
  const made = passkey({
    principal,
    ...{ invitation_id, identity_id: identity_id ?? record.identity_id, created_at: at(SECOND) },
  });
  return {
    invitation_id,
    now: at(SECOND),
    passkey: made,
    seen: [],
    ...(identity_id === undefined && { identity: { record, entry: identityEntry(record) } }),
    livingMax: 1_000,
    entry: passkeyEntry(made),
    ...changed,
  };
}

/** An identity that is removed an hour later. */
export function removedIdentity(kept: IdentityRecord) {
  return { ...kept, removed_at: at(HOUR), removed_by: 'human:other-operator' };
}
