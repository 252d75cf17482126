import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import type { JWK } from 'jose';
import { test } from 'vitest';
import type { LoginState, StepUp } from '../../src/service/sign-in/provider.ts';
import { atEnd, closedAtEnd } from '../support/ends.ts';
import { CLIENT, LOGIN, refusalOf, webIssuer, webProviders } from './browser.ts';
import { type FalseAnswers, falseProvider } from './false-provider.ts';
import {
  AUDIENCE,
  privateJwk,
  REDIRECT_URI,
  testProvider,
  WEB_CLIENT,
  WEB_SECRET,
} from './provider.ts';

const honest = await testProvider();
atEnd(() => honest.stop());
const jwks = (await (await fetch(`${honest.issuer}/jwks`)).json()) as { keys: JWK[] };
const [publicKey = {}] = jwks.keys;

const DISCOVERY = '/.well-known/openid-configuration';
const now = () => Math.floor(Date.now() / 1_000);

interface Lies extends FalseAnswers {
  /** Members that the discovery document has beside the honest ones. */
  readonly announced?: object;
  readonly client?: object;
  readonly rules?: object;
  readonly stepUp?: StepUp;
  readonly timeoutMs?: number;
  /** What the answer of the browser has beside state and code. */
  readonly query?: Record<string, string>;
  /** The answer of the token endpoint. */
  readonly tokens?: (login: LoginState, issuer: string) => Promise<unknown>;
  readonly status?: number;
}

