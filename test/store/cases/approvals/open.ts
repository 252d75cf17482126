/**
 * The contract of open approval requests: how many a chain and its root principal may have.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { OpenBounds } from '../../../../src/domain/authority/approval-request.ts';
import type { ApprovalRecord } from '../../../../src/storage/port/records.ts';
import type { Store } from '../../../../src/storage/port/store.ts';
import { approval, at, delivery, entry, HOUR, newId } from '../../../support/fixtures.ts';
import type { Cases } from '../../cases.ts';
import { same } from '../../observe.ts';
import { deny } from './decisions.ts';

export const OPEN_CASES: Cases = {
  'requestApproval() inserts as many requests of a chain and of its root as the bounds allow':
    async (store) => {
      const bounds = { chain: 2, root: 5, bytes: 10_000 };
      const results: unknown[] = [];
      for (const delegate of ['a', 'a', 'a', 'b', 'b', 'b', 'c', 'c']) {
        results.push(await outcomeOf(store, { delegate: `agent:${delegate}` }, bounds));
      }

      const chain = { of: 'chain', unit: 'requests', waiting: 2, most: 2 };
      const root = { of: 'root', unit: 'requests', waiting: 5, most: 5 };
      assert.deepEqual(results, ['in', 'in', chain, 'in', 'in', chain, 'in', root]);
      const other = { root_principal: 'human:other@example.com', delegate: 'agent:a' };
      assert.equal(await outcomeOf(store, other, bounds), 'in');
      assert.equal((await store.sequence()).size, 6);
    },

  'requestApproval() gives no chain more than half of its root, in requests and in bytes': async (
    store,
  ) => {
    const few = { chain: 100, root: 5, bytes: 10_000 };
    const small = { chain: 100, root: 100, bytes: 1_000 };
    const ofA = { delegate: 'agent:a', kept_bytes: 250 };
    const ofB = { delegate: 'agent:b', kept_bytes: 251 };

    assert.equal(await outcomeOf(store, ofA, few), 'in');
    assert.equal(await outcomeOf(store, ofA, few), 'in');
    const half = { of: 'chain', unit: 'requests', waiting: 2, most: 2 };
    assert.deepEqual(await outcomeOf(store, ofA, few), half);
    const full = { of: 'chain', unit: 'bytes', waiting: 2, most: 500 };
    assert.deepEqual(await outcomeOf(store, ofA, small), full);
    assert.equal(await outcomeOf(store, ofB, small), 'in');
    const rest = { of: 'root', unit: 'bytes', waiting: 3, most: 1_000 };
    assert.deepEqual(await outcomeOf(store, { ...ofB, delegate: 'agent:c' }, small), rest);
    assert.equal(await outcomeOf(store, { ...ofB, kept_bytes: 249 }, small), 'in');
  },

  'requestApproval() counts neither decided nor expired requests, and never an equal question':
    async (store) => {
      const bounds = { chain: 1, root: 2, bytes: 10_000 };
      const first = approval({ expires_at: at(HOUR) });
      same(await store.requestApproval(first, entry(), [], { bounds }), first);
      const again = { ...first, approval_request_id: newId('apr_') };

      same(await store.requestApproval(again, entry(), [], { bounds }), first);
      const full = { of: 'chain', unit: 'requests', waiting: 1, most: 1 };
      assert.deepEqual(await outcomeOf(store, { created_at: at(HOUR - 1) }, bounds), full);
      const late = approval({ created_at: at(HOUR) });
      same(await store.requestApproval(late, entry(), [], { bounds }), late);
      assert.deepEqual(await outcomeOf(store, { created_at: at(HOUR) }, bounds), full);
      await deny(store, late);
      assert.equal(await outcomeOf(store, { created_at: at(HOUR) }, bounds), 'in');
    },
};

/** Whether another request is in, or the bound that it exceeds. */
async function outcomeOf(store: Store, changed: Partial<ApprovalRecord>, bounds: OpenBounds) {
  const request = approval(changed);
  const result = await store.requestApproval(request, entry(), [delivery(request)], { bounds });
  if (typeof result !== 'object' || !('exceeded' in result)) return 'in';
  assert.equal(await store.loadApproval(request.approval_request_id), undefined);
  return result.exceeded;
}
