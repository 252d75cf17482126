/**
 * The contract of approval requests: requesting, deciding, expiring.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { ApprovalRecord } from '../../../../src/storage/port/records.ts';
import type { ApprovalDecision, Denial, Store } from '../../../../src/storage/port/store.ts';
import {
  approval,
  at,
  delivery,
  entry,
  grantFor,
  HOUR,
  happened,
  insert,
  newId,
  rootToken,
  SECOND,
  TERMS,
} from '../../../support/fixtures.ts';
import type { Cases } from '../../cases.ts';
import { entriesSince, grantOf, same, unchanged } from '../../observe.ts';

/** A request with a value in every field that a new one may have. */
function fullRequest(): ApprovalRecord {
  return approval({
    token_id: 'tok_1',
    cost: { currency: 'USD', amount: 0.1 },
    note: 'customer is \u202e "furious", 東京',
    session_id: 'session-1',
    parameters: { to: '東京', deep: { list: [1, 0.1, null, { a: '"' }] } },
    preview: { title: 'Book', lines: ['a', 'b'] },
    preview_digest: `sha256:${'cd'.repeat(32)}`,
    scope: ['travel.book', 'travel.pay'],
    approvals_required: 2,
    require: 'passkey',
  });
}

/** Each field that distinguishes questions. */
const OTHER_QUESTIONS: [part: string, change: Partial<ApprovalRecord>][] = [
  ['chain', { chain: `sha256:${'11'.repeat(32)}` }],
  ['capability', { capability: 'cancel_flight' }],
  ['contract version', { contract_version: '1.0.1' }],
  ['declaration', { declaration_digest: `sha256:${'22'.repeat(32)}` }],
  ['parameters', { parameters_digest: `sha256:${'00'.repeat(32)}` }],
  ['session', { session_id: 'session-2' }],
  ['session, being in none', { session_id: undefined }],
];

export const ASKING_CASES: Cases = {
  'requestApproval() inserts the request, its entry and its notifications': async (store) => {
    const request = fullRequest();
    const logged = entry({ entry_type: 'approval_request' });
    const deliveries = [delivery(request), delivery(request, { target: 'https://b.example.com' })];

    const kept = await store.requestApproval(request, logged, deliveries);

    same(kept, request);
    same(await store.loadApproval(request.approval_request_id), request);
    same(await entriesSince(store, 0), [{ ...logged, sequence: 0 }]);
    const listed = await store.listDeliveries(10);
    const byId = new Map(listed.map((one) => [one.delivery_id, one]));
    for (const one of deliveries) same(byId.get(one.delivery_id), one);
    assert.equal(listed.length, 2);
  },

  'requestApproval() returns the pending request for an equal question': async (store) => {
    const { request } = await asked(store, fullRequest());
    const again = { ...request, approval_request_id: newId('apr_'), invocation_id: newId('inv-') };

    const kept = await unchanged(store, { tokens: [] }, () =>
      store.requestApproval(again, entry(), [delivery(again)]),
    );

    same(kept, request);
    assert.equal(await store.loadApproval(again.approval_request_id), undefined);
  },

  ...Object.fromEntries(
    OTHER_QUESTIONS.map(([part, change]) => [
      `requestApproval() inserts another request for a question that differs in ${part}`,
      async (store: Store) => {
        const { request } = await asked(store, approval({ session_id: 'session-1' }));
        const other = { ...request, approval_request_id: newId('apr_'), ...change };

        const kept = happened(await store.requestApproval(other, entry(), []));

        assert.equal(kept.approval_request_id, other.approval_request_id);
      },
    ]),
  ),

  'requestApproval() treats equal questions without a session as one': async (store) => {
    const { request } = await asked(store);
    const again = { ...request, approval_request_id: newId('apr_') };

    same(await store.requestApproval(again, entry(), []), request);
  },

  'requestApproval() inserts another request when the pending one expires': async (store) => {
    const { request } = await asked(store, approval({ expires_at: at(HOUR) }));
    const early = { ...request, approval_request_id: newId('apr_'), created_at: at(HOUR - 1) };
    const late = {
      ...request,
      approval_request_id: newId('apr_'),
      created_at: at(HOUR),
      expires_at: at(2 * HOUR),
    };

    const before = happened(await store.requestApproval(early, entry(), []));
    const after = await store.requestApproval(late, entry(), []);
    const again = await store.requestApproval(
      { ...late, approval_request_id: newId('apr_') },
      entry(),
      [],
    );

    assert.equal(before.approval_request_id, request.approval_request_id);
    same(after, late);
    same(again, late);
    const first = await store.loadApproval(request.approval_request_id);
    assert.equal(first?.status, 'pending', 'only expireApprovals() marks it, with its own entry');
  },

  'requestApproval() inserts another request when the first was decided': async (store) => {
    for (const decide of [approve, deny]) {
      const { request } = await asked(store);
      await decide(store, request);
      const again = { ...request, approval_request_id: newId('apr_') };

      same(await store.requestApproval(again, entry(), []), again);
    }
  },

  'loadApproval() returns undefined for an unknown request': async (store) => {
    assert.equal(await store.loadApproval(newId('apr_')), undefined);
    assert.equal(await store.approvalState(newId('apr_')), undefined);
  },

  'approvalState() says whether a request was decided, and when it expires': async (store) => {
    const { request } = await asked(store, approval({ expires_at: at(HOUR + 7) }));
    const { approval_request_id: id, expires_at } = request;

    same(await store.approvalState(id), { status: 'pending', expires_at });
    await deny(store, request);
    same(await store.approvalState(id), { status: 'denied', expires_at });
  },
};

