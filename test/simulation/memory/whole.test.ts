/**
 * What the simulated store promises beside the contract: a transition that throws leaves nothing, callers share
 * no object with the rows, several stores share one database, and a service runs on it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { EntryRecord } from '../../../src/domain/log/entry.ts';
import { system } from '../../../src/platform.ts';
import { checkStore } from '../../../src/storage/fsck/fsck.ts';
import { type Store, StoreUnavailable } from '../../../src/storage/port/store.ts';
import {
  admission,
  admitCall,
  approval,
  at,
  binding,
  cents,
  childToken,
  delivery,
  EXCLUSIVE,
  entry,
  freezeOf,
  granted,
  grantFor,
  HOUR,
  insert,
  keyOf,
  rootToken,
  settlement,
  unstorableEntry,
  usd,
  useOf,
} from '../../../src/testing/fixtures.ts';
import {
  accountOf,
  begin,
  connected,
  consentBeside,
  identity,
  identityEntry,
  passkey,
  removedIdentity,
  session,
} from '../../../src/testing/sign-in.ts';
import { decisionOn } from '../../../src/testing/store/cases/approvals/decisions.ts';
import { entriesSince, same } from '../../../src/testing/store/observe.ts';
import { ALICE, testService } from '../../world.ts';
import { createMemoryDatabase, type MemoryDatabase } from './database.ts';
import { openMemoryStore } from './store.ts';

const options = { platform: system, clock: () => new Date(system.now()) };

function refuse(): never {
  throw new Error('the entry cannot be made');
}

/** Transitions whose last part cannot be stored: an entry with a hash that is too short, or a function that throws. */
const BREAKING: Readonly<
  Record<string, (store: Store, unstorable: EntryRecord) => Promise<() => Promise<unknown>>>
> = {
  insertRoot: async (store, unstorable) => () => store.insertRoot(rootToken(), unstorable),

  async insertChild(store, unstorable) {
    const parent = await insert(store, rootToken());
    const bounds = { now: at(0), childrenMax: 9 };
    return () => store.insertChild(childToken(parent), unstorable, bounds);
  },

  async revokeToken(store) {
    const { token_id } = await insert(store, rootToken());
    return () => store.revokeToken(token_id, at(0), refuse);
  },

  async settle(store, unstorable) {
    const token = await insert(store, rootToken({ ...EXCLUSIVE, budget: cents(100) }));
    const claims = { charge: usd(10n), idempotency: keyOf(token, 'k'), composed: {} };
    const call = await admitCall(store, token, claims);
    const { token_id, root_principal } = token;
    const until = at(HOUR);
    const rollback = { capability: 'undo', root_principal, digest: 'sha256:a', until };
    const freeze = { record: freezeOf(), entry: unstorable };
    const overrun = { token_id, debt: usd(5n), freeze };
    const bindings = [binding(token)];
    return () => store.settle(settlement(call, { bindings, rollback, overrun, actual: 3n }));
  },

  async endStep(store, unstorable) {
    const token = await insert(store, rootToken());
    const { intent } = await admitCall(store, token, { composed: {} });
    const { operation_id, instance_id } = intent;
    const named = { operation_id, invocation_id: 'inv-000000000001', capability: 'hold' };
    const step = { ...named, role: 'step', step_id: 'one', parameters: {} } as const;
    await store.beginStep(step, instance_id);
    const kept = { bindings: [binding(token)], entry: unstorable };
    return () => store.endStep({ ...step, outcome: 'completed' }, instance_id, kept);
  },

  async reconcile(store) {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const call = await admitCall(store, token, { charge: usd(10n) });
    await store.settle(settlement(call, { outcome: 'indeterminate' }));
    return () => store.reconcile(call.intent.invocation_id, true, refuse);
  },

  async append(store, unstorable) {
    const token = await insert(store, rootToken());
    return () => store.append([entry(), unstorable], [binding(token)]);
  },

  requestApproval: async (store, unstorable) => () => {
    const request = approval();
    return store.requestApproval(request, unstorable, [delivery(request)]);
  },

  async approve(store, unstorable) {
    const request = approval();
    await store.requestApproval(request, entry(), []);
    const grant = grantFor(request);
    const deliveries = [delivery(request)];
    return () => store.approve(decisionOn(request, { grant, deliveries, entry: unstorable }));
  },

  async expireApprovals(store) {
    for (const expires_at of [at(1), at(2)]) {
      await store.requestApproval(approval({ expires_at }), entry(), []);
    }
    return () =>
      store.expireApprovals(at(HOUR), 9, (request) => {
        if (request.expires_at > at(1)) refuse();
        return { entry: entry(), deliveries: [delivery(request)] };
      });
  },

  freeze: async (store, unstorable) => () => store.freeze(freezeOf(), unstorable),

  async unfreeze(store, unstorable) {
    await store.freeze(freezeOf(), entry());
    return () => store.unfreeze({ what: 'service', target: '' }, unstorable);
  },

  async beginSession(store, unstorable) {
    await begin(store, session());
    const next = session({ created_at: at(HOUR) });
    return () => store.beginSession(next, accountOf(next), unstorable, 1);
  },

  insertConsent: async (store, unstorable) => () => {
    const token = rootToken();
    return store.insertConsent(consentBeside(token), token, unstorable);
  },

  insertPasskey: async (store, unstorable) => () => store.insertPasskey(passkey(), unstorable, []),

  async removeIdentity(store) {
    const made = identity();
    await store.insertIdentity(made, identityEntry(made), 9);
    return () => store.removeIdentity(made.identity_id, removedIdentity, refuse);
  },

  connect: async (store, unstorable) => () => store.connect(connected(), undefined, unstorable),

  async sealRows(store) {
    await insert(store, rootToken());
    await store.freeze(freezeOf(), entry());
    return () =>
      store.sealRows(() => ({
        seal: 'kid.seal',
        macOf: ({ kind }) => (kind === 'freeze' ? refuse() : 'kid.mac'),
      }));
  },

  async beginOrigin(store, unstorable) {
    const head = await store.sequence();
    return () => store.beginOrigin(head, 'the-next-log-of-the-store', unstorable);
  },
};

