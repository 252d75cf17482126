/**
 * The contract of what people decide by: pending requests by expiry, and the requests of one requester.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { ApprovalRecord } from '../../../../src/storage/port/records.ts';
import {
  PENDING_LOOKED_AT_MAX,
  type PendingPage,
  type PendingPlace,
} from '../../../../src/storage/port/store.ts';
import { approval, at, entry, HOUR } from '../../../support/fixtures.ts';
import type { Cases } from '../../cases.ts';
import { same } from '../../observe.ts';
import { approve, asked, decisionOn, deny } from './decisions.ts';

/** Requests that a case makes at once. */
const TOGETHER = 20;

/** Milliseconds after the epoch of the fixtures. */
const ms = (time: Date) => time.getTime() - at(0).getTime();

export const INBOX_CASES: Cases = {
  'pendingApprovals() gives the next to expire first, in pages without gaps or repetitions': async (
    store,
  ) => {
    // Two of the same instant, so that the place of a page needs the id too.
    for (const time of [30, 10, 20, 20, 40]) {
      await asked(store, approval({ expires_at: at(time) }));
    }
    const query = { now: at(5), capabilities: ['book_flight'] };
    const { requests: all } = await store.pendingApprovals({ ...query, limit: 10 });

    const paged: ApprovalRecord[] = [];
    let after: PendingPlace | undefined;
    do {
      const page: PendingPage<ApprovalRecord> = await store.pendingApprovals({
        ...query,
        limit: 1,
        after,
      });
      paged.push(...page.requests);
      after = page.next;
    } while (after !== undefined);

    assert.deepEqual(
      all.map(({ expires_at }) => ms(expires_at)),
      [10, 20, 20, 30, 40],
    );
    same(paged, all);
  },

  'figures() counts the requests that are neither decided nor expired': async (store) => {
    await asked(store, approval({ expires_at: at(2 * HOUR) }));
    await asked(store, approval({ expires_at: at(3 * HOUR), capability: 'other' }));
    await asked(store, approval({ expires_at: at(HOUR) }));
    for (const decide of [approve, deny]) {
      const { request } = await asked(store, approval());
      await decide(store, request);
    }

    const { openApprovals } = await store.figures(at(HOUR));

    assert.equal(openApprovals, 2);
  },

  'pendingApprovals() gives neither decided nor expired requests nor those of other capabilities':
    async (store) => {
      const open = approval({ expires_at: at(2 * HOUR) });
      const { request: voted } = await asked(
        store,
        approval({ expires_at: at(3 * HOUR), approvals_required: 2 }),
      );
      await asked(store, open);
      await asked(store, approval({ expires_at: at(HOUR) }));
      await asked(store, approval({ capability: 'other' }));
      await store.approve(decisionOn(voted));
      for (const decide of [approve, deny]) {
        const { request } = await asked(store, approval());
        await decide(store, request);
      }
      const query = { now: at(HOUR), capabilities: ['book_flight'], limit: 10 };

      const { requests, next } = await store.pendingApprovals(query);
      const none = await store.pendingApprovals({ ...query, capabilities: [] });

      assert.equal(next, undefined);
      same(requests[0], open);
      assert.deepEqual(
        requests.map(({ approvals }) => approvals.length),
        [0, 1],
      );
      same(none, { requests: [], next: undefined });
    },

  'pendingApprovals() looks at a bounded number of requests, and continues after them': async (
    store,
  ) => {
    const beyond = 3;
    const capabilityAt = (place: number) =>
      place === 0 || place >= PENDING_LOOKED_AT_MAX ? 'rare' : 'c';
    const ask = (place: number) => {
      const asked = { capability: capabilityAt(place), expires_at: at(HOUR + place) };
      return store.requestApproval(approval(asked), entry(), []);
    };
    for (let place = 0; place < PENDING_LOOKED_AT_MAX + beyond; place += TOGETHER) {
      const count = Math.min(TOGETHER, PENDING_LOOKED_AT_MAX + beyond - place);
      await Promise.all(Array.from({ length: count }, (_, each) => ask(place + each)));
    }
    const query = { now: at(0), capabilities: ['rare'], limit: 50 };

    const first = await store.pendingApprovals(query);
    const second = await store.pendingApprovals({ ...query, after: first.next });
    const sides = await store.pendingSides(query);

    assert.equal(first.requests.length, 1);
    assert.equal(ms(first.next?.expires_at ?? at(0)), HOUR + PENDING_LOOKED_AT_MAX - 1);
    assert.equal(second.requests.length, beyond);
    assert.equal(second.next, undefined);
    assert.equal(sides.requests.length, 1);
    same(sides.next, first.next);
  },

  'pendingSides() gives who asks, for whom, through whom and until when': async (store) => {
    const { request } = await asked(store);

    const { requests } = await store.pendingSides({
      now: at(0),
      capabilities: [request.capability],
      limit: 5,
    });

    const { approval_request_id, capability, subject, root_principal } = request;
    const { requested_through, approvals_required, expires_at } = request;
    const sides = { requested_through, approvals_required, expires_at };
    same(
      requests.map((each) => Object.entries(each).filter(([, value]) => value !== undefined)),
      [Object.entries({ approval_request_id, capability, subject, root_principal, ...sides })],
    );
  },

  'approvalsOf() gives those of one requester for one capability, newest first': async (store) => {
    const mine: ApprovalRecord[] = [];
    for (const time of [1, 3, 2, 2]) {
      mine.push((await asked(store, approval({ created_at: at(time) }))).request);
    }
    const chain = mine[0]?.chain ?? '';
    await asked(store, approval({ capability: 'other' }));
    await asked(store, approval({ chain: `sha256:${'11'.repeat(32)}` }));
    const query = { now: at(HOUR), chain, capability: 'book_flight' };

    const { requests: all, next } = await store.approvalsOf({ ...query, limit: 10 });
    const newest = await store.approvalsOf({ ...query, limit: 1 });
    const older = await store.approvalsOf({ ...query, limit: 10, before: all[1] });

    assert.deepEqual(
      all.map(({ created_at }) => ms(created_at)),
      [3, 2, 2, 1],
    );
    assert.equal(next, undefined);
    same(newest, { requests: all.slice(0, 1), next: all[0] });
    same(older.requests, all.slice(2));
  },

  'approvalsOf() and statesSince() say how each was decided, and find the approved ones': async (
    store,
  ) => {
    const { request: approved } = await asked(store, approval({ created_at: at(1) }));
    const { request: denied } = await asked(store, approval({ created_at: at(2) }));
    await asked(store, approval({ created_at: at(3), expires_at: at(HOUR) }));
    await asked(store, approval({ created_at: at(4) }));
    await approve(store, approved);
    await deny(store, denied);
    const query = { now: at(HOUR), chain: approved.chain ?? '', capability: 'book_flight' };

    const { requests: all } = await store.approvalsOf({ ...query, limit: 10 });
    const granted = await store.approvalsOf({ ...query, limit: 10, approved: true });
    const before = { ...query, limit: 10, approved: true, before: approved };
    const states = await store.statesSince({ ...query, since: at(2), limit: 10 });
    const newest = await store.statesSince({ ...query, since: at(0), limit: 1 });

    const expected = ['pending', 'expired', 'denied', 'approved'];
    assert.deepEqual(
      all.map(({ status }) => status),
      expected,
    );
    same(granted.requests, all.slice(3));
    same((await store.approvalsOf(before)).requests, []);
    const stateOf = ({ approval_request_id, status }: ApprovalRecord) => ({
      approval_request_id,
      status,
    });
    same(states, all.slice(0, 3).map(stateOf));
    same(newest, all.slice(0, 1).map(stateOf));
  },
};
