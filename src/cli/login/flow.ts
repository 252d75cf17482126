/**
 * The login of the command line: asks a service for a delegation through the browser of the person.
 *
 * Authorization code with PKCE, and a redirect to a port of this computer that is open only meanwhile. The
 * answer counts only with the state of this login and the issuer that the service names.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BIG_MARK, framed } from '../../http/page/frame.ts';
import { STYLE_HASH } from '../../http/page/style.ts';
import { pageHeaders } from '../../openapi/html.ts';
import { CommandFault, EXIT_FOUND, EXIT_UNAVAILABLE } from '../shell/exit.ts';
import type { SavedLogin } from './saved.ts';

/** In milliseconds: how long a person may take. */
const LOGIN_MS = 600_000;

const ANSWER_TIMEOUT_MS = 30_000;

const CLIENT_ID = 'writ-cli';

/** The part of RFC 8414 that is used. */
interface ServerMetadata extends Pick<SavedLogin, 'token_endpoint' | 'revocation_endpoint'> {
  readonly issuer: string;
  readonly authorization_endpoint: string;
}

interface TokenAnswer {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope?: string | undefined;
}

export interface LoginAsk {
  readonly service: string;
  readonly scope?: string | undefined;
  /** Called with the address that the person opens. */
  show(address: string): void;
}

export interface Login extends SavedLogin {
  readonly scope?: string | undefined;
}

export async function logIn({ service, scope, show }: LoginAsk): Promise<Login> {
  const metadata = await metadataOf(service);
  const verifier = randomBytes(32).toString('base64url');
  const state = randomBytes(16).toString('base64url');
  const receiver = await openReceiver();
  try {
    const address = new URL(metadata.authorization_endpoint);
    const asked = {
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: receiver.address,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state,
      resource: service,
      ...(scope !== undefined && { scope }),
    };
    for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
    show(address.href);
    const code = codeIn(await receiver.answer, { state, issuer: metadata.issuer });
    const fields = { grant_type: 'authorization_code', code, redirect_uri: receiver.address };
    const given = await askTokens(metadata.token_endpoint, { ...fields, code_verifier: verifier });
    return { ...loginOf(metadata, given), scope: given.scope };
  } finally {
    receiver.close();
  }
}

/** A login with new tokens. Undefined when the delegation has ended. */
export async function renewed(login: SavedLogin): Promise<SavedLogin | undefined> {
  const { refresh_token } = login;
  try {
    const given = await askTokens(login.token_endpoint, {
      grant_type: 'refresh_token',
      refresh_token,
    });
    return loginOf(login, given);
  } catch (error) {
    if (error instanceof TokenRefused && error.code === 'invalid_grant') return undefined;
    throw error;
  }
}

/** Ends the delegation of a login at the service. */
export async function endLogin({ revocation_endpoint, refresh_token }: SavedLogin): Promise<void> {
  if (revocation_endpoint === undefined) return;
  const body = new URLSearchParams({ token: refresh_token, client_id: CLIENT_ID });
  const response = await send(revocation_endpoint, { method: 'POST', body });
  if (!response.ok) throw new Error(`the service answered ${response.status}`);
}

