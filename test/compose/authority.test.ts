/**
 * Who may run the steps of a whole: nothing that a caller could not do becomes possible by composing.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { APPROVER, OPERATOR } from '../invoke/principals.ts';
import { EXCLUSIVE } from '../support/fixtures.ts';
import { GRANT_POLICY, whole } from './catalog.ts';
import { type Desk, onEachStore } from './desk.ts';

const approval = { when: 'always' as const, grant_policy: GRANT_POLICY };
const whenDear = {
  when: { condition: 'never by itself', needed: () => false },
  grant_policy: GRANT_POLICY,
};

const wholes = [
  whole('with_human', ['hold_one', 'human_step']),
  whole('with_service', ['hold_one', 'service_step']),
  whole('with_shallow', ['hold_one', 'shallow_step']),
  whole('with_tight', ['hold_one', 'tight_step']),
  whole('with_limited', ['limited_step']),
  whole('with_secret', ['hold_one', 'secret_step'], { minimum_scope: ['w.use', 'w.secret'] }),
  whole('for_service', ['hold_one', 'secret_step'], {
    composition: { step_authority: 'service' },
  }),
  whole('served_human', ['human_step'], { composition: { step_authority: 'service' } }),
  whole('approved', ['look', 'signed', 'hold_one'], { approval }),
  whole('approved_later', ['look', 'signed_if', 'hold_one'], { approval: whenDear }),
  whole('plain', ['hold_one', 'act']),
];

/** Everything a refusal before the first step keeps: no step began, nothing was taken. */
async function assertRefused(desk: Desk, name: string, type: string, request: object = {}) {
  const token = await desk.token(request);
  const { body } = await desk.invoke(token.token, name, { item: 'x' });
  assert.equal(body.failure?.type, type, JSON.stringify(body));
  assert.deepEqual(desk.world.effects, []);
  assert.deepEqual(await desk.children(body.invocation_id), []);
  assert.deepEqual(await desk.spent(token), [0n, 0n]);
  const { body: told } = await desk.ask('POST', '/svc/permissions', { bearer: token.token });
  return { body, told };
}

