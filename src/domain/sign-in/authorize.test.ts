import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  type AuthorizationFault,
  challengeOf,
  clientIdOf,
  codeUrl,
  faultUrl,
  readAuthorization,
  sameResource,
} from './authorize.ts';
import type { Client } from './client.ts';

const CLIENT: Client = {
  client_id: 'https://agents.example/c.json',
  client_name: 'Claude Code',
  redirect_uris: ['http://127.0.0.1/cb', 'https://app.example/cb?tenant=a'],
  isVerified: false,
};
const BASE = 'https://desk.example';
const RESOURCES = [BASE, `${BASE}/mcp`];
const REDIRECT = 'http://127.0.0.1:53187/cb';
// RFC 7636 appendix B.
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

const GOOD = {
  response_type: 'code',
  client_id: CLIENT.client_id,
  redirect_uri: REDIRECT,
  state: 'af0 ifj=sldkj&',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
};

/** The request with changes: `undefined` leaves a parameter out, a list repeats it. */
function paramsOf(changes: Record<string, string | string[] | undefined> = {}): URLSearchParams {
  const pairs = Object.entries({ ...GOOD, ...changes }).flatMap(([name, value]) =>
    [value ?? []].flat().map((each): [string, string] => [name, each]),
  );
  return new URLSearchParams(pairs);
}

function read(changes: Record<string, string | string[] | undefined> = {}, client = CLIENT) {
  return readAuthorization(paramsOf(changes), { client, resources: RESOURCES });
}

function requestOf(changes: Record<string, string | string[] | undefined> = {}) {
  const reading = read(changes);
  if ('fault' in reading) throw new Error(JSON.stringify(reading.fault));
  return reading.request;
}

function faultOf(changes: Record<string, string | string[] | undefined>): AuthorizationFault {
  const reading = read(changes);
  if ('request' in reading) throw new Error('The request was admitted');
  return reading.fault;
}

test('readAuthorization() reads a request of the code flow', () => {
  assert.deepEqual(requestOf(), {
    client: CLIENT,
    redirect_uri: REDIRECT,
    state: GOOD.state,
    challenge: CHALLENGE,
    scope: [],
    resource: undefined,
    suggestions: { capabilities: [] },
    asksSignIn: false,
  });
});

test('readAuthorization() keeps each asked scope once, and ignores parameters it does not know', () => {
  const { scope } = requestOf({ scope: ' travel.search  operator:* travel.search', utm: 'x' });

  assert.deepEqual(scope, ['travel.search', 'operator:*']);
});

test('readAuthorization() treats a parameter without a value as absent', () => {
  const request = requestOf({ state: '', scope: '', resource: '', prompt: '', request: '' });

  assert.equal(request.state, undefined);
  assert.equal(request.resource, undefined);
});

// Nothing may be sent to an address that is not known to be the client's.
const SHOWN: readonly [attack: string, changes: Record<string, string | string[] | undefined>][] = [
  ['no client', { client_id: undefined }],
  ['two clients: parameter pollution', { client_id: [CLIENT.client_id, 'evil'] }],
  ['the client twice', { client_id: [CLIENT.client_id, CLIENT.client_id] }],
  ['an unknown client', { client_id: 'https://evil.example/c.json' }],
  ['an endless client', { client_id: 'x'.repeat(2_001) }],
  ['no redirect', { redirect_uri: undefined }],
  ['two redirects', { redirect_uri: [REDIRECT, 'https://evil.example/'] }],
  ['two redirects, one empty', { redirect_uri: [REDIRECT, ''] }],
  ['another redirect', { redirect_uri: 'https://evil.example/cb' }],
  ['a redirect with a user name', { redirect_uri: 'http://127.0.0.1:1@evil.example/cb' }],
  ['a redirect with a look-alike host', { redirect_uri: 'http://127.0.0.1.evil.example/cb' }],
  ['a redirect without its query', { redirect_uri: 'https://app.example/cb' }],
  ['a redirect with more in its query', { redirect_uri: 'https://app.example/cb?tenant=a&x=1' }],
];

