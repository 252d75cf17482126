/**
 * The contract of what follows from approvals and operators: expiry, notifications, freezes.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { DeliveryRecord, FreezeRecord } from '../../../src/storage/port/records.ts';
import type { FreezePage, FreezePlace, Store } from '../../../src/storage/port/store.ts';
import { approval, at, delivery, entry, freezeOf, HOUR } from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { entriesSince, same, unchanged } from '../observe.ts';
import { approve, asked, deny } from './approvals/decisions.ts';

export const EXPIRY_CASES: Cases = {
  'expireApprovals() expires pending requests past their expiry, with entry and notifications':
    async (store) => {
      const { request: due } = await asked(store, approval({ expires_at: at(HOUR) }));
      const { request: later } = await asked(store, approval({ expires_at: at(HOUR + 1) }));
      const { request: approved } = await asked(store, approval({ expires_at: at(HOUR) }));
      const { request: denied } = await asked(store, approval({ expires_at: at(HOUR) }));
      await approve(store, approved);
      await deny(store, denied);
      const { size } = await store.sequence();
      const logged = entry({ entry_type: 'approval_decision' });
      const notice = delivery(due, { event: 'expired' });

      const expired = await store.expireApprovals(at(HOUR), 10, (request) => {
        assert.equal(request.approval_request_id, due.approval_request_id);
        return { entry: logged, deliveries: [notice] };
      });

      same(expired, [{ ...due, status: 'expired' }]);
      same(await store.loadApproval(due.approval_request_id), expired[0]);
      assert.equal((await store.loadApproval(later.approval_request_id))?.status, 'pending');
      same(await entriesSince(store, size), [{ ...logged, sequence: size }]);
      same(await store.listDeliveries(10), [notice]);
    },

  'expireApprovals() expires each request once, the first to expire first, at most limit at a time':
    async (store) => {
      const ids: string[] = [];
      for (const later of [3, 1, 4, 0, 2]) {
        const { request } = await asked(store, approval({ expires_at: at(HOUR - later) }));
        ids[4 - later] = request.approval_request_id;
      }
      const pass = async () => {
        const expired = await store.expireApprovals(at(HOUR), 2, () => ({
          entry: entry(),
          deliveries: [],
        }));
        return expired.map(({ approval_request_id }) => approval_request_id);
      };

      const passes = [await pass(), await pass(), await pass(), await pass()];

      assert.deepEqual(passes, [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4), []]);
      assert.equal((await store.sequence()).size, 10);
    },

  'expireApprovals() makes later decisions meet an expired request': async (store) => {
    const { request } = await asked(store, approval({ expires_at: at(HOUR) }));
    await store.expireApprovals(at(HOUR), 10, () => ({ entry: entry(), deliveries: [] }));
    const denial = {
      approval_request_id: request.approval_request_id,
      decided_by: 'human:x@example.com',
      reason: 'late',
      now: at(HOUR + 1),
      entry: entry(),
      deliveries: [],
    };

    const result = await unchanged(store, { tokens: [] }, () => store.deny(denial));

    assert.equal(result, 'expired');
  },
};

export const DELIVERY_CASES: Cases = {
  'takeDeliveries() claims what is due, each for one process until the lease ends': async (
    store,
  ) => {
    const due = await queued(store, { next_attempt_at: at(HOUR) });
    await queued(store, { next_attempt_at: at(HOUR + 1) });

    const early = await store.takeDeliveries(at(HOUR - 1), at(2 * HOUR), 10);
    const taken = await store.takeDeliveries(at(HOUR), at(2 * HOUR), 1);
    const meanwhile = await store.takeDeliveries(at(HOUR), at(2 * HOUR), 10);
    const afterwards = await store.takeDeliveries(at(2 * HOUR), at(3 * HOUR), 10);

    same(early, []);
    assert.deepEqual(idsOf(taken), [due.delivery_id]);
    same(taken[0]?.payload, due.payload);
    same(meanwhile, []);
    assert.equal(idsOf(afterwards).includes(due.delivery_id), true, 'the first taker may be dead');
  },

  'takeDeliveries() claims no more than asked': async (store) => {
    for (let i = 0; i < 3; i++) await queued(store);

    const first = await store.takeDeliveries(at(HOUR), at(2 * HOUR), 2);
    const second = await store.takeDeliveries(at(HOUR), at(2 * HOUR), 2);

    assert.equal(first.length, 2);
    assert.equal(second.length, 1);
    assert.equal(new Set(idsOf([...first, ...second])).size, 3);
  },

  'takeDeliveries() claims those due longest first, and before them those without a time': async (
    store,
  ) => {
    const third = await queued(store, { next_attempt_at: at(2) });
    const second = await queued(store, { next_attempt_at: at(1) });
    const first = await queued(store, { next_attempt_at: undefined });

    const one = await store.takeDeliveries(at(HOUR), at(2 * HOUR), 1);
    const others = await store.takeDeliveries(at(HOUR), at(2 * HOUR), 2);

    assert.deepEqual(idsOf([...one, ...others]), idsOf([first, second, third]));
  },

  'takeDeliveries() claims those due longest first over all targets': async (store) => {
    const third = await queued(store, { target: 'a', next_attempt_at: at(3) });
    const first = await queued(store, { target: 'b', next_attempt_at: undefined });
    await queued(store, { target: 'a', next_attempt_at: at(HOUR + 1) });
    const second = await queued(store, { target: 'a', next_attempt_at: at(1) });
    const fourth = await queued(store, { target: 'b', next_attempt_at: at(4) });

    const three = await store.takeDeliveries(at(HOUR), at(HOUR + 1), 3);
    const rest = await store.takeDeliveries(at(HOUR), at(HOUR + 1), 3);

    assert.deepEqual(idsOf(three), idsOf([first, second, third]));
    assert.deepEqual(idsOf(rest), idsOf([fourth]));
    assert.equal((await store.takeDeliveries(at(HOUR + 1), at(2 * HOUR), 9)).length, 5);
  },

  'takeDeliveries() skips the targets in except': async (store) => {
    const [a, b, c] = [
      await queued(store, { target: 'a' }),
      await queued(store, { target: 'b' }),
      await queued(store, { target: 'c' }),
    ];

    const some = await store.takeDeliveries(at(HOUR), at(2 * HOUR), 10, ['a', 'c', 'z']);
    const others = await store.takeDeliveries(at(HOUR), at(2 * HOUR), 10, []);

    assert.deepEqual(idsOf(some), [b.delivery_id]);
    assert.deepEqual(idsOf(others), idsOf([a, c]));
  },

  'finishDelivery() ends one that was delivered': async (store) => {
    const one = await taken(store);

    await store.finishDelivery({ delivery_id: one.delivery_id, state: 'delivered', now: at(9) });

    const [listed] = await store.listDeliveries(10);
    assert.equal(listed?.state, 'delivered');
    assert.deepEqual(listed.delivered_at, at(9));
    assert.equal(listed.attempts, 1);
    same(await store.takeDeliveries(at(99 * HOUR), at(100 * HOUR), 10), []);
  },

  'finishDelivery() sets the next attempt of one that failed': async (store) => {
    const one = await taken(store);
    const error = 'answered 503';

    await store.finishDelivery({
      delivery_id: one.delivery_id,
      state: 'pending',
      error,
      now: at(9),
      nextAttempt: at(5 * HOUR),
    });

    const [listed] = await store.listDeliveries(10);
    assert.equal(listed?.state, 'pending');
    assert.equal(listed.last_error, error);
    assert.deepEqual(listed.next_attempt_at, at(5 * HOUR));
    assert.equal(listed.attempts, 1);
    same(await store.takeDeliveries(at(5 * HOUR - 1), at(9 * HOUR), 10), []);
    assert.equal((await store.takeDeliveries(at(5 * HOUR), at(9 * HOUR), 10)).length, 1);
  },

  'finishDelivery() ends a delivery that failed for good': async (store) => {
    const one = await taken(store);

    await store.finishDelivery({
      delivery_id: one.delivery_id,
      state: 'failed',
      error: 'gone',
      now: at(9),
    });

    const [listed] = await store.listDeliveries(10);
    assert.equal(listed?.state, 'failed');
    assert.equal(listed.last_error, 'gone');
    assert.equal(listed.delivered_at, undefined);
    same(await store.takeDeliveries(at(99 * HOUR), at(100 * HOUR), 10), []);
  },

  'finishDelivery() counts every attempt': async (store) => {
    const one = await queued(store);
    for (const attempt of [1, 2, 3]) {
      await store.takeDeliveries(at(attempt * HOUR), at(attempt * HOUR + 1), 10);
      const next = { state: 'pending', nextAttempt: at((attempt + 1) * HOUR) } as const;
      await store.finishDelivery({ delivery_id: one.delivery_id, now: at(9), ...next });
    }

    assert.equal((await store.listDeliveries(10))[0]?.attempts, 3);
  },

  'listDeliveries() returns at most limit, and continues after a given delivery': async (store) => {
    for (let i = 0; i < 3; i++) await queued(store);

    const all = await store.listDeliveries(10);
    const [newest, middle, oldest] = all;

    assert.equal(all.length, 3);
    same(await store.listDeliveries(2), [newest, middle]);
    same(await store.listDeliveries(2, newest?.delivery_id), [middle, oldest]);
    same(await store.listDeliveries(2, oldest?.delivery_id), []);
  },
};

export const OPERATOR_CASES: Cases = {
  'freeze() stores the freeze and its entry': async (store) => {
    const freeze = freezeOf({
      ...({ what: 'capability', target: 'book_flight', reason: 'leak "7"' } as const),
      frozen_at: at(5),
      until: at(HOUR),
    });
    const logged = entry({ entry_type: 'operator' });

    await store.freeze(freeze, logged);

    same((await store.listFreezes(2)).freezes, [freeze]);
    same(await entriesSince(store, 0), [{ ...logged, sequence: 0 }]);
  },

  'freeze() again replaces the first, and appends another entry': async (store) => {
    await store.freeze(freezeOf({ reason: 'first', until: at(HOUR) }), entry());
    const second = freezeOf({ reason: 'second', frozen_by: 'human:b@example.com' });

    await store.freeze(second, entry());

    same((await store.listFreezes(2)).freezes, [second]);
    assert.equal((await store.sequence()).size, 2);
  },

  'freezesUnder() returns the freezes with the given keys, in their order': async (store) => {
    const service = freezeOf({ frozen_at: at(2) });
    const capability = freezeOf({ what: 'capability', target: 'a', until: at(1), mac: 'kid.mac' });
    const narrow = freezeOf({ what: 'capability', target: 'a human:b@example.com' });
    const principal = freezeOf({ what: 'root_principal', target: 'a' });
    const all = [narrow, principal, service, capability];
    for (const freeze of all) await store.freeze(freeze, entry());

    // Expired freezes are returned too: the time may have been edited.
    same(await store.freezesUnder([capability, { what: 'service', target: '' }]), [
      capability,
      service,
    ]);
    same(await store.freezesUnder(all), all);
    same(await store.freezesUnder([{ what: 'capability', target: 'human:b@example.com' }]), []);
    same(await store.freezesUnder([]), []);
  },

  'listFreezes() gives all, newest first, in pages without gaps or repetitions': async (store) => {
    const freezes = [
      freezeOf({ frozen_at: at(2), until: at(3) }),
      // Two of the same instant, so that the place of a page needs more than the time.
      freezeOf({ what: 'capability', target: 'a', frozen_at: at(3), until: at(HOUR) }),
      freezeOf({ what: 'capability', target: 'b', frozen_at: at(3) }),
      freezeOf({ what: 'root_principal', target: 'a', frozen_at: at(4) }),
      freezeOf({ what: 'root_principal', target: 'b', frozen_at: at(1) }),
    ];
    for (const freeze of freezes) await store.freeze(freeze, entry());
    const { freezes: all, next: end } = await store.listFreezes(10);

    const paged: FreezeRecord[] = [];
    let after: FreezePlace | undefined;
    do {
      const page: FreezePage = await store.listFreezes(2, after);
      paged.push(...page.freezes);
      after = page.next;
    } while (after);

    assert.equal(end, undefined);
    assert.deepEqual(
      all.map(({ frozen_at }) => frozen_at.getTime() - at(0).getTime()),
      [4, 3, 3, 2, 1],
    );
    same(new Set(all.map(({ what, target }) => `${what} ${target}`)).size, 5);
    same(paged, all);
  },

  'unfreeze() removes exactly the named freeze, and appends its entry': async (store) => {
    const one = freezeOf({ what: 'capability', target: 'a' });
    const other = freezeOf({ what: 'root_principal', target: 'a' });
    await store.freeze(one, entry());
    await store.freeze(other, entry());
    const logged = entry({ entry_type: 'operator' });

    const lifted = await store.unfreeze({ what: 'capability', target: 'a' }, logged);

    assert.equal(lifted, true);
    same((await store.listFreezes(2)).freezes, [other]);
    same(await entriesSince(store, 2), [{ ...logged, sequence: 2 }]);
  },

  'unfreeze() is false when nothing was frozen, and appends its entry': async (store) => {
    const logged = entry({ entry_type: 'operator' });

    const lifted = await store.unfreeze({ what: 'service', target: '' }, logged);

    assert.equal(lifted, false);
    same(await entriesSince(store, 0), [{ ...logged, sequence: 0 }]);
  },

  'lead() elects one holder of a job until the time is over': async (store) => {
    assert.equal(await store.lead('seal', 'a', at(0), at(10)), true);

    assert.equal(await store.lead('seal', 'b', at(9), at(20)), false);
    assert.equal(await store.lead('seal', 'a', at(9), at(15)), true, 'the holder extends');
    assert.equal(await store.lead('seal', 'b', at(14), at(20)), false);
    assert.equal(await store.lead('seal', 'b', at(15), at(20)), true, 'free at that instant');
    assert.equal(await store.lead('seal', 'a', at(16), at(30)), false, 'and lost to the first');
    assert.equal(await store.lead('expire', 'a', at(16), at(30)), true, 'another job');
  },
};

/** A notification of a request that is in the store. */
async function queued(store: Store, changed: Partial<DeliveryRecord> = {}) {
  const request = approval();
  const one = delivery(request, changed);
  await store.requestApproval(request, entry(), [one]);
  return one;
}

async function taken(store: Store): Promise<DeliveryRecord> {
  const one = await queued(store);
  assert.equal((await store.takeDeliveries(at(0), at(HOUR), 10)).length, 1);
  return one;
}

function idsOf(deliveries: readonly DeliveryRecord[]): string[] {
  return deliveries.map(({ delivery_id }) => delivery_id);
}
