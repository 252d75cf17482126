/**
 * Tables of people and operators: sessions, accounts, consents, passkeys, connected accounts, identities, invitations, and the
 * declarations of the last start.
 *
 * Each question of the port is one range of an index. The ranges by person and by provider have only sessions
 * that did not end, so they stay short whatever a person did before. No index of sessions and consents is partial: while the
 * table is small, PostgreSQL would read a whole partial index in place of a range, and keep that plan.
 *
 * @module
 */

import type { ConnectedRecord } from '../port/connected-store.ts';
import type { DeclarationRecord } from '../port/declaration-store.ts';
import type { IdentityRecord } from '../port/identity-store.ts';
import type { InvitationRecord } from '../port/invitation-store.ts';
import type { PasskeyRecord } from '../port/passkey-store.ts';
import type { AccountRecord, ConsentRecord, SessionRecord } from '../port/sign-in-store.ts';
import type { Description } from './description.ts';

export const SESSIONS: Description<SessionRecord> = {
  name: 'sessions',
  isPlain: true,
  fields: {
    session_id: 'text PRIMARY KEY',
    secret_hash: 'text UNIQUE',
    principal: 'text',
    account_id: 'text',
    issuer: 'text?',
    sub: 'text?',
    sid: 'text?',
    acr: 'text?',
    user_agent: 'text',
    auth_time: 'time',
    created_at: 'time',
    expires_at: 'time',
    mac: 'text?',
  },
  beside: { seen_at: 'time', ended_at: 'time?' },
  indexes: [
    'sessions_by_principal (principal, ended_at, created_at, session_id)',
    'sessions_by_sub (sub, issuer, ended_at)',
    'sessions_by_sid (sid, issuer, ended_at)',
    'sessions_by_expiry (expires_at, session_id)',
  ],
};

export const ACCOUNTS: Description<AccountRecord> = {
  name: 'accounts',
  isPlain: true,
  fields: {
    account_id: 'text PRIMARY KEY',
    principal: 'text',
    issuer: 'text?',
    sub: 'text?',
    upstream: 'text?',
    checked_at: 'time',
    ended_at: 'time?',
    mac: 'text?',
  },
};

export const CONSENTS: Description<ConsentRecord> = {
  name: 'consents',
  isPlain: true,
  fields: {
    consent_id: 'text PRIMARY KEY',
    token_id: 'text UNIQUE REFERENCES tokens',
    principal: 'text',
    subject: 'text',
    account_id: 'text',
    client_id: 'text',
    client_name: 'text',
    redirect_uri: 'text',
    user_agent: 'text',
    challenge: 'text',
    resource: 'text?',
    code_hash: 'text UNIQUE',
    code_expires_at: 'time',
    code_used_at: 'time?',
    generation: 'integer CHECK (generation >= 0)',
    rotated_at: 'time?',
    created_at: 'time',
    expires_at: 'time',
    mac: 'text?',
  },
  indexes: ['consents_by_principal (principal, created_at, consent_id)'],
};

export const PASSKEYS: Description<PasskeyRecord> = {
  name: 'passkeys',
  isPlain: true,
  fields: {
    credential_id: 'text PRIMARY KEY',
    principal: 'text',
    label: 'text',
    public_key: 'json',
    rp_id: 'text',
    created_at: 'time',
    usable_from: 'time',
    invitation_id: 'text?',
    identity_id: 'text?',
    mac: 'text?',
  },
  beside: { last_used_at: 'time?', removed_at: 'time?' },
  indexes: ['passkeys_by_principal (principal, created_at, credential_id)'],
};

/** Lists are in the order of these texts, which the collation of a database would change. */
export const CONNECTED: Description<ConnectedRecord> = {
  name: 'connected_accounts',
  isPlain: true,
  fields: {
    principal: 'text',
    account: 'text',
    connection_id: 'text',
    version: 'long',
    sealed: 'text',
    scopes: 'list',
    connected_at: 'time',
    expires_at: 'time?',
    renewing_until: 'time?',
    mac: 'text?',
  },
  constraints: ['PRIMARY KEY (principal, account)'],
  postgres: { columns: { principal: 'text COLLATE "C"', account: 'text COLLATE "C"' } },
};

export const IDENTITIES: Description<IdentityRecord> = {
  name: 'identities',
  isPlain: true,
  fields: {
    identity_id: 'text PRIMARY KEY',
    key_sha256: 'text? UNIQUE',
    principal: 'text',
    scopes: 'list',
    subjects: 'list',
    caller_class: 'text',
    caller_classes: 'list',
    created_at: 'time',
    created_by: 'text',
    removed_at: 'time?',
    removed_by: 'text?',
    mac: 'text?',
  },
  indexes: ['identities_by_principal (principal, identity_id) WHERE removed_at IS NULL'],
  postgres: {
    columns: { identity_id: 'text COLLATE "C" PRIMARY KEY', key_sha256: 'text?' },
    indexes: ['UNIQUE identities_by_key (key_sha256)'],
  },
};

export const INVITATIONS: Description<InvitationRecord> = {
  name: 'invitations',
  isPlain: true,
  fields: {
    invitation_id: 'text PRIMARY KEY',
    secret_hash: 'text UNIQUE',
    code_hash: 'text',
    principal: 'text',
    identity_id: 'text?',
    scopes: 'list',
    subjects: 'list',
    caller_class: 'text',
    caller_classes: 'list',
    invited_by: 'text',
    created_at: 'time',
    expires_at: 'time',
    mac: 'text?',
  },
  beside: {
    wrong: 'integer',
    ended_at: 'time?',
    outcome: 'text?',
    credential_id: 'text?',
    waits_until: 'time?',
  },
  indexes: [
    'invitations_by_principal (principal, ended_at)',
    'invitations_by_expiry (expires_at, invitation_id)',
    'invitations_open (expires_at, invitation_id) WHERE outcome IS NULL',
    'invitations_waiting (waits_until, invitation_id) WHERE waits_until IS NOT NULL',
  ],
};

export const DECLARATIONS: Description<DeclarationRecord> = {
  name: 'declarations',
  isPlain: true,
  fields: {
    capability: 'text PRIMARY KEY',
    contract_version: 'text',
    digest: 'text',
    declaration: 'text',
    kept_at: 'time',
  },
};
