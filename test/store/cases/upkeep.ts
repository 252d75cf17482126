/**
 * The contract of calls of unknown outcome, and of probe and close.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Settlement } from '../../../src/storage/port/invocation-store.ts';
import type { LedgerSight } from '../../../src/storage/port/ledger-store.ts';
import type { IntentRecord, TokenRecord } from '../../../src/storage/port/records.ts';
import { type Store, StoreUnavailable } from '../../../src/storage/port/store.ts';
import {
  admission,
  admitCall,
  approval,
  at,
  cents,
  chain,
  entry,
  freezeOf,
  HOUR,
  insert,
  newId,
  rootToken,
  SECOND,
  settlement,
  usd,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { entriesSince, money, same, unchanged } from '../observe.ts';

export const UNKNOWN_OUTCOME_CASES: Cases = {
  'abandonedIntents() returns open calls without a recent heartbeat': async (store) => {
    const token = await insert(store, rootToken());
    const of = async (instance_id: string) => {
      const call = await admitCall(store, token, { intent: { instance_id } });
      return call.intent;
    };
    const never = await of('never');
    const silent = await of('silent');
    await of('alive');
    await store.heartbeat('silent', at(HOUR));
    await store.heartbeat('alive', at(HOUR + 1));

    const abandoned = await store.abandonedIntents(at(HOUR), 10);

    same(sorted(abandoned), sorted([never, silent]));
  },

  'heartbeat() of a silent process protects its calls again': async (store) => {
    const token = await insert(store, rootToken());
    await store.admit(admission(token));
    await store.heartbeat('instance-1', at(0));
    assert.equal((await store.abandonedIntents(at(HOUR), 10)).length, 1);

    await store.heartbeat('instance-1', at(2 * HOUR));

    same(await store.abandonedIntents(at(HOUR), 10), []);
  },

  'abandonedIntents() gives the oldest first, no more than asked, and no closed ones': async (
    store,
  ) => {
    const token = await insert(store, rootToken());
    const calls = [5, 1, 4, 2, 3].map((second) => admission(token, { now: at(second * SECOND) }));
    for (const call of calls) await store.admit(call);
    const closed = calls[1];
    assert.ok(closed);
    await store.settle(settlement(closed));

    const abandoned = await store.abandonedIntents(at(HOUR), 3);

    const order = abandoned.map(({ admitted_at }) => admitted_at.getTime());
    assert.deepEqual(
      order,
      [2, 3, 4].map((second) => at(second * SECOND).getTime()),
    );
  },

  'indeterminate() gives such calls and no others, oldest first, no more than asked': async (
    store,
  ) => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const outcomes: [number, Settlement['outcome']][] = [
      [5, 'indeterminate'],
      [1, 'completed'],
      [3, 'indeterminate'],
      [2, 'failed'],
      [4, 'indeterminate'],
      [6, 'no_effect'],
    ];
    const lost: IntentRecord[] = [];
    for (const [second, outcome] of outcomes) {
      const call = await admitCall(store, token, { now: at(second * SECOND), charge: usd(3n) });
      await store.settle(settlement(call, { outcome, now: at(HOUR - second * SECOND) }));
      if (outcome === 'indeterminate') lost.push(call.intent);
    }

    const [last, first, second] = lost;
    same(await store.indeterminate(2), [first, second]);
    same(await store.indeterminate(10), [first, second, last]);
    same(await store.indeterminate(1, first?.operation_id), [second]);
    same(await store.indeterminate(10, second?.operation_id), [last]);
    same(await store.indeterminate(10, last?.operation_id), []);
  },

  'reconcile() gives the charge back on every token it was taken from': async (store) => {
    const { line, call, size } = await lostCall(store);
    const logged = entry({ entry_type: 'operator' });

    const result = await store.reconcile(call.invocation_id, true, (intent) => {
      same(intent, call);
      return logged;
    });

    same(result, call);
    assert.deepEqual(await money(store, line), [
      [0n, 8n],
      [0n, 0n],
    ]);
    same(await entriesSince(store, size), [{ ...logged, sequence: size }]);
    same(await store.indeterminate(10), []);
  },

  'reconcile() without a refund leaves the money spent': async (store) => {
    const { line, call } = await lostCall(store);

    await store.reconcile(call.invocation_id, false, () => entry());

    assert.deepEqual(await money(store, line), [
      [0n, 58n],
      [0n, 50n],
    ]);
    same(await store.indeterminate(10), []);
  },

  'reconcile() changes nothing when its entry cannot be made': async (store) => {
    const { line, call } = await lostCall(store);
    const tokens = line.map(({ token_id }) => token_id);
    const refuse = () => {
      throw new Error('the row is another');
    };

    await unchanged(store, { tokens }, async () => {
      await assert.rejects(store.reconcile(call.invocation_id, true, refuse), /the row is another/);
    });

    assert.notEqual(await store.reconcile(call.invocation_id, true, () => entry()), undefined);
  },

  'reconcile() happens once': async (store) => {
    for (const first of [true, false]) {
      const { line, call } = await lostCall(store);
      await store.reconcile(call.invocation_id, first, () => entry());
      const tokens = line.map(({ token_id }) => token_id);

      const second = await unchanged(store, { tokens }, () =>
        store.reconcile(call.invocation_id, true, () => entry()),
      );

      assert.equal(second, undefined);
    }
  },

  'reconcile() knows only calls that were settled as indeterminate': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const open = admission(token, { charge: usd(10n) });
    const done = admission(token, { charge: usd(10n) });
    await store.admit(open);
    await store.admit(done);
    await store.settle(settlement(done));

    const ids = [newId('inv-'), open.intent.invocation_id, done.intent.invocation_id];
    for (const invocationId of ids) {
      const result = await unchanged(store, { tokens: [token.token_id] }, () =>
        store.reconcile(invocationId, true, () => entry()),
      );
      assert.equal(result, undefined);
    }
  },

  'reconcile() refunds a call that had no budget to come from': async (store) => {
    const token = await insert(store, rootToken());
    const call = await admitCall(store, token, { charge: usd(50n) });
    await store.settle(settlement(call, { outcome: 'indeterminate' }));

    const result = await store.reconcile(call.intent.invocation_id, true, () => entry());

    same(result, call.intent);
  },
};

/** Every method that reads or writes. */
const ignore = () => undefined;

