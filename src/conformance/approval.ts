/**
 * Approval: asking, deciding, waiting and continuing.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { Grant, QuorumAnswer } from '../protocol/approval.ts';
import { APPROVER_KEY, askedJet, HUMAN, JET, type Scenarios, SECOND_APPROVER_KEY } from './desk.ts';

const REFUND = { booking_id: 'BK-1000', amount: 250, reason: 'cancelled' };

export const APPROVAL_SCENARIOS: Scenarios = {
  'a call waits for its approver, continues with the grant, and runs once': async (desk) => {
    const { token, id, jet } = await askedJet(desk);
    const seen = await desk.answer(
      'approval_requests.get',
      { approval_request_id: id },
      APPROVER_KEY,
    );
    const grant = Grant.parse(
      await desk.answer(
        'approval_grants.issue',
        { approval_request_id: id, grant_type: 'one_time' },
        APPROVER_KEY,
      ),
    );
    const fields = { parameters: jet, approval_grant: grant.grant_id };
    const chartered = await desk.success(token, 'charter_jet', fields);
    const again = await desk.refused(token, 'charter_jet', fields);

    assert.equal(seen.preview?.action, 'Charter one jet');
    assert.equal(seen.requester.root_principal, HUMAN);
    assert.equal(grant.parameters_digest, seen.requested_parameters_digest);
    assert.deepEqual(chartered.cost_actual, { currency: 'USD', amount: 18_500 });
    assert.equal(again.type, 'approval_grant_invalid');
  },

  'a call that is made again after its approval continues, and hears of a denial': async (desk) => {
    const { token, id, jet } = await askedJet(desk);
    const again = { parameters: jet, continue_approved: true };
    const pending = await desk.refused(token, 'charter_jet', again);
    const decision = { approval_request_id: id, grant_type: 'one_time' } as const;
    await desk.answer('approval_grants.issue', decision, APPROVER_KEY);
    const chartered = await desk.success(token, 'charter_jet', again);
    const { approval_request_id: next = '' } = await desk.refused(token, 'charter_jet', again);
    const denial = { approval_request_id: next, reason: 'one is enough' };
    await desk.answer('approval_requests.deny', denial, APPROVER_KEY);
    const denied = await desk.refused(token, 'charter_jet', again);

    assert.deepEqual([pending.type, pending.approval_request_id], ['approval_required', id]);
    assert.equal(chartered.cost_actual?.amount, 18_500);
    assert.notEqual(next, id);
    assert.deepEqual([denied.type, denied.approval_request_id], ['approval_request_decided', next]);
  },

  'a small refund needs no approval, a large one does': async (desk) => {
    const { token } = await desk.rootToken(['travel.refund']);
    const small = await desk.success(token, 'issue_refund', {
      parameters: { ...REFUND, amount: 100 },
    });
    const { type, grant_policy } = await desk.refused(token, 'issue_refund', {
      parameters: REFUND,
    });

    assert.equal(small.cost_actual?.amount, 100);
    assert.equal(type, 'approval_required');
    assert.equal(grant_policy?.max_uses, 3);
  },

  'a fleet needs two people, and the first alone is not enough': async (desk) => {
    const fields = { capability: 'charter_fleet', subject: 'agent:planner' };
    const { token } = await desk.rootToken(['travel.charter'], fields);
    const parameters = { ...JET, jets: 3 };
    const { approval_request_id: id = '' } = await desk.refused(token, 'charter_fleet', {
      parameters,
    });
    const decision = { approval_request_id: id, grant_type: 'one_time' } as const;
    const first = await desk.answer('approval_grants.issue', decision, APPROVER_KEY);
    const second = await desk.answer('approval_grants.issue', decision, SECOND_APPROVER_KEY);
    const { grant_id, approved_by } = Grant.parse(second);
    const { result } = await desk.success(token, 'charter_fleet', {
      parameters,
      approval_grant: grant_id,
    });

    assert.equal(QuorumAnswer.parse(first).status, 'pending');
    assert.deepEqual(approved_by, ['human:bob@example.com', 'human:carol@example.com']);
    assert.equal(result.jets, 3);
  },

  'a requester waits for the decision without asking again': async (desk) => {
    const { token, id } = await askedJet(desk);
    const request = { approval_request_id: id };
    const waiting = desk.answer('approval_requests.get', { ...request, prefer: 'wait=20' }, token);
    await desk.answer(
      'approval_grants.issue',
      { ...request, grant_type: 'one_time' },
      APPROVER_KEY,
    );
    const decided = await waiting;

    assert.equal(decided.status, 'approved');
    assert.match(decided.grant_id ?? '', /^gnt_/);
  },

  'an approver lists what waits, and says no with a reason': async (desk) => {
    const { token, id } = await askedJet(desk);
    const pending = { status: 'pending' } as const;
    const { approval_requests: listed } = await desk.answer(
      'approval_requests.list',
      pending,
      APPROVER_KEY,
    );
    const request = { approval_request_id: id };
    const reason = 'take the train';
    await desk.answer('approval_requests.deny', { ...request, reason }, APPROVER_KEY);
    const seen = await desk.answer('approval_requests.get', request, token);

    assert.ok(listed.some(({ approval_request_id }) => approval_request_id === id));
    assert.deepEqual([seen.status, seen.reason], ['denied', reason]);
  },

  'an approver sees everything that a decision needs, and the agent that asks does not': async (
    desk,
  ) => {
    const { token, id, jet } = await askedJet(desk);
    const request = { approval_request_id: id };
    const seen = await desk.answer('approval_requests.decision', request, APPROVER_KEY);
    const refusal = await desk.refusal('approval_requests.decision', request, token);

    assert.deepEqual(seen.request.parameters, jet);
    assert.equal(seen.capability?.name, 'charter_jet');
    assert.deepEqual(seen.chain[0]?.principal, HUMAN);
    assert.equal(seen.viewer.may_decide, true);
    assert.equal(refusal.type, 'approver_not_authorized');
  },

  'a session-bound grant works again in its session, and in no other': async (desk) => {
    const inSession = (session_id: string) => desk.rootToken(['travel.refund'], { session_id });
    const { token } = await inSession('session-1');
    const call = { parameters: { ...REFUND, reason: 'session' } };
    const { approval_request_id = '' } = await desk.refused(token, 'issue_refund', call);
    const decision = {
      approval_request_id,
      grant_type: 'session_bound',
      session_id: 'session-1',
    } as const;
    const grant = await desk.answer('approval_grants.issue', decision, APPROVER_KEY);
    const approval_grant = Grant.parse(grant).grant_id;
    const other = await inSession('session-2');

    await desk.success(token, 'issue_refund', { ...call, approval_grant });
    await desk.success(token, 'issue_refund', { ...call, approval_grant });
    const { type } = await desk.refused(other.token, 'issue_refund', {
      ...call,
      approval_grant,
    });
    assert.equal(type, 'approval_grant_invalid');
  },
};