for (const [attack, changes] of SHOWN) {
  test(`readAuthorization() shows ${attack} on a page and redirects nowhere`, () => {
    const fault = faultOf(changes);

    assert.equal(fault.mayRedirect, undefined);
    assert.equal(faultUrl(fault, BASE), undefined);
  });
}

test('readAuthorization() shows a page where the service knows no such client', () => {
  const reading = readAuthorization(paramsOf(), { client: undefined, resources: RESOURCES });

  assert.ok('fault' in reading && reading.fault.error === 'unauthorized_client');
  assert.equal(reading.fault.mayRedirect, undefined);
});

const DETAILS = 'invalid_authorization_details';

const SENT: readonly [
  attack: string,
  changes: Record<string, string | string[] | undefined>,
  error: string,
][] = [
  ['no response type', { response_type: undefined }, 'invalid_request'],
  ['an answer with the token itself', { response_type: 'token' }, 'unsupported_response_type'],
  ['a hybrid answer', { response_type: 'code id_token' }, 'unsupported_response_type'],
  ['two response types', { response_type: ['code', 'token'] }, 'invalid_request'],
  ['an answer in the fragment', { response_mode: 'fragment' }, 'invalid_request'],
  ['an answer in a form', { response_mode: 'form_post' }, 'invalid_request'],
  ['no challenge: PKCE downgrade', { code_challenge: undefined }, 'invalid_request'],
  ['an empty challenge', { code_challenge: '' }, 'invalid_request'],
  ['no method, which means plain', { code_challenge_method: undefined }, 'invalid_request'],
  ['the method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
  ['the method in lower case', { code_challenge_method: 's256' }, 'invalid_request'],
  ['a short challenge', { code_challenge: 'a'.repeat(42) }, 'invalid_request'],
  ['a long challenge', { code_challenge: 'a'.repeat(129) }, 'invalid_request'],
  ['a challenge of other letters', { code_challenge: '+'.repeat(43) }, 'invalid_request'],
  ['two challenges', { code_challenge: [CHALLENGE, CHALLENGE] }, 'invalid_request'],
  ['two challenges, one empty', { code_challenge: [CHALLENGE, ''] }, 'invalid_request'],
  ['an endless state', { state: 'a'.repeat(1_025) }, 'invalid_request'],
  ['a state with a line break', { state: 'a\r\nset-cookie: b' }, 'invalid_request'],
  ['two states', { state: ['a', 'b'] }, 'invalid_request'],
  ['a scope with a quote', { scope: 'travel.search "' }, 'invalid_scope'],
  ['a scope between tabs', { scope: 'a\tb' }, 'invalid_scope'],
  ['an endless list of scopes', { scope: manyScopes(201) }, 'invalid_scope'],
  ['another service: audience confusion', { resource: 'https://evil.example' }, 'invalid_target'],
  ['a longer resource', { resource: `${BASE}.evil.example` }, 'invalid_target'],
  ['another path', { resource: `${BASE}/mcp/other` }, 'invalid_target'],
  ['a resource with a fragment', { resource: `${BASE}/mcp#a` }, 'invalid_target'],
  ['a resource that is no URL', { resource: 'desk' }, 'invalid_target'],
  ['two resources', { resource: RESOURCES }, 'invalid_request'],
  ['a request object', { request: 'e30.e30.' }, 'request_not_supported'],
  ['a request elsewhere', { request_uri: 'http://10.0.0.1/' }, 'request_uri_not_supported'],
  ['a registration', { registration: '{}' }, 'registration_not_supported'],
  ['details of another type', { authorization_details: '[{"type":"x"}]' }, DETAILS],
  ['details that are not JSON', { authorization_details: '[{"é\\\\\n' }, DETAILS],
  ['endless details', { authorization_details: ' '.repeat(8_193) }, 'invalid_request'],
  ['an answer without a page', { prompt: 'none' }, 'consent_required'],
  ['a page and no page', { prompt: 'none login' }, 'invalid_request'],
  ['many parameters', { x: Array.from({ length: 64 }, String) }, 'invalid_request'],
];

function manyScopes(count: number): string {
  return Array.from({ length: count }, (_, index) => `s${index}`).join(' ');
}

for (const [attack, changes, error] of SENT) {
  test(`readAuthorization() tells the client about ${attack}`, () => {
    const fault = faultOf(changes);

    assert.equal(fault.error, error);
    assert.equal(fault.mayRedirect?.redirect_uri, REDIRECT);
    const url = new URL(faultUrl(fault, BASE) as string);
    assert.equal(url.origin + url.pathname, REDIRECT);
    assert.deepEqual([...new Set(url.searchParams.keys())], [...url.searchParams.keys()]);
    assert.equal(url.searchParams.get('iss'), BASE);
    // RFC 6749 section 4.1.2.1: the characters of a description.
    assert.match(
      url.searchParams.get('error_description') ?? '',
      /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/,
    );
  });
}

test('readAuthorization() returns the state with an error, and no state that it could not read', () => {
  assert.equal(faultOf({ response_type: 'token' }).mayRedirect?.state, GOOD.state);
  assert.equal(faultOf({ state: ['a', 'b'] }).mayRedirect?.state, undefined);
  assert.equal(faultOf({ state: 'a\nb' }).mayRedirect?.state, undefined);
  assert.equal(faultOf({ state: 'a'.repeat(1_025) }).mayRedirect?.state, undefined);
});

test('readAuthorization() admits a state and challenges of the longest length', () => {
  assert.equal(requestOf({ state: 'a'.repeat(1_024) }).state?.length, 1_024);
  assert.equal(requestOf({ code_challenge: 'a'.repeat(128) }).challenge.length, 128);
  assert.equal(requestOf({ scope: manyScopes(200) }).scope.length, 200);
});

test('readAuthorization() accepts a page for consent, and notes a wish to sign in again', () => {
  assert.equal(requestOf({ prompt: 'consent' }).asksSignIn, false);
  assert.equal(requestOf({ prompt: 'login consent' }).asksSignIn, true);
  assert.equal(requestOf({ prompt: 'select_account' }).asksSignIn, true);
});

test('readAuthorization() reads the suggestions of a client', () => {
  const authorization_details =
    '[{"type":"writ_delegation","capabilities":["book"],"ttl_hours":2}]';

  const { suggestions } = requestOf({ authorization_details });

  assert.deepEqual(suggestions, { capabilities: ['book'], ttl_hours: 2 });
});

test('sameResource() knows the spellings of an empty path, and answers with the own one', () => {
  assert.equal(sameResource(`${BASE}/`, RESOURCES), BASE);
  assert.equal(sameResource(`${BASE}:443/mcp`, RESOURCES), `${BASE}/mcp`);
  assert.equal(sameResource(`${BASE}/mcp/`, RESOURCES), undefined);
  assert.equal(sameResource('http://desk.example', RESOURCES), undefined);
  assert.equal(sameResource('https://a@desk.example', RESOURCES), undefined);
  assert.equal(sameResource(undefined, RESOURCES), undefined);
});

test('clientIdOf() reads one client id', () => {
  assert.equal(clientIdOf(paramsOf()), CLIENT.client_id);
  assert.equal(clientIdOf(paramsOf({ client_id: '' })), undefined);
});

test('challengeOf() is the S256 of RFC 7636, for a verifier only', () => {
  assert.equal(challengeOf(VERIFIER), CHALLENGE);
  assert.equal(challengeOf(CHALLENGE) === CHALLENGE, false);
  assert.equal(challengeOf(VERIFIER.slice(1)), undefined);
  assert.equal(challengeOf('a'.repeat(129)), undefined);
  assert.equal(challengeOf(`${VERIFIER}\n`), undefined);
  assert.equal(challengeOf(''), undefined);
});

test('codeUrl() carries code, state and issuer, beside the query that the redirect has', () => {
  const url = new URL(
    codeUrl({ redirect_uri: 'https://app.example/cb?tenant=a', state: 'x&iss=evil' }, 'c1', BASE),
  );

  assert.deepEqual(
    [...url.searchParams],
    [
      ['tenant', 'a'],
      ['code', 'c1'],
      ['state', 'x&iss=evil'],
      ['iss', BASE],
    ],
  );
});
