/**
 * `only_capabilities` in the purpose of a token: such a token invokes these capabilities and no others,
 * whatever its scopes admit, and so does every token below it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { whole } from '../compose/catalog.ts';
import { type Desk, onEachStore } from '../compose/desk.ts';

const wholes = [whole('trip', ['hold_one', 'act']), whole('other_trip', ['hold_two', 'act'])];

function listed(...only_capabilities: unknown[]) {
  return { purpose_parameters: { only_capabilities } };
}

async function assertRefused(desk: Desk, held: IssueAnswer, name: string) {
  const body = { parameters: { item: 'x' } };

  const invoked = await desk.ask('POST', `/svc/invoke/${name}`, { bearer: held.token, body });
  const tried = await desk.ask('POST', `/svc/test/${name}`, { bearer: held.token, body });

  assert.equal(invoked.status, 403, JSON.stringify(invoked.body));
  assert.equal(invoked.body.failure.type, 'purpose_mismatch');
  assert.match(invoked.body.failure.detail, /only_capabilities/);
  assert.match(JSON.stringify(tried.body), /purpose_mismatch/);
  assert.ok(!(await availableTo(desk, held)).includes(name));
  assert.deepEqual(desk.world.effects, []);
  assert.deepEqual(await desk.children(invoked.body.invocation_id), []);
  assert.deepEqual(await desk.spent(held), [0n, 0n]);
}

async function availableTo(desk: Desk, { token }: IssueAnswer): Promise<string[]> {
  const { body } = await desk.ask('POST', '/svc/permissions', { bearer: token });
  return body.available.map(({ capability }: { capability: string }) => capability).sort();
}

onEachStore(wholes, (desk) => {
  test('a token with a list invokes what it names, and permissions names the same', async () => {
    const { token, invoke, world } = desk();
    const held = await token(listed('look', 'act'));

    const { status } = await invoke(held.token, 'act', { item: 'x' });

    assert.equal(status, 200);
    assert.deepEqual(world.effects, ['act x']);
    assert.deepEqual(await availableTo(desk(), held), ['act', 'look']);
  });

  test('a token with a list cannot use another capability of the same scope, in any way', async () => {
    const held = await desk().token(listed('look', 'act'));

    await assertRefused(desk(), held, 'hold_one');
  });

  test('a composed capability in the list runs its steps, which cannot be invoked by themselves', async () => {
    const { token, invoke, world } = desk();
    const held = await token(listed('trip', 'look'));

    await assertRefused(desk(), held, 'hold_one');
    const { status } = await invoke(held.token, 'trip', { item: 'x' });

    assert.equal(status, 200);
    assert.deepEqual(world.effects, ['hold_one x', 'act x']);
  });

  test('a composed capability that is not in the list cannot run, although all its steps are', async () => {
    const held = await desk().token(listed('hold_two', 'act'));

    await assertRefused(desk(), held, 'other_trip');
  });

  test('a child keeps the list: it cannot drop, empty, widen or even narrow it', async () => {
    const { token, delegate } = desk();
    const parent = await token(listed('look', 'act'));
    const changes = [[], ['look'], ['look', 'act', 'hold_one'], ['act', 'look'], ['*'], 'look', 5];

    for (const only_capabilities of changes) {
      const asking = delegate(parent, {
        subject: 'agent:b',
        purpose_parameters: { only_capabilities },
      });
      await assert.rejects(asking, /Cannot change purpose/, JSON.stringify(only_capabilities));
    }
    for (const purpose_parameters of [undefined, null, { only_capabilities: null }, { other: 1 }]) {
      const child = await delegate(parent, { subject: 'agent:b', purpose_parameters });
      const grandchild = await delegate(child, { subject: 'agent:c' });
      await assertRefused(desk(), child, 'hold_one');
      await assertRefused(desk(), grandchild, 'hold_one');
      assert.deepEqual(await availableTo(desk(), grandchild), ['act', 'look']);
    }
  });

  test('a child may add a list of its own below a token without one', async () => {
    const { token, delegate } = desk();
    const child = await delegate(await token(), { subject: 'agent:b', ...listed('look', 'trip') });

    assert.deepEqual(await availableTo(desk(), child), ['look', 'trip']);
    await assertRefused(desk(), child, 'act');
  });

  test('a list cannot name what the token lacks for another reason', async () => {
    const { token, invoke } = desk();
    const held = await token({ ...listed('secret_step', 'act'), capability: 'look' });

    const secret = await invoke(held.token, 'secret_step', { item: 'x' });
    const bound = await invoke(held.token, 'act', { item: 'x' });

    assert.equal(secret.body.failure.type, 'scope_insufficient');
    assert.match(bound.body.failure.detail, /bound to "look"/);
  });

  for (const value of ['act', '', { act: true }, true, 1, [['act']], ['act', null], []]) {
    test(`a value that is no list of names admits nothing: ${JSON.stringify(value)}`, async () => {
      const held = await desk().token({ purpose_parameters: { only_capabilities: value } });

      await assertRefused(desk(), held, 'act');
      assert.deepEqual(await availableTo(desk(), held), []);
    });
  }
});