for (const [method, prepare] of Object.entries(BREAKING)) {
  test(`${method}() of the simulated store leaves nothing when it throws at its end`, async () => {
    const database = createMemoryDatabase();
    const store = openMemoryStore(database, options);
    await store.append([entry()]);
    const act = await prepare(store, unstorableEntry());
    const before = dump(database);

    await assert.rejects(act());

    assert.deepEqual(dump(database), before);
    await store.append([entry()]);
    assert.deepEqual((await store.sequence()).size, database.log.entries.length);
  });
}

describe('simulated store', () => {
  test('append() skips an entry that is stored, with its overrun, and stores the others', async () => {
    const store = openMemoryStore(createMemoryDatabase(), options);
    const token = await insert(store, rootToken());
    const [one, other] = [entry(), entry()];
    const overrun = { token_id: token.token_id, debt: usd(5n) };
    const issued = binding(token);
    await store.append([one], [issued], overrun);

    await store.append([one], [issued], overrun, true);
    await store.append([one, other], [], undefined, true);

    const ids = (await entriesSince(store, 1)).map(({ entry_id }) => entry_id);
    assert.deepEqual(ids, [one.entry_id, other.entry_id]);
    same((await store.describeToken(token.token_id, 0))?.debts, [usd(5n)]);
  });

  test('endStep() repeated by the process that lost the call is still the same as once', async () => {
    const store = openMemoryStore(createMemoryDatabase(), options);
    const token = await insert(store, rootToken());
    const { intent } = await admitCall(store, token, { composed: {} });
    const { operation_id, instance_id } = intent;
    const named = { operation_id, invocation_id: 'inv-000000000001', capability: 'hold' };
    const step = { ...named, role: 'step', step_id: 'one', parameters: {} } as const;
    const kept = { bindings: [], entry: entry() };
    await store.beginStep(step, instance_id);
    await store.endStep({ ...step, outcome: 'completed' }, instance_id, kept);
    await store.adoptComposition('another', at(HOUR));

    const again = await store.endStep({ ...step, outcome: 'completed' }, instance_id, kept);

    assert.equal(again, true);
    assert.equal((await store.sequence()).size, 2);
  });

  test('renewLeases() is true for a call without leases that was closed while it runs', async () => {
    const store = openMemoryStore(createMemoryDatabase(), options);
    const call = await admitCall(store, await insert(store, rootToken()));
    const { operation_id } = call.intent;
    await store.settle(settlement(call, { outcome: 'indeterminate', stillRuns: true }));

    const running = await store.renewLeases(operation_id, at(HOUR));
    await store.releaseLeases(operation_id);

    assert.deepEqual([running, await store.renewLeases(operation_id, at(HOUR))], [true, false]);
  });

  test('stores over one database have one log and close each for itself', async () => {
    const database = createMemoryDatabase();
    const first = openMemoryStore(database, options);
    const second = openMemoryStore(database, options);

    await first.close();
    await second.append([entry()]);

    assert.equal(first.logId, second.logId);
    assert.equal((await second.sequence()).size, 1);
    await assert.rejects(first.append([entry()]), StoreUnavailable);
  });

  test('a function among the arguments cannot call the store', async () => {
    const store = openMemoryStore(createMemoryDatabase(), options);
    const { token_id } = await insert(store, rootToken());
    const nested: Promise<unknown>[] = [];

    await store.revokeToken(token_id, at(0), () => {
      nested.push(store.append([entry()]));
      return entry();
    });

    await assert.rejects(Promise.all(nested), /another one is running/);
    assert.equal((await store.sequence()).size, 2);
  });

  test('a caller that changes what it passed or got changes nothing', async () => {
    const database = createMemoryDatabase();
    const store = openMemoryStore(database, options);
    const passed = await usedStore(store);
    const got = await Promise.all([
      store.load({
        ...{ tokenId: passed.token.token_id, grantId: passed.grant.grant_id },
        ...{ bindingIds: [passed.bound.binding_id], capability: 'book_flight' },
        idempotency: { capability: 'book_flight', key: 'k' },
      }),
      store.describeToken(passed.token.token_id, 9),
      store.listApprovals({ now: at(0), limit: 9 }),
      store.loadApproval(passed.grant.approval_request_id),
      store.listFreezes(9),
      store.indeterminate(9),
      store.scanEntries(0, 9),
      store.queryEntries({ limit: 9 }),
      store.sequence(),
      store.nodes([{ level: 0, index: 0 }]),
      store.scanRows('grants', undefined, 9),
      store.adoptComposition('another', at(HOUR)),
    ]);
    const before = dump(database);

    for (const value of [passed, got]) scramble(value);

    assert.deepEqual(dump(database), before);
  });

  test('runs a whole service, and fsck agrees with it', async () => {
    const service = await serviceOnMemory();
    const route = { origin: 'SEA', destination: 'SFO', date: '2030-01-01' };
    const scope = ['travel.search', 'travel.book', 'travel.charter'];
    const budget = { currency: 'USD', max_amount: 1_000 };
    const token = await service.issue(ALICE, { scope, budget });
    const child = await service.delegate(token, { subject: 'agent:helper' });

    const found = await service.invoke(child.token, 'search_flights', route);
    const { quote, price } = found.body.result.cheapest_flight;
    const booked = await service.invoke(child.token, 'book_flight', { quote, passenger: 'Ann' });
    const asked = await service.invoke(child.token, 'charter_jet', {
      ...{ route: 'SEA-SFO', date: '2030-01-01' },
    });
    const revoked = await service.ask('POST', '/svc/tokens/revoke', {
      ...{ bearer: ALICE, body: { token_id: token.token_id } },
    });
    const late = await service.invoke(child.token, 'search_flights', route);

    assert.deepEqual([found.status, booked.status], [200, 200], booked.text);
    assert.equal(asked.body.success, false);
    assert.equal(late.status, 401, revoked.text);
    assert.equal((await service.budgetOf(token)).consumed, BigInt(price * 100));
    assert.deepEqual((await checkStore(service.store)).findings, []);
  });
});