/** A provider that signs with the honest keys and says what a test wants. */
async function lying(lies: Lies = {}) {
  const posts: { body: string; authorization: string | undefined }[] = [];
  let answer: unknown = {};
  const false_ = closedAtEnd(
    await falseProvider({
      jwks,
      ...lies,
      instead(path, response, request) {
        if (lies.instead?.(path, response, request)) return true;
        if (path === DISCOVERY) {
          const issuer = `http://${request.headers.host}`;
          const endpoints = {
            authorization_endpoint: `${issuer}/auth?tenant=1`,
            token_endpoint: `${issuer}/token`,
            jwks_uri: `${issuer}/jwks`,
          };
          response.end(JSON.stringify({ issuer, ...endpoints, ...lies.announced }));
          return true;
        }
        if (path !== '/token') return false;
        void bodyOf(request).then((body) => {
          posts.push({ body, authorization: request.headers.authorization });
          response.writeHead(lies.status ?? 200).end(JSON.stringify(answer));
        });
        return true;
      },
    }),
  );
  const web = webProviders(
    [webIssuer(false_.issuer, lies.rules, lies.client)],
    lies.timeoutMs === undefined ? {} : { timeoutMs: lies.timeoutMs },
  );
  const finish = async () => {
    const { login } = await web.provider.begin({ ...LOGIN, stepUp: lies.stepUp });
    answer = (await lies.tokens?.(login, false_.issuer)) ?? {
      id_token: await idToken()(login, false_.issuer),
    };
    const query = new URLSearchParams({ state: login.state, code: 'c', ...lies.query });
    return web.provider.finish({ query, login, redirectUri: REDIRECT_URI });
  };
  return {
    ...web,
    issuer: false_.issuer,
    asked: false_.asked,
    posts,
    finish,
    says: (value: unknown) => {
      answer = value;
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** The identity token that fits a login, but for the given claims, header and key. */
const idToken =
  (claims: object = {}, header: object = {}, key?: JWK) =>
  (login: LoginState, iss: string) =>
    honest.forge({ iss, aud: WEB_CLIENT, nonce: login.nonce, ...claims }, header, key);

test('an honest answer of the false provider is accepted, as a control for the refusals', async () => {
  const { finish, posts } = await lying();

  assert.equal((await finish()).principal, 'oidc:ann-1');
  assert.equal(posts.length, 1);
});

const hmacKey = {
  kty: 'oct',
  k: Buffer.from(JSON.stringify(publicKey)).toString('base64url'),
  kid: publicKey.kid as string,
};
const unsigned = async (login: LoginState, iss: string) => {
  const [, payload] = (await idToken()(login, iss)).split('.');
  return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}`;
};

type Forge = (login: LoginState, issuer: string) => Promise<unknown>;

const tokens: [what: string, forge: Forge, why: RegExp][] = [
  ['for another audience', idToken({ aud: 'other' }), /its claim "aud" does not fit$/],
  ['for the API instead of the client', idToken({ aud: AUDIENCE }), /its claim "aud" does not/],
  ['for several audiences', idToken({ aud: [WEB_CLIENT, 'x'] }), /issued for another party$/],
  ['for another party', idToken({ azp: 'other' }), /issued to another client$/],
  ['of another issuer', idToken({ iss: honest.issuer }), /is not one of the provider$/],
  [
    'of its issuer with a slash',
    (login, iss) => idToken({ iss: `${iss}/` })(login, iss),
    /is not one of the provider$/,
  ],
  ['of another login', idToken({ nonce: 'x'.repeat(43) }), /belongs to another login$/],
  ['without a nonce', idToken({ nonce: undefined }), /belongs to another login$/],
  ['that has expired', idToken({ iat: now() - 600, exp: now() - 120 }), /it has expired$/],
  ['without an expiry', idToken({ exp: undefined }), /its claim "exp" does not fit$/],
  ['of the future', idToken({ iat: now() + 300 }), /issued in the future$/],
  ['without a subject', idToken({ sub: undefined }), /its claim "sub" does not fit$/],
  ['with an empty subject', idToken({ sub: '' }), /no usable "sub"$/],
  ['with a long subject', idToken({ sub: 'x'.repeat(256) }), /no usable "sub"$/],
  ['with a sid that is no text', idToken({ sid: 1 }), /no usable "sid"$/],
  ['with an auth_time of the future', idToken({ auth_time: now() + 300 }), /"auth_time"$/],
  ['with an auth_time that is no number', idToken({ auth_time: '1' }), /"auth_time"$/],
  ['of another key', idToken({}, {}, privateJwk()), /its signature does not verify$/],
  [
    'of another key under the same name',
    idToken({}, {}, { ...privateJwk(), kid: publicKey.kid as string }),
    /its signature does not verify$/,
  ],
  [
    'with alg HS256 and the public key',
    idToken({}, { alg: 'HS256' }, hmacKey),
    /algorithm is not admitted$/,
  ],
  ['with alg none', async (...login) => `${await unsigned(...login)}.`, /not one of the provider$/],
  [
    'with alg none and a signature',
    async (...login) => `${await unsigned(...login)}.AA`,
    /algorithm is not admitted$/,
  ],
  ['that is a logout token', idToken({}, { typ: 'logout+jwt' }), /it is of another kind$/],
  ['that is no text', async () => 1, /gave no identity token$/],
  ['that is missing', async () => undefined, /gave no identity token$/],
  ['that is huge', idToken({ x: 'x'.repeat(9_000) }), /is not one of the provider$/],
];
for (const [what, forge, why] of tokens) {
  test(`finish() refuses an identity token ${what}`, async () => {
    const { finish } = await lying({
      tokens: async (...login) => ({ id_token: await forge(...login) }),
    });

    assert.match(await refusalOf(finish()), why);
  });
}

test('finish() refuses an identity token without auth_time where a recent one is needed', async () => {
  const { finish } = await lying({ stepUp: { maxAgeSeconds: 86_400 * 365 } });

  assert.match(await refusalOf(finish()), /did not authenticate the person again$/);
});

const issued: [announced: unknown, iss: string | undefined, why: RegExp | undefined][] = [
  [undefined, undefined, undefined],
  [undefined, 'https://evil.example', /comes from another issuer$/],
  [true, undefined, /does not name its issuer$/],
  [true, 'https://evil.example', /comes from another issuer$/],
];
for (const [announced, iss, why] of issued) {
  test(`finish() ${why ? 'refuses' : 'takes'} iss ${iss} where the provider announces ${announced}`, async () => {
    const { finish, posts } = await lying({
      announced: { authorization_response_iss_parameter_supported: announced },
      query: iss === undefined ? {} : { iss },
    });

    if (!why) assert.equal((await finish()).sub, 'ann-1');
    else assert.match(await refusalOf(finish()), why);
    assert.equal(posts.length, why ? 0 : 1);
  });
}

const basic = `Basic ${Buffer.from(
  [WEB_CLIENT, WEB_SECRET]
    .map((text) => new URLSearchParams({ x: text }).toString().slice(2))
    .join(':'),
).toString('base64')}`;

const methods: [methods: unknown, client: object, isBasic: boolean, secret: string | null][] = [
  [undefined, CLIENT, true, null],
  [['client_secret_post', 'client_secret_basic'], CLIENT, true, null],
  [['client_secret_post', 'private_key_jwt'], CLIENT, false, WEB_SECRET],
  [['client_secret_basic'], { client_id: WEB_CLIENT }, false, null],
  [['none'], { client_id: WEB_CLIENT }, false, null],
];
for (const [listed, client, isBasic, secret] of methods) {
  test(`the client ${'client_secret' in client ? 'with' : 'without'} a secret authenticates where ${JSON.stringify(listed)} is listed`, async () => {
    const { finish, posts } = await lying({
      client,
      announced: { token_endpoint_auth_methods_supported: listed },
    });

    await finish();

    const [post] = posts;
    const form = new URLSearchParams(post?.body);
    assert.equal(post?.authorization, isBasic ? basic : undefined);
    assert.equal(form.get('client_secret'), secret);
    assert.equal(form.get('client_id'), isBasic ? null : WEB_CLIENT);
    assert.match(form.get('code_verifier') ?? '', /^[\w-]{43}$/);
  });
}

test('a provider that takes no secret in a known way is sent none', async () => {
  const { finish, posts, log } = await lying({
    announced: { token_endpoint_auth_methods_supported: ['private_key_jwt'] },
  });

  assert.match(await refusalOf(finish(), 'service_unavailable'), /it is not reachable$/);
  assert.match(log(), /neither by client_secret_basic nor by client_secret_post/);
  assert.deepEqual(posts, []);
});

test('begin() keeps the query of the authorization endpoint', async () => {
  const { provider } = await lying();

  const { location } = await provider.begin(LOGIN);

  assert.equal(new URL(location).searchParams.get('tenant'), '1');
});

const endpoints: [what: string, endpoint: unknown][] = [
  ['a script', 'javascript:alert(1)'],
  ['plain http elsewhere', 'http://login.example/auth'],
  ['a relative address', '/auth'],
  ['nothing', undefined],
  ['a list', ['https://login.example/auth']],
];
for (const [what, endpoint] of endpoints) {
  test(`begin() sends no browser to ${what}`, async () => {
    const { provider } = await lying({ announced: { authorization_endpoint: endpoint } });

    const refused = await refusalOf(provider.begin(LOGIN), 'service_unavailable');

    assert.match(refused, /no usable authorization_endpoint$/);
  });
}

const inside: [what: string, endpoint: unknown, why: RegExp][] = [
  ['an inside address', 'https://169.254.169.254/token', /169\.254\.169\.254: it is an inside/],
  ['another loopback address', 'http://127.0.0.2/token', /127\.0\.0\.2: expected https/],
  ['a file', 'file:///etc/passwd', /expected https/],
  ['nothing', undefined, /it is not a URL/],
];
for (const [what, token_endpoint, why] of inside) {
  test(`finish() sends no code to a token endpoint that is ${what}`, async () => {
    const { finish, log } = await lying({ announced: { token_endpoint } });

    assert.match(await refusalOf(finish(), 'service_unavailable'), /it is not reachable$/);
    assert.match(log(), why);
    assert.ok(!log().includes(WEB_SECRET));
  });
}

const documents: [what: string, lies: Lies, why: RegExp][] = [
  ['of another issuer', { announced: { issuer: honest.issuer } }, /its discovery document is of/],
  ['whose keys are inside', { announced: { jwks_uri: 'https://10.0.0.7/jwks' } }, /inside address/],
  [
    'that never ends',
    { instead: endless(DISCOVERY), timeoutMs: 200 },
    /more than 262144 bytes|no answer in 200 ms/,
  ],
];
for (const [what, lies, why] of documents) {
  test(`begin() refuses a discovery document ${what}`, async () => {
    const { provider, log } = await lying(lies);

    await refusalOf(provider.begin(LOGIN), 'service_unavailable');
    assert.match(log(), why);
  });
}

test('finish() bounds an answer of the token endpoint that never ends', async () => {
  const { finish, log, sent } = await lying({ instead: endless('/token'), timeoutMs: 1_000 });

  await refusalOf(finish(), 'service_unavailable');
  assert.match(log(), /more than 262144 bytes|no answer in 1000 ms/);
  assert.deepEqual(
    new Set(sent.map(({ timeoutMs, bytesMax }) => [timeoutMs, bytesMax].join())),
    new Set(['5000,262144']),
  );
});

test('finish() refuses a provider that gives no refresh token where one is needed', async () => {
  const { finish } = await lying({ client: { ...CLIENT, check: 'refresh' } });

  assert.match(await refusalOf(finish()), /gave no refresh token, which "check: refresh" needs$/);
});

test('finish() keeps no refresh token where none is needed', async () => {
  const { finish } = await lying({
    tokens: async (...login) => ({ id_token: await idToken()(...login), refresh_token: 'r' }),
  });

  assert.equal((await finish()).upstream, undefined);
});

const ALIVE = { access_token: 'a' };
const checks: [what: string, status: number, answer: unknown, state: string][] = [
  ['a token', 200, ALIVE, 'alive'],
  ['a refusal of the token', 400, { error: 'invalid_grant' }, 'ended'],
  ['a refusal with another status', 403, { error: 'invalid_grant' }, 'ended'],
  ['a refusal of the client', 401, { error: 'invalid_client' }, 'unreachable'],
  ['another refusal', 400, { error: 'temporarily_unavailable' }, 'unreachable'],
  ['a failure that names the grant', 500, { error: 'invalid_grant' }, 'unreachable'],
  ['a success that names the grant', 200, { error: 'invalid_grant' }, 'unreachable'],
  ['no object', 200, 'x', 'unreachable'],
  ['nothing', 200, {}, 'unreachable'],
  ['a refresh token that is no text', 200, { ...ALIVE, refresh_token: 1 }, 'unreachable'],
  ['an identity token that does not verify', 200, { ...ALIVE, id_token: 'x' }, 'unreachable'],
];
for (const [what, status, answer, state] of checks) {
  test(`check() is ${state} when the provider answers ${status} with ${what}`, async () => {
    const { provider, says, log } = await lying({ status });
    says(answer);

    const outcome = await provider.check({ upstream: 'canary-token', sub: 'ann-1' });

    assert.deepEqual(outcome, state === 'alive' ? { state, upstream: 'canary-token' } : { state });
    assert.ok(!log().includes('canary'));
  });
}

/** Answers with bytes until the other side closes the connection. */
function endless(place: string): NonNullable<FalseAnswers['instead']> {
  return (path, response) => {
    if (path !== place) return false;
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
    };
    response.on('drain', more);
    more();
    return true;
  };
}
