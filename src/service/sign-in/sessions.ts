/**
 * Sessions: who sits at a browser.
 *
 * A session is a row; the cookie of the browser has its secret. A session ends when the person signs out,
 * when it was idle or lived too long, and when the identity provider says so. It gives no access to `/svc`:
 * only the pages of the service read it.
 *
 * @module
 */

import { isReachedHereOnly } from '../../address/host.ts';
import type { Entitlement } from '../../domain/authority/entitlement.ts';
import { SKEW_SECONDS } from '../../domain/authority/external-identity.ts';
import { parsePrincipal } from '../../domain/authority/principal.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import { relyingPartyOf } from '../../domain/passkey/relying-party.ts';
import { newSecret, secretHash } from '../../keyring/secrets.ts';
import type { Failure } from '../../protocol/failure.ts';
import type { AccountRecord, SessionRecord } from '../../storage/port/sign-in-store.ts';
import { newId } from '../operations/random.ts';
import { entitlementOf, keyAccount, providerAccount } from './accounts.ts';
import { endSessions, sessionEntry } from './entries.ts';
import type { SignInParts } from './parts.ts';
import type { LoginState, ProvedPerson, Provider, StepUp } from './provider.ts';

/** Living sessions of one person. The next one ends the oldest. */
const SESSIONS_MAX = 20;

/** In milliseconds: how precisely a row says when its session was last used. */
const SEEN_STEP_MS = 60_000;

/** In milliseconds: how long a person may take at the identity provider. */
const LOGIN_MS = 600_000;

/** Characters of the name of a browser that are stored. */
export const USER_AGENT_MAX = 200;

/** A living session. */
export interface Session {
  readonly record: SessionRecord;
  /** Of the cookie. Forms are bound to it. */
  readonly secret: string;
}

/** Whether no other machine reaches the service. An app listens in place of a mounted one, and `public_url` says where. */
function isHereOnly({ config, isMounted }: Pick<SignInParts, 'config' | 'isMounted'>): boolean {
  return isReachedHereOnly(isMounted ? { ...config, host: 'localhost' } : config);
}

/**
 * Whether a key lets its person sign in: only on a service that no other machine reaches. As for demo credentials, a
 * mounted service has to know its address.
 */
export function takesKeys({
  config,
  isMounted,
  storesKeys,
}: Pick<SignInParts, 'config' | 'isMounted' | 'storesKeys'>): boolean {
  if (isMounted && config.public_url === undefined) return false;
  if (!isHereOnly({ config, isMounted })) return false;
  return storesKeys || config.identities.some(({ principal }) => isHuman(principal));
}

export function isHuman(principal: string): boolean {
  return parsePrincipal(principal)?.class === 'human';
}

/**
 * Whether a passkey lets its person sign in: at every name with https, and on this machine once a person is invited. The
 * cookie of a session would travel in the clear elsewhere.
 */
function takesPasskeys({
  config,
  isMounted,
  storesPeople,
}: Pick<SignInParts, 'config' | 'isMounted' | 'storesPeople'>): boolean {
  const { public_url } = config;
  if (public_url?.startsWith('https:')) return relyingPartyOf(public_url) !== undefined;
  return storesPeople && isHereOnly({ config, isMounted });
}

/** Whether a person can sign in at all, so that there are pages. */
export function hasSignIn(
  parts: Pick<SignInParts, 'config' | 'isMounted' | 'providers' | 'storesKeys' | 'storesPeople'>,
): boolean {
  return parts.providers.all().length > 0 || takesKeys(parts) || takesPasskeys(parts);
}

/** Signs in with a key of the configuration or of the store, where keys are taken. */
export async function signInByKey(
  parts: SignInParts,
  key: string,
  userAgent: string,
): Promise<Session> {
  const entitlement = takesKeys(parts) ? await parts.identities.byKey(key) : undefined;
  if (!entitlement) {
    const detail = 'Cannot sign in: the key is not known; check it and try again';
    throw new Refusal(failure('authentication_required', detail));
  }
  const { principal } = entitlement;
  const account = keyAccount(principal, key, parts.store.now());
  return begin(parts, account, { userAgent, authTime: account.checked_at });
}

