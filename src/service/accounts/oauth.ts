/**
 * This service as an OAuth client of another one: where a browser goes, and what the token endpoint answers.
 *
 * Answers are bounded and read strictly. Nothing of them is repeated in a message or in the log, except an error code
 * in the form of RFC 6749: other services echo what they were sent.
 *
 * @module
 */

import { bareHost } from '../../address/host.ts';
import { isObject, type JsonLimits, readJson } from '../../domain/wire/json.ts';
import type { AccountOptions } from '../author/accounts.ts';
import type { ServiceParts } from '../operations/parts.ts';
import { clientProof } from '../outbound/client-proof.ts';
import type { Tokens } from './parts.ts';

/** In milliseconds: how long the other service may take for one answer. */
export const ANSWER_MS = 8_000;

/** Bounds an answer. A signed access token has a few kilobytes. */
const ANSWER_LIMITS: JsonLimits = { bytes: 64 * 1024, depth: 8, keys: 200 };

/** In seconds: a longer life of a token is cut to a year. */
const LIFE_MAX_SECONDS = 31_536_000;

/** In seconds: assumed of an access token that can be renewed and names no end. */
const LIFE_ASSUMED_SECONDS = 3_600;

/** Scopes of an answer that are stored, and the characters that are read. */
const SCOPES_MAX = 64;
const SCOPE_LENGTH_MAX = 8_192;

export interface Granted extends Tokens {
  readonly lifeSeconds?: number | undefined;
  /** Absent where the answer names none: those that were asked for. */
  readonly scopes?: readonly string[] | undefined;
}

export type TokenAnswer =
  | { readonly granted: Granted }
  /** The other service refused, with this error code. */
  | { readonly refused: string }
  /** It was not reached, or its answer cannot be used. */
  | { readonly unusable: string };

type Asking = Pick<ServiceParts, 'callOut'>;

interface AuthorizeParameters {
  readonly redirectUri: string;
  readonly state: string;
  /** Of PKCE, by S256. */
  readonly challenge: string;
}

export function authorizeUrl(
  { authorize, client_id, scopes, resource }: AccountOptions,
  { redirectUri, state, challenge }: AuthorizeParameters,
): string {
  const url = new URL(authorize);
  const query = {
    response_type: 'code',
    client_id,
    redirect_uri: redirectUri,
    scope: scopes.length === 0 ? undefined : scopes.join(' '),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    resource,
  };
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url.href;
}

export function redeemCode(
  parts: Asking,
  account: AccountOptions,
  { code, verifier, redirectUri }: { code: string; verifier: string; redirectUri: string },
): Promise<TokenAnswer> {
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri };
  return askTokens(parts, account, { ...form, code_verifier: verifier });
}

/** The answer keeps the refresh token where the other service gives no new one. */
export async function renewTokens(
  parts: Asking,
  account: AccountOptions,
  refresh: string,
): Promise<TokenAnswer> {
  const form = { grant_type: 'refresh_token', refresh_token: refresh };
  const answer = await askTokens(parts, account, form);
  if (!('granted' in answer) || answer.granted.refresh !== undefined) return answer;
  return { granted: { ...answer.granted, refresh, lifeSeconds: lifeOf(answer.granted, refresh) } };
}

/** Whether the other service took the revocation. RFC 7009: it also takes that of an unknown token. */
export async function revokeAtProvider(
  parts: Asking,
  account: AccountOptions,
  token: string,
  kind: 'access_token' | 'refresh_token',
): Promise<boolean> {
  if (account.revoke === undefined) return true;
  try {
    const form = { token, token_type_hint: kind };
    const { status } = await post(parts, account, account.revoke, form);
    return status >= 200 && status < 300;
  } catch {
    return false;
  }
}

async function askTokens(
  parts: Asking,
  account: AccountOptions,
  form: Readonly<Record<string, string>>,
): Promise<TokenAnswer> {
  const { resource } = account;
  const whole = resource === undefined ? form : { ...form, resource };
  const answered = await post(parts, account, account.token, whole).catch((error: Error) => error);
  if (answered instanceof Error) return { unusable: answered.message };
  const { status, body } = answered;
  const read = readJson(body, ANSWER_LIMITS);
  const answer = 'value' in read && isObject(read.value) ? read.value : {};
  // Some services answer errors with 200.
  const isError = status >= 400 && status < 500 && status !== 408 && status !== 429;
  if ((isError || status === 200) && typeof answer.error === 'string') {
    return { refused: /^[a-z_]{1,64}$/.test(answer.error) ? answer.error : 'unknown error' };
  }
  if (status !== 200) return { unusable: `it answered ${status}` };
  return readGranted(answer);
}

/** RFC 6749, 5.1. */
function readGranted(answer: Readonly<Record<string, unknown>>): TokenAnswer {
  const { token_type, access_token: access, refresh_token, expires_in, scope } = answer;
  if (typeof token_type !== 'string' || token_type.toLowerCase() !== 'bearer') {
    return { unusable: 'its answer has no token of the type Bearer' };
  }
  if (!isToken(access)) return { unusable: 'its answer has no usable access token' };
  const refresh = refresh_token ?? undefined;
  if (refresh !== undefined && !isToken(refresh)) {
    return { unusable: 'its answer has no usable refresh token' };
  }
  const life = expires_in ?? undefined;
  if (life !== undefined && !(Number.isInteger(life) && (life as number) > 0)) {
    return { unusable: 'its answer has no usable "expires_in"' };
  }
  const lifeSeconds = life === undefined ? undefined : Math.min(life as number, LIFE_MAX_SECONDS);
  const granted = { access, refresh, scopes: scopesOf(scope) };
  return { granted: { ...granted, lifeSeconds: lifeOf({ lifeSeconds }, refresh) } };
}

/**
 * In the characters of a Bearer header that JSON does not escape, so that a token is found in a text as it is. A
 * shorter text is no secret, and would be found everywhere.
 */
function isToken(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21\x23-\x5b\x5d-\x7e]{8,16384}$/.test(value);
}

function lifeOf(
  { lifeSeconds }: Pick<Granted, 'lifeSeconds'>,
  refresh: string | undefined,
): number | undefined {
  return lifeSeconds ?? (refresh === undefined ? undefined : LIFE_ASSUMED_SECONDS);
}

function scopesOf(scope: unknown): readonly string[] | undefined {
  if (typeof scope !== 'string' || scope.length > SCOPE_LENGTH_MAX) return undefined;
  const scopes = scope.split(' ').filter((each) => /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/.test(each));
  return scopes.slice(0, SCOPES_MAX);
}

/** Rejects, with a message that contains nothing of the answer, when no whole answer comes back. */
function post(
  { callOut }: Asking,
  account: AccountOptions,
  url: string,
  form: Readonly<Record<string, string>>,
) {
  const proof = clientProof(account, account.client_authentication ?? 'basic');
  return callOut({
    url,
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...proof.headers },
    body: new URLSearchParams({ ...form, ...proof.form }).toString(),
    timeoutMs: ANSWER_MS,
    bytesMax: ANSWER_LIMITS.bytes,
    insideHosts: account.inside ? [bareHost(new URL(url))] : [],
  });
}
