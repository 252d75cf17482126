/**
 * Streamed calls that need approval: asked before the stream opens, or from inside it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import type { Reply } from '../support/world.ts';
import { assertRefused, type Desk, onEachStore } from './desk.ts';

const streamed = (desk: Desk, token: IssueAnswer, capability: string, fields: object = {}) =>
  desk.invoke(token.token, capability, { note: 'told' }, { fields: { stream: true, ...fields } });

/** The names of the events, and the data of the last one. */
function told({ status, body, headers }: Reply) {
  assert.equal(status, 200, JSON.stringify(body));
  assert.match(String(headers['content-type']), /^text\/event-stream/);
  const names = [...body.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
  const last = [...body.matchAll(/^data: (.*)$/gm)].at(-1)?.[1];
  return { names, last: JSON.parse(last) };
}

onEachStore((desk) => {
  test('invoke() answers a streamed call that needs approval in one piece, then streams the approved call', async () => {
    const token = await desk().token();
    const runs = desk().world.runs('sign').length;

    const asked = await streamed(desk(), token, 'sign');

    assertRefused(asked, 'approval_required');
    assert.equal(asked.status, 403);
    assert.equal(desk().world.runs('sign').length, runs);
    const grant = await desk().granted(asked.body.failure.approval_request_id);
    const done = told(await streamed(desk(), token, 'sign', { approval_grant: grant }));
    assert.deepEqual(done.names, ['started', 'completed']);
    assert.deepEqual(done.last.result, { done: true });
    const again = await streamed(desk(), token, 'sign', { approval_grant: grant });
    assertRefused(again, 'approval_grant_invalid', /uses are taken/);
    assert.equal(desk().world.runs('sign').length, runs + 1);
  });

  test('requireApproval() ends a stream with the request, and the approved stream completes', async () => {
    const token = await desk().token({ budget: { currency: 'USD', max_amount: 10 } });

    const asked = told(await streamed(desk(), token, 'raise'));

    assert.deepEqual(asked.names, ['started', 'failed']);
    assert.equal(asked.last.failure.type, 'approval_required');
    assert.equal(asked.last.budget_context.budget_remaining, 10);
    const entry = (await desk().entries('invocation')).at(-1);
    assert.equal(entry?.state, 'failed');
    assert.equal(entry.approval_request_id, asked.last.failure.approval_request_id);
    const grant = await desk().granted(asked.last.failure.approval_request_id);
    const done = told(await streamed(desk(), token, 'raise', { approval_grant: grant }));
    assert.deepEqual(done.names, ['started', 'completed']);
    assert.equal(done.last.budget_context.budget_remaining, 0);
  });
});
