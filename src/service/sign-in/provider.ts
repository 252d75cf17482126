/**
 * Identity providers where people sign in with a browser: this service as an OpenID Connect client.
 *
 * Authorization code with PKCE, `state`, `nonce` and the exact issuer. The mapping of the issuer decides the
 * principal. Documents, signatures and requests are those of `authority/issuers.ts`. Knows no session and
 * no cookie: the caller keeps the state of a login, gives it back once, and stores what was proved.
 *
 * @module
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { bareHost, isLoopback } from '../../address/host.ts';
import type { ProviderClient } from '../../config/parts.ts';
import { principalOfClaims, SKEW_SECONDS } from '../../domain/authority/external-identity.ts';
import { parsePrincipal } from '../../domain/authority/principal.ts';
import { failure, Refusal } from '../../domain/failure.ts';
import type { Platform } from '../../platform.ts';
import {
  documentJson,
  type Issuer,
  type Issuers,
  type Json,
  type VerifiedToken,
} from '../authority/issuers.ts';
import { clientProof } from '../outbound/client-proof.ts';
import {
  type Connection,
  identityClaims,
  type LoggedOut,
  loggedOut,
  refuseLogin,
  shortText,
} from './provider-tokens.ts';

/** What a sign-in must prove beyond who the person is. */
export interface StepUp {
  readonly maxAgeSeconds?: number | undefined;
  readonly acr?: string | undefined;
}

/** One login under way. Secret: the browser that began it holds it, and no other one. */
export interface LoginState {
  readonly provider: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly returnTo: string;
  /** Milliseconds since 1970. */
  readonly begunAt: number;
  readonly stepUp?: StepUp | undefined;
}

export interface ProvedPerson {
  readonly principal: string;
  readonly issuer: string;
  readonly sub: string;
  readonly sid?: string | undefined;
  readonly acr?: string | undefined;
  /** When the person authenticated; 1970 where the provider does not say, which is too old for every step-up. */
  readonly authTime: Date;
  /** The provider's refresh token in the clear; present exactly where the configuration has `check: refresh`. */
  readonly upstream?: string | undefined;
}

export interface Provider {
  /** A word for URLs: the configured name of the issuer, or its host. */
  readonly id: string;
  /** What the button says. */
  readonly label: string;
  readonly issuer: string;
  /** The address to send the browser to, and what `finish` needs when it comes back. */
  begin(ask: LoginRequest): Promise<{ location: string; login: LoginState }>;
  /**
   * Who signed in. Throws a `Refusal` for everything that does not fit: an answer that is an error, another state
   * or issuer (RFC 9207), a refused code, an identity token that does not verify or is of another login,
   * a step-up that was not met, a principal that is no person.
   */
  finish(ask: LoginAnswer): Promise<ProvedPerson>;
  /** Asks by the refresh grant whether the person may still sign in. The token that comes back replaces the old one. */
  check(account: { readonly upstream: string; readonly sub: string }): Promise<CheckOutcome>;
  /**
   * Whom a logout token names (OpenID Connect Back-Channel Logout 1.0); `undefined` when it does not fit. Throws a
   * `Refusal` while the keys of the provider cannot be fetched.
   */
  logout(token: string): Promise<LoggedOut | undefined>;
}

interface LoginRequest {
  readonly redirectUri: string;
  readonly returnTo: string;
  readonly stepUp?: StepUp | undefined;
}

interface LoginAnswer {
  readonly query: URLSearchParams;
  readonly login: LoginState;
  /** The same as in `begin`. */
  readonly redirectUri: string;
}

type CheckOutcome =
  | { readonly state: 'alive'; readonly upstream: string }
  | { readonly state: 'ended' }
  | { readonly state: 'unreachable' };

export interface Providers {
  all(): readonly Provider[];
  find(id: string): Provider | undefined;
  ofIssuer(issuer: string): Provider | undefined;
}

interface ProviderParts extends Pick<Connection, 'now' | 'log'> {
  readonly platform: Pick<Platform, 'random'>;
}

/** The issuers that have `sign_in`, in the order of the configuration. */
export function createProviders(issuers: Issuers, parts: ProviderParts): Providers {
  const all = [...issuers.values()].flatMap((issuer) =>
    issuer.rules.sign_in
      ? createProvider({ ...parts, issuer, client: issuer.rules.sign_in }, parts.platform)
      : [],
  );
  return {
    all: () => all,
    find: (id) => all.find((each) => each.id === id),
    ofIssuer: (issuer) => all.find((each) => each.issuer === issuer),
  };
}

