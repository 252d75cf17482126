/**
 * The token endpoint: access tokens for a code or a refresh token, and their revocation.
 *
 * An access token is a child of the consent's root token with the same subject, so it never has a budget of
 * its own: a refresh continues what was spent. A code is used once; a refresh token is replaced by the next
 * one at each use. A second use of either means that two parties hold it, so it ends the consent. For a
 * short time the refresh token before the current one is taken too, because the processes of one client
 * share it.
 *
 * @module
 */

import { levelOf } from '../../domain/authority/disclosure.ts';
import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { narrow } from '../../domain/authority/narrowing.ts';
import { entitles } from '../../domain/authority/scope-pattern.ts';
import { addedByEntitlement, entitledConditions } from '../../domain/authority/token-conditions.ts';
import { failure } from '../../domain/failure.ts';
import { challengeOf, sameResource } from '../../domain/sign-in/authorize.ts';
import { secretHash } from '../../keyring/secrets.ts';
import type { FailureType } from '../../protocol/failure.ts';
import type { ConsentRecord } from '../../storage/port/sign-in-store.ts';
import { frozenFor } from '../authority/freeze.ts';
import { issuanceEntry, type Parent, unsignedToken } from '../authority/issue.ts';
import { revocationEntry } from '../authority/tokens.ts';
import { actEntry } from '../caller/entries.ts';
import { confirm, entitlementOf } from './accounts.ts';
import type { Clients } from './clients.ts';
import { endConsent, livingToken } from './consents.ts';
import { exchangeToken } from './exchange.ts';
import { resourcesOf, TOKEN_EXCHANGE } from './metadata.ts';
import { type Fields, OAuthError, type OAuthErrorCode, type TokenAnswer } from './oauth.ts';
import type { SignInParts } from './parts.ts';
import { type RefreshClaim, readRefreshToken, refreshToken } from './refresh-token.ts';

/** In milliseconds: how long the refresh token before the current one is still taken. */
const GRACE_MS = 30_000;

/** Renewals of one delegation: one a minute for a month. */
const RENEWALS_MAX = 50_000;

/** How often a refresh is tried again because another one of the same client came first. */
const TRIES_MAX = 5;

/** What the endpoint needs beside the parts. */
export interface TokenParts extends SignInParts {
  readonly clients: Pick<Clients, 'isAdmitted'>;
}

export function answerToken(parts: TokenParts, fields: Fields): Promise<TokenAnswer> {
  switch (fields.grant_type) {
    case 'authorization_code':
      return answerCode(parts, fields);
    case 'refresh_token':
      return answerRefresh(parts, fields);
    case TOKEN_EXCHANGE:
      return exchangeToken(parts, fields);
    case undefined:
      throw new OAuthError('invalid_request', 'Cannot give a token: expected "grant_type"');
    default:
      throw new OAuthError(
        'unsupported_grant_type',
        `Cannot give a token: expected authorization_code, refresh_token or ${TOKEN_EXCHANGE}`,
      );
  }
}

async function answerCode(parts: TokenParts, fields: Fields): Promise<TokenAnswer> {
  const code_hash = secretHash(fields.code ?? '');
  const consent = code_hash && (await parts.store.findConsent({ code_hash }));
  if (!consent) throw unusable('code');
  if (consent.code_used_at !== undefined) throw await reused(parts, consent, 'code');
  const now = parts.store.now();
  if (consent.code_expires_at <= now) throw unusable('code');
  refuseOtherClient(consent, fields);
  refuseOutpaced(parts, consent);
  refuseOtherResource(parts, consent, fields);
  if (fields.redirect_uri !== consent.redirect_uri) {
    throw new OAuthError(
      'invalid_grant',
      'Cannot use the code: it was asked for another redirect_uri',
    );
  }
  if (challengeOf(fields.code_verifier ?? '') !== consent.challenge) {
    throw new OAuthError('invalid_grant', 'Cannot use the code: code_verifier does not match');
  }
  const next = { ...consent, code_used_at: now, generation: 1, rotated_at: now };
  const answer = await recorded(parts, consent, () => renew(parts, consent, next, undefined));
  // Another request used the code between the two looks: two parties hold it.
  if (answer === 'stale') throw await reused(parts, consent, 'code');
  return answer;
}

