/**
 * The authorization server as a client sees it that others wrote: `oauth4webapi`, which follows the
 * standards strictly and refuses an answer that differs from them.
 *
 * @module
 */

import assert from 'node:assert/strict';
import * as oauth from 'oauth4webapi';
import { test } from 'vitest';
import { AGENT, ALICE } from '../support/world.ts';
import { consent, locationOf, REDIRECT } from './browser.ts';
import { listeningDesk, personOver } from './listening.ts';

const HTTP = { [oauth.allowInsecureRequests]: true };
const CLIENT: oauth.Client = { client_id: 'wanderer' };
const TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const SPENDS = { chosen: ['search_flights', 'buy_lounge_pass'], limit: '60', pass: '1' };

const { service, url } = await listeningDesk({
  settings: {
    sign_in: { clients: [{ client_id: 'wanderer', name: 'Wanderer', redirect_uris: [REDIRECT] }] },
  },
});

async function discovered(): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(url);
  const response = await oauth.discoveryRequest(issuer, { ...HTTP, algorithm: 'oauth2' });
  return oauth.processDiscoveryResponse(issuer, response);
}

interface Asked {
  readonly server: oauth.AuthorizationServer;
  readonly verifier: string;
  readonly state: string;
  /** Where the browser of the person ends. */
  readonly callback: URL;
}

/** A person lets the client act. */
async function asked(): Promise<Asked> {
  const server = await discovered();
  const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
  const address = new URL(server.authorization_endpoint as string);
  const query = {
    client_id: CLIENT.client_id,
    redirect_uri: REDIRECT,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    scope: 'travel.search travel.extras',
    resource: url,
    state,
  };
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value);
  const person = personOver(url);
  await person.signIn(ALICE);
  const path = `${address.pathname}${address.search}`;
  return { server, verifier, state, callback: locationOf(await consent(person, path, SPENDS)) };
}

async function redeemed({ server, verifier, state, callback }: Asked) {
  const params = oauth.validateAuthResponse(server, CLIENT, callback, state);
  const response = await oauth.authorizationCodeGrantRequest(
    ...([server, CLIENT, oauth.None(), params, REDIRECT, verifier] as const),
    HTTP,
  );
  return oauth.processAuthorizationCodeResponse(server, CLIENT, response);
}

test('discovery finds a server that takes S256 only and names itself in its answers', async () => {
  const server = await discovered();

  assert.equal(server.issuer, url);
  assert.deepEqual(server.code_challenge_methods_supported, ['S256']);
  assert.equal(server.authorization_response_iss_parameter_supported, true);
});

test('resource discovery leads from the address of the tools to the server', async () => {
  const resource = new URL(`${url}/mcp`);
  const response = await oauth.resourceDiscoveryRequest(resource, HTTP);
  const { authorization_servers } = await oauth.processResourceDiscoveryResponse(
    resource,
    response,
  );

  assert.deepEqual(authorization_servers, [url]);
});

test('the refusal of an unknown token names the metadata of the resource', async () => {
  const error = await oauth
    .protectedResourceRequest(
      ...(['unknown', 'POST', new URL(`${url}/svc/permissions`)] as const),
      new Headers({ 'content-type': 'application/json' }),
      '{}',
      HTTP,
    )
    .then(
      () => assert.fail('not refused'),
      (reason: unknown) => reason,
    );

  assert.ok(error instanceof oauth.WWWAuthenticateChallengeError);
  const [challenge] = error.cause;
  assert.equal(challenge?.scheme, 'bearer');
  assert.equal(challenge?.parameters.error, 'invalid_token');
  assert.equal(
    challenge?.parameters.resource_metadata,
    `${url}/.well-known/oauth-protected-resource`,
  );
});

test('a code with PKCE gives a token that the service takes', async () => {
  const { access_token, token_type, scope, expires_in } = await redeemed(await asked());

  assert.equal(token_type, 'bearer');
  assert.deepEqual(scope?.split(' ').sort(), ['travel.extras', 'travel.search']);
  assert.ok((expires_in as number) <= 900);
  const response = await oauth.protectedResourceRequest(
    ...([access_token, 'POST', new URL(`${url}/svc/invoke/buy_lounge_pass`)] as const),
    new Headers({ 'content-type': 'application/json' }),
    '{"parameters":{}}',
    HTTP,
  );
  assert.equal(response.status, 200);
});

test('an answer that names another issuer or none is refused by the client', async () => {
  const one = await asked();
  for (const iss of ['http://127.0.0.1:1', undefined]) {
    const callback = new URL(one.callback);
    if (iss === undefined) callback.searchParams.delete('iss');
    else callback.searchParams.set('iss', iss);
    await assert.rejects(redeemed({ ...one, callback }), /"iss"/);
  }
});