export const DECISION_CASES: Cases = {
  'approve() adds the approver, the grant, the entry and the notifications': async (store) => {
    const token = await insert(store, rootToken());
    const { request, size } = await asked(store, fullRequestOf(1));
    const grant = grantFor(request, { grant_type: 'session_bound', session_id: 'session-1' });
    const decision = decisionOn(request, { grant, deliveries: [delivery(request)] });

    const result = await store.approve(decision);

    assert.equal(result, 'approved');
    same(await store.loadApproval(request.approval_request_id), {
      ...request,
      approvals: [{ approver: decision.approver, approved_at: at(SECOND), terms: TERMS }],
      status: 'approved',
      decided_at: at(SECOND),
      decided_by: decision.approver,
      grant_id: grant.grant_id,
    });
    same(await grantOf(store, token.token_id, grant.grant_id), grant);
    same(await entriesSince(store, size), [{ ...decision.entry, sequence: size }]);
    same(await store.listDeliveries(10), decision.deliveries);
  },

  'approve() counts approvers below the quorum, and grants with the last': async (store) => {
    const { request } = await asked(store, fullRequestOf(2));
    const first = decisionOn(request, { approver: 'human:a@example.com' });
    const second = decisionOn(request, {
      approver: 'human:b@example.com',
      now: at(2 * SECOND),
      approvalsSeen: 1,
      grant: grantFor(request),
    });

    assert.equal(await store.approve(first), 'counted');
    const between = await store.loadApproval(request.approval_request_id);
    assert.equal(await store.approve(second), 'approved');
    const after = await store.loadApproval(request.approval_request_id);

    const approvals = [{ approver: 'human:a@example.com', approved_at: at(SECOND), terms: TERMS }];
    same(between, { ...request, approvals });
    same(after?.approvals, [
      ...approvals,
      { approver: 'human:b@example.com', approved_at: at(2 * SECOND), terms: TERMS },
    ]);
    assert.equal(after?.decided_by, 'human:b@example.com');
  },

  'approve() is stale when another approver voted first, and changes nothing': async (store) => {
    const { request } = await asked(store, fullRequestOf(3));
    await store.approve(decisionOn(request, { approver: 'human:a@example.com' }));

    for (const approvalsSeen of [0, 2]) {
      const decision = decisionOn(request, { approver: 'human:b@example.com', approvalsSeen });
      const result = await unchanged(store, { tokens: [] }, () => store.approve(decision));
      assert.equal(result, 'stale');
    }
  },

  'approve() stores the first of two proposals, and the second is stale': async (store) => {
    const { request } = await asked(store, fullRequestOf(2));
    const wider = { ...TERMS, expires_in_seconds: 60.5, session_id: 'a "b"', max_uses: 9 };
    const proposals = [TERMS, wider].map((terms, place) =>
      decisionOn(request, { approver: `human:${place}@example.com`, terms }),
    );

    const results = await Promise.all(proposals.map((proposal) => store.approve(proposal)));

    assert.deepEqual([...results].sort(), ['counted', 'stale']);
    const kept = await store.loadApproval(request.approval_request_id);
    const { approver, terms } = proposals[results.indexOf('counted')] ?? {};
    same(kept?.approvals, [{ approver, approved_at: at(SECOND), terms }]);
  },

  'approve() does not count one approver twice': async (store) => {
    const token = await insert(store, rootToken());
    const { request } = await asked(store, fullRequestOf(2));
    await store.approve(decisionOn(request));
    const grant = grantFor(request);
    const again = decisionOn(request, { approvalsSeen: 1, grant });

    const watched = { tokens: [token.token_id], grants: [grant.grant_id] };
    const result = await unchanged(store, watched, () => store.approve(again));

    assert.equal(result, 'stale');
  },

  'approve() rejects a vote whose grant is missing, early or of another request': async (store) => {
    const token = await insert(store, rootToken());
    const { request } = await asked(store, fullRequestOf(2));
    const { request: other } = await asked(store, approval({ capability: 'cancel_flight' }));
    const [early, foreign] = [grantFor(request), grantFor(request)];

    const watched = { tokens: [token.token_id], grants: [early.grant_id, foreign.grant_id] };
    const results = await unchanged(store, watched, () =>
      Promise.allSettled([
        store.approve(decisionOn(request, { grant: early })),
        store.approve(decisionOn(other, { grant: foreign })),
        store.approve(decisionOn(other)),
      ]),
    );

    assert.deepEqual(
      results.map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    );
  },

  'approve() and deny() refuse a request at the instant it expires': async (store) => {
    const { request } = await asked(store, approval({ expires_at: at(HOUR) }));
    const grant = grantFor(request);
    const now = at(HOUR);

    const [approved, denied] = await unchanged(store, { tokens: [] }, async () => [
      await store.approve(decisionOn(request, { grant, now })),
      await store.deny(denialOf(request, { now })),
    ]);
    const before = await store.approve(decisionOn(request, { grant, now: at(HOUR - 1) }));

    assert.deepEqual([approved, denied], ['expired', 'expired']);
    assert.equal(before, 'approved');
  },

  'approve() and deny() refuse a request that was decided, also after its expiry': async (
    store,
  ) => {
    for (const decide of [approve, deny]) {
      const { request } = await asked(store, approval({ expires_at: at(HOUR) }));
      await decide(store, request);
      const other = { approver: 'human:other@example.com', grant: grantFor(request) };

      for (const now of [at(2 * SECOND), at(2 * HOUR)]) {
        const results = await unchanged(store, { tokens: [] }, async () => [
          await store.approve(decisionOn(request, { ...other, now })),
          await store.approve(decisionOn(request, { ...other, now, approvalsSeen: 1 })),
          await store.deny(denialOf(request, { now })),
        ]);
        assert.deepEqual(results, ['decided', 'decided', 'decided']);
      }
    }
  },

  'deny() stores the decision, its entry and its notifications': async (store) => {
    const { request, size } = await asked(store, fullRequestOf(2));
    await store.approve(decisionOn(request, { approver: 'human:a@example.com' }));
    const denial = denialOf(request, { deliveries: [delivery(request, { event: 'denied' })] });

    const result = await store.deny(denial);

    assert.equal(result, 'denied');
    same(await store.loadApproval(request.approval_request_id), {
      ...request,
      approvals: [{ approver: 'human:a@example.com', approved_at: at(SECOND), terms: TERMS }],
      status: 'denied',
      decided_at: at(SECOND),
      decided_by: denial.decided_by,
      reason: denial.reason,
    });
    same((await entriesSince(store, size))[1], { ...denial.entry, sequence: size + 1 });
    same(await store.listDeliveries(10), denial.deliveries);
  },

  'approve() and deny() decide nothing about an unknown request': async (store) => {
    const stray = approval();

    const results = await unchanged(store, { tokens: [] }, async () => [
      await store.approve(decisionOn(stray, { grant: grantFor(stray) })).catch(() => 'rejected'),
      await store.deny(denialOf(stray)).catch(() => 'rejected'),
    ]);

    assert.equal(results.includes('approved') || results.includes('denied'), false);
  },
};

