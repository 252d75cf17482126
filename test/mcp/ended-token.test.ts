/**
 * A tool called with a token that has ended: where people can sign in, the client gets the status after which
 * it renews its token; the entry of the refusal is the same everywhere.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { DEMO_IDENTITIES } from '../../examples/travel/service.ts';
import { openDesk } from '../client/desk.ts';
import { AGENT } from '../support/world.ts';
import { call, connectAgent, VERSIONS } from './agent.ts';

const TRIP = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
const ACCEPT = { accept: 'application/json, text/event-stream' };
const SEARCH = { name: 'search_flights', arguments: TRIP };
const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: SEARCH };

const withSignIn = await openDesk();
const identities = DEMO_IDENTITIES.filter(({ principal }) => !principal.startsWith('human:'));
const without = await openDesk({ settings: { identities } });

type Desk = typeof withSignIn;

const issued = ({ service }: Desk) =>
  service.issue(AGENT, { scope: ['travel.search'], ttl_hours: 1 });

/** How a usable token becomes unusable. */
const ENDINGS: Record<string, (desk: Desk, token: Awaited<ReturnType<typeof issued>>) => unknown> =
  {
    revoked: ({ service }, { token, token_id }) =>
      service.ask('POST', '/svc/tokens/revoke', { bearer: token, body: { token_id } }),
    expired: ({ service }) => service.advance(3_600_001),
  };

for (const [what, end] of Object.entries(ENDINGS)) {
  test(`/mcp answers a tool call with a token that is ${what} with 401 and where to sign in`, async () => {
    const token = await issued(withSignIn);
    await end(withSignIn, token);
    const ask = { bearer: token.token, body: CALL, headers: ACCEPT };
    const { status, headers } = await withSignIn.service.ask('POST', '/mcp', ask);

    assert.equal(status, 401);
    const challenge = String(headers['www-authenticate']);
    assert.match(challenge, /^Bearer error="invalid_token"/);
    assert.match(challenge, /resource_metadata="[^"]+\/oauth-protected-resource\/mcp"/);
    const entries = await withSignIn.service.entriesBy({ entryType: 'invocation' });
    const [entry] = entries.filter(({ token_id }) => token_id === token.token_id);
    assert.equal(entry?.success, false);
  });
}

for (const version of VERSIONS) {
  describe(version.version, () => {
    test('an ended token is a tool error where there is no sign-in', async () => {
      const token = await issued(without);
      const client = await connectAgent({ version, url: without.url, token: token.token });
      await ENDINGS.revoked?.(without, token);
      const { isError, answer } = await call(client, 'search_flights', TRIP);
      await client.close();

      assert.equal(isError, true);
      assert.equal(answer.failure.type, 'invalid_token');
    });

    test('an ended token is an error of the connection where there is sign-in', async () => {
      const token = await issued(withSignIn);
      const place = { version, url: withSignIn.url, token: token.token };
      const client = await connectAgent(place);
      assert.equal((await call(client, 'search_flights', TRIP)).isError, false);
      await ENDINGS.revoked?.(withSignIn, token);

      await assert.rejects(call(client, 'search_flights', TRIP), (error) => {
        return (error as { data?: { status?: number } }).data?.status === 401;
      });
      await client.close();
    });
  });
}

test('/mcp answers a tool call that is none at once, with an error of the protocol', async () => {
  const { token } = await issued(withSignIn);
  const body = { ...CALL, params: { name: 7 } };
  const { text } = await withSignIn.service.ask('POST', '/mcp', {
    bearer: token,
    body,
    headers: ACCEPT,
  });

  assert.match(text ?? '', /"code":-32602/);
});
