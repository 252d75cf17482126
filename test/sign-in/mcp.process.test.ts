/**
 * The official MCP clients sign in with their own authorization flow: a person logs in at a real identity
 * provider with a real Chromium and decides on the consent page.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { AUDIENCE, testProvider } from '../oidc/provider.ts';
import { openBrowser } from '../support/chromium.ts';
import { atEnd, closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, launch } from '../support/launch.ts';
import { ALICE } from '../support/world.ts';
import { chromiumPerson } from './chromium-person.ts';
import { CERTIFICATE, clientDocument } from './client-document.ts';
import { listeningDesk } from './listening.ts';
import { AUTHORIZED, createKeep, isUnauthorized, signedIn } from './mcp-clients.ts';

const SLOW = 60_000;
const CLIENT = { client_id: 'trip-helper', name: 'Trip Helper' };
const SECRET = 'the secret of the desk';
const TRIP = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
const ACCESS_MS = 15 * 60_000;

const browser = closedAtEnd(await openBrowser());
const provider = await testProvider();
atEnd(() => provider.stop());

const ENTITLEMENTS = [
  { principals: ['human:ann@example.com'], scopes: ['travel.*'], subjects: ['agent:*'] },
];

const SETTINGS = {
  identities: [],
  entitlements: ENTITLEMENTS,
  oidc: [
    {
      issuer: provider.issuer,
      audience: AUDIENCE,
      sign_in: { client_id: 'desk', client_secret: SECRET, label: 'Example login' },
    },
  ],
  sign_in: {
    registration: 'on',
    clients: [{ ...CLIENT, redirect_uris: ['http://127.0.0.1/callback'] }],
  },
};

const { service, url } = await listeningDesk({ settings: SETTINGS });
await provider.register({
  client_id: 'desk',
  client_secret: SECRET,
  redirect_uris: [`${url}/sign-in/callback`],
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
});

// A service of its own: a process trusts another certificate only from its start on.
const document = await clientDocument();
const folder = temporaryFolder();
writeFileSync(join(folder, 'writ.config.yaml'), 'sign_in:\n  inside_hosts: [localhost]\n');
const documentDesk = await addressOf(launch([DESK], folder, { NODE_EXTRA_CA_CERTS: CERTIFICATE }));

const SPENDS = { tick: ['Buy lounge pass'], limit: '60' };

for (const generation of AUTHORIZED) {
  describe(generation.name, () => {
    test('sign-in, budget, refresh, end of the agent, sign-in again', {
      timeout: SLOW,
    }, async () => {
      const person = await chromiumPerson(browser);
      const { redirectUrl } = person;
      const keep = createKeep({ issuer: url, redirectUrl, client_id: CLIENT.client_id });
      const client = await signedIn(generation, url, keep, (address) =>
        person.consent(address, { account: 'ann-1', ...SPENDS }),
      );
      atEnd(() => client.close());

      const tools = await client.list();
      assert.ok(tools.includes('search_flights') && tools.includes('buy_lounge_pass'));
      assert.ok(!tools.includes('charter_jet'), 'what the person did not tick is not offered');
      assert.equal((await client.call('search_flights', TRIP)).isError, false);
      assert.equal((await client.call('buy_lounge_pass')).isError, false);

      // The access token ends; the client renews it, and the budget goes on.
      const before = keep.kept.tokens?.access_token;
      service.advance(ACCESS_MS);
      assert.equal((await client.call('buy_lounge_pass')).isError, false);
      assert.notEqual(keep.kept.tokens?.access_token, before);
      const third = await client.call('buy_lounge_pass');
      assert.equal(third.isError, true);
      assert.match(third.text, /^budget_exceeded: /);
      assert.equal(keep.opened.length, 1);

      await person.endAgent(url);
      await assert.rejects(client.call('search_flights', TRIP), isUnauthorized);
      assert.equal(keep.opened.length, 2);
      assert.equal(keep.kept.tokens, undefined);
      const again = await signedIn(generation, url, keep, (address) =>
        person.consent(address, SPENDS),
      );
      atEnd(() => again.close());
      assert.equal((await again.call('buy_lounge_pass')).isError, false);
      await person.endAgent(url);
    });

    test('a client that is not known registers itself and signs in', {
      timeout: SLOW,
    }, async () => {
      const person = await chromiumPerson(browser);
      const keep = createKeep({ issuer: url, redirectUrl: person.redirectUrl });
      const client = await signedIn(generation, url, keep, (address) =>
        person.consent(address, { account: 'ann-1', tick: [] }),
      );
      atEnd(() => client.close());

      assert.match(keep.kept.client?.client_id ?? '', /^reg\./);
      assert.equal((await client.call('search_flights', TRIP)).isError, false);
      const paid = await client.call('buy_lounge_pass');
      assert.match(paid.text, /^scope_insufficient: /);
      await person.endAgent(url);
    });

    test('a client shows who it is by a document', { timeout: SLOW }, async () => {
      const person = await chromiumPerson(browser);
      const keep = createKeep({
        issuer: documentDesk,
        redirectUrl: person.redirectUrl,
        clientMetadataUrl: document,
      });
      const client = await signedIn(generation, documentDesk, keep, (address) =>
        person.consent(address, { key: ALICE, tick: [] }),
      );
      atEnd(() => client.close());

      assert.equal(keep.kept.client?.client_id, document);
      assert.equal((await client.call('search_flights', TRIP)).isError, false);
      await person.endAgent(documentDesk);
    });
  });
}