export function decisionOn(
  request: ApprovalRecord,
  changed: Partial<ApprovalDecision> = {},
): ApprovalDecision {
  return {
    approval_request_id: request.approval_request_id,
    approver: 'human:approver@example.com',
    now: at(SECOND),
    approvalsSeen: 0,
    terms: TERMS,
    entry: entry({ entry_type: 'approval_decision' }),
    deliveries: [],
    ...changed,
  };
}

function denialOf(request: ApprovalRecord, changed: Partial<Denial> = {}): Denial {
  return {
    approval_request_id: request.approval_request_id,
    decided_by: 'human:denier@example.com',
    reason: 'Too "expensive": 3 ‰ over',
    now: at(SECOND),
    entry: entry({ entry_type: 'approval_decision' }),
    deliveries: [],
    ...changed,
  };
}

function fullRequestOf(approvals_required: number): ApprovalRecord {
  return { ...fullRequest(), approvals_required };
}

export async function asked(store: Store, request: ApprovalRecord = approval()) {
  const logged = entry({ entry_type: 'approval_request' });
  const kept = happened(await store.requestApproval(request, logged, []));
  assert.equal(kept.approval_request_id, request.approval_request_id);
  return { request, size: (await store.sequence()).size };
}

export async function approve(store: Store, request: ApprovalRecord): Promise<void> {
  const result = await store.approve(decisionOn(request, { grant: grantFor(request) }));
  assert.equal(result, 'approved');
}

export async function deny(store: Store, request: ApprovalRecord): Promise<void> {
  assert.equal(await store.deny(denialOf(request)), 'denied');
}
