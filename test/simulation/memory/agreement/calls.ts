/**
 * Acts of a random walk on tokens, calls and steps.
 *
 * An act draws its arguments once and is then called on each store. It avoids what the port leaves open: what a
 * repeated entry or a released open call answers.
 *
 * @module
 */

import type { Admission } from '../../../../src/storage/port/invocation-store.ts';
import type { TokenRecord } from '../../../../src/storage/port/records.ts';
import type { Store } from '../../../../src/storage/port/store.ts';
import {
  admission,
  binding,
  childToken,
  newId,
  rootToken,
  settlement,
  usd,
  useOf,
} from '../../../../src/testing/fixtures.ts';
import {
  type Act,
  actorOf,
  CAPABILITIES,
  INSTANCES,
  later,
  limits,
  logged,
  overrunOf,
  PEOPLE,
  pickOf,
  type World,
} from './world.ts';

/** Few, so that many calls meet under one token. */
const TOKENS_MAX = 10;

export const TOKEN_ACTS: Readonly<Record<string, Act>> = {
  insertRoot(world) {
    if (world.tokens.length > TOKENS_MAX) return undefined;
    const token = rootToken({ ...limits(world), root_principal: world.random.pick(PEOPLE) });
    world.tokens.push(token);
    const made = logged(world, { entry_type: 'issuance' });
    return (store) => store.insertRoot(token, made);
  },

  insertChild(world) {
    const parent = pickOf(world, world.tokens);
    if (!parent || parent.depth > 3 || world.tokens.length > TOKENS_MAX) return undefined;
    const token = childToken(parent, limits(world));
    const isJudged = world.random.chance(30);
    const made = logged(world, { entry_type: 'issuance' });
    const bounds = { now: world.now, childrenMax: 3 };
    return async (store) => {
      const { lineage: judged } = await store.load({ tokenId: parent.token_id });
      const answer = await store.insertChild(token, made, {
        ...bounds,
        ...(isJudged && { judged }),
      });
      if (answer === 'inserted' && !world.tokens.includes(token)) world.tokens.push(token);
      return answer;
    };
  },

  revokeToken(world) {
    const token = pickOf(world, world.tokens);
    if (!token || world.random.chance(85)) return undefined;
    const made = logged(world, { entry_type: 'revocation' });
    const { now } = world;
    const by = { ...actorOf(world), mac: 'kid.revoked' };
    return (store) => store.revokeToken(token.token_id, now, () => made, by);
  },

  describe(world) {
    const token = pickOf(world, world.tokens);
    if (!token) return undefined;
    const parents = world.tokens.slice(0, 4).map(({ token_id }) => token_id);
    return (store) =>
      Promise.all([
        store.describeToken(token.token_id, 2),
        store.childrenOf(parents, 5, token.token_id),
        store.rootsOf(token.root_principal, 3),
        store.unrevokedRoots(token.token_id, 3),
        store.busyUntil(parents, world.now),
      ]);
  },
};

