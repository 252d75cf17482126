/**
 * Token exchange that would widen what it is given, or act without an actor.
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ALICE, BOB, OPERATOR, onEachStore, PARTNER, testService } from '../support/world.ts';
import { claimsOf, READS, refresh, SEARCH, SPENDS } from './attacker.ts';
import { askToken, delegation } from './browser.ts';

const TYPE = 'urn:ietf:params:oauth:token-type:access_token';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
onEachStore(
  ({ url }) => testService({ store: url }),
  (service) => {
    const exchange = (
      subject_token: string | undefined,
      more: Record<string, string | undefined> = {},
    ) =>
      askToken(service(), {
        grant_type: EXCHANGE,
        subject_token,
        subject_token_type: TYPE,
        actor_token: PARTNER,
        actor_token_type: TYPE,
        ...more,
      });
    const details = (members: object) => JSON.stringify([{ type: 'writ_delegation', ...members }]);
    const passable = async (decision = READS) =>
      (await delegation(service(), { ...decision, pass: '1' })).access;

    test('the result is a child of the subject, for the actor, and shows the chain', async () => {
      const access = await passable();
      const { status, body, text } = await exchange(access);

      assert.equal(status, 200, text);
      const made = claimsOf(body.access_token);
      assert.equal(made.sub, 'service:partner-portal');
      const { token } = await service().store.load({ tokenId: made.jti });
      assert.equal(token?.parent_token_id, claimsOf(access).jti);
      assert.equal(body.refresh_token, undefined);
      assert.equal(body.act.sub, 'service:partner-portal');
      assert.equal(body.act.act.sub, claimsOf(access).sub);
      assert.equal(body.act.act.act.sub, 'human:alice@example.com');
      const call = await service().invoke(body.access_token, 'search_flights', SEARCH);
      assert.equal(call.status, 200);
      const other = await service().invoke(body.access_token, 'find_traveler', { traveler: 'bo' });
      assert.equal(other.body.failure.type, 'purpose_mismatch');
    });

    for (const scope of [
      'travel.book',
      'travel.*',
      '*',
      'operator:*',
      'approver:*',
      'travel.search travel.extras',
    ]) {
      test(`no exchange gives ${scope} for a token without it`, async () => {
        const { status, body } = await exchange(await passable(), { scope });
        assert.deepEqual([status, body.error], [400, 'invalid_scope']);
      });
    }

    for (const [name, members] of [
      ['a greater budget', { budget: { currency: 'USD', max_amount: 61 } }],
      ['a budget in another currency', { budget: { currency: 'EUR', max_amount: 1 } }],
      ['two capabilities', { capabilities: ['search_flights', 'buy_lounge_pass'] }],
      ['a capability that does not exist', { capabilities: ['nothing'] }],
      ['a greater depth', { max_delegation_depth: 3 }],
      ['another purpose', { purpose: 'Something else' }],
      ['a member that is not known', { scope: ['operator:*'] }],
      ['a list of its own', { only_capabilities: ['book_flight'] }],
      ['a negative budget', { budget: { currency: 'USD', max_amount: -1 } }],
      ['a lifetime of text', { ttl_hours: '1' }],
    ] as const) {
      test(`no exchange gives ${name}`, async () => {
        const access = await passable(SPENDS);
        const { status, body } = await exchange(access, {
          authorization_details: details(members),
        });
        assert.equal(status, 400);
        assert.equal(body.access_token, undefined);
      });
    }

    test('a result that is bound to what the person did not tick does nothing', async () => {
      const authorization_details = details({ capabilities: ['request_taxi'] });
      const { body } = await exchange(await passable(SPENDS), { authorization_details });

      for (const name of ['request_taxi', 'buy_lounge_pass', 'search_flights']) {
        const call = await service().invoke(body.access_token, name, SEARCH);
        assert.equal(call.body.failure.type, 'purpose_mismatch', name);
      }
    });

    test('a result lives no longer than its subject, nor than an access token', async () => {
      const access = await passable();
      const { exp } = claimsOf(access);
      service().advance(10 * 60_000);
      const { body } = await exchange(access, {
        authorization_details: details({ ttl_hours: 24 }),
      });

      assert.ok(claimsOf(body.access_token).exp <= exp);
      const root = await exchange(ALICE, {
        scope: 'travel.search',
        authorization_details: details({ ttl_hours: 24 }),
        actor_token: 'demo-agent-key',
      });
      assert.equal(root.status, 200, root.text);
      assert.ok(root.body.expires_in <= 15 * 60);
    });

    test('money spent by the result is money of the consent', async () => {
      const access = await passable(SPENDS);
      const { body } = await exchange(access);
      const calls = [];
      for (const token of [access, body.access_token, access, body.access_token]) {
        calls.push((await service().invoke(token, 'buy_lounge_pass')).status);
      }
      assert.deepEqual(calls, [200, 200, 403, 403]);
    });

    test('"may pass on: no" admits no exchange', async () => {
      const { access } = await delegation(service(), READS);
      const { status, body } = await exchange(access);
      assert.equal(status, 400);
      assert.match(body.error_description, /depth/);
    });

    test('an exchange passes on no further than the person said', async () => {
      const first = await exchange(await passable());
      const second = await exchange(first.body.access_token);
      assert.equal(second.status, 400);
    });

    for (const [name, more] of [
      ['no actor', { actor_token: undefined }],
      ['an empty actor', { actor_token: '' }],
      ['no type of the actor', { actor_token_type: undefined }],
      ['an unknown actor', { actor_token: 'not-a-key' }],
      ['a person as the actor', { actor_token: BOB }],
      ['another type of token', { actor_token_type: 'urn:ietf:params:oauth:token-type:saml2' }],
      [
        'a refresh token wanted',
        { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' },
      ],
    ] as const) {
      test(`with ${name} nothing is exchanged`, async () => {
        const { status, body } = await exchange(await passable(), more);
        assert.equal(status, 400);
        assert.equal(body.access_token, undefined);
      });
    }

    test('a revoked, an expired and a foreign token neither act nor are exchanged', async () => {
      const elsewhere = await testService();
      const foreign = (await delegation(elsewhere, { ...READS, pass: '1' })).access;
      const revoked = await service().issue(PARTNER, { scope: ['travel.search'] });
      await service().ask('POST', '/svc/tokens/revoke', {
        bearer: PARTNER,
        body: { token_id: revoked.token_id },
      });
      const short = await service().issue(PARTNER, { scope: ['travel.search'], ttl_hours: 0.01 });
      service().advance(60_000);
      const access = await passable();
      for (const dead of [foreign, revoked.token, short.token]) {
        assert.equal((await exchange(access, { actor_token: dead })).status, 400);
        assert.equal((await exchange(dead)).status, 400);
      }
      assert.equal((await exchange(access)).status, 200);
    });

    test('a token of a consent that ended is not exchanged, and what it gave is over', async () => {
      const { access, refresh: token } = await delegation(service(), { ...READS, pass: '1' });
      const { body } = await exchange(access);
      await askToken(service(), { token }, '/revoke');

      assert.equal((await exchange(access)).status, 400);
      const call = await service().invoke(body.access_token, 'search_flights', SEARCH);
      assert.equal(call.status, 401);
    });

    test('neither a refresh token nor a code is a subject or an actor', async () => {
      const { access, refresh: token, code } = await delegation(service(), { ...READS, pass: '1' });
      for (const secret of [token, code]) {
        assert.equal((await exchange(secret)).status, 400);
        assert.equal((await exchange(access, { actor_token: secret })).status, 400);
      }
      assert.equal((await refresh(service(), token)).status, 200);
    });

    test('a person gives an actor only what the configuration lets them give it', async () => {
      // Alice may name agents, not services; the operator's credential may name itself only.
      for (const subject of [ALICE, OPERATOR]) {
        assert.equal((await exchange(subject, { scope: 'travel.search' })).status, 400);
      }
      const beyond = await exchange(ALICE, { scope: 'operator:*', actor_token: 'demo-agent-key' });
      assert.equal(beyond.body.error, 'invalid_scope');
      const nothing = await exchange(ALICE, { actor_token: 'demo-agent-key' });
      assert.equal(nothing.status, 400);
    });

    test('a refused exchange leaves an entry of the caller', async () => {
      const access = await passable();
      await exchange(access, { scope: 'operator:*' });
      const last = (await service().entriesBy({ entryType: 'issuance' })).at(-1);
      assert.deepEqual(
        [last?.state, last?.failure_type, last?.root_principal],
        ['refused', 'scope_escalation', 'human:alice@example.com'],
      );
    });
  },
);
