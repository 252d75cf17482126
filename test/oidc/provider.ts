/**
 * A real identity provider on this machine, and people and programs that sign in to it.
 *
 * Everything goes through its HTTP surface, as a browser or a program would do it. The suite holds
 * its private keys, so it can also sign what the provider never would.
 *
 * @module
 */

import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { importJWK, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import { type Adapter, type AdapterPayload, type Configuration, Provider } from 'oidc-provider';

/** Client id of the web application and resource of the programs: the audience of all tokens. */
export const AUDIENCE = 'urn:example:travel-desk';

/** Client id of the service where people sign in with a browser; its redirect is `REDIRECT_URI`. */
export const WEB_CLIENT = 'desk web: 100%';

/** What the provider knows about somebody, by the name with which one signs in. */
export type Accounts = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

const PEOPLE: Accounts = {
  'ann-1': { email: 'Ann@Example.com', email_verified: true },
  'una-2': { email: 'alice@example.com', email_verified: false },
  'nora-3': {},
  'max-4': { email: 'max@example.com' },
  'human:bob@example.com': {},
  'agent:trip-planner': {},
};

/** Programs that have an account of their own. */
export const PROGRAMS = ['svc-billing', 'agent-planner', 'crawler'] as const;

export interface TestProvider {
  readonly issuer: string;
  /** The requests that reached it, by path. */
  readonly requests: Map<string, number>;
  /** An identity token, by authorization code with PKCE. */
  signIn(account: string): Promise<string>;
  /** Where the browser ends that was sent to `location`: the redirect with the answer, below `back`. */
  answer(location: string, account: string, back?: string): Promise<URL>;
  /** What the next login says about itself. */
  readonly manner: { acr?: string; ts?: number };
  /** Adds a client for browsers, whose people sign in on a page with a form. */
  register(client: Readonly<Record<string, unknown>>): Promise<void>;
  /** The logout token that the provider sends to the web client. */
  logoutToken(account: string, sid?: string): Promise<string>;
  /** An access token, by client credentials. */
  machine(client: string, resource?: string): Promise<string>;
  /** What the provider would sign if it had these claims; `header` replaces what it would say. */
  forge(claims?: object, header?: object, key?: JWK): Promise<string>;
  /** Replaces the signing key; the old one is no longer published. */
  rotate(): Promise<void>;
  stop(): Promise<void>;
  /** On the same address as before. */
  start(): Promise<void>;
}

/** Not in the types of the library. */
interface LogoutSender {
  backchannelLogout(sub: string, sid?: string): Promise<void>;
}

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

export async function testProvider(accounts: Accounts = PEOPLE): Promise<TestProvider> {
  const requests = new Map<string, number>();
  let port = 0;
  let listener: Listener = (_, response) => response.end();
  let stop = await listening(0, (...exchange) => listener(...exchange));
  port = stop.port;
  const issuer = `http://127.0.0.1:${port}`;
  const adapter = memoryAdapter();
  let key = privateJwk();
  const manner: TestProvider['manner'] = {};
  const sent: URLSearchParams[] = [];
  let provider: Provider;

  function begin(): void {
    const current = new Provider(issuer, {
      ...configurationOf(accounts, key),
      adapter,
      fetch: async (_, init) => {
        sent.push(init?.body as URLSearchParams);
        return new Response();
      },
    });
    provider = current;
    const answer = current.callback();
    listener = (request, response) => {
      const path = new URL(request.url ?? '/', issuer).pathname;
      requests.set(path, (requests.get(path) ?? 0) + 1);
      if (!path.startsWith('/sign-in/')) return void answer(request, response);
      signedIn(current, manner, { request, response }).catch((error) => response.destroy(error));
    };
  }
  begin();
  return {
    issuer,
    requests,
    manner,
    signIn: (account) => signIn(issuer, account),
    async answer(location, account, back) {
      return new URL(await browse(`${location}&login_hint=${encodeURIComponent(account)}`, back));
    },
    register: (client) => adapter('Client').upsert(String(client.client_id), client, 0),
    async logoutToken(account, sid) {
      const client = await provider.Client.find(WEB_CLIENT);
      await (client as unknown as LogoutSender).backchannelLogout(account, sid);
      return sent.pop()?.get('logout_token') as string;
    },
    machine: (client, resource = AUDIENCE) => clientCredentials(issuer, client, resource),
    forge: async (claims, header, other) => {
      const signer = other ?? key;
      const { alg = signer.alg as string, ...rest } = (header ?? {}) as JWTHeaderParameters;
      const now = Math.floor(Date.now() / 1_000);
      const times = { iat: now, exp: now + 600 };
      return new SignJWT({ iss: issuer, aud: AUDIENCE, sub: 'ann-1', ...times, ...claims })
        .setProtectedHeader({ alg, ...(signer.kid && { kid: signer.kid }), ...rest })
        .sign(await importJWK(signer, alg), {
          crit: Object.fromEntries((rest.crit ?? []).map((name) => [name, true])),
        });
    },
    async rotate() {
      key = privateJwk();
      begin();
    },
    stop: () => stop.close(),
    async start() {
      stop = await listening(port, (...exchange) => listener(...exchange));
    },
  };
}

/** A signing key with a name of its own. */
export function privateJwk(namedCurve = 'P-256', alg = 'ES256'): JWK {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve });
  const kid = randomBytes(8).toString('hex');
  return { ...privateKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } as JWK;
}

