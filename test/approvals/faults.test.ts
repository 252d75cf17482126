/**
 * A store that does not say what became of a question or of a decision: the caller is told so, has its
 * entry, and finds out by asking again.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { OutcomeUnknown, type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { group } from '../support/missing.ts';
import { STORES } from '../support/world.ts';
import { assertRefused, BOB, startDesk } from './desk.ts';

type Step = 'requestApproval' | 'approve' | 'deny';
type Fault = (real: () => Promise<unknown>) => Promise<unknown>;

const unavailable: Fault = () => Promise.reject(new StoreUnavailable('Cannot write: a test'));
const lostBefore: Fault = () => Promise.reject(new OutcomeUnknown('Cannot tell: a test'));
const lostAfter: Fault = async (real) => {
  await real();
  throw new OutcomeUnknown('Cannot tell: a test');
};

for (const place of STORES) {
  group(place.name, async () => {
    let planned: { step: Step; fault: Fault } | undefined;
    const once =
      <Args extends unknown[], Result>(step: Step, real: (...args: Args) => Promise<Result>) =>
      async (...args: Args): Promise<Result> => {
        const fault = planned?.step === step ? planned.fault : undefined;
        if (!fault) return real(...args);
        planned = undefined;
        return (await fault(() => real(...args))) as Result;
      };
    const wrap = (store: Store): Store => ({
      ...store,
      requestApproval: once('requestApproval', store.requestApproval),
      approve: once('approve', store.approve),
      deny: once('deny', store.deny),
    });
    const opened = await place.open();
    const desk = await startDesk({ store: opened.url, wrap });
    beforeEach(() => {
      planned = undefined;
    });

    const questions: [fault: Fault, type: string, kept: number][] = [
      [unavailable, 'service_unavailable', 0],
      [lostBefore, 'outcome_unknown', 0],
      [lostAfter, 'outcome_unknown', 1],
    ];
    for (const [index, [fault, type, kept]] of questions.entries()) {
      test(`invoke() answers ${type}, with an entry, when ${kept} requests were stored`, async () => {
        const token = await desk.token();
        const before = (await desk.entries('approval_request')).length;
        planned = { step: 'requestApproval', fault };

        const reply = await desk.invoke(token.token, 'sign', { note: `lost ${index}` });

        assertRefused(reply, type);
        assert.equal(reply.body.failure.approval_request_id, undefined);
        const entry = (await desk.entries('invocation')).at(-1);
        assert.equal(entry?.entry_id, reply.body.audit.entry_id);
        assert.equal(entry?.state, 'refused');
        assert.equal((await desk.entries('approval_request')).length, before + kept);
        await desk.asked(token, 'sign', { note: `lost ${index}` });
        assert.equal((await desk.entries('approval_request')).length, before + 1);
      });
    }

    test('requireApproval() releases everything when the request could not be stored', async () => {
      const token = await desk.token({ budget: { currency: 'USD', max_amount: 10 } });
      planned = { step: 'requestApproval', fault: unavailable };

      const reply = await desk.invoke(token.token, 'raise');

      assertRefused(reply, 'service_unavailable');
      assert.equal(reply.body.budget_context.budget_remaining, 10);
      assertRefused(await desk.invoke(token.token, 'raise'), 'approval_required');
    });

    const decisions: [fault: Fault, type: string, decided: boolean][] = [
      [unavailable, 'service_unavailable', false],
      [lostBefore, 'outcome_unknown', false],
      [lostAfter, 'outcome_unknown', true],
    ];
    for (const [index, [fault, type, decided]] of decisions.entries()) {
      test(`a decision answered as ${type} ${decided ? 'stands' : 'can be made again'}`, async () => {
        const token = await desk.token();
        for (const step of ['approve', 'deny'] as const) {
          const id = await desk.asked(token, 'sign', { note: `${step} ${index}` });
          planned = { step, fault };

          assertRefused(await desk[step](BOB, id), type);

          const again = await desk[step](BOB, id);
          assert.equal(again.status, decided ? 409 : 200);
          const { status, grant_id } = (await desk.read(BOB, id)).body;
          assert.equal(status, step === 'approve' ? 'approved' : 'denied');
          assert.equal(grant_id !== null, step === 'approve');
        }
      });
    }
  });
}