async function answerRefresh(parts: TokenParts, fields: Fields): Promise<TokenAnswer> {
  const claim = readRefreshToken(parts.keyring.rows, fields.refresh_token ?? '');
  if (!claim) throw unusable('refresh token');
  let isAdmitted = false;
  // A further try sees what a concurrent refresh of the same client stored.
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const consent = await parts.store.findConsent({ consent_id: claim.consentId });
    if (!consent) throw unusable('refresh token');
    refuseOtherClient(consent, fields);
    refuseOutpaced(parts, consent);
    const now = parts.store.now();
    // A token that was good when it came stays good, whatever happened since.
    const use = isAdmitted ? 'grace' : useOf(consent, claim, now);
    if (use === 'reuse') throw await reused(parts, consent, 'refresh token');
    isAdmitted = true;
    const next =
      use === 'rotate'
        ? { ...consent, generation: consent.generation + 1, rotated_at: now }
        : consent;
    const answer = await recorded(parts, consent, () => {
      refuseOtherResource(parts, consent, fields);
      return renew(parts, consent, next, scopesIn(fields.scope));
    });
    if (answer !== 'stale') return answer;
  }
  const detail = 'Cannot refresh: other refreshes of the same client came first; try again';
  throw new OAuthError('temporarily_unavailable', detail);
}

function useOf(
  { generation, rotated_at }: ConsentRecord,
  claim: RefreshClaim,
  now: Date,
): 'rotate' | 'grace' | 'reuse' {
  if (claim.generation === generation) return 'rotate';
  const isPrevious = claim.generation === generation - 1 && claim.generation > 0;
  const age = now.getTime() - (rotated_at?.getTime() ?? 0);
  return isPrevious && age <= GRACE_MS ? 'grace' : 'reuse';
}

/** Counted before anything is written, so that no secret fills the log faster than its person may call. */
function refuseOutpaced({ rates }: SignInParts, { principal }: ConsentRecord): void {
  const outpaced = rates.outpaced(principal);
  if (outpaced) throw new OAuthError('temporarily_unavailable', outpaced.detail);
}

/** The failure of the protocol that an entry shows for a refusal of OAuth. */
const ENTERED_AS: Partial<Record<OAuthErrorCode, FailureType>> = {
  invalid_scope: 'scope_escalation',
  invalid_target: 'invalid_parameters',
  temporarily_unavailable: 'frozen',
};

/** Leaves an entry for the refusal of an agent that is known and alive. */
async function recorded<Answered>(
  parts: SignInParts,
  consent: ConsentRecord,
  act: () => Promise<Answered>,
): Promise<Answered> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof OAuthError && (await livingToken(parts, consent))) {
      const { subject: principal, principal: root_principal, token_id } = consent;
      const found = failure(ENTERED_AS[error.code] ?? 'invalid_token', error.message);
      const refusal = { entry_type: 'issuance' as const, token_id, failure: found };
      await parts.store.append([actEntry(parts, { principal, root_principal }, refusal)]);
    }
    throw error;
  }
}

/** Stores the next state of a consent together with a new access token. */
async function renew(
  parts: TokenParts,
  seen: ConsentRecord,
  next: ConsentRecord,
  asked: readonly string[] | undefined,
): Promise<TokenAnswer | 'stale'> {
  if (!parts.clients.isAdmitted(seen.client_id)) {
    throw new OAuthError('invalid_grant', 'Cannot give a token: the client is no longer admitted');
  }
  await confirm(parts, seen.account_id);
  const entitlement = await entitlementOf(parts, seen);
  if (!entitlement) {
    const why = 'the person may no longer sign in';
    await endConsent(parts, seen, { why });
    throw new OAuthError('invalid_grant', `Cannot give a token: ${why}`);
  }
  const parent = await livingToken(parts, seen);
  if (!parent) {
    throw new OAuthError('invalid_grant', 'Cannot give a token: the delegation has ended');
  }
  const frozen = await frozenFor(parts, seen.principal);
  if (frozen) throw new OAuthError('temporarily_unavailable', frozen.detail);
  const scope = scopeFor(parent, entitlement, asked);
  const now = parts.store.now();
  const minutes = parts.config.sign_in.access_minutes;
  const narrowed = narrow(
    parent.token,
    { scope, subject: seen.subject, ttl_hours: minutes / 60 } as Parameters<typeof narrow>[1],
    {
      now,
      disclosure: (name) => levelOf(parts.config.disclosure, name),
      conditions: addedByEntitlement(
        parent.token.conditions,
        entitledConditions(entitlement.conditions, (name) =>
          parts.definition.catalog.capabilities.get(name),
        ),
      ),
    },
  );
  if ('failure' in narrowed) throw new OAuthError('invalid_grant', narrowed.failure.detail);
  const { record, signed } = unsignedToken(parts, narrowed.authority, parent);
  // Before the code is used up: a client that got no token asks again, and a used code that comes again ends the consent.
  const { token: access_token } = await signed();
  const entry = issuanceEntry(parts, { principal: seen.subject }, record);
  const bounds = { now, childrenMax: RENEWALS_MAX, judged: parent.lineage };
  const inserted = await parts.store.renewConsent(next, seen, record, entry, bounds);
  if (inserted === 'stale') return 'stale';
  if (inserted === 'too_many') {
    const detail = `Cannot give a token: the delegation was renewed ${RENEWALS_MAX} times; ask the person again`;
    throw new OAuthError('invalid_grant', detail);
  }
  if (inserted !== 'inserted') throw unusable('refresh token');
  const { consent_id: consentId, generation } = next;
  return {
    access_token,
    token_type: 'Bearer',
    expires_in: Math.floor((record.expires_at.getTime() - now.getTime()) / 1_000),
    scope: record.scope.join(' '),
    refresh_token: refreshToken(parts.keyring.rows, { consentId, generation }),
  };
}

