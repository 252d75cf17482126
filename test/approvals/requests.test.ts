/**
 * Asking for approval: when it is needed, what is kept, and what the caller is told.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { test } from 'vitest';
import { assertRefused, BOB, OPERATOR, onEachStore, POLICY } from './desk.ts';

const digest = (value: unknown) =>
  `sha256:${createHash('sha256')
    .update(canonicalize(value) as string)
    .digest('hex')}`;

onEachStore((desk) => {
  test('invoke() stores the whole request before it answers', async () => {
    const token = await desk().token({ purpose_parameters: { task_id: 't', session_id: 's1' } });

    const { status, body } = await desk().invoke(token.token, 'sign', { note: 'kept' });

    assert.equal(status, 403);
    const { failure } = body;
    assert.equal(failure.type, 'approval_required');
    assert.equal(failure.retry, false);
    assert.deepEqual(failure.resolution, {
      action: 'request_approval',
      recovery_class: 'wait_then_retry',
      requires: ['approver:sign'],
      grantable_by: 'human:alice',
    });
    assert.equal(failure.requested_parameters_digest, digest({ note: 'kept' }));
    assert.equal(failure.preview_digest, digest({ action: 'Sign', note: 'kept' }));
    assert.deepEqual(failure.grant_policy, POLICY);
    const kept = await desk().store.loadApproval(failure.approval_request_id);
    assert.deepEqual(kept?.parameters, { note: 'kept' });
    assert.deepEqual(kept.preview, { action: 'Sign', note: 'kept' });
    assert.equal(kept.invocation_id, body.invocation_id);
    assert.equal(kept.subject, 'agent:a');
    assert.equal(kept.root_principal, 'human:alice');
    assert.deepEqual(kept.requested_through, ['agent:a']);
    assert.equal(kept.session_id, 's1');
    assert.equal(kept.contract_version, '1.0.0');
    assert.deepEqual(kept.scope, ['a.use']);
    assert.equal(kept.expires_at.getTime() - kept.created_at.getTime(), 86_400_000);
    assert.equal(desk().world.runs('sign').length, 0);
  });

  test('invoke() records an entry for the call and one for the request', async () => {
    const token = await desk().token();

    const { body } = await desk().invoke(token.token, 'sign', { note: 'entries' });

    const id = body.failure.approval_request_id;
    const calls = await desk().entries('invocation');
    const call = calls.find(({ invocation_id }) => invocation_id === body.invocation_id);
    assert.equal(call?.failure_type, 'approval_required');
    assert.equal(call.approval_request_id, id);
    assert.equal(call.state, 'refused');
    const asked = await desk().entries('approval_request');
    const entry = asked.find(({ approval_request_id }) => approval_request_id === id);
    assert.equal(entry?.actor_key, 'agent:a');
    assert.equal(entry.root_principal, 'human:alice');
    assert.equal(entry.parameters_digest, digest({ note: 'entries' }));
  });

  test('invoke() returns the pending request when the same call is repeated', async () => {
    const token = await desk().token();
    const first = await desk().invoke(token.token, 'sign', { note: 'same' });
    const again = await desk().invoke((await desk().token()).token, 'sign', { note: 'same' });
    const other = await desk().invoke(token.token, 'sign', { note: 'other' });

    const idOf = ({ body }: typeof first) => body.failure.approval_request_id;
    assert.equal(idOf(again), idOf(first));
    assert.notEqual(again.body.invocation_id, first.body.invocation_id);
    assert.notEqual(idOf(other), idOf(first));
  });

  test('invoke() makes a new request when the last one was decided', async () => {
    const token = await desk().token();
    const first = await desk().asked(token, 'sign', { note: 'decided' });
    await desk().deny(BOB, first);

    assert.notEqual(await desk().asked(token, 'sign', { note: 'decided' }), first);
  });

  test('invoke() requires approval above a threshold, and where a predicate holds', async () => {
    const { token } = await desk().token();
    const typeOf = async (name: string, parameters: object) =>
      (await desk().invoke(token, name, parameters)).body.failure?.type;

    assert.equal(await typeOf('over', { amount: 100 }), undefined);
    assert.equal(await typeOf('over', { amount: 100.01 }), 'approval_required');
    assert.equal(await typeOf('over', {}), 'approval_required');
    assert.equal(await typeOf('judge', { note: 'even' }), undefined);
    assert.equal(await typeOf('judge', { note: 'odd' }), 'approval_required');
  });

  test('invoke() reserves nothing and takes no key or lease while approval is missing', async () => {
    const token = await desk().token({
      budget: { currency: 'USD', max_amount: 10 },
      concurrent_branches: 'exclusive',
    });
    const headers = { 'idempotency-key': 'asking' };

    const { body } = await desk().invoke(token.token, 'pay', {}, { headers });

    assert.equal(body.failure.type, 'approval_required');
    assert.deepEqual(body.budget_context, {
      budget_max: 10,
      budget_currency: 'USD',
      cost_check_amount: 10,
      cost_certainty: 'fixed',
      budget_spent: 0,
      budget_reserved: 0,
      budget_remaining: 10,
    });
    const grant = await desk().granted(body.failure.approval_request_id);
    const fields = { approval_grant: grant };
    const done = await desk().invoke(token.token, 'pay', {}, { headers, fields });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.equal(done.body.budget_context.budget_remaining, 0);
  });

  test('invoke() refuses a call that cannot run before it makes a request', async () => {
    const before = (await desk().entries('approval_request')).length;
    const poor = await desk().token({ budget: { currency: 'USD', max_amount: 9 } });
    assertRefused(await desk().invoke(poor.token, 'pay'), 'budget_exceeded');
    const other = await desk().token({ scope: ['a.other'] });
    assertRefused(await desk().invoke(other.token, 'sign'), 'scope_insufficient');
    const freeze = { what: 'capability', target: 'brief', reason: 'a drill' };
    await desk().ask('POST', '/svc/operator/freeze', { bearer: OPERATOR, body: freeze });
    assertRefused(await desk().invoke((await desk().token()).token, 'brief'), 'frozen');
    await desk().ask('POST', '/svc/operator/unfreeze', { bearer: OPERATOR, body: freeze });

    assert.equal((await desk().entries('approval_request')).length, before);
  });

  test('invoke() stores no request whose preview cannot be shown', async () => {
    const reply = await desk().invoke((await desk().token()).token, 'broken_preview');

    assertRefused(reply, 'invalid_parameters');
    const listed = await desk().ask('GET', '/svc/approval_requests', { bearer: BOB });
    const names = listed.body.approval_requests.map(
      (each: { capability: string }) => each.capability,
    );
    assert.equal(names.includes('broken_preview'), false);
  });

  test('requireApproval() ends the call without effect, then lets the approved call run', async () => {
    const token = await desk().token({ budget: { currency: 'USD', max_amount: 10 } });

    const first = await desk().invoke(token.token, 'raise', { note: 'n' });

    assertRefused(first, 'approval_required');
    assert.equal(first.body.budget_context.budget_remaining, 10);
    assert.ok(first.body.failure.requested_parameters_digest);
    const entry = (await desk().entries('invocation')).at(-1);
    assert.equal(entry?.state, 'failed');
    assert.equal(entry.approval_request_id, first.body.failure.approval_request_id);
    const grant = await desk().granted(first.body.failure.approval_request_id);
    const done = await desk().resume(token, 'raise', grant, { note: 'n' });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.equal(done.body.budget_context.budget_remaining, 0);
  });

  test('requireApproval() leaves the key usable for the continuation, which replays too', async () => {
    const token = await desk().token();
    const headers = { 'idempotency-key': 'raised' };
    const send = (fields: object = {}, parameters: object = { note: 'keyed' }) =>
      desk().invoke(token.token, 'raise', parameters, { headers, fields });
    const asked = await send();
    assertRefused(asked, 'approval_required');
    // It would send a client on to another key, and the continuation is known by this one.
    assert.equal(asked.body.effect, undefined);
    assert.equal((await send()).text, asked.text);
    const grant = await desk().granted(asked.body.failure.approval_request_id);
    const before = desk().world.runs('raise').length;

    const done = await send({ approval_grant: grant });
    const again = await send({ approval_grant: grant });

    assert.equal(done.status, 200, JSON.stringify(done.body));
    assert.equal(again.text, done.text);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.equal(desk().world.runs('raise').length, before + 1);
    assert.equal((await send()).text, asked.text);
    const other = await send({ approval_grant: grant }, { note: 'other' });
    assertRefused(other, 'idempotency_mismatch');
  });

  test('requireApproval() is a defect where no policy is declared', async () => {
    const reply = await desk().invoke((await desk().token()).token, 'raise_undeclared');

    assertRefused(reply, 'internal_error');
  });
});
