/**
 * Connecting: a person logs in at another service and lets this one act there.
 *
 * Authorization code with PKCE, from a session of the person and back to the same one. The state of a login is
 * sealed for that session and that account, kept by the browser alone, and used once.
 *
 * @module
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import { failure, Refusal } from '../../domain/failure.ts';
import { createRecent, type Recent } from '../../domain/values/recent.ts';
import { isObject, readJson } from '../../domain/wire/json.ts';
import { newSecret } from '../../keyring/secrets.ts';
import { newUuid } from '../../platform.ts';
import type { ConnectedRecord } from '../../storage/port/connected-store.ts';
import type { AccountOptions } from '../author/accounts.ts';
import type { Session } from '../sign-in/sessions.ts';
import { authorizeUrl, type Granted, redeemCode } from './oauth.ts';
import { type AccountParts, accountEntry, declaredAccount, sealTokens } from './parts.ts';
import { expiryTime, revokeRow, revokeTokens } from './tokens.ts';

/** In milliseconds: how long a person may take at the other service. */
const LOGIN_MS = 600_000;

/** Logins that this process remembers as used. */
const USED_MAX = 10_000;

/** One login under way. Secret: the browser of the person holds it, sealed. */
interface LoginState {
  readonly state: string;
  readonly verifier: string;
  /** Milliseconds since 1970. */
  readonly begunAt: number;
  /** The connection that the login replaces. */
  readonly seen?: string | undefined;
}

interface BegunConnection {
  /** Where the browser goes. */
  readonly location: string;
  /** For the browser to keep until it comes back. */
  readonly login: string;
}

/** What a browser brings back. */
interface ConnectionReturn {
  readonly query: URLSearchParams;
  readonly login: string | undefined;
}

export interface Connecting {
  begin(session: Session, name: string): Promise<BegunConnection>;
  finish(session: Session, name: string, back: ConnectionReturn): Promise<void>;
  /** False when there was nothing to disconnect. */
  disconnect(session: Session, name: string): Promise<boolean>;
}

export function createConnecting(parts: AccountParts): Connecting {
  const used = createRecent<string, true>(USED_MAX);
  return {
    begin: (session, name) => begin(parts, session, name),
    finish: (session, name, back) => finish(parts, session, name, { ...back, used }),
    disconnect: (session, name) => disconnect(parts, session, name),
  };
}

async function begin(
  parts: AccountParts,
  { record: { session_id, principal } }: Session,
  name: string,
): Promise<BegunConnection> {
  const account = declared(parts, name);
  const { connection_id: seen } =
    (await parts.store.findConnected({ principal, account: name })) ?? {};
  const login: LoginState = {
    state: newSecret(),
    verifier: newSecret(),
    begunAt: parts.store.now().getTime(),
    seen,
  };
  const challenge = createHash('sha256').update(login.verifier).digest('base64url');
  const redirectUri = callbackOf(parts, name);
  return {
    location: authorizeUrl(account, { redirectUri, state: login.state, challenge }),
    login: parts.keyring.rows.sealText(JSON.stringify(login), aboutLogin(session_id, name)),
  };
}

function declared(parts: AccountParts, name: string): AccountOptions {
  const account = declaredAccount(parts, name);
  if (account) return account;
  throw new Refusal(failure('not_found', 'Cannot find the account: there is none with this name'));
}

/** Among the pages: the browser has the cookies of the session for their host. */
function callbackOf({ baseUrl, pageUrl }: AccountParts, name: string): string {
  const path = `/accounts/${name}/callback` as const;
  return pageUrl(path) ?? baseUrl() + path;
}

function aboutLogin(sessionId: string, name: string): string {
  return `account login ${sessionId} ${name}`;
}