/** What the person is still entitled to, of what the consent gave and the client asks for. */
function scopeFor(
  { token }: Parent,
  entitlement: Entitlement,
  asked: readonly string[] | undefined,
): string[] {
  const beyond = asked?.find((scope) => !token.scope.includes(scope));
  if (beyond !== undefined) {
    throw new OAuthError(
      'invalid_scope',
      `Cannot give a token: the person did not give "${beyond}"`,
    );
  }
  const scope = (asked ?? token.scope).filter((each) =>
    entitlement.scopes.some((pattern) => entitles(pattern, each)),
  );
  if (scope.length > 0) return scope;
  const detail = `Cannot give a token: ${entitlement.principal} is no longer entitled to its scopes`;
  throw new OAuthError('invalid_grant', detail);
}

function scopesIn(text: string | undefined): string[] | undefined {
  const scopes = text?.split(' ').filter((each) => each !== '');
  return scopes?.length ? [...new Set(scopes)] : undefined;
}

function refuseOtherClient({ client_id }: ConsentRecord, fields: Fields): void {
  if (fields.client_id === client_id) return;
  const detail =
    fields.client_id === undefined
      ? 'Cannot give a token: expected "client_id"'
      : 'Cannot give a token: it was given to another client';
  throw new OAuthError(
    fields.client_id === undefined ? 'invalid_request' : 'invalid_grant',
    detail,
  );
}

/** A client that named a resource when it asked gets tokens for that one only. */
function refuseOtherResource(
  parts: SignInParts,
  { resource }: ConsentRecord,
  fields: Fields,
): void {
  if (fields.resource === undefined) return;
  const named = sameResource(fields.resource, resourcesOf(parts.baseUrl()));
  if (named !== undefined && (resource === undefined || named === resource)) return;
  const detail = 'Cannot give a token: "resource" is not the one that was asked for';
  throw new OAuthError('invalid_target', detail);
}

/** Ends a consent whose secret was presented a second time. */
async function reused(
  parts: SignInParts,
  consent: ConsentRecord,
  what: 'code' | 'refresh token',
): Promise<OAuthError> {
  const why = `the ${what} was used twice`;
  if (await endConsent(parts, consent, { why })) {
    parts.log.warn({ consent_id: consent.consent_id, client_id: consent.client_id }, why);
  }
  return new OAuthError('invalid_grant', `Cannot give a token: ${why}; the delegation has ended`);
}

function unusable(what: 'code' | 'refresh token'): OAuthError {
  return new OAuthError(
    'invalid_grant',
    `Cannot give a token: the ${what} is unknown or has expired`,
  );
}

/** RFC 7009. A refresh token ends its consent, an access token itself. An unknown text is no error. */
export async function revokeGiven(parts: SignInParts, fields: Fields): Promise<void> {
  const text = fields.token ?? '';
  if (text === '') throw new OAuthError('invalid_request', 'Cannot revoke: expected "token"');
  const claim = readRefreshToken(parts.keyring.rows, text);
  if (claim) {
    const consent = await parts.store.findConsent({ consent_id: claim.consentId });
    if (!consent) return;
    refuseOtherClient(consent, fields);
    await endConsent(parts, consent, { actor: consent.subject });
    return;
  }
  const presented = parts.readToken(text);
  const living = presented && (await livingToken(parts, { token_id: presented.tokenId }));
  if (!living) return;
  const { token } = living;
  const entry = revocationEntry(parts, token.subject, token);
  await parts.store.revokeToken(token.token_id, parts.store.now(), entry);
}