/** Ignores every row. */
const BLIND: LedgerSight = {
  entry: ignore,
  erased: ignore,
  openCall: ignore,
  unknownCall: ignore,
  token: ignore,
  oldKey: ignore,
  debt: ignore,
  request: ignore,
  grant: ignore,
  freeze: ignore,
  passkey: ignore,
  identity: ignore,
  closedCall: ignore,
  declaration: ignore,
  unreadable: ignore,
};

const CALLS: Record<string, (store: Store) => Promise<unknown>> = {
  insertRoot: (store) => store.insertRoot(rootToken(), entry()),
  childrenOf: (store) => store.childrenOf([newId('tok_')], 1),
  revokeToken: (store) => store.revokeToken(newId('tok_'), at(0), () => entry()),
  describeToken: (store) => store.describeToken(newId('tok_'), 1),
  load: (store) => store.load({ tokenId: newId('tok_') }),
  admit: (store) => store.admit(admission(rootToken())),
  settle: (store) => store.settle(settlement(admission(rootToken()))),
  append: (store) => store.append([entry()]),
  renewLeases: (store) => store.renewLeases('op', at(0)),
  busyUntil: (store) => store.busyUntil(['tok'], at(0)),
  releaseLeases: (store) => store.releaseLeases('op'),
  takePermits: (store) => store.takePermits({ key: 'k', windowStart: at(0), limit: 1, slice: 1 }),
  forgetKeys: (store) => store.forgetKeys(at(0), 1),
  heartbeat: (store) => store.heartbeat('instance', at(0)),
  abandonedIntents: (store) => store.abandonedIntents(at(0), 1),
  reconcile: (store) => store.reconcile(newId('inv-'), true, () => entry()),
  requestApproval: (store) => store.requestApproval(approval(), entry(), []),
  listApprovals: (store) => store.listApprovals({ now: at(0), limit: 1 }),
  pendingApprovals: (store) =>
    store.pendingApprovals({ now: at(0), capabilities: ['book_flight'], limit: 1 }),
  approvalsOf: (store) =>
    store.approvalsOf({ now: at(0), chain: 'chain', capability: 'book_flight', limit: 1 }),
  takeDeliveries: (store) => store.takeDeliveries(at(0), at(1), 1),
  freeze: (store) => store.freeze(freezeOf(), entry()),
  freezesUnder: (store) => store.freezesUnder([{ what: 'service', target: '' }]),
  listFreezes: (store) => store.listFreezes(1),
  findSession: (store) => store.findSession('hash'),
  touchSession: (store) => store.touchSession('ses', at(0)),
  endSessions: (store) => store.endSessions({ principal: 'human:x' }, at(0), () => entry()),
  findConsent: (store) => store.findConsent({ consent_id: 'con' }),
  findAccount: (store) => store.findAccount('account'),
  findIdentity: (store) => store.findIdentity('digest'),
  identitiesOf: (store) => store.identitiesOf('human:x', 1),
  sequence: (store) => store.sequence(),
  queryEntries: (store) => store.queryEntries({ limit: 1 }),
  scanEntries: (store) => store.scanEntries(0, 1),
  erasures: (store) => store.erasures(),
  treeHead: (store) => store.treeHead(),
  inspect: (store) => store.inspect(),
  readLedger: (store) => store.readLedger(0, BLIND),
  lastCheckpoint: (store) => store.lastCheckpoint(),
  lead: (store) => store.lead('job', 'holder', at(0), at(1)),
  probe: (store) => store.probe(),
};

