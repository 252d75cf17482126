/**
 * The contract of passkeys, and of decisions that a passkey confirms.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { ApprovalDecision, Store } from '../../../../src/storage/port/store.ts';
import { approval, at, entry, grantFor, HOUR, SECOND, TERMS } from '../../../support/fixtures.ts';
import { added, passkey, passkeyEntry } from '../../../support/sign-in.ts';
import type { Cases } from '../../cases.ts';
import { entriesSince, same } from '../../observe.ts';

const PERSON = 'human:ann@example.com';
const OTHER = 'human:bob@example.com';

async function idsOf(store: Store, principal = PERSON): Promise<string[]> {
  const listed = await store.listPasskeys(principal, 100);
  return listed.map((each) => each.passkey.credential_id);
}

export const PASSKEY_CASES: Cases = {
  'insertPasskey() stores the passkey with its entry': async (store) => {
    const { size } = await store.sequence();
    const made = passkey({ mac: 'kid.passkey' });
    const logged = passkeyEntry(made);

    assert.equal(await store.insertPasskey(made, logged, []), 'inserted');

    same(await store.listPasskeys(PERSON, 100), [{ passkey: made }]);
    const entries = await entriesSince(store, size);
    same(
      entries.map(({ entry_id }) => entry_id),
      [logged.entry_id],
    );
  },

  'insertPasskey() refuses an id that any person has, and stores no entry': async (store) => {
    const made = await added(store, passkey());
    const { size } = await store.sequence();
    const again = passkey({ credential_id: made.credential_id });
    const others = passkey({ credential_id: made.credential_id, principal: OTHER });

    assert.equal(
      await store.insertPasskey(again, passkeyEntry(again), await idsOf(store)),
      'taken',
    );
    assert.equal(await store.insertPasskey(others, passkeyEntry(others), []), 'taken');

    same(await idsOf(store, OTHER), []);
    same(await entriesSince(store, size), []);
  },

  'insertPasskey() is stale unless the person has exactly the passkeys that were seen': async (
    store,
  ) => {
    const [first, second] = [passkey(), passkey({ created_at: at(SECOND) })];
    await added(store, first);
    const { size } = await store.sequence();

    for (const seen of [[], [second.credential_id], [first.credential_id, second.credential_id]]) {
      assert.equal(await store.insertPasskey(second, passkeyEntry(second), seen), 'stale');
    }

    same(await entriesSince(store, size), []);
    same(await idsOf(store), [first.credential_id]);
  },

  'insertPasskey() is stale when the passkey that confirms it was removed or is of another person':
    async (store) => {
      const [first, second] = [await added(store, passkey()), passkey({ created_at: at(SECOND) })];
      const others = await added(store, passkey({ principal: OTHER }));
      const seen = [first.credential_id];
      const by = ({ credential_id }: typeof first) =>
        store.insertPasskey(second, passkeyEntry(second), seen, credential_id);

      assert.equal(await by(others), 'stale');
      await store.removePasskey(first, at(0), passkeyEntry(first, 'passkey_removed'));
      const { size } = await store.sequence();
      assert.equal(await by(first), 'stale');

      same(await idsOf(store), seen);
      same(await entriesSince(store, size), []);
    },

  'insertPasskey() says when the passkey that confirms it was used': async (store) => {
    const [first, second] = [await added(store, passkey()), passkey({ created_at: at(SECOND) })];
    const { credential_id } = first;

    const outcome = await store.insertPasskey(
      second,
      passkeyEntry(second),
      [credential_id],
      credential_id,
    );

    assert.equal(outcome, 'inserted');
    const [used] = await store.listPasskeys(PERSON, 1);
    same(used?.last_used_at, at(SECOND));
  },

  'insertPasskey() adds one of several concurrent passkeys that saw the same': async (store) => {
    const made = Array.from({ length: 5 }, () => passkey());

    const outcomes = await Promise.all(
      made.map((each) => store.insertPasskey(each, passkeyEntry(each), [])),
    );

    same(outcomes.toSorted(), ['inserted', 'stale', 'stale', 'stale', 'stale']);
    assert.equal((await idsOf(store)).length, 1);
  },

  'listPasskeys() lists those of one person, oldest first, at most as many as asked for': async (
    store,
  ) => {
    const late = await added(store, passkey({ created_at: at(HOUR) }));
    const early = await added(store, passkey({ created_at: at(0) }));
    await added(store, passkey({ principal: OTHER }));

    same(await idsOf(store), [early.credential_id, late.credential_id]);
    same((await store.listPasskeys(PERSON, 1)).length, 1);
  },

  'removePasskey() removes a passkey of the person with its entry, once': async (store) => {
    const made = await added(store, passkey());
    const { size } = await store.sequence();
    const logged = passkeyEntry(made, 'passkey_removed');
    const others = { ...made, principal: OTHER };

    assert.equal(await store.removePasskey(others, at(1), passkeyEntry(made)), false);
    assert.equal(await store.removePasskey(made, at(SECOND), logged), true);
    assert.equal(await store.removePasskey(made, at(HOUR), passkeyEntry(made)), false);

    same(await store.listPasskeys(PERSON, 9), [{ passkey: made, removed_at: at(SECOND) }]);
    const entries = await entriesSince(store, size);
    same(
      entries.map(({ entry_id }) => entry_id),
      [logged.entry_id],
    );
  },

  'removePasskey() keeps the one that was removed last, and deletes those removed before': async (
    store,
  ) => {
    const [first, second] = [await added(store, passkey()), await added(store, passkey())];
    const others = await added(store, passkey({ principal: OTHER }));

    for (const each of [first, others, second]) {
      await store.removePasskey(each, at(SECOND), passkeyEntry(each, 'passkey_removed'));
    }

    same(await idsOf(store), [second.credential_id]);
    same(await idsOf(store, OTHER), [others.credential_id]);
  },

  'approve() stores which passkey confirmed the vote, and when it was used': async (store) => {
    const made = await added(store, passkey());
    const request = approval({ approvals_required: 1 });
    await store.requestApproval(request, entry(), []);

    const decision = decisionBy(request, made.credential_id, at(SECOND));
    assert.equal(await store.approve(decision), 'approved');

    const stored = await store.loadApproval(request.approval_request_id);
    assert.equal(stored?.approvals[0]?.credential_id, made.credential_id);
    const [used] = await store.listPasskeys(PERSON, 1);
    same(used?.last_used_at, at(SECOND));
  },

  'approve() and deny() are stale when the passkey was removed or is of another person': async (
    store,
  ) => {
    const made = await added(store, passkey());
    const others = await added(store, passkey({ principal: OTHER }));
    const request = approval({ approvals_required: 1 });
    await store.requestApproval(request, entry(), []);
    await store.removePasskey(made, at(0), passkeyEntry(made, 'passkey_removed'));
    const { size } = await store.sequence();

    for (const id of [made.credential_id, others.credential_id]) {
      const decision = decisionBy(request, id, at(SECOND));
      assert.equal(await store.approve(decision), 'stale');
      const { approval_request_id, now, entry: logged } = decision;
      const denial = { approval_request_id, now, entry: logged, deliveries: [], reason: 'no' };
      assert.equal(await store.deny({ ...denial, decided_by: PERSON, credential_id: id }), 'stale');
    }

    assert.equal((await store.loadApproval(request.approval_request_id))?.status, 'pending');
    same(await entriesSince(store, size), []);
  },

  'voidPromises() keeps passkeys': async (store) => {
    const made = await added(store, passkey());

    await store.voidPromises();

    same(await idsOf(store), [made.credential_id]);
  },
};

function decisionBy(
  request: ReturnType<typeof approval>,
  credential_id: string,
  now: Date,
): ApprovalDecision {
  return {
    approval_request_id: request.approval_request_id,
    approver: PERSON,
    now,
    approvalsSeen: 0,
    terms: TERMS,
    credential_id,
    grant: grantFor(request),
    entry: entry({ entry_type: 'approval_decision' }),
    deliveries: [],
  };
}