onEachStore(wholes, (desk) => {
  for (const name of ['with_human', 'served_human']) {
    test(`${name} cannot use a capability reserved for humans, and permissions agrees`, async () => {
      const { told } = await assertRefused(desk(), name, 'principal_class_not_admitted');

      const denied = told.denied.map(({ capability }: { capability: string }) => capability);
      assert.ok(denied.includes(name));
    });
  }

  test('a human runs a composed call with a step reserved for humans', async () => {
    const { invoke, token, world } = desk();

    const { status } = await invoke((await token({ subject: 'human:alice' })).token, 'with_human', {
      item: 'x',
    });

    assert.equal(status, 200);
    assert.deepEqual(world.effects, ['hold_one x', 'human_step x']);
  });

  test('a composed call derives no class for its steps from a name that a holder chose', async () => {
    const { delegate, token, invoke, world } = desk();
    const agent = await token();
    const named = await delegate(agent, { subject: 'service:x' });

    const refused = await invoke(named.token, 'with_service', { item: 'x' });

    assert.equal(refused.status, 403, JSON.stringify(refused.body));
    assert.match(refused.body.failure.detail, /for "service:x" through "agent:/);
    assert.deepEqual(world.effects, []);
  });

  test('a composed call respects the delegation depth of its steps', async () => {
    const { delegate, token, invoke, world } = desk();
    const root = await token();
    const child = await delegate(root, { subject: 'agent:b' });

    const refused = await invoke(child.token, 'with_shallow', { item: 'x' });

    assert.equal(refused.body.failure.type, 'delegation_depth_exceeded');
    assert.deepEqual(world.effects, []);
    assert.equal((await invoke(root.token, 'with_shallow', { item: 'x' })).status, 200);
  });

  test('a token bound to the composed capability is bound to its steps; an unbound one to neither', async () => {
    const { token, invoke } = desk();
    const { told } = await assertRefused(desk(), 'with_tight', 'control_requirement_unsatisfied');
    const bound = await token({ capability: 'with_tight' });

    const { status } = await invoke(bound.token, 'with_tight', { item: 'x' });

    assert.equal(status, 200);
    const restricted = told.restricted.find(
      (each: { capability: string }) => each.capability === 'with_tight',
    );
    assert.deepEqual(restricted?.unmet_token_requirements, ['stronger_delegation_required']);
    assert.equal((await invoke(bound.token, 'tight_step', { item: 'x' })).status, 403);
  });

  test('a step for which the caller has no scope runs only with step_authority "service"', async () => {
    await assertRefused(desk(), 'with_secret', 'scope_insufficient');
    const { token, invoke, world } = desk();
    const held = await token();

    const { status } = await invoke(held.token, 'for_service', { item: 'x' });

    assert.equal(status, 200);
    assert.deepEqual(world.effects, ['hold_one x', 'secret_step x']);
    assert.equal((await invoke(held.token, 'secret_step', { item: 'x' })).status, 403);
  });

  test('a composed call is frozen when any of its steps is', async () => {
    const { ask } = desk();
    const body = { what: 'capability', target: 'act', reason: 'a drill' };
    await ask('POST', '/svc/operator/freeze', { bearer: OPERATOR, body });

    await assertRefused(desk(), 'plain', 'frozen');

    await ask('POST', '/svc/operator/unfreeze', { bearer: OPERATOR, body });
  });

  test('a step that is frozen while an earlier step runs does not run, and the earlier step is undone', async () => {
    const { ask, token, invoke, world } = desk();
    const body = { what: 'capability', target: 'act', reason: 'a drill' };
    world.script('hold_one', async () => {
      await ask('POST', '/svc/operator/freeze', { bearer: OPERATOR, body });
      return { id: 'H-1' };
    });

    const reply = await invoke((await token()).token, 'plain', { item: 'x' });

    await ask('POST', '/svc/operator/unfreeze', { bearer: OPERATOR, body });
    assert.equal(reply.body.failure.type, 'composition_child_failed');
    assert.match(reply.body.failure.detail, /is frozen: a drill; compensated: "hold_one"/);
    assert.equal(world.calls('act').length, 0);
  });

  test('a revocation while a step runs does not stop compensations', async () => {
    const { ask, token, invoke, world } = desk();
    const held = await token();
    world.script('act', async () => {
      await ask('POST', '/svc/tokens/revoke', {
        bearer: held.token,
        body: { token_id: held.token_id },
      });
      throw new Error('a defect of the author');
    });

    const { body } = await invoke(held.token, 'plain', { item: 'x' });

    assert.match(body.failure.detail, /compensated: "hold_one"$/);
    assert.equal(world.calls('undo_one').length, 1);
  });

  test('the rate limit of a step also counts inside a composed call', async () => {
    const { token, invoke, advance } = desk();
    const held = await token();
    advance(3_600_000);

    const statuses = [];
    for (let call = 0; call < 3; call++) {
      statuses.push((await invoke(held.token, 'with_limited', { item: 'x' })).status);
    }

    assert.deepEqual(statuses, [200, 200, 429]);
    assert.equal((await invoke(held.token, 'limited_step', {})).status, 429);
  });

  for (const [name, asks] of [
    ['approved', 0],
    ['approved_later', 1],
  ] as const) {
    test(`${name} is approved once for the whole call, before any effect`, async () => {
      const { ask, token, invoke, world, entries, spent } = desk();
      const held = await token();

      const first = await invoke(held.token, name, { item: 'dear' });

      assert.equal(first.body.failure?.type, 'approval_required', JSON.stringify(first.body));
      assert.equal(world.calls('look').length, asks);
      assert.deepEqual(world.effects, asks ? ['look dear'] : []);
      assert.deepEqual(await spent(held), [0n, 0n]);
      const { approval_request_id } = first.body.failure;
      const granted = await ask('POST', '/svc/approval_grants', {
        bearer: APPROVER,
        body: { approval_request_id, grant_type: 'one_time' },
      });
      assert.equal(granted.status, 200, JSON.stringify(granted.body));
      assert.equal(granted.body.capability, name);
      const fields = { approval_grant: granted.body.grant_id };
      const second = await invoke(held.token, name, { item: 'dear' }, { fields });

      assert.equal(second.status, 200, JSON.stringify(second.body));
      assert.deepEqual(
        world.effects.slice(asks),
        ['look', 'signed', 'hold_one'].map(
          (each) => `${each === 'signed' && asks ? 'signed_if' : each} dear`,
        ),
      );
      const [entry] = await entries(second.body.invocation_id);
      assert.equal(entry?.approval_grant_id, granted.body.grant_id);
      const again = await invoke(held.token, name, { item: 'dear' }, { fields });
      assert.equal(again.body.failure.type, 'approval_grant_invalid');
    });
  }

  test('a step that may need approval runs without one where it needs none', async () => {
    const { token, invoke, world } = desk();

    const { status } = await invoke((await token()).token, 'approved_later', { item: 'cheap' });

    assert.equal(status, 200);
    assert.deepEqual(world.effects, ['look cheap', 'signed_if cheap', 'hold_one cheap']);
  });

  test('a step whose handler requires approval requests that of the whole call', async () => {
    const { token, invoke, world } = desk();
    world.script('signed_if', (_parameters, context) => {
      context.requireApproval();
      return { id: 'never' };
    });

    const { body } = await invoke((await token()).token, 'approved_later', { item: 'cheap' });

    assert.equal(body.failure.type, 'approval_required');
    assert.match(body.failure.approval_request_id, /^apr_/);
    assert.equal(world.calls('hold_one').length, 0);
  });

  test('an exclusive token runs a composed call under one lease', async () => {
    const { token, invoke, world } = desk();
    const held = await token(EXCLUSIVE);
    let inside: { status: number } | undefined;
    world.script('hold_one', async () => {
      inside = await invoke(held.token, 'act', {});
      return { id: 'H-1' };
    });

    const { status } = await invoke(held.token, 'plain', { item: 'x' });

    assert.equal(status, 200);
    assert.equal(inside?.status, 409);
    assert.equal((await invoke(held.token, 'act', {})).status, 200);
  });
});