export const CALL_ACTS: Readonly<Record<string, Act>> = {
  admit(world) {
    const token = pickOf(world, world.tokens);
    if (!token) return undefined;
    const call = callUnder(world, token);
    const isJudged = world.random.chance(30);
    return async (store) => {
      const { lineage: judged } = await store.load({ tokenId: token.token_id });
      const answer = await store.admit({ ...call, ...(isJudged && { judged }) });
      if (answer.admitted && !world.calls.includes(call)) world.calls.push(call);
      return answer;
    };
  },

  load(world) {
    const token = pickOf(world, world.tokens);
    if (!token) return undefined;
    const grantId = pickOf(world, world.grants)?.grant_id;
    const bindingIds = world.bindings.slice(-2);
    const capability = world.random.pick(CAPABILITIES);
    const idempotency = { capability, key: `k${world.random.below(2)}` };
    const request = { tokenId: token.token_id, grantId, bindingIds, capability, idempotency };
    return (store) => store.load(request);
  },

  settle(world) {
    const { random, now } = world;
    const call = pickOf(world, world.calls.slice(-4));
    if (!call) return undefined;
    const repeated = random.chance(15) ? pickOf(world, world.settlements) : undefined;
    const outcome = random.pick(['completed', 'failed', 'no_effect', 'indeterminate'] as const);
    const token = world.tokens.find(({ token_id }) => token_id === call.intent.token_id);
    const isLeased = token?.concurrent_branches === 'exclusive' || call.composed !== undefined;
    const issued = token && random.chance(20) ? [binding(token, { issued_at: now })] : [];
    world.bindings.push(...issued.map(({ binding_id }) => binding_id));
    const { root_principal } = call.intent;
    const rollback = { capability: 'undo', root_principal, digest: 'd', until: later(world, 9) };
    const made = settlement(call, {
      ...{ outcome, now, bindings: issued, entry: logged(world) },
      ...(random.chance(40) && { actual: BigInt(25 * random.below(3)) }),
      ...(random.chance(50) && isLeased && { stillRuns: true }),
      ...(random.chance(20) && { rollback }),
      ...(random.chance(20) && { overrun: overrunOf(world, call.intent.token_id) }),
    });
    world.settlements.push(made);
    return (store) => store.settle(repeated ?? made);
  },

  append(world) {
    const token = pickOf(world, world.tokens);
    if (!token) return undefined;
    const entries = [logged(world), logged(world, { entry_type: 'dry_run' })];
    const overrun = world.random.chance(30) ? overrunOf(world, token.token_id) : undefined;
    return (store) => store.append(entries, [], overrun);
  },

  leases(world) {
    const call = pickOf(world, world.calls);
    if (!call) return undefined;
    const until = later(world, 12);
    const { operation_id } = call.intent;
    const isOpen = (store: Store) => store.openIntents(call.intent.root_principal, 99);
    return async (store) => {
      const open = (await isOpen(store)).some((each) => each.operation_id === operation_id);
      return open ? store.renewLeases(operation_id, until) : store.releaseLeases(operation_id);
    };
  },

  upkeep(world) {
    const { random, now } = world;
    const instance = random.pick(INSTANCES);
    const after = pickOf(world, world.calls)?.intent.operation_id;
    const windowStart = new Date(Math.floor(now.getTime() / 20_000) * 20_000);
    return async (store) => [
      await store.heartbeat(instance, now),
      await store.abandonedIntents(later(world, -5), 9),
      await store.openIntents(PEOPLE[0] as string, 9),
      await store.indeterminate(3, after),
      await store.takePermits({ key: instance, windowStart, limit: 9, slice: 2 }),
      await store.forgetKeys(later(world, -5), 99),
      await store.lead('job', instance, now, later(world, 3)),
    ];
  },

  reconcile(world) {
    const call = pickOf(world, world.calls);
    if (!call) return undefined;
    const { random } = world;
    const by = { ...actorOf(world), overrun: overrunOf(world, call.intent.token_id) };
    const made = logged(world, { entry_type: 'settlement' });
    const breaks = random.chance(20);
    const refund = random.chance(50);
    const told = () => {
      if (breaks) throw new Error('refused');
      return made;
    };
    return (store) => store.reconcile(call.intent.invocation_id, refund, told, by);
  },
};

export const STEP_ACTS: Readonly<Record<string, Act>> = {
  beginStep(world) {
    const call = pickOf(
      world,
      world.calls.filter(({ composed }) => composed),
    );
    if (!call) return undefined;
    const { random } = world;
    const named = { operation_id: call.intent.operation_id, capability: 'hold', parameters: {} };
    const role = random.pick(['step', 'compensation'] as const);
    const place = { role, step_id: random.pick(['a', 'b']), invocation_id: newId('inv-') };
    world.steps.push({ ...named, ...place, outcome: random.pick(['completed', 'failed']) });
    const again = random.chance(20) ? random.pick(world.steps) : undefined;
    const instance = random.chance(80) ? call.intent.instance_id : random.pick(INSTANCES);
    return (store) => store.beginStep(again ?? { ...named, ...place }, instance);
  },

  endStep(world) {
    const step = pickOf(world, world.steps.slice(-6));
    if (!step) return undefined;
    const kept = {
      bindings: [],
      ...(world.random.chance(60) && { entry: logged(world) }),
    };
    const ended = { ...step, output: { a: [1] }, drawn: 4n };
    const instance = world.random.pick(INSTANCES);
    return async (store) => [
      await store.endStep(ended, instance, kept),
      await store.endStep(ended, instance, kept),
    ];
  },

  adopt(world) {
    const { random } = world;
    const operation = pickOf(world, world.calls)?.intent.operation_id ?? '';
    const [instance, other] = [random.pick(INSTANCES), random.pick(INSTANCES)];
    const since = later(world, random.chance(50) ? 1 : -20);
    const key = { capability: 'undo', root_principal: random.pick(PEOPLE), digest: 'd' };
    return async (store) => [
      await store.returnComposition(operation, other),
      await store.adoptComposition(instance, since),
      await store.rollbackUntil(key),
    ];
  },
};

function callUnder(world: World, token: TokenRecord): Admission {
  const { random, now } = world;
  const capability = random.pick(CAPABILITIES);
  const grant = random.chance(30) ? pickOf(world, world.grants) : undefined;
  const key = { chain: token.chain, capability, key: `k${random.below(2)}` };
  const claim = { ...key, fingerprint: `f${random.below(2)}`, keepUntil: later(world, 15) };
  return admission(token, {
    ...{
      now,
      leaseUntil: later(world, 10),
      intent: { capability, instance_id: random.pick(INSTANCES) },
    },
    ...(random.chance(60) && { charge: usd(BigInt(50 * random.below(4))) }),
    ...(grant && { grant: useOf(grant, random.chance(80) ? {} : { chain: 'other' }) }),
    ...(random.chance(60) && { idempotency: claim }),
    ...(random.chance(30) && { composed: { to: ['東京', null, { a: 1 }] } }),
  });
}