function createProvider(connection: Connection, platform: ProviderParts['platform']): Provider {
  const { issuer, name } = connection.issuer.rules;
  const id = name ?? bareHost(new URL(issuer));
  return {
    id,
    issuer,
    label: connection.client.label ?? id,
    begin: (ask) => begin({ ...connection, platform }, id, ask),
    async finish({ query, login, redirectUri }) {
      if (login.provider !== id) refuseLogin('the login was begun with another provider');
      const code = await codeOf(connection, query, login);
      return provedPerson(connection, login, await redeemed(connection, login, code, redirectUri));
    },
    check: (account) => check(connection, account),
    logout: (token) => loggedOut(connection, token),
  };
}

/** In milliseconds: a person may have to find a second factor; a forgotten tab does not sign in days later. */
const LOGIN_MS_MAX = 600_000;

/** 256 bits each: not to be guessed, and never used twice. */
const RANDOM_BYTES = 32;

async function begin(
  { issuer, client, now, platform }: Connection & ProviderParts,
  provider: string,
  { redirectUri, returnTo, stepUp }: LoginRequest,
): Promise<{ location: string; login: LoginState }> {
  const location = browserUrl(issuer, (await issuer.discovery()).authorization_endpoint);
  const random = () => Buffer.from(platform.random(RANDOM_BYTES)).toString('base64url');
  const [state, nonce, verifier] = [random(), random(), random()] as const;
  const isChecked = client.check === 'refresh';
  const query: Record<string, string | undefined> = {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope: [...new Set([...client.scopes, ...(isChecked ? ['offline_access'] : [])])].join(' '),
    state,
    nonce,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    // OpenID Connect Core, 11: a provider ignores offline_access without it.
    prompt: isChecked ? 'consent' : undefined,
    max_age: stepUp?.maxAgeSeconds?.toString(),
    acr_values: stepUp?.acr,
  };
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) location.searchParams.set(name, value);
  }
  const login = { provider, state, nonce, verifier, returnTo, begunAt: now().getTime(), stepUp };
  return { location: location.href, login };
}

/** The browser follows this address, so it must be no script, and no plain http to another machine. */
function browserUrl({ rules }: Issuer, endpoint: unknown): URL {
  const url =
    typeof endpoint === 'string' && URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  const isHere = rules.issuer.startsWith('http:') && url && isLoopback(bareHost(url));
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere)) return url;
  return refuseProvider(
    rules.issuer,
    'its discovery document has no usable authorization_endpoint',
  );
}

/** Reads the answer that the browser brings. Nothing of it is trusted before state and issuer fit. */
async function codeOf(
  { issuer, now }: Connection,
  query: URLSearchParams,
  login: LoginState,
): Promise<string> {
  const read = (name: string) => {
    const [value, another] = query.getAll(name);
    return another === undefined ? value : refuseLogin(`the answer has "${name}" twice`);
  };
  if (!isSameText(read('state') ?? '', login.state)) {
    refuseLogin('the answer belongs to another login');
  }
  if (Math.abs(now().getTime() - login.begunAt) > LOGIN_MS_MAX) {
    refuseLogin('the login took too long; begin again');
  }
  const { authorization_response_iss_parameter_supported: isAnnounced } = await issuer.discovery();
  const iss = read('iss');
  if (iss === undefined && isAnnounced === true) refuseLogin('the answer does not name its issuer');
  if (iss !== undefined && iss !== issuer.rules.issuer) {
    refuseLogin('the answer comes from another issuer');
  }
  const error = read('error');
  if (error !== undefined) refuseLogin(`the provider answered "${errorCode(error)}"`);
  return read('code') ?? refuseLogin('the answer has no code');
}

/** The tokens for a code. */
async function redeemed(
  connection: Connection,
  { verifier }: LoginState,
  code: string,
  redirectUri: string,
): Promise<Json> {
  const { issuer, log } = connection;
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
  const asked = askTokens(connection, { ...form, code_verifier: verifier });
  const { status, answer } = await asked.catch((error: Error) => {
    if (error instanceof Refusal) throw error;
    log.warn({ issuer: issuer.rules.issuer, why: error.message }, 'issuer not reached');
    return refuseProvider(issuer.rules.issuer, 'it is not reachable');
  });
  if (status === 200) return answer;
  const why = errorCode(answer.error);
  // A stranger can send any code; every other refusal is about the settings of this client.
  if (why !== 'invalid_grant') {
    log.warn({ issuer: issuer.rules.issuer, status, why }, 'the provider refused a code');
  }
  return refuseLogin(`the provider refused the code: "${why}"`);
}

const PERSON_CLASSES = ['human', 'oidc'];

