/**
 * The contract of lists of approval requests: order, pages and filters.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { ApprovalRecord } from '../../../storage/port/records.ts';
import {
  APPROVALS_LOOKED_AT_MAX,
  type ApprovalPage,
  type ApprovalPlace,
} from '../../../storage/port/store.ts';
import { approval, at, HOUR } from '../../fixtures.ts';
import type { Cases } from '../../runner.ts';
import { same } from '../observe.ts';
import { approve, asked, deny } from './approvals.ts';

export const LISTING_CASES: Cases = {
  'listApprovals() gives the newest first, in pages without gaps or repetitions': async (store) => {
    // Two of the same instant, so that the place of a page needs the id too.
    const times = [3, 1, 2, 2, 4];
    for (const time of times) await asked(store, approval({ created_at: at(time) }));
    const { requests: all } = await store.listApprovals({ now: at(5), limit: 10 });

    const paged: ApprovalRecord[] = [];
    for (let before: ApprovalRecord | undefined; ; before = paged.at(-1)) {
      const {
        requests: [next, ...rest],
      } = await store.listApprovals({ now: at(5), limit: 1, before });
      assert.deepEqual(rest, []);
      if (next === undefined) break;
      paged.push(next);
    }

    assert.deepEqual(
      all.map(({ created_at }) => created_at.getTime() - at(0).getTime()),
      [4, 3, 2, 2, 1],
    );
    same(paged, all);
  },

  'listApprovals() continues at next when matches are rare': async (store) => {
    const count = 250;
    for (let i = 0; i < count; i++) {
      await asked(store, approval({ capability: i % 120 === 5 ? 'rare' : 'c', created_at: at(i) }));
    }

    const found: number[] = [];
    let before: ApprovalPlace | undefined;
    do {
      const query = { now: at(0), capabilities: ['rare'], limit: 1, before };
      const { requests, next }: ApprovalPage = await store.listApprovals(query);
      found.push(...requests.map(({ created_at }) => created_at.getTime() - at(0).getTime()));
      before = next;
    } while (before !== undefined);

    assert.deepEqual(found, [245, 125, 5]);
  },

  'listApprovals() reads a bounded number of requests, and continues after them': async (store) => {
    const beyond = 3;
    const count = APPROVALS_LOOKED_AT_MAX + beyond;
    const batch = Array.from({ length: count }, (_, i) => {
      return asked(store, approval({ capability: i === 0 ? 'rare' : 'c', created_at: at(i) }));
    });
    await Promise.all(batch);
    const query = { now: at(0), capabilities: ['rare'], limit: 1 };

    const first = await store.listApprovals(query);
    const second = await store.listApprovals({ ...query, before: first.next });

    assert.deepEqual(first.requests, []);
    same(first.next?.created_at, at(beyond));
    same(
      second.requests.map(({ created_at }) => created_at),
      [at(0)],
    );
  },

  'listApprovals() filters by capability, and an empty list matches none': async (store) => {
    for (const capability of ['a', 'b', 'c']) await asked(store, approval({ capability }));
    const listed = async (capabilities: string[] | undefined) => {
      const { requests: found } = await store.listApprovals({
        now: at(0),
        limit: 10,
        capabilities,
      });
      return found.map(({ capability }) => capability).sort();
    };

    assert.deepEqual(await listed(undefined), ['a', 'b', 'c']);
    assert.deepEqual(await listed(['a', 'c', 'z']), ['a', 'c']);
    assert.deepEqual(await listed([]), []);
  },

  'listApprovals() filters by status, and shows a pending one past its expiry as expired': async (
    store,
  ) => {
    const { request: pending } = await asked(store, approval({ expires_at: at(HOUR + 1) }));
    const { request: late } = await asked(store, approval({ expires_at: at(HOUR) }));
    const { request: approved } = await asked(store, approval({ expires_at: at(HOUR) }));
    const { request: denied } = await asked(store, approval({ expires_at: at(HOUR) }));
    await approve(store, approved);
    await deny(store, denied);

    const expected = { pending, expired: late, approved, denied } as const;
    for (const status of ['pending', 'expired', 'approved', 'denied'] as const) {
      const { requests: found } = await store.listApprovals({ now: at(HOUR), limit: 10, status });
      const { approval_request_id } = expected[status];
      assert.deepEqual(
        found.map((request) => [request.approval_request_id, request.status]),
        [[approval_request_id, status]],
      );
    }
    const { requests: all } = await store.listApprovals({ now: at(HOUR), limit: 10 });
    assert.deepEqual(all.map(({ status }) => status).sort(), [
      ...['approved', 'denied', 'expired', 'pending'],
    ]);
  },
};
