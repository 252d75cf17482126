/**
 * The contract of what is read about approvals: lists, waiting grants, and the newest request of a question.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { ApprovalRecord, GrantRecord } from '../../../../src/storage/port/records.ts';
import {
  APPROVALS_LOOKED_AT_MAX,
  type ApprovalPage,
  type ApprovalPlace,
  type Question,
  type Store,
} from '../../../../src/storage/port/store.ts';
import {
  admission,
  approval,
  at,
  grantFor,
  HOUR,
  insert,
  newId,
  rootToken,
  SECOND,
  useOf,
} from '../../../support/fixtures.ts';
import type { Cases } from '../../cases.ts';
import { same } from '../../observe.ts';
import { approve, asked, decisionOn, deny } from './decisions.ts';

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
      'approved',
      'denied',
      'expired',
      'pending',
    ]);
  },
};

const NOW = at(2 * SECOND);

/** More than any case has. */
const MANY = 10;

function questionOf(request: ApprovalRecord, changed: Partial<Question> = {}): Question {
  const { chain, declaration_digest, capability, contract_version } = request;
  const { parameters_digest, session_id } = request;
  return {
    chain,
    capability,
    contract_version,
    declaration_digest,
    parameters_digest,
    session_id,
    ...changed,
  };
}

/** Grants one more request of a question. */
async function granted(
  store: Store,
  question: ApprovalRecord,
  changed: Partial<GrantRecord> = {},
): Promise<GrantRecord> {
  const request = { ...question, approval_request_id: newId('apr_') };
  await asked(store, request);
  const grant = grantFor(request, changed);
  assert.equal(await store.approve(decisionOn(request, { grant })), 'approved');
  return grant;
}

/** Each field that distinguishes questions. */
const OTHER_PARTS: [part: string, change: Partial<Question>][] = [
  ['chain', { chain: `sha256:${'11'.repeat(32)}` }],
  ['capability', { capability: 'cancel_flight' }],
  ['contract version', { contract_version: '1.0.1' }],
  ['declaration', { declaration_digest: `sha256:${'22'.repeat(32)}` }],
  ['parameters', { parameters_digest: `sha256:${'00'.repeat(32)}` }],
];

export const WAITING_CASES: Cases = {
  'waitingGrants() finds the grants of a question, earliest expiry first': async (store) => {
    const request = approval();
    const late = await granted(store, request, { expires_at: at(3 * HOUR) });
    const soon = await granted(store, request, { expires_at: at(2 * HOUR) });

    same(await store.waitingGrants(questionOf(request), NOW, MANY), [soon, late]);
    same(await store.waitingGrants(questionOf(request), NOW, 1), [soon]);
  },

  'waitingGrants() and latestApproval() find nothing of a request without an answer': async (
    store,
  ) => {
    const { request } = await asked(store);
    const { approval_request_id, expires_at } = request;

    same(await store.waitingGrants(questionOf(request), NOW, MANY), []);
    const latest = { approval_request_id, status: 'pending', expires_at, reason: undefined };
    same(await store.latestApproval(questionOf(request)), latest);
    const other = questionOf(request, { chain: 'nobody' });
    assert.equal(await store.latestApproval(other), undefined);
  },

  ...Object.fromEntries(
    OTHER_PARTS.map(([part, change]) => [
      `waitingGrants() and latestApproval() ignore a question that differs in ${part}`,
      async (store: Store) => {
        const request = approval();
        await granted(store, request);
        const other = questionOf(request, change);

        same(await store.waitingGrants(other, NOW, MANY), []);
        assert.equal(await store.latestApproval(other), undefined);
      },
    ]),
  ),

  'waitingGrants() leaves out a grant at the instant it expires': async (store) => {
    const request = approval();
    const grant = await granted(store, request, { expires_at: at(HOUR) });

    same(await store.waitingGrants(questionOf(request), at(HOUR - 1), MANY), [grant]);
    same(await store.waitingGrants(questionOf(request), at(HOUR), MANY), []);
  },

  'waitingGrants() leaves out a grant whose uses are taken': async (store) => {
    const token = await insert(store, rootToken());
    const request = approval({ chain: token.chain });
    const terms = { grant_type: 'session_bound', session_id: 's', max_uses: 2 } as const;
    const grant = await granted(store, request, terms);
    const question = questionOf(request, { session_id: 's' });
    const use = useOf(grant, { session_id: 's' });

    await store.admit(admission(token, { grant: use }));
    same(await store.waitingGrants(question, NOW, MANY), [{ ...grant, uses: 1 }]);
    await store.admit(admission(token, { grant: use }));
    same(await store.waitingGrants(question, NOW, MANY), []);
  },

  'waitingGrants() finds a session-bound grant in its session alone, and any other in every one':
    async (store) => {
      const request = approval({ session_id: 'asked-in' });
      const bound = await granted(store, request, {
        grant_type: 'session_bound',
        session_id: 'session-1',
        expires_at: at(3 * HOUR),
      });
      const free = await granted(store, request, { expires_at: at(2 * HOUR) });
      const inSession = (session_id: string | undefined) =>
        store.waitingGrants(questionOf(request, { session_id }), NOW, MANY);

      same(await inSession('session-1'), [free, bound]);
      for (const session of ['session-2', '', undefined]) same(await inSession(session), [free]);
    },

  'latestApproval() returns the newest request of a question and session': async (store) => {
    const first = approval({ session_id: 'session-1' });
    await asked(store, first);
    await deny(store, first);
    const denied = await store.latestApproval(questionOf(first));
    const second = {
      ...first,
      approval_request_id: newId('apr_'),
      created_at: at(3 * SECOND),
    };
    await asked(store, second);

    const { status, reason } = (await store.loadApproval(first.approval_request_id)) ?? {};
    const { approval_request_id, expires_at } = first;
    same(denied, { approval_request_id, expires_at, status, reason });
    assert.deepEqual([denied?.status, typeof denied?.reason], ['denied', 'string']);
    const latest = await store.latestApproval(questionOf(first));
    assert.equal(latest?.approval_request_id, second.approval_request_id);
    for (const session_id of ['session-2', undefined]) {
      assert.equal(await store.latestApproval(questionOf(first, { session_id })), undefined);
    }
  },
};