export interface BegunLogin {
  /** Where the browser goes. */
  readonly location: string;
  /** For the browser to keep until it comes back. Sealed: it contains the verifier. */
  readonly login: string;
}

export async function beginLogin(
  parts: SignInParts,
  { provider: id, returnTo, stepUp }: LoginRequest,
): Promise<BegunLogin> {
  const provider = parts.providers.find(id);
  if (!provider) {
    throw new Refusal(failure('not_found', 'Cannot sign in: there is no such identity provider'));
  }
  const redirectUri = callbackOf(parts, provider);
  const { location, login } = await provider.begin({ redirectUri, returnTo, stepUp });
  return { location, login: parts.keyring.rows.sealText(JSON.stringify(login), LOGIN) };
}

export interface LoginRequest {
  readonly provider: string;
  /** A path of this service. */
  readonly returnTo: string;
  readonly stepUp?: StepUp | undefined;
}

/** What the sealed state of a login is bound to. */
const LOGIN = 'sign-in login';

/** The session of a person who comes back from the identity provider. */
export async function finishLogin(
  parts: SignInParts,
  query: URLSearchParams,
  { login: sealed, userAgent, callback }: LoginReturn,
): Promise<{ session: Session; returnTo: string }> {
  const login = readLogin(parts, sealed);
  const provider = login && parts.providers.find(login.provider);
  // An answer at the address of another provider: a mix-up.
  const isMixedUp = provider && nameOf(parts, provider) !== callback;
  if (!login || !provider || isMixedUp) {
    const detail =
      'Cannot sign in: this browser did not begin it here, or took too long; begin again';
    throw new Refusal(failure('authentication_required', detail));
  }
  const person = await provider.finish({ query, login, redirectUri: callbackOf(parts, provider) });
  const account = providerAccount(parts, person);
  const session = await begin(parts, account, { ...person, userAgent });
  return { session, returnTo: login.returnTo };
}

function readLogin(parts: SignInParts, sealed: string | undefined): LoginState | undefined {
  const text = sealed === undefined ? undefined : parts.keyring.rows.openText(sealed, LOGIN);
  if (text === undefined) return undefined;
  const login = JSON.parse(text) as LoginState;
  const age = parts.store.now().getTime() - login.begunAt;
  return age >= 0 && age <= LOGIN_MS ? login : undefined;
}

/** Where a browser comes back to. Each of several providers has its own address, so that none can answer for another. */
function callbackOf(parts: SignInParts, provider: Provider): string {
  const name = nameOf(parts, provider);
  return `${parts.baseUrl()}/sign-in/callback${name === undefined ? '' : `/${name}`}`;
}

/** Several providers are always named; the configuration demands it. */
function nameOf({ config }: SignInParts, { issuer }: Provider): string | undefined {
  return config.oidc.find((each) => each.issuer === issuer)?.name;
}

/** What a browser brings back from an identity provider. */
export interface LoginReturn {
  /** The sealed state of the login. */
  readonly login: string | undefined;
  readonly userAgent: string;
  /** The name of the provider in the address. */
  readonly callback: string | undefined;
}

interface Beginning extends Pick<ProvedPerson, 'authTime'> {
  /** Of a proof that must not count twice. */
  readonly sessionId?: string | undefined;
  /** The passkey that proved the person. */
  readonly credentialId?: string | undefined;
  readonly sid?: string | undefined;
  readonly acr?: string | undefined;
  readonly userAgent: string;
}

