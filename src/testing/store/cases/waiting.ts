/**
 * The contract of waiting grants, and of the newest request of a question.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { ApprovalRecord, GrantRecord } from '../../../storage/port/records.ts';
import type { Question, Store } from '../../../storage/port/store.ts';
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
} from '../../fixtures.ts';
import type { Cases } from '../../runner.ts';
import { same } from '../observe.ts';
import { asked, decisionOn, deny } from './approvals.ts';

const NOW = at(2 * SECOND);

/** More than any case has. */
const MANY = 10;

function questionOf(request: ApprovalRecord, changed: Partial<Question> = {}): Question {
  const { chain = '', declaration_digest = '', capability, contract_version } = request;
  const { parameters_digest, session_id } = request;
  return {
    ...{ chain, capability, contract_version, declaration_digest, parameters_digest, session_id },
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
        ...{ grant_type: 'session_bound', session_id: 'session-1' },
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
