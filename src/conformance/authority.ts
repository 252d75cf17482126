/**
 * Authority: how it is made, narrowed, looked at and ended.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import {
  AGENT_KEY,
  HUMAN,
  HUMAN_KEY,
  OPERATOR_KEY,
  ROUTE,
  type Scenarios,
  wholeOf,
} from './desk.ts';

const OPERATOR = 'service:operator';

const budget = (max_amount: number) => ({ currency: 'USD', max_amount });

export const AUTHORITY_SCENARIOS: Scenarios = {
  'anyone may learn what the service offers and with which keys it signs': async (desk) => {
    const { svc_discovery: offer } = await desk.answer('discovery', {});
    const { capabilities } = await desk.answer('manifest', {});
    const { keys } = await desk.answer('jwks', {});

    assert.equal(offer.service_id, 'travel-desk');
    assert.deepEqual(Object.keys(capabilities).sort(), Object.keys(offer.capabilities).sort());
    assert.ok(keys.length > 0);
  },

  'the manifest comes with its signature': async (desk) => {
    const { headers } = await desk.surface.ask('manifest', {});

    assert.match(headers['x-svc-signature'] ?? '', /^[\w-]+\.\.[\w-]{86}$/);
  },

  'the capabilities tell how they hang together, and which versions fit': async (desk) => {
    const graph = await desk.answer('graph', {});
    const near = await desk.answer('graph.get', { capability: 'book_flight' });
    const { compatible, capabilities } = await desk.answer('handshake', {
      protocol_versions: ['0.24'],
      capabilities: { book_flight: '>=1.0.0', fly_to_moon: '*' },
    });

    assert.ok(graph.edges.length > near.edges.length && near.edges.length > 0);
    assert.equal(compatible, false);
    assert.equal(capabilities.book_flight?.compatible, true);
    assert.equal(capabilities.fly_to_moon?.contract_version, null);
  },

  'a delegated token has what it asked for of its parent, and inherits the rest': async (desk) => {
    const purpose_parameters = { task_id: 'offsite' };
    const scope = ['travel.search', 'travel.book'];
    const parent = await desk.rootToken(scope, { budget: budget(500), purpose_parameters });
    const child = await desk.answer(
      'tokens.issue',
      { subject: 'agent:helper', parent_token: parent.token_id, scope: ['travel.search'] },
      parent.token,
    );
    const view = await desk.answer('tokens.get', { token_id: child.token_id }, child.token);

    assert.deepEqual(child.scope, ['travel.search']);
    assert.equal(child.task_id, 'offsite');
    assert.deepEqual(child.budget, budget(500));
    assert.deepEqual(
      [view.depth, view.subject, view.root_principal, view.parent_token_id],
      [1, 'agent:helper', HUMAN, parent.token_id],
    );
  },

  'a token with conditions allows the calls within them, and so does a token below it': async (
    desk,
  ) => {
    const conditions = {
      search_flights: { origin: 'SEA', max_results: { at_least: 0, at_most: 2 } },
    };
    const parent = await desk.rootToken(['travel.search'], { conditions });
    const below = { subject: 'agent:x', parent_token: parent.token_id, scope: ['travel.search'] };
    const child = await desk.answer('tokens.issue', below, parent.token);
    const parameters = { ...ROUTE, max_results: 2 };
    await desk.success(child.token, 'search_flights', { parameters });
    const failure = await desk.refused(child.token, 'search_flights', {
      parameters: { ...parameters, max_results: 3 },
    });
    const wider = { search_flights: { max_results: { at_least: 0, at_most: 3 } } };
    const refusal = await desk.refusal(
      'tokens.issue',
      { ...below, conditions: wider },
      parent.token,
    );

    assert.deepEqual(child.conditions, parent.conditions);
    assert.equal(failure.type, 'scope_insufficient');
    assert.deepEqual(
      failure.conditions?.map(({ at, found }) => [at, found]),
      [['max_results', 'outside']],
    );
    assert.equal(refusal.type, 'scope_escalation');
  },

  'a delegated token never gets more than its parent has': async (desk) => {
    const parent = await desk.rootToken(['travel.search'], { budget: budget(100) });
    const ask = (fields: object) =>
      desk.refusal(
        'tokens.issue',
        { subject: 'agent:x', parent_token: parent.token_id, scope: ['travel.search'], ...fields },
        parent.token,
      );

    assert.equal((await ask({ scope: ['travel.book'] })).type, 'scope_escalation');
    assert.equal((await ask({ budget: budget(100.01) })).type, 'budget_exceeded');
    const euros = { currency: 'EUR', max_amount: 1 };
    assert.equal((await ask({ budget: euros })).type, 'budget_currency_mismatch');
  },

  'permissions say what a token may do, what it lacks, and what then happens': async (desk) => {
    const { token } = await desk.rootToken(['travel.search', 'travel.charter', 'travel.admin']);
    const { available, restricted, denied } = await desk.answer('permissions', {}, token);

    assert.deepEqual(
      available.map(({ capability }) => capability),
      ['search_flights'],
    );
    assert.deepEqual(
      denied.map(({ capability }) => capability),
      ['erase_traveler'],
    );
    const jet = restricted.find(({ capability }) => capability === 'charter_jet');
    assert.deepEqual(jet?.unmet_token_requirements, ['cost_ceiling']);
    const { resolution } = await desk.refused(token, 'charter_jet', {
      parameters: { route: 'SEA-SFO', date: '2026-12-01' },
    });
    assert.equal(jet?.resolution_hint, resolution.action);
  },

  'an identity may put only its own scopes into a token': async (desk) => {
    const { token } = await desk.answer('tokens.issue', { scope: ['travel.read'] }, AGENT_KEY);
    const report = await desk.success(token, 'export_report', { parameters: { months: 0 } });
    const { type } = await desk.refusal('tokens.issue', { scope: ['travel.book'] }, AGENT_KEY);

    assert.equal(report.result.months, 0);
    assert.equal(type, 'not_entitled');
  },

  'a revocation ends everything below the token at once': async (desk) => {
    const parent = await desk.rootToken(['travel.search']);
    const request = { subject: 'agent:x', parent_token: parent.token_id, scope: ['travel.search'] };
    const child = await desk.answer('tokens.issue', request, parent.token);
    const { ended } = await desk.answer('tokens.revoke', { token_id: parent.token_id }, HUMAN_KEY);

    assert.equal(ended, 2);
    assert.equal((await desk.refusal('permissions', {}, child.token)).type, 'invalid_token');
  },

  'an agent sees the agents below it, its root principal all, and no other principal': async (
    desk,
  ) => {
    const planner = await desk.rootToken(['travel.search'], { budget: budget(50) });
    const request = { subject: 'agent:finder', scope: ['travel.search'] };
    const asked = { ...request, parent_token: planner.token_id };
    const finder = await desk.answer('tokens.issue', asked, planner.token);
    await desk.success(finder.token, 'search_flights', { parameters: ROUTE });

    const own = await desk.answer('agents.list', {}, planner.token);
    const all = await wholeOf(desk).answer('agents.list', { limit: 100 }, HUMAN_KEY);
    const other = await desk.refusal('agents.list', { root_principal: HUMAN }, AGENT_KEY);

    assert.deepEqual(
      own.agents.map(({ token_id, children }) => [token_id, children.map((each) => each.subject)]),
      [[planner.token_id, ['agent:finder']]],
    );
    assert.equal(own.agents[0]?.children[0]?.last_act?.capability, 'search_flights');
    assert.ok(all.agents.some(({ token_id }) => token_id === planner.token_id));
    assert.equal(other.type, 'scope_insufficient');
  },

  'an operator adds a key of its own, lists it and removes it': async (desk) => {
    const key = `wk_${randomBytes(32).toString('base64url')}`;
    const key_sha256 = createHash('sha256').update(key).digest('hex');
    const asked = { principal: OPERATOR, key_sha256, scopes: ['operator:read'] };

    const added = await desk.answer('identities.add', asked, OPERATOR_KEY);
    const again = await desk.refusal('identities.add', asked, OPERATOR_KEY);
    const wider = { ...asked, scopes: ['travel.search'] };
    const refused = await desk.refusal('identities.add', wider, OPERATOR_KEY);
    const listed = await desk.answer('identities.list', {}, OPERATOR_KEY);
    const own = await desk.answer('tokens.issue', { scope: ['operator:read'] }, key);
    const { identity_id } = added;
    const removed = await desk.answer('identities.remove', { identity_id }, OPERATOR_KEY);
    const after = await desk.refusal('tokens.issue', { scope: ['operator:read'] }, key);

    assert.deepEqual([again.type, refused.type], ['invalid_parameters', 'not_entitled']);
    assert.ok(listed.identities.some((each) => each.identity_id === identity_id));
    assert.match(own.token_id, /^tok_/);
    assert.deepEqual([removed.removed, removed.identity?.removed_by], [true, OPERATOR]);
    assert.equal(after.type, 'authentication_required');
  },

  'an operator freezes a capability and lifts it again': async (desk) => {
    const { token } = await desk.rootToken(['travel.extras']);
    const taxi = { what: 'capability', target: 'request_taxi', reason: 'strike' } as const;
    const ride = { parameters: { pickup: 'Pier 39' } };
    await desk.answer('operator.freeze', taxi, OPERATOR_KEY);
    try {
      const { frozen } = await desk.answer('operator.frozen', {}, OPERATOR_KEY);
      assert.ok(frozen.some(({ target }) => target === 'request_taxi'));
      assert.equal((await desk.refused(token, 'request_taxi', ride)).type, 'frozen');
    } finally {
      await desk.answer('operator.unfreeze', taxi, OPERATOR_KEY);
    }
    assert.ok((await desk.success(token, 'request_taxi', ride)).result.ride_id);
  },
};