/** Begins a session of the person of an account. */
export async function begin(
  parts: SignInParts,
  account: AccountRecord,
  { authTime, sid, acr, userAgent, sessionId, credentialId }: Beginning,
): Promise<Session> {
  const { principal, account_id, issuer, sub } = account;
  const now = parts.store.now();
  const refused = notPerson(principal);
  if (refused) {
    await parts.store.append([sessionEntry(parts, account, 'refused', { failure: refused })]);
    throw new Refusal(refused);
  }
  const secret = newSecret();
  const record: SessionRecord = {
    session_id: sessionId ?? newId(parts.platform, 'ses_'),
    secret_hash: secretHash(secret) as string,
    principal,
    account_id,
    issuer,
    sub,
    sid,
    acr,
    user_agent: userAgent.slice(0, USER_AGENT_MAX),
    auth_time: authTime,
    created_at: now,
    expires_at: new Date(now.getTime() + parts.config.sign_in.session_hours * 3_600_000),
  };
  const entry = sessionEntry(parts, record, 'sign_in', { session_id: record.session_id });
  const { store } = parts;
  const isBegun = await store.beginSession(record, account, entry, SESSIONS_MAX, credentialId);
  if (isBegun) return { record, secret };
  const detail =
    'Cannot sign in: this proof was used before, or its passkey was removed; begin again';
  throw new Refusal(failure('authentication_required', detail));
}

/** Agents and services have credentials of their own, and give no consent. */
function notPerson(principal: string): Failure | undefined {
  const held = parsePrincipal(principal)?.class;
  if (held === 'human' || held === 'oidc') return undefined;
  return failure('not_entitled', `Cannot sign in as ${principal}: only people sign in`);
}

/** The living session of a cookie, of a person who may still sign in. */
export async function livingSession(
  parts: SignInParts,
  secret: string | undefined,
): Promise<Session | undefined> {
  return (await entitledSession(parts, secret))?.session;
}

/** The same, with what the person is entitled to now. */
export async function entitledSession(
  parts: SignInParts,
  secret: string | undefined,
): Promise<{ readonly session: Session; readonly entitlement: Entitlement } | undefined> {
  const { store, config } = parts;
  const hash = secret === undefined ? undefined : secretHash(secret);
  if (secret === undefined || hash === undefined) return undefined;
  const found = await store.findSession(hash);
  if (!found || found.ended_at !== undefined) return undefined;
  const now = store.now();
  const idleMs = now.getTime() - found.seen_at.getTime();
  if (found.session.expires_at <= now) return undefined;
  if (idleMs > config.sign_in.idle_minutes * 60_000) return undefined;
  const entitlement = await entitlementOf(parts, found.session);
  if (!entitlement) return undefined;
  if (idleMs > SEEN_STEP_MS) await store.touchSession(found.session.session_id, now);
  return { session: { record: found.session, secret }, entitlement };
}

/** Ends this session, or all sessions of the person. */
export async function signOut(
  parts: SignInParts,
  { record }: Session,
  isEverywhere: boolean,
): Promise<void> {
  const { session_id, principal } = record;
  await endSessions(parts, isEverywhere ? { principal } : { session_id }, 'person');
}

/** Ends one session of the person. Another person's is as unknown as none. */
export async function endSession(
  parts: SignInParts,
  { record: { principal } }: Session,
  sessionId: string,
): Promise<void> {
  const living = await parts.store.listSessions(principal, parts.store.now(), SESSIONS_MAX);
  if (!living.some(({ session }) => session.session_id === sessionId)) return;
  await endSessions(parts, { session_id: sessionId }, 'person');
}

/**
 * Ends the sessions that an identity provider names. False when no configured provider made the
 * token. Delegations stay: with `check: refresh` their renewal asks the provider about the person.
 */
export async function logoutByProvider(parts: SignInParts, token: string): Promise<boolean> {
  for (const provider of parts.providers.all()) {
    const named = await provider.logout(token);
    if (!named) continue;
    const { issuer } = provider;
    const { sub, sid } = named;
    const selector = sid !== undefined ? { issuer, sid } : { issuer, sub: sub ?? '' };
    await endSessions(parts, selector, 'provider');
    return true;
  }
  return false;
}

/**
 * Whether the session proves the person as freshly and as strongly as a rule asks. The provider judged the
 * same by its own clock, and time passed on the way back.
 */
export function isProved({ record }: Session, { maxAgeSeconds, acr }: StepUp, now: Date): boolean {
  const ageMs = now.getTime() - record.auth_time.getTime();
  if (maxAgeSeconds !== undefined && ageMs > (maxAgeSeconds + 2 * SKEW_SECONDS) * 1_000) {
    return false;
  }
  return acr === undefined || record.acr === acr;
}
