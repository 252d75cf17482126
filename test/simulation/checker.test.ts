/**
 * The checker itself: events that break an invariant, one each, and a long run that breaks none.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { InvokeAnswer } from '../../src/protocol/invocation.ts';
import type { Admission } from '../../src/storage/port/invocation-store.ts';
import type { TokenRecord } from '../../src/storage/port/records.ts';
import {
  entry,
  freezeEntry,
  issuanceEntry,
  reconcileEntry,
  revocationEntry,
} from '../support/entries.ts';
import {
  admission,
  admitCall,
  at,
  cents,
  childToken,
  EXCLUSIVE,
  freezeOf,
  grantFor,
  HOUR,
  insert,
  keyOf,
  rootToken,
  SECOND,
  settlement,
  usd,
  useOf,
} from '../support/fixtures.ts';
import { ADMITTED, assertFound, type Case, createScene, decisionOf, type Scene } from './scene.ts';

const T = at(SECOND);

test('see() and atRest() accept a run in which everything is as promised', async () => {
  const scene = await createScene();
  const { store } = scene;
  const root = await insert(store, rootToken({ budget: cents(100) }));
  const child = await insert(store, childToken(root, { budget: cents(80), ...EXCLUSIVE }));

  scene.ask({ id: 1, token: child.token_id });
  const request = await scene.request(child);
  const grant = await scene.approve(request);
  const paid = await admitCall(store, child, {
    charge: usd(30n),
    grant: useOf(grant),
    idempotency: keyOf(child, 'k'),
  });
  scene.effect(paid, 'begin', { key: 'k' });
  scene.effect(paid, 'done', { amount: 20n });
  const closed = settlement(paid, { actual: 20n });
  await store.settle(closed);
  await store.settle(closed);
  scene.answer({ id: 1, token: child.token_id, answer: success(paid, closed.entry) });
  await store.load({ tokenId: child.token_id, grantId: grant.grant_id });
  const lost = await admitCall(store, child, { charge: usd(10n) });
  await store.settle(settlement(lost, { outcome: 'indeterminate' }));
  await store.reconcile(lost.intent.invocation_id, true, () => {
    return reconcileEntry(lost.intent.invocation_id, true);
  });
  await store.revokeToken(child.token_id, T, () => revocationEntry(child.token_id));
  assert.equal((await store.admit(admission(child))).admitted, false);
  await store.insertCheckpoint(await scene.mark());
  scene.checker.see({ kind: 'faults-stop' });

  await scene.checker.atRest(store);
});

const CASES: readonly Case[] = [
  {
    name: 'an admission beyond the budget of an ancestor',
    breaks: 'budget',
    async run({ store, forge }) {
      const root = await insert(store, rootToken({ budget: cents(50) }));
      const one = await insert(store, childToken(root));
      const two = await insert(store, childToken(root));
      await admitCall(store, one, { charge: usd(30n) });
      return () => forge('admit', [admission(two, { charge: usd(30n) })], ADMITTED);
    },
  },
  {
    name: 'a store that reports other sums than its calls give',
    breaks: 'ledger-is-log',
    async run({ store, forge }) {
      const root = await insert(store, rootToken({ budget: cents(50) }));
      await admitCall(store, root, { charge: usd(30n) });
      const loaded = await store.load({ tokenId: root.token_id });
      const lineage = loaded.lineage.map((link) => ({
        ...link,
        budget: link.budget && { ...link.budget, reserved: 0n },
      }));
      return () => forge('load', [{ tokenId: root.token_id }], { result: { ...loaded, lineage } });
    },
  },
  {
    name: 'a call that acted and is closed without an effect',
    breaks: 'money-back',
    async run({ store, effect, forge }) {
      const call = await admitCall(store, await insert(store, rootToken()), { charge: usd(5n) });
      effect(call, 'begin');
      effect(call, 'done');
      return () =>
        forge('settle', [settlement(call, { outcome: 'no_effect' })], { result: 'settled' });
    },
  },
  {
    name: 'a call that still runs and is closed without an effect',
    breaks: 'money-back',
    async run({ store, effect, forge }) {
      const call = await admitCall(store, await insert(store, rootToken()));
      effect(call, 'begin');
      return () =>
        forge('settle', [settlement(call, { outcome: 'no_effect' })], { result: 'settled' });
    },
  },
  {
    name: 'a handler that says it did nothing after it acted late',
    breaks: 'money-back',
    async run({ store, effect, forge }) {
      const call = await admitCall(store, await insert(store, rootToken()), { charge: usd(5n) });
      effect(call, 'begin');
      await store.settle(settlement(call, { outcome: 'indeterminate', stillRuns: true }));
      effect(call, 'done');
      const entries = [entry({ entry_type: 'settlement' })];
      const args = [call.intent.invocation_id, true];
      return () => forge('reconcile', args, { entries, result: call.intent });
    },
  },
  {
    name: 'an effect that costs more than was spent',
    breaks: 'money-back',
    async run({ store, effect, forge }) {
      const call = await admitCall(store, await insert(store, rootToken()), { charge: usd(9n) });
      effect(call, 'begin');
      effect(call, 'done', { amount: 8n });
      return () => forge('settle', [settlement(call, { actual: 3n })], { result: 'settled' });
    },
  },
  {
    name: 'a second outcome of one call',
    breaks: 'closed-once',
    async run({ store, forge }) {
      const call = await admitCall(store, await insert(store, rootToken()));
      await store.settle(settlement(call));
      return () => forge('settle', [settlement(call)], { result: 'settled' });
    },
  },
  {
    name: 'a second reconciliation',
    breaks: 'closed-once',
    async run({ store, forge }) {
      const call = await admitCall(store, await insert(store, rootToken()));
      await store.settle(settlement(call, { outcome: 'indeterminate' }));
      const { invocation_id } = call.intent;
      await store.reconcile(invocation_id, false, () => reconcileEntry(invocation_id, false));
      const entries = [reconcileEntry(invocation_id, false)];
      return () => forge('reconcile', [invocation_id, false], { entries, result: call.intent });
    },
  },
  {
    name: 'a grant that is used once too often',
    breaks: 'grant-uses',
    async run({ store, forge, ...scene }) {
      const token = await insert(store, rootToken());
      const grant = await scene.approve(await scene.request(token));
      await admitCall(store, token, { grant: useOf(grant) });
      return () => forge('admit', [admission(token, { grant: useOf(grant) })], ADMITTED);
    },
  },
  {
    name: 'a grant that is used after its expiry',
    breaks: 'grant-uses',
    async run({ store, forge, ...scene }) {
      const token = await insert(store, rootToken());
      const grant = await scene.approve(await scene.request(token));
      return () =>
        forge('admit', [admission(token, { grant: useOf(grant), now: at(2 * HOUR) })], ADMITTED);
    },
  },
  {
    name: 'a second grant for one request',
    breaks: 'one-grant',
    async run({ store, forge, ...scene }) {
      const request = await scene.request(await insert(store, rootToken()));
      const grant = await scene.approve(request);
      return () => forge('approve', [decisionOf(request, grant)], { result: 'approved' });
    },
  },
  {
    name: 'a grant before the quorum',
    breaks: 'one-grant',
    async run({ store, forge, ...scene }) {
      const token = await insert(store, rootToken());
      const request = await scene.request(token, { approvals_required: 2 });
      return () =>
        forge('approve', [decisionOf(request, grantFor(request))], { result: 'approved' });
    },
  },
  {
    name: 'a grant that another chain with the same name uses',
    breaks: 'chains',
    async run({ store, forge, ...scene }) {
      const [one, other] = await namesakes(store);
      const grant = await scene.approve(await scene.request(one));
      return () => forge('admit', [admission(other, { grant: useOf(grant) })], ADMITTED);
    },
  },
  {
    name: 'two chains with one digest',
    breaks: 'chains',
    async run({ store, forge }) {
      const [one] = await namesakes(store);
      const other = { ...rootToken({ subject: one.subject }), chain: one.chain };
      return () => forge('insertRoot', [other, issuanceEntry(other)]);
    },
  },
  {
    name: 'an answer that belongs to another chain',
    breaks: 'chains',
    async run({ store, answer }) {
      const [one, other] = await namesakes(store);
      const call = await admitCall(store, one);
      const closed = settlement(call);
      await store.settle(closed);
      return () => answer({ token: other.token_id, answer: success(call, closed.entry) });
    },
  },
  {
    name: 'an effect of a call that was not admitted',
    breaks: 'intent-first',
    async run({ store, effect }) {
      const call = admission(await insert(store, rootToken()));
      return () => effect(call, 'begin');
    },
  },
  {
    name: 'an effect of a call that was closed without one',
    breaks: 'intent-first',
    async run({ store, effect }) {
      const call = await admitCall(store, await insert(store, rootToken()));
      await store.settle(settlement(call, { outcome: 'no_effect' }));
      return () => effect(call, 'begin');
    },
  },
  {
    name: 'a second effect for one key that the service did not claim',
    breaks: 'once-per-key',
    async run({ store, effect }) {
      const token = await insert(store, rootToken());
      effect(await admitCall(store, token), 'begin', { key: 'k' });
      const again = await admitCall(store, token);
      return () => effect(again, 'begin', { key: 'k' });
    },
  },
  {
    name: 'a key that two calls claim',
    breaks: 'once-per-key',
    async run({ store, forge }) {
      const token = await insert(store, rootToken());
      await admitCall(store, token, { idempotency: keyOf(token, 'k') });
      return () => forge('admit', [admission(token, { idempotency: keyOf(token, 'k') })], ADMITTED);
    },
  },
  {
    name: 'an admission after a revocation of an ancestor',
    breaks: 'revoked',
    async run({ store, forge }) {
      const root = await insert(store, rootToken());
      const child = await insert(store, childToken(root));
      await store.revokeToken(root.token_id, T, () => revocationEntry(root.token_id));
      return () => forge('admit', [admission(child)], ADMITTED);
    },
  },
  {
    name: 'a read that succeeds although it was asked after the revocation',
    breaks: 'revoked',
    async run({ store, ask, answer }) {
      const token = await insert(store, rootToken());
      await store.revokeToken(token.token_id, T, () => revocationEntry(token.token_id));
      ask({ token: token.token_id });
      const read = entry({ invocation_id: 'inv-1' });
      await store.append([read]);
      return () => answer({ token: token.token_id, answer: success(admission(token), read) });
    },
  },
  {
    name: 'an admission under a token that has expired',
    breaks: 'expired',
    async run({ store, forge }) {
      const token = await insert(store, rootToken({ expires_at: at(HOUR) }));
      return () => forge('admit', [admission(token, { now: at(HOUR) })], ADMITTED);
    },
  },
  {
    name: 'an admission while the capability is frozen',
    breaks: 'frozen',
    async run({ store, forge }) {
      const token = await insert(store, rootToken());
      const freeze = freezeOf({ what: 'capability', target: 'book_flight' });
      await store.freeze(freeze, freezeEntry(freeze));
      return () => forge('admit', [admission(token)], ADMITTED);
    },
  },
];

/** Two tokens of one name below different principals. */
async function namesakes(store: Scene['store']): Promise<[TokenRecord, TokenRecord]> {
  const [one, other] = [await insert(store, rootToken()), await insert(store, rootToken())];
  const subject = 'agent:same';
  return [
    await insert(store, childToken(one, { subject })),
    await insert(store, childToken(other, { subject })),
  ];
}

function success({ intent }: Admission, { entry_id, leaf_hash }: ReturnType<typeof entry>) {
  const audit = { entry_id, leaf_hash: Buffer.from(leaf_hash).toString('hex') };
  const { invocation_id } = intent;
  return { success: true, invocation_id, result: {}, audit } satisfies InvokeAnswer;
}

for (const { name, breaks, run } of CASES) {
  test(`see() finds ${name}`, () => assertFound(breaks, run));
}