export const LIFE_CASES: Cases = {
  'logId names the log': async (store) => {
    assert.match(store.logId, /^\S{16,}$/);
  },

  'now() gives a time': async (store) => {
    assert.equal(Number.isNaN(store.now().getTime()), false);
  },

  'probe() resolves on a store that works, and leaves no entry': async (store) => {
    await store.probe();

    assert.equal((await store.sequence()).size, 0);
  },

  'close() finishes what was accepted': async (store) => {
    const accepted = Array.from({ length: 20 }, () => store.append([entry()]));

    await store.close();

    const results = await Promise.allSettled(accepted);
    assert.deepEqual([...new Set(results.map(({ status }) => status))], ['fulfilled']);
  },

  'close() may be called again': async (store) => {
    await store.close();

    await store.close();
  },

  ...Object.fromEntries(
    Object.entries(CALLS).map(([method, call]) => [
      `close() makes ${method}() reject as unavailable`,
      async (store: Store) => {
        await store.close();

        await assert.rejects(async () => call(store), StoreUnavailable);
      },
    ]),
  ),
};

/** A call of 50 that was lost, under a token of 500 below one of 900 that spent 8 elsewhere. */
async function lostCall(
  store: Store,
): Promise<{ line: TokenRecord[]; call: IntentRecord; size: number }> {
  const line = await chain(store, [{ budget: cents(900) }, { budget: cents(500) }]);
  const other = await admitCall(store, line[0], { charge: usd(8n) });
  await store.settle(settlement(other));
  const lost = await admitCall(store, line[1], { charge: usd(50n) });
  await store.settle(settlement(lost, { outcome: 'indeterminate' }));
  return { line, call: lost.intent, size: (await store.sequence()).size };
}

function sorted(intents: readonly IntentRecord[]): IntentRecord[] {
  return [...intents].sort((one, other) => (one.operation_id < other.operation_id ? -1 : 1));
}