async function provedPerson(
  connection: Connection,
  login: LoginState,
  { id_token, refresh_token }: Json,
): Promise<ProvedPerson> {
  const { issuer, client, now } = connection;
  const claims = await identityClaims(connection, id_token);
  if (!isSameText(String(claims.nonce), login.nonce)) {
    refuseLogin('the identity token belongs to another login');
  }
  const acr = shortText(claims, 'acr');
  const authTime = authTimeOf(claims, now());
  unmetStepUp(login, acr, authTime);
  const principal = principalOfClaims(claims, issuer.rules);
  if (!principal || !PERSON_CLASSES.includes(parsePrincipal(principal)?.class ?? '')) {
    return refuseLogin('the claims of the identity token name no person');
  }
  return {
    principal,
    issuer: issuer.rules.issuer,
    sub: claims.sub as string,
    sid: shortText(claims, 'sid'),
    acr,
    authTime: authTime ?? new Date(0),
    // Not kept where nothing uses it.
    upstream: client.check === 'refresh' ? upstreamOf(refresh_token) : undefined,
  };
}

function authTimeOf({ auth_time }: VerifiedToken['payload'], now: Date): Date | undefined {
  if (auth_time === undefined) return undefined;
  const at = typeof auth_time === 'number' ? auth_time * 1_000 : Number.NaN;
  if (at >= 0 && at <= now.getTime() + SKEW_SECONDS * 1_000) return new Date(at);
  return refuseLogin('the identity token has no usable "auth_time"');
}

/**
 * A provider may ignore what was asked, so the answer decides. The age counts from the begin of the login: that
 * is when the provider was asked, and a slow second factor must not make the answer too old.
 */
function unmetStepUp(
  { stepUp, begunAt }: LoginState,
  acr: string | undefined,
  authTime: Date | undefined,
): void {
  const { maxAgeSeconds, acr: needed } = stepUp ?? {};
  if (needed !== undefined && acr !== needed) {
    refuseLogin('the provider did not authenticate the person in the way that is needed');
  }
  if (maxAgeSeconds === undefined) return;
  const oldest = begunAt - (maxAgeSeconds + SKEW_SECONDS) * 1_000;
  if (authTime === undefined || authTime.getTime() < oldest) {
    refuseLogin('the provider did not authenticate the person again');
  }
}

function upstreamOf(token: unknown): string {
  if (typeof token === 'string' && token !== '') return token;
  return refuseLogin('the provider gave no refresh token, which "check: refresh" needs');
}

/**
 * Only `invalid_grant` says that the person is refused. A provider that rotates its tokens takes a token whose
 * answer was lost for a replay, and then says the same: the person signs in again.
 */
async function check(
  connection: Connection,
  { upstream, sub }: { readonly upstream: string; readonly sub: string },
): Promise<CheckOutcome> {
  const { issuer, log } = connection;
  try {
    const form = { grant_type: 'refresh_token', refresh_token: upstream };
    const { status, answer } = await askTokens(connection, form);
    const { error, access_token, id_token, refresh_token = upstream } = answer;
    if (status >= 400 && status < 500 && error === 'invalid_grant') return { state: 'ended' };
    if (status !== 200) throw new Error(`it answered ${status} "${errorCode(error)}"`);
    if (typeof access_token !== 'string') throw new Error('its answer has no access token');
    if (id_token !== undefined && (await identityClaims(connection, id_token)).sub !== sub) {
      throw new Error('its identity token is of another person');
    }
    return { state: 'alive', upstream: upstreamOf(refresh_token) };
  } catch (error) {
    const why = error instanceof Refusal ? error.failure.detail : (error as Error).message;
    log.warn({ issuer: issuer.rules.issuer, why }, 'a person could not be checked');
    return { state: 'unreachable' };
  }
}

/** Sends a form to the token endpoint. Rejects when no JSON object comes back. */
async function askTokens(
  { issuer, client }: Connection,
  form: Readonly<Record<string, string>>,
): Promise<{ status: number; answer: Json }> {
  const discovery = await issuer.discovery();
  const method = methodOf(client, discovery.token_endpoint_auth_methods_supported);
  const proof = clientProof(client, method);
  const { status, body } = await issuer.call({
    url: String(discovery.token_endpoint),
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...proof.headers },
    body: new URLSearchParams({ ...form, ...proof.form }).toString(),
  });
  return { status, answer: documentJson(body) };
}

/** How this client sends its secret. Without one the list does not count: providers often do not list `none`. */
function methodOf(
  { client_secret }: ProviderClient,
  methods: unknown = ['client_secret_basic'],
): 'basic' | 'post' {
  const listed = Array.isArray(methods) ? methods : [];
  if (client_secret === undefined || listed.includes('client_secret_basic')) return 'basic';
  if (listed.includes('client_secret_post')) return 'post';
  throw new Error(
    'it takes a client secret neither by client_secret_basic nor by client_secret_post',
  );
}

/** RFC 6749, 4.1.2.1: an error is a code. Other text of the other side is not repeated. */
function errorCode(error: unknown): string {
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : 'unknown error';
}

function isSameText(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function refuseProvider(issuer: string, why: string): never {
  const detail = `Cannot sign in with "${issuer}": ${why}`;
  throw new Refusal(failure('service_unavailable', detail, { estimated_availability: 'PT30S' }));
}