async function metadataOf(service: string): Promise<ServerMetadata> {
  const { origin, pathname } = new URL(service);
  const path = pathname.replace(/\/$/, '');
  const candidates = [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${service}/.well-known/oauth-authorization-server`,
  ];
  for (const candidate of new Set(candidates)) {
    const response = await send(candidate);
    if (response.status !== 200) continue;
    const metadata = metadataIn(await objectOf(response));
    if (metadata?.issuer.replace(/\/$/, '') === service) return metadata;
  }
  throw new Error(`"${service}" has no sign-in; its operator can configure it`);
}

function metadataIn(answer: Answer): ServerMetadata | undefined {
  const [issuer, authorization_endpoint, token_endpoint] = [
    textIn(answer, 'issuer'),
    textIn(answer, 'authorization_endpoint'),
    textIn(answer, 'token_endpoint'),
  ];
  if (!issuer || !isWebAddress(authorization_endpoint) || !isWebAddress(token_endpoint)) {
    return undefined;
  }
  const revocation_endpoint = textIn(answer, 'revocation_endpoint');
  return { issuer, authorization_endpoint, token_endpoint, revocation_endpoint };
}

type Answer = Readonly<Record<string, unknown>>;

/** The JSON object of an answer; empty when it is none. */
async function objectOf(response: Response): Promise<Answer> {
  const answer: unknown = await response.json().catch(() => undefined);
  return typeof answer === 'object' && answer !== null ? (answer as Answer) : {};
}

function textIn(answer: Answer, name: string): string | undefined {
  const value = answer[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function isWebAddress(text: string | undefined): text is string {
  return text !== undefined && /^https?:\/\//.test(text) && URL.canParse(text);
}

async function send(url: string, init: RequestInit = {}): Promise<Response> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
  try {
    return await fetch(url, { ...init, signal, redirect: 'error' });
  } catch (error) {
    const why = `"${new URL(url).origin}" does not answer`;
    throw new CommandFault(why, { exit: EXIT_UNAVAILABLE, cause: error });
  }
}

class TokenRefused extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

async function askTokens(
  endpoint: string,
  fields: Readonly<Record<string, string>>,
): Promise<TokenAnswer> {
  const body = new URLSearchParams({ ...fields, client_id: CLIENT_ID });
  const response = await send(endpoint, { method: 'POST', body });
  const answer = await objectOf(response);
  const access_token = textIn(answer, 'access_token');
  const refresh_token = textIn(answer, 'refresh_token');
  const { expires_in } = answer;
  if (response.ok && access_token && refresh_token && typeof expires_in === 'number') {
    return { access_token, refresh_token, expires_in, scope: textIn(answer, 'scope') };
  }
  const why = textIn(answer, 'error_description') ?? `the service answered ${response.status}`;
  throw new TokenRefused(textIn(answer, 'error') ?? 'server_error', why);
}

function loginOf(
  {
    token_endpoint,
    revocation_endpoint,
  }: Pick<SavedLogin, 'token_endpoint' | 'revocation_endpoint'>,
  { access_token, refresh_token, expires_in }: TokenAnswer,
): SavedLogin {
  const expires_at = new Date(Date.now() + expires_in * 1_000).toISOString();
  return {
    client_id: CLIENT_ID,
    token_endpoint,
    revocation_endpoint,
    access_token,
    refresh_token,
    expires_at,
  };
}

function codeIn(query: URLSearchParams, expected: { state: string; issuer: string }): string {
  if (query.get('state') !== expected.state) throw new Error('the answer is of another login');
  if (query.get('iss') !== expected.issuer) throw new Error('the answer is of another service');
  const error = query.get('error');
  if (error === 'access_denied') {
    throw new CommandFault('you refused in the browser', { exit: EXIT_FOUND });
  }
  if (error !== null) throw new Error(query.get('error_description') ?? error);
  const code = query.get('code');
  if (code) return code;
  throw new Error('the answer has no code');
}

interface Receiver {
  readonly address: string;
  /** The query of the answer. Rejects when none came in time. */
  readonly answer: Promise<URLSearchParams>;
  close(): void;
}

/** What the browser of the person shows then. */
function pageOf(query: URLSearchParams): string {
  const hasCode = query.has('code');
  const title = hasCode ? 'The command line has the answer' : 'Nothing was given';
  const text = hasCode
    ? 'It goes on by itself. You can close this page.'
    : 'The command line says why. You can close this page.';
  const main = `<div class="stack">${BIG_MARK}
<h1>${title}</h1>
<p class="muted">${text}</p></div>`;
  return framed({ title: `${title} · writ login`, main, isSlim: true });
}

function openReceiver(): Promise<Receiver> {
  let settle: (query: URLSearchParams) => void = () => undefined;
  let timer: NodeJS.Timeout | undefined;
  const answer = new Promise<URLSearchParams>((resolve, reject) => {
    settle = resolve;
    timer = setTimeout(() => reject(new Error('no answer came in 10 minutes')), LOGIN_MS);
  });
  // Awaited later: a failure before that must not end the process.
  answer.catch(() => undefined);
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const isAnswer = request.method === 'GET' && url.pathname === '/callback';
    response.writeHead(isAnswer ? 200 : 404, {
      ...pageHeaders(STYLE_HASH),
      connection: 'close',
    });
    response.end(isAnswer ? pageOf(url.searchParams) : '');
    if (isAnswer) settle(url.searchParams);
  });
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      const close = () => {
        clearTimeout(timer);
        server.close();
      };
      resolve({ address: `http://127.0.0.1:${port}/callback`, answer, close });
    });
  });
}