/** A server on this machine, and how to close it at once, whoever is still connected. */
export async function listening(port: number, listener: Listener) {
  const server = createServer(listener);
  await new Promise<void>((ready, fail) => {
    server.once('error', fail).listen(port, '127.0.0.1', ready);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

const SECRET = 'a-secret-of-the-test-suite';

/** With characters that the encoding of a form changes. */
export const WEB_SECRET = 'a+secret/of the:test%suite&=';

export const REDIRECT_URI = 'https://desk.example.com/callback';

/** Longer than any test moves the clock of the service. */
const LIFETIME_SECONDS = 7 * 86_400;

function configurationOf(accounts: Accounts, key: JWK): Configuration {
  return {
    jwks: { keys: [key] } as NonNullable<Configuration['jwks']>,
    cookies: { keys: ['a-cookie-key-of-the-test-suite'] },
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    clients: [
      {
        client_id: AUDIENCE,
        client_secret: SECRET,
        redirect_uris: [REDIRECT_URI],
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
      {
        client_id: WEB_CLIENT,
        client_secret: WEB_SECRET,
        redirect_uris: [REDIRECT_URI],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        backchannel_logout_uri: 'https://desk.example.com/sign-in/logout',
        backchannel_logout_session_required: true,
      },
      ...PROGRAMS.map((client_id) => ({
        client_id,
        client_secret: SECRET,
        redirect_uris: [],
        grant_types: ['client_credentials'],
        response_types: [],
      })),
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    acrValues: ['pwd', 'mfa'],
    rotateRefreshToken: true,
    conformIdTokenClaims: false,
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      backchannelLogout: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          audience: resource,
          scope: '',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
    interactions: { url: (_, { uid }) => `/sign-in/${uid}` },
    findAccount: (_, accountId) =>
      Object.hasOwn(accounts, accountId)
        ? { accountId, claims: async () => ({ ...accounts[accountId], sub: accountId }) }
        : undefined,
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId as string,
        accountId: oidc.session?.accountId as string,
      });
      grant.addOIDCScope('openid email offline_access');
      await grant.save();
      return grant;
    },
    ttl: {
      ClientCredentials: LIFETIME_SECONDS,
      IdToken: LIFETIME_SECONDS,
      AccessToken: 600,
      AuthorizationCode: 60,
      Grant: LIFETIME_SECONDS,
      Interaction: 600,
      Session: 600,
      RefreshToken: LIFETIME_SECONDS,
    },
  };
}

/** Where the provider keeps sessions and codes: it outlives a change of keys, as a database would. */
function memoryAdapter(): (model: string) => Adapter {
  const kept = new Map<string, AdapterPayload>();
  return (model) => {
    const find = async (id: string) => kept.get(`${model} ${id}`);
    return {
      find,
      upsert: async (id, payload) => void kept.set(`${model} ${id}`, payload),
      destroy: async (id) => void kept.delete(`${model} ${id}`),
      consume: async (id) => {
        const payload = await find(id);
        if (payload) payload.consumed = Math.floor(Date.now() / 1_000);
      },
      findByUid: async (uid) => [...kept.values()].find((payload) => payload.uid === uid),
      findByUserCode: async () => undefined,
      revokeByGrantId: async (grantId) => {
        for (const [id, payload] of kept) if (payload.grantId === grantId) kept.delete(id);
      },
    };
  };
}

/** The page where one signs in and consents: whoever the application hints at, or the form names, is believed. */
async function signedIn(
  provider: Provider,
  manner: TestProvider['manner'],
  { request, response }: { request: IncomingMessage; response: ServerResponse },
) {
  const { params } = await provider.interactionDetails(request, response);
  const account = params.login_hint ?? (await accountIn(request));
  if (account === undefined) {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(LOGIN_PAGE);
    return;
  }
  const login = { accountId: String(account), ...manner };
  await provider.interactionFinished(request, response, { login, consent: {} });
}

const LOGIN_PAGE = `<!doctype html><html lang="en"><title>Example login</title>
<form method="post"><label>Account <input name="account"></label> <button>Log in</button></form></html>`;

async function accountIn(request: IncomingMessage): Promise<string | undefined> {
  let form = '';
  for await (const chunk of request.setEncoding('utf8')) form += chunk;
  return new URLSearchParams(form).get('account') ?? undefined;
}

/** What the browser and the application do together. */
async function signIn(issuer: string, account: string): Promise<string> {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: AUDIENCE,
    response_type: 'code',
    redirect_uri: REDIRECT_URI,
    scope: 'openid email',
    login_hint: account,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const callback = await browse(`${issuer}/auth?${query}`);
  const code = new URL(callback).searchParams.get('code');
  if (!code) throw new Error(`Cannot sign in as "${account}": sent to ${callback}`);
  const answer = await askToken(issuer, AUDIENCE, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
  });
  return answer.id_token as string;
}

/** Follows redirects with the cookies, until one leads back to the application. */
async function browse(start: string, back = REDIRECT_URI): Promise<string> {
  const cookies = new Map<string, string>();
  let url = start;
  for (let step = 0; step < 10; step += 1) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const next = response.headers.get('location');
    if (!next) throw new Error(`Cannot sign in: ${response.status} ${await response.text()}`);
    url = new URL(next, url).href;
    if (url.startsWith(back)) return url;
  }
  throw new Error(`Cannot sign in: sent round in circles, last to ${url}`);
}

async function clientCredentials(issuer: string, client: string, resource: string) {
  const answer = await askToken(issuer, client, { grant_type: 'client_credentials', resource });
  return answer.access_token as string;
}

async function askToken(issuer: string, client: string, form: Record<string, string>) {
  const credentials = `${encodeURIComponent(client)}:${SECRET}`;
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` },
    body: new URLSearchParams(form),
  });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`Cannot get a token: ${JSON.stringify(answer)}`);
  return answer;
}
