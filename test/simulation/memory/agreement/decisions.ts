/**
 * Acts of a random walk on approvals, notices, freezes and the log.
 *
 * @module
 */

import type { FreezeRecord } from '../../../../src/storage/port/records.ts';
import {
  approval,
  delivery,
  freezeOf,
  grantFor,
  newId,
  TERMS,
} from '../../../../src/testing/fixtures.ts';
import { type Act, actorOf, CAPABILITIES, later, logged, PEOPLE, pickOf } from './world.ts';

/** Few, so that equal questions meet. */
const DIGESTS = ['sha256:01', 'sha256:02'];

export const APPROVAL_ACTS: Readonly<Record<string, Act>> = {
  requestApproval(world) {
    const { random, now } = world;
    const token = pickOf(world, world.tokens);
    if (!token) return undefined;
    const request = approval({
      ...{ chain: token.chain, root_principal: token.root_principal, created_at: now },
      ...{ delegate: random.pick(['agent:a', 'agent:b']), kept_bytes: random.below(300) },
      ...{ capability: random.pick(CAPABILITIES), parameters_digest: random.pick(DIGESTS) },
      ...{
        approvals_required: 1 + random.below(2),
        expires_at: later(world, 7 + random.below(30)),
      },
      ...(random.chance(20) && { session_id: 's' }),
      ...(random.chance(20) && { declaration_digest: undefined }),
    });
    const notice = delivery(request, { target: random.pick(['a', 'b']), next_attempt_at: now });
    world.requests.push(request);
    world.deliveries.push(notice);
    const made = logged(world, { entry_type: 'approval_request' });
    const asking = { actor: actorOf(world).actor, bounds: { chain: 4, root: 6, bytes: 900 } };
    return (store) => store.requestApproval(request, made, [notice], asking);
  },

  approve(world) {
    const request = pickOf(world, world.requests.slice(-6));
    if (!request) return undefined;
    const { random, now } = world;
    const bound = { grant_type: 'session_bound', session_id: 's', max_uses: 2 } as const;
    const given = { expires_at: later(world, 25), issued_at: now };
    const grant = grantFor(request, { ...given, ...(random.chance(40) && bound) });
    const seen = random.below(2);
    world.grants.push(grant);
    const vote = {
      ...{ approval_request_id: request.approval_request_id, approver: random.pick(PEOPLE), now },
      ...{ approvalsSeen: seen, terms: TERMS, deliveries: [], entry: logged(world) },
      ...(seen + 1 >= request.approvals_required && { grant }),
      ...actorOf(world),
    };
    return (store) => store.approve(vote);
  },

  deny(world) {
    const request = pickOf(world, world.requests);
    if (!request || world.random.chance(60)) return undefined;
    const { approval_request_id } = request;
    const denial = { approval_request_id, decided_by: 'human:ann', reason: 'no', deliveries: [] };
    const made = { ...denial, now: world.now, entry: logged(world), ...actorOf(world) };
    return (store) => store.deny(made);
  },

  expire(world) {
    const made = new Map(
      world.requests.map((request) => [request.approval_request_id, logged(world)]),
    );
    return (store) =>
      store.expireApprovals(world.now, 3, ({ approval_request_id }) => ({
        ...{ entry: made.get(approval_request_id) ?? logged(world), deliveries: [] },
      }));
  },

  lists(world) {
    const { random, now } = world;
    const token = pickOf(world, world.tokens);
    if (!token) return undefined;
    const capability = random.pick(CAPABILITIES);
    const asked = { chain: token.chain, capability, contract_version: '1.0.0' };
    const digest = { declaration_digest: `sha256:${'de'.repeat(32)}` };
    const question = { ...asked, ...digest, parameters_digest: random.pick(DIGESTS) };
    const query = { now, capabilities: [capability], limit: 2 };
    const asker = { now, chain: token.chain, capability, limit: 3 };
    const fits = { contract_version: '1.0.0', ...digest };
    const status = random.pick(['pending', 'approved', 'denied', 'expired', undefined] as const);
    return async (store) => [
      (await store.listApprovals({ ...query, status })).requests,
      (await store.pendingApprovals(query)).requests,
      (await store.pendingSides(query)).requests,
      await store.approvalsOf(asker),
      await store.statesSince({ ...asker, since: later(world, -20) }),
      await store.waitingGrants({ ...question, session_id: 's' }, now, 3),
      await store.latestApproval({ ...question, session_id: undefined }),
      await store.staleApprovals({ capability, fits, now, limit: 4 }),
    ];
  },

  deliveries(world) {
    const { random, now } = world;
    const notice = pickOf(world, world.deliveries);
    if (!notice) return undefined;
    const { delivery_id } = notice;
    const state = random.pick(['pending', 'delivered', 'failed'] as const);
    const result = { delivery_id, state, now, error: 'e', nextAttempt: later(world, 4) };
    const except = random.chance(30) ? ['a'] : [];
    return async (store) => [
      await store.takeDeliveries(now, later(world, 6), 2, except),
      await store.finishDelivery(result),
      await store.listDeliveries(3, delivery_id),
    ];
  },
};

export const OPERATOR_ACTS: Readonly<Record<string, Act>> = {
  freeze(world) {
    const { random, now } = world;
    const what = random.pick(['service', 'capability', 'root_principal'] as const);
    const targets = { service: [''], capability: CAPABILITIES, root_principal: PEOPLE };
    const freeze: FreezeRecord = freezeOf({
      ...{ what, target: random.pick(targets[what]), frozen_at: now },
      ...(random.chance(95) && { until: later(world, 2) }),
    });
    const made = logged(world, { entry_type: 'operator' });
    const { actor } = actorOf(world);
    const lifts = random.chance(50);
    return async (store) => [
      await (lifts ? store.unfreeze(freeze, made, actor) : store.freeze(freeze, made, actor)),
      (await store.listFreezes(3)).freezes,
    ];
  },

  erase(world) {
    const { random } = world;
    const until = later(world, -30);
    const policy = random.pick([
      { what: 'personal', until, limit: 3 },
      { what: 'contents', eventClass: 'low_risk_success', until, limit: 5 },
      { what: 'stated', until, limit: 999 },
    ] as const);
    return async (store) => [await store.erase(policy), [...(await store.erasures())].sort()];
  },

  query(world) {
    const { random } = world;
    const query = {
      ...(random.chance(50) && { rootPrincipal: random.pick(PEOPLE) }),
      ...(random.chance(30) && { entryType: 'invocation' as const }),
      ...(random.chance(50) && { since: later(world, -20) }),
      limit: 4,
    };
    return async (store) => [(await store.queryEntries(query)).entries, await store.sequence()];
  },

  void(world) {
    return world.random.chance(8) ? (store) => store.voidPromises() : undefined;
  },

  beginOrigin(world) {
    if (!world.random.chance(8)) return undefined;
    const made = logged(world, { entry_type: 'operator' });
    const logId = newId('ent_');
    return async (store) => [
      await store.beginOrigin(await store.sequence(), logId, made),
      (await store.origins()).map(({ first }) => first),
    ];
  },
};
