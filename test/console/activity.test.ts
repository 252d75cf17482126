/**
 * Spending by day, one invocation with everything that belongs to it, and dry runs at the console.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { ALICE, BOB, onEachStore, testService } from '../support/world.ts';
import { AUDITOR, PEOPLE } from './people.ts';
import { atConsole } from './person.ts';

const ALICE_IS = 'human:alice@example.com';
const SEARCH = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
const JET = { route: 'SEA-SFO', date: '2026-12-01' };
const DAY_MS = 86_400_000;

onEachStore(
  ({ url }) => testService({ store: url, settings: PEOPLE }),
  (service) => {
    const root = (more = {}): Promise<IssueAnswer> =>
      service().issue(ALICE, {
        scope: ['travel.search', 'travel.extras'],
        subject: 'agent:planner',
        ...more,
      });

    test('activity.days() counts calls and money by day, of a branch by its lineage', async () => {
      const alice = await atConsole(service(), ALICE);
      const [planner, other] = [await root(), await root()];
      const child = await service().delegate(planner, {
        subject: 'agent:child',
        scope: ['travel.search', 'travel.extras'],
      });
      const bought = await service().invoke(child.token, 'buy_lounge_pass', {
        airport: 'SEA',
      });
      await service().invoke(planner.token, 'get_booking', { booking_id: 'BK-1000' });
      await service().invoke(other.token, 'search_flights', SEARCH);

      const days = await alice.answer('activity.days', { token_id: planner.token_id });

      assert.equal(days.days.length, 14);
      assert.equal(days.is_complete, true);
      const today = days.days.at(-1);
      assert.equal(today?.day, service().store.now().toISOString().slice(0, 10));
      assert.deepEqual([today?.succeeded, today?.refused, today?.failed], [1, 1, 0]);
      assert.deepEqual(today?.spent, [bought.body.cost_actual]);
      assert.equal(days.days[0]?.succeeded, 0);
      const searched = await alice.answer('activity.days', { capability: 'search_flights' });
      assert.ok((searched.days.at(-1)?.succeeded ?? 0) >= 1);
      const leaf = await alice.answer('activity.days', { token_id: child.token_id });
      assert.equal(leaf.days.at(-1)?.refused, 0);
    });

    test('activity.days() leaves out what happened before these days', async () => {
      const alice = await atConsole(service(), ALICE);
      const planner = await root({ ttl_hours: 720 });
      await service().invoke(planner.token, 'search_flights', SEARCH);
      service().advance(13 * DAY_MS);
      const again = await atConsole(service(), ALICE);
      const before = await again.answer('activity.days', { token_id: planner.token_id });
      service().advance(DAY_MS);
      const later = await atConsole(service(), ALICE);
      const after = await later.answer('activity.days', { token_id: planner.token_id });

      assert.equal(before.days[0]?.succeeded, 1);
      assert.ok(after.days.every(({ succeeded }) => succeeded === 0));
      assert.equal((await alice.reply('activity.days')).status, 401);
    });

    test('activity.days() of another person needs the right to audit', async () => {
      const [bob, auditor] = [await atConsole(service(), BOB), await atConsole(service(), AUDITOR)];
      const planner = await root();
      await service().invoke(planner.token, 'search_flights', SEARCH);

      const named = await bob.reply('activity.days', { root_principal: ALICE_IS });
      assert.deepEqual(named.body.failure.resolution.requires, ['operator:audit']);
      const foreign = await bob.reply('activity.days', { token_id: planner.token_id });
      assert.equal(foreign.body.failure.type, 'not_found');
      assert.equal((await bob.answer('activity.days')).entries_read, 0);
      const all = await auditor.answer('activity.days', { root_principal: ALICE_IS });
      assert.ok((all.days.at(-1)?.succeeded ?? 0) >= 1);
    });

    test('activity.invocation() has the entries, the chain and the approval request', async () => {
      const alice = await atConsole(service(), ALICE);
      const budget = { currency: 'USD', max_amount: 90_000 };
      const planner = await root({ scope: ['travel.charter'], budget });
      const child = await service().delegate(planner, { subject: 'agent:flyer' });
      const asked = await service().invoke(child.token, 'charter_jet', JET);
      const { invocation_id } = asked.body;

      const found = await alice.answer('activity.invocation', { invocation_id });

      assert.ok(found.entries.some(({ entry_type }) => entry_type === 'invocation'));
      assert.deepEqual(
        found.chain.map(({ principal, token_id, state }) => [principal, token_id, state]),
        [
          [ALICE_IS, null, 'active'],
          ['agent:planner', planner.token_id, 'active'],
          ['agent:flyer', child.token_id, 'active'],
        ],
      );
      assert.equal(found.request?.capability, 'charter_jet');
      assert.equal(found.parent, null);
      const auditor = await atConsole(service(), AUDITOR);
      const seen = await auditor.answer('activity.invocation', { invocation_id });
      assert.equal(seen.request, null, 'an auditor reads entries, not requests');
      for (const id of [invocation_id, 'inv_unknown', 'x']) {
        const { body } = await (await atConsole(service(), BOB)).reply('activity.invocation', {
          invocation_id: id,
        });
        assert.equal(body.failure.type, 'not_found');
      }
    });

    test('activity.invocation() names the parent and the children of a call', async () => {
      const alice = await atConsole(service(), ALICE);
      const planner = await root();
      const first = await service().invoke(planner.token, 'search_flights', SEARCH);
      const fields = { parent_invocation_id: first.body.invocation_id };
      const second = await service().invoke(planner.token, 'search_flights', SEARCH, { fields });

      const above = await alice.answer('activity.invocation', {
        invocation_id: first.body.invocation_id,
      });
      const below = await alice.answer('activity.invocation', {
        invocation_id: second.body.invocation_id,
      });

      assert.deepEqual(
        above.children.map(({ invocation_id }) => invocation_id),
        [second.body.invocation_id],
      );
      assert.equal(below.parent, first.body.invocation_id);
    });

    test('try() answers as a dry run, and its token is over at once', async () => {
      const alice = await atConsole(service(), ALICE);
      const before = (await service().entriesBy({})).length;

      const {
        status,
        body,
        text = '',
      } = await alice.reply('try', { capability: 'search_flights', parameters: SEARCH });

      assert.equal(status, 200, text);
      assert.equal(body.answer.would_be_admitted, true);
      const added = (await service().entriesBy({})).slice(before);
      assert.deepEqual(
        added.map(({ entry_type, actor_key }) => [entry_type, actor_key]),
        [
          ['issuance', ALICE_IS],
          ['dry_run', ALICE_IS],
          ['revocation', ALICE_IS],
        ],
      );
      const tokenId = added[0]?.token_id ?? '';
      const { token, lineage } = await service().store.load({ tokenId });
      assert.deepEqual(token?.scope, ['travel.search']);
      assert.equal(token?.capability, 'search_flights');
      assert.equal(token?.max_delegation_depth, 0);
      assert.ok((token?.expires_at.getTime() ?? 0) - (token?.issued_at.getTime() ?? 0) <= 60_000);
      assert.ok(lineage[0]?.revoked_at !== undefined);
      assert.ok(!text.includes('eyJ'), 'no token in the answer');
      assert.ok(!service().log.some((line) => line.includes('eyJ')), 'no token in the log');
    });

    test('try() of a capability with a ceiling, an approval or steps says what would happen', async () => {
      const alice = await atConsole(service(), ALICE);

      const jet = await alice.answer('try', { capability: 'charter_jet', parameters: JET });
      assert.ok('answer' in jet, JSON.stringify(jet));
      assert.equal(jet.answer.approval?.required, true);
      assert.equal(jet.answer.budget_context, undefined);
      const trip = await alice.answer('try', { capability: 'plan_trip', parameters: {} });
      assert.ok('answer' in trip, JSON.stringify(trip));
      assert.equal(trip.answer.failure?.type, 'invalid_parameters');
    });

    test('try() gives a refusal as an answer, and a person without entitlement no token', async () => {
      const [alice, bob] = [await atConsole(service(), ALICE), await atConsole(service(), BOB)];
      const before = (await service().entriesBy({ entryType: 'issuance' })).length;

      const refused = await bob.answer('try', { capability: 'search_flights', parameters: SEARCH });
      const unknown = await alice.answer('try', { capability: 'no_such_thing', parameters: {} });

      assert.equal('refused' in refused && refused.refused.type, 'not_entitled');
      assert.equal('refused' in unknown && unknown.refused.type, 'unknown_capability');
      const added = (await service().entriesBy({ entryType: 'issuance' })).slice(before);
      assert.ok(added.every(({ state }) => state === 'refused'));
      const { body } = await alice.reply('try', { capability: 'search_flights' });
      assert.equal(body.failure.type, 'invalid_parameters');
    });
  },
);