test('another verifier gives no token, in the form of the standard', async () => {
  const verifier = oauth.generateRandomCodeVerifier();
  const error = await errorOf(redeemed({ ...(await asked()), verifier }));

  assert.equal(error, 'invalid_grant');
});

test('a refusal of the person reaches the client', async () => {
  const server = await discovered();
  const person = personOver(url);
  await person.signIn(ALICE);
  const query = new URLSearchParams({
    client_id: CLIENT.client_id,
    redirect_uri: REDIRECT,
    response_type: 'code',
    code_challenge: await oauth.calculatePKCECodeChallenge(oauth.generateRandomCodeVerifier()),
    code_challenge_method: 'S256',
    state: 'the state',
  });
  const page = await person.open(`/authorize?${query}`);
  const callback = locationOf(await person.send(page, '/authorize', { answer: 'refuse' }));

  assert.throws(
    () => oauth.validateAuthResponse(server, CLIENT, callback, 'the state'),
    (error) => error instanceof oauth.AuthorizationResponseError && error.error === 'access_denied',
  );
});

test('a refresh gives the next tokens, and the scope can be narrowed', async () => {
  const one = await asked();
  const { refresh_token = '' } = await redeemed(one);
  const renewed = await refreshed(one.server, refresh_token);
  const narrowed = await refreshed(one.server, renewed.refresh_token as string, 'travel.search');

  assert.notEqual(renewed.refresh_token, refresh_token);
  assert.equal(narrowed.scope, 'travel.search');
  const beyond = refreshed(one.server, narrowed.refresh_token as string, 'travel.charter');
  assert.equal(await errorOf(beyond), 'invalid_scope');
});

test('a revoked refresh token ends what it gave', async () => {
  const one = await asked();
  const { access_token, refresh_token = '' } = await redeemed(one);
  const response = await oauth.revocationRequest(
    ...([one.server, CLIENT, oauth.None(), refresh_token] as const),
    HTTP,
  );
  await oauth.processRevocationResponse(response);

  assert.equal(await errorOf(refreshed(one.server, refresh_token)), 'invalid_grant');
  assert.equal((await service.invoke(access_token, 'buy_lounge_pass')).status, 401);
});

test('token exchange gives an actor a narrower token of its own', async () => {
  const one = await asked();
  const { access_token } = await redeemed(one);
  const answer = await exchanged(one.server, {
    subject_token: access_token,
    scope: 'travel.search',
  });

  assert.equal(answer.issued_token_type, TOKEN);
  assert.equal(answer.scope, 'travel.search');
  const { act } = answer as unknown as { act: { sub: string; act: { act: { sub: string } } } };
  assert.equal(act.sub, 'agent:trip-planner');
  assert.equal(act.act.act.sub, 'human:alice@example.com');
  const paid = await service.invoke(answer.access_token, 'buy_lounge_pass');
  assert.equal(paid.body.failure.type, 'scope_insufficient');
});

test('token exchange that widens is refused', async () => {
  const one = await asked();
  const { access_token } = await redeemed(one);
  const wider = exchanged(one.server, { subject_token: access_token, scope: 'travel.charter' });

  assert.equal(await errorOf(wider), 'invalid_scope');
});

async function refreshed(server: oauth.AuthorizationServer, token: string, scope?: string) {
  const response = await oauth.refreshTokenGrantRequest(
    ...([server, CLIENT, oauth.None(), token] as const),
    { ...HTTP, ...(scope && { additionalParameters: { scope } }) },
  );
  return oauth.processRefreshTokenResponse(server, CLIENT, response);
}

async function exchanged(
  server: oauth.AuthorizationServer,
  fields: Readonly<Record<string, string>>,
): Promise<oauth.TokenEndpointResponse> {
  const actor = { actor_token: AGENT, actor_token_type: TOKEN };
  const response = await oauth.genericTokenEndpointRequest(
    ...([server, CLIENT, oauth.None(), EXCHANGE] as const),
    { subject_token_type: TOKEN, ...actor, ...fields },
    HTTP,
  );
  return oauth.processGenericTokenEndpointResponse(server, CLIENT, response);
}

/** The code of OAuth that the server refused with. */
async function errorOf(refused: Promise<unknown>): Promise<string> {
  const error = await refused.then(
    () => assert.fail('not refused'),
    (reason: unknown) => reason,
  );
  if (error instanceof oauth.ResponseBodyError) return error.error;
  throw error;
}
