/**
 * The contract of kept declarations, and of what a change makes unusable.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { DeclarationRecord } from '../../../src/storage/port/declaration-store.ts';
import {
  admission,
  approval,
  at,
  granted,
  grantFor,
  HOUR,
  insert,
  newId,
  rootToken,
  SECOND,
  useOf,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { same } from '../observe.ts';
import { asked, decisionOn, deny } from './approvals/decisions.ts';

const NOW = at(2 * SECOND);
const FIRST = `sha256:${'01'.repeat(32)}`;
const SECOND_DIGEST = `sha256:${'02'.repeat(32)}`;

function declared(capability: string, changed: Partial<DeclarationRecord> = {}): DeclarationRecord {
  return {
    capability,
    contract_version: '1.0.0',
    digest: FIRST,
    declaration: `{"description":"${capability} \\u0000 東京"}`,
    kept_at: at(0),
    ...changed,
  };
}

export const DECLARATION_CASES: Cases = {
  'keepDeclarations() stores, replaces and removes declarations in one step': async (store) => {
    await store.keepDeclarations([declared('pay'), declared('book'), declared('look')], []);
    const changed = declared('pay', { digest: SECOND_DIGEST, kept_at: at(HOUR) });

    await store.keepDeclarations([changed], ['look', 'never_kept']);

    same(await store.keptDeclarations(10), [declared('book'), changed]);
    same(await store.keptDeclarations(1), [declared('book')]);
  },

  'keepDeclarations() called at once by several starts keeps one row for each name': async (
    store,
  ) => {
    const rows = ['a', 'b', 'c'].map((name) => declared(name));

    await Promise.all([
      store.keepDeclarations(rows, ['gone']),
      store.keepDeclarations([...rows].reverse(), []),
    ]);

    same(await store.keptDeclarations(10), rows);
  },

  'staleApprovals() counts what does not fit the declaration': async (store) => {
    const of = (digest: string, contract_version = '1.0.0') =>
      approval({ capability: 'pay', declaration_digest: digest, contract_version });
    for (const request of [of(FIRST), of(SECOND_DIGEST), of(FIRST, '0.9.0')]) {
      await asked(store, request);
      const approved = { ...request, approval_request_id: newId('apr_'), session_id: 's' };
      await asked(store, approved);
      const grant = grantFor(approved);
      assert.equal(await store.approve(decisionOn(approved, { grant })), 'approved');
    }
    const fits = { contract_version: '1.0.0', declaration_digest: FIRST };
    const query = { capability: 'pay', now: NOW, limit: 100 };

    same(await store.staleApprovals({ ...query, fits }), {
      requests: 2,
      grants: 2,
      isComplete: true,
    });
    same(await store.staleApprovals(query), { requests: 3, grants: 3, isComplete: true });
    same(await store.staleApprovals({ ...query, capability: 'other' }), {
      requests: 0,
      grants: 0,
      isComplete: true,
    });
  },

  'staleApprovals() looks at no more than its limit': async (store) => {
    for (let count = 0; count < 3; count++) await asked(store, approval({ capability: 'pay' }));
    const query = { capability: 'pay', now: NOW };

    const bounded = await store.staleApprovals({ ...query, limit: 2 });
    const all = await store.staleApprovals({ ...query, limit: 4 });

    same(bounded, { requests: 2, grants: 0, isComplete: false });
    same(all, { requests: 3, grants: 0, isComplete: true });
  },

  'staleApprovals() leaves out what is decided, used up or expired': async (store) => {
    const token = await insert(store, rootToken());
    const grant = await granted(store, token, { expires_at: at(HOUR) });
    await deny(store, (await asked(store, approval())).request);
    await asked(store, approval({ expires_at: at(HOUR) }));
    const counted = async (now: Date) => {
      const found = await store.staleApprovals({ capability: 'book_flight', now, limit: 100 });
      return [found.requests, found.grants];
    };

    assert.deepEqual(await counted(at(HOUR - 1)), [1, 1]);
    assert.deepEqual(await counted(at(HOUR)), [0, 0]);
    await store.admit(admission(token, { grant: useOf(grant) }));
    assert.deepEqual(await counted(at(HOUR - 1)), [1, 0]);
  },
};
