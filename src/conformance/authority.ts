/**
 * Authority: how it is made, narrowed, looked at and ended.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import {
  AGENT_KEY,
  expectAnswer,
  expectRefusal,
  HUMAN,
  HUMAN_KEY,
  invokeRefusal,
  OPERATOR_KEY,
  ROUTE,
  rootToken,
  type Scenarios,
  success,
  wholeOf,
} from './desk.ts';

const OPERATOR = 'service:operator';

const budget = (max_amount: number) => ({ currency: 'USD', max_amount });

export const AUTHORITY_SCENARIOS: Scenarios = {
  'anyone may learn what the service offers and with which keys it signs': async (surface) => {
    const { svc_discovery: desk } = await expectAnswer(surface, 'discovery', {});
    const { capabilities } = await expectAnswer(surface, 'manifest', {});
    const { keys } = await expectAnswer(surface, 'jwks', {});

    assert.equal(desk.service_id, 'travel-desk');
    assert.deepEqual(Object.keys(capabilities).sort(), Object.keys(desk.capabilities).sort());
    assert.ok(keys.length > 0);
  },

  'the manifest comes with its signature': async (surface) => {
    const { headers } = await surface.ask('manifest', {});

    assert.match(headers['x-svc-signature'] ?? '', /^[\w-]+\.\.[\w-]{86}$/);
  },

  'the capabilities tell how they hang together, and which versions fit': async (surface) => {
    const graph = await expectAnswer(surface, 'graph', {});
    const near = await expectAnswer(surface, 'graph.get', { capability: 'book_flight' });
    const { compatible, capabilities } = await expectAnswer(surface, 'handshake', {
      protocol_versions: ['0.24'],
      capabilities: { book_flight: '>=1.0.0', fly_to_moon: '*' },
    });

    assert.ok(graph.edges.length > near.edges.length && near.edges.length > 0);
    assert.equal(compatible, false);
    assert.equal(capabilities.book_flight?.compatible, true);
    assert.equal(capabilities.fly_to_moon?.contract_version, null);
  },

  'a delegated token has what it asked for of its parent, and inherits the rest': async (
    surface,
  ) => {
    const purpose_parameters = { task_id: 'offsite' };
    const scope = ['travel.search', 'travel.book'];
    const parent = await rootToken(surface, scope, { budget: budget(500), purpose_parameters });
    const child = await expectAnswer(
      surface,
      'tokens.issue',
      { subject: 'agent:helper', parent_token: parent.token_id, scope: ['travel.search'] },
      parent.token,
    );
    const view = await expectAnswer(
      surface,
      'tokens.get',
      { token_id: child.token_id },
      child.token,
    );

    assert.deepEqual(child.scope, ['travel.search']);
    assert.equal(child.task_id, 'offsite');
    assert.deepEqual(child.budget, budget(500));
    assert.deepEqual(
      [view.depth, view.subject, view.root_principal, view.parent_token_id],
      [1, 'agent:helper', HUMAN, parent.token_id],
    );
  },

  'a delegated token never gets more than its parent has': async (surface) => {
    const parent = await rootToken(surface, ['travel.search'], { budget: budget(100) });
    const ask = (fields: object) =>
      expectRefusal(
        surface,
        'tokens.issue',
        { subject: 'agent:x', parent_token: parent.token_id, scope: ['travel.search'], ...fields },
        parent.token,
      );

    assert.equal((await ask({ scope: ['travel.book'] })).type, 'scope_escalation');
    assert.equal((await ask({ budget: budget(100.01) })).type, 'budget_exceeded');
    const euros = { currency: 'EUR', max_amount: 1 };
    assert.equal((await ask({ budget: euros })).type, 'budget_currency_mismatch');
  },

  'permissions say what a token may do, what it lacks, and what then happens': async (surface) => {
    const { token } = await rootToken(surface, ['travel.search', 'travel.charter', 'travel.admin']);
    const { available, restricted, denied } = await expectAnswer(surface, 'permissions', {}, token);

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
    const { resolution } = await invokeRefusal(surface, token, 'charter_jet', {
      parameters: { route: 'SEA-SFO', date: '2026-12-01' },
    });
    assert.equal(jet?.resolution_hint, resolution.action);
  },

  'an identity may put only its own scopes into a token': async (surface) => {
    const { token } = await expectAnswer(
      surface,
      'tokens.issue',
      { scope: ['travel.read'] },
      AGENT_KEY,
    );
    const report = await success(surface, token, 'export_report', { parameters: { months: 0 } });
    const { type } = await expectRefusal(
      surface,
      'tokens.issue',
      { scope: ['travel.book'] },
      AGENT_KEY,
    );

    assert.equal(report.result.months, 0);
    assert.equal(type, 'not_entitled');
  },

  'a revocation ends everything below the token at once': async (surface) => {
    const parent = await rootToken(surface, ['travel.search']);
    const request = { subject: 'agent:x', parent_token: parent.token_id, scope: ['travel.search'] };
    const child = await expectAnswer(surface, 'tokens.issue', request, parent.token);
    const { ended } = await expectAnswer(
      surface,
      'tokens.revoke',
      { token_id: parent.token_id },
      HUMAN_KEY,
    );

    assert.equal(ended, 2);
    assert.equal(
      (await expectRefusal(surface, 'permissions', {}, child.token)).type,
      'invalid_token',
    );
  },

  'an agent sees the agents below it, its root principal all, and no other principal': async (
    surface,
  ) => {
    const planner = await rootToken(surface, ['travel.search'], { budget: budget(50) });
    const request = { subject: 'agent:finder', scope: ['travel.search'] };
    const asked = { ...request, parent_token: planner.token_id };
    const finder = await expectAnswer(surface, 'tokens.issue', asked, planner.token);
    await success(surface, finder.token, 'search_flights', { parameters: ROUTE });

    const own = await expectAnswer(surface, 'agents.list', {}, planner.token);
    const all = await expectAnswer(wholeOf(surface), 'agents.list', { limit: 100 }, HUMAN_KEY);
    const other = await expectRefusal(surface, 'agents.list', { root_principal: HUMAN }, AGENT_KEY);

    assert.deepEqual(
      own.agents.map(({ token_id, children }) => [token_id, children.map((each) => each.subject)]),
      [[planner.token_id, ['agent:finder']]],
    );
    assert.equal(own.agents[0]?.children[0]?.last_act?.capability, 'search_flights');
    assert.ok(all.agents.some(({ token_id }) => token_id === planner.token_id));
    assert.equal(other.type, 'scope_insufficient');
  },

  'an operator adds a key of its own, lists it and removes it': async (surface) => {
    const key = `wk_${randomBytes(32).toString('base64url')}`;
    const key_sha256 = createHash('sha256').update(key).digest('hex');
    const asked = { principal: OPERATOR, key_sha256, scopes: ['operator:read'] };

    const added = await expectAnswer(surface, 'identities.add', asked, OPERATOR_KEY);
    const again = await expectRefusal(surface, 'identities.add', asked, OPERATOR_KEY);
    const wider = { ...asked, scopes: ['travel.search'] };
    const refused = await expectRefusal(surface, 'identities.add', wider, OPERATOR_KEY);
    const listed = await expectAnswer(surface, 'identities.list', {}, OPERATOR_KEY);
    const own = await expectAnswer(surface, 'tokens.issue', { scope: ['operator:read'] }, key);
    const { identity_id } = added;
    const removed = await expectAnswer(surface, 'identities.remove', { identity_id }, OPERATOR_KEY);
    const after = await expectRefusal(surface, 'tokens.issue', { scope: ['operator:read'] }, key);

    assert.deepEqual([again.type, refused.type], ['invalid_parameters', 'not_entitled']);
    assert.ok(listed.identities.some((each) => each.identity_id === identity_id));
    assert.match(own.token_id, /^tok_/);
    assert.deepEqual([removed.removed, removed.identity?.removed_by], [true, OPERATOR]);
    assert.equal(after.type, 'authentication_required');
  },

  'an operator freezes a capability and lifts it again': async (surface) => {
    const { token } = await rootToken(surface, ['travel.extras']);
    const taxi = { what: 'capability', target: 'request_taxi', reason: 'strike' } as const;
    const ride = { parameters: { pickup: 'Pier 39' } };
    await expectAnswer(surface, 'operator.freeze', taxi, OPERATOR_KEY);
    try {
      const { frozen } = await expectAnswer(surface, 'operator.frozen', {}, OPERATOR_KEY);
      assert.ok(frozen.some(({ target }) => target === 'request_taxi'));
      assert.equal((await invokeRefusal(surface, token, 'request_taxi', ride)).type, 'frozen');
    } finally {
      await expectAnswer(surface, 'operator.unfreeze', taxi, OPERATOR_KEY);
    }
    assert.ok((await success(surface, token, 'request_taxi', ride)).result.ride_id);
  },
};