/** A store with a row of many kinds, and the records that were passed to it. */
async function usedStore(store: Store) {
  const token = await insert(store, rootToken({ ...EXCLUSIVE, budget: cents(1_000) }));
  const grant = await granted(store, token);
  const bound = binding(token, { price: usd(5n), data: { deep: { list: [{ a: 1 }] } } });
  const freeze = freezeOf({ what: 'capability', target: 'book_flight', until: at(0) });
  await store.freeze(freeze, entry());
  const claims = { charge: usd(9n), idempotency: keyOf(token, 'k') };
  const call = admission(token, {
    ...{ ...claims, composed: { deep: { list: [1] } }, grant: useOf(grant) },
  });
  const done = settlement(call, { outcome: 'indeterminate', stillRuns: true, bindings: [bound] });
  assert.equal((await store.admit(call)).admitted, true);
  assert.equal(await store.settle(done), 'settled');
  return { token, grant, bound, freeze, call, done };
}

function serviceOnMemory() {
  return testService({
    wrap: (opened) => {
      const database = createMemoryDatabase();
      const memory = openMemoryStore(database, { platform: system, clock: opened.now });
      const close = async () => {
        await memory.close();
        await opened.close();
      };
      return { ...memory, close };
    },
  });
}

/** All rows by table and key, and the log. */
function dump(database: MemoryDatabase): unknown {
  const { log, journal, ...tables } = database;
  const rows = Object.entries(tables).map(([name, table]) => [
    name,
    [...table.entries()].sort(([one], [other]) => (one < other ? -1 : 1)),
  ]);
  return structuredClone({ rows, entries: log.entries, origins: log.origins });
}

/** Changes everything that can be changed. What is frozen may be shared. */
function scramble(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  if (value instanceof Date) value.setTime(0);
  else if (value instanceof Uint8Array) value.fill(0);
  else {
    const parts = value as Record<string, unknown>;
    for (const [name, part] of Object.entries(parts)) {
      scramble(part);
      delete parts[name];
    }
  }
}