async function finish(
  parts: AccountParts,
  { record: { session_id, principal } }: Session,
  name: string,
  { query, login: sealed, used }: ConnectionReturn & { readonly used: Recent<string, true> },
): Promise<void> {
  const account = declared(parts, name);
  const text = sealed && parts.keyring.rows.openText(sealed, aboutLogin(session_id, name));
  const login = text ? readLogin(parts, text) : undefined;
  if (!login) {
    return refuseLogin(
      'this browser did not begin it in this session, or took too long; begin again',
    );
  }
  const code = codeOf(account, query, login);
  if (used.get(login.state)) return refuseLogin('the answer came before; begin again');
  used.set(login.state, true);
  const accountKey = { principal, account: name };
  const current = await parts.store.findConnected(accountKey);
  if (current?.connection_id !== login.seen) refuseLogin('another login finished; begin again');
  const { verifier } = login;
  const redirectUri = callbackOf(parts, name);
  const answer = await redeemCode(parts, account, { code, verifier, redirectUri });
  if ('refused' in answer) {
    return refuseLogin(`${account.title} refused the code: "${answer.refused}"`);
  }
  if ('unusable' in answer) {
    parts.log.warn({ account: name, why: answer.unusable }, 'an account could not be connected');
    const detail = `Cannot connect ${account.title}: it gave no tokens; try again later`;
    throw new Refusal(failure('service_unavailable', detail));
  }
  const record = recordOf(parts, accountKey, answer.granted);
  const entry = accountEntry(parts, 'account_connected', record);
  if (await parts.store.connect(record, login.seen, entry)) return;
  void parts.work.track(revokeTokens(parts, accountKey, answer.granted));
  refuseLogin('another login finished; begin again');
}

function readLogin({ store }: AccountParts, text: string): LoginState | undefined {
  const read = readJson(text);
  if (!('value' in read) || !isObject(read.value)) return undefined;
  const login = read.value as unknown as LoginState;
  const age = store.now().getTime() - login.begunAt;
  return age >= 0 && age <= LOGIN_MS ? login : undefined;
}

/** Nothing of the answer is trusted before state and issuer fit. */
function codeOf({ title, issuer }: AccountOptions, query: URLSearchParams, login: LoginState) {
  const read = (name: string) => {
    const [value, another] = query.getAll(name);
    return another === undefined ? value : refuseLogin(`the answer has "${name}" twice`);
  };
  if (!isSameText(read('state') ?? '', login.state)) {
    refuseLogin('the answer belongs to another login; begin again');
  }
  // RFC 9207. Each account also has a callback of its own, so that no other can answer for it.
  if (issuer !== undefined && read('iss') !== issuer) {
    refuseLogin('the answer does not name the issuer of this account');
  }
  const error = read('error');
  if (error !== undefined) {
    const code = /^[a-z_]{1,64}$/.test(error) ? error : 'unknown error';
    refuseLogin(`${title} answered "${code}"`);
  }
  return read('code') ?? refuseLogin('the answer has no code');
}

function isSameText(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function recordOf(
  parts: AccountParts,
  accountKey: { readonly principal: string; readonly account: string },
  { access, refresh, lifeSeconds, scopes }: Granted,
): ConnectedRecord {
  const now = parts.store.now();
  return {
    ...accountKey,
    connection_id: newUuid(parts.platform),
    version: 1,
    sealed: sealTokens(parts, accountKey, { access, refresh }),
    scopes: scopes ?? [...declared(parts, accountKey.account).scopes],
    connected_at: now,
    expires_at: expiryTime(now, lifeSeconds),
  };
}

/** The answer to the person does not wait for the other service. */
async function disconnect(
  parts: AccountParts,
  { record: { principal } }: Session,
  name: string,
): Promise<boolean> {
  declared(parts, name);
  const accountKey = { principal, account: name };
  const found = await parts.store.findConnected(accountKey);
  if (!found) return false;
  const entry = accountEntry(parts, 'account_disconnected', found);
  const { connection_id } = found;
  const ended = await parts.store.endConnected(accountKey, { connection_id }, entry);
  if (ended) void parts.work.track(revokeRow(parts, ended));
  return ended !== undefined;
}

function refuseLogin(why: string): never {
  throw new Refusal(failure('invalid_parameters', `Cannot connect the account: ${why}`));
}
