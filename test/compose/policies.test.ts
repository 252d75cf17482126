/**
 * Failure and empty-result policies: what is undone, in which order, what it costs, and what is told.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createClient, withRecovery } from '../../src/client/index.ts';
import { HandlerFailure, NoEffect } from '../../src/service/author/handler.ts';
import { listening } from '../http/socket.ts';
import { whole } from './catalog.ts';
import { onEachStore } from './desk.ts';

const HOLDS = ['hold_one', 'hold_two', 'hold_three'];

const EMPTY = {
  steps: [
    { id: 'hold_one', capability: 'hold_one' },
    { id: 'look', capability: 'look', empty_result_source: true, empty_result_path: 'list' },
    { id: 'act', capability: 'act' },
  ],
};
const emptyWhole = (name: string, composition: object) =>
  whole(name, ['hold_one', 'look', 'act'], { composition: { ...EMPTY, ...composition } });

const wholes = [
  whole('trip', HOLDS),
  whole('propagating', HOLDS, { composition: { failure_policy: 'propagate' } }),
  whole('failing', HOLDS, { composition: { failure_policy: 'fail_parent' } }),
  whole('late', ['hold_one', 'hold_two'], { deadline: '100ms' }),
  emptyWhole('empty_ok', {
    empty_result_policy: 'return_success_no_results',
    empty_result_output: { id: 'none' },
  }),
  emptyWhole('empty_clarify', { empty_result_policy: 'clarify' }),
  emptyWhole('empty_deny', { empty_result_policy: 'deny' }),
  emptyWhole('empty_open', {}),
];

onEachStore(wholes, (desk) => {
  for (const [failedAt, name] of HOLDS.entries()) {
    test(`a failure of step ${name} undoes the completed steps before it, last first`, async () => {
      const { world, invoke, token, children, entries, spent } = desk();
      const held = await token();
      world.script(name, () => {
        throw new HandlerFailure('Cannot hold: sold out', 'composition_child_failed');
      });

      const { status, body } = await invoke(held.token, 'trip', { item: 'x' });

      assert.equal(status, 422);
      assert.equal(body.failure.type, 'composition_child_failed');
      assert.match(body.failure.detail, new RegExp(`step "${name}" failed: Cannot hold: sold out`));
      const done = HOLDS.slice(0, failedAt);
      const undone = done.map((each) => each.replace('hold', 'undo')).reverse();
      assert.deepEqual(
        world.effects.map((effect) => effect.split(' ')[0]),
        [...done, ...undone],
      );
      for (const each of done.toReversed())
        assert.match(body.failure.detail, new RegExp(`"${each}"`));
      const told = await children(body.invocation_id);
      assert.deepEqual(
        told.map((each) => [each.entry_type, each.capability, each.state]),
        [
          ...done.map((each) => ['invocation', each, 'completed']),
          ['invocation', name, 'failed'],
          ...undone.map((each) => ['compensation', each, 'completed']),
        ],
      );
      const [parent] = await entries(body.invocation_id);
      assert.equal(parent?.state, 'failed');
      // A failed step may have acted, so it is charged; what was undone was paid for all the same.
      assert.deepEqual(await spent(held), [0n, BigInt(10_00 * (failedAt + 1))]);
    });
  }

  test('a compensation gets what its step returned', async () => {
    const { world, invoke, token } = desk();
    world.script('hold_one', () => ({ id: 'H-7' }));
    world.script('hold_two', () => {
      throw new NoEffect('Cannot hold: sold out');
    });

    await invoke((await token()).token, 'trip', { item: 'x' });

    assert.deepEqual(
      world.calls('undo_one').map(({ parameters }) => parameters),
      [{ id: 'H-7' }],
    );
  });

  test('a compensation that fails is reported, and the others still run', async () => {
    const { world, invoke, token, children } = desk();
    world.script('hold_three', () => {
      throw new NoEffect('Cannot hold: sold out');
    });
    world.script('undo_two', () => {
      throw new Error('a defect of the author');
    });

    const { body } = await invoke((await token()).token, 'trip', { item: 'x' });

    assert.match(body.failure.detail, /; compensated: "hold_one"; not compensated: "hold_two"$/);
    const told = await children(body.invocation_id);
    assert.deepEqual(
      told.filter((each) => each.entry_type === 'compensation').map((each) => each.state),
      ['failed', 'completed'],
    );
  });

  test('policy propagate makes the failure of a step that of the whole, and undoes nothing', async () => {
    const { world, invoke, token } = desk();
    world.script('hold_two', () => {
      throw new NoEffect('Cannot hold: no such thing', 'not_found');
    });

    const { status, body } = await invoke((await token()).token, 'propagating', { item: 'x' });

    assert.equal(status, 404);
    assert.equal(body.failure.type, 'not_found');
    assert.equal(body.failure.detail, 'Cannot hold: no such thing');
    assert.deepEqual(world.effects, ['hold_one x']);
  });

  test('policy propagate does not claim that nothing ran after a step has acted, and clients act once', async () => {
    const { world, token } = desk();
    world.script('hold_two', () => {
      throw new NoEffect('Cannot hold: the carrier is down', 'service_unavailable');
    });
    const url = `http://127.0.0.1:${await listening(desk())}`;
    const { token: credential } = await token();
    const client = createClient({ url, credential, pause: async () => undefined });
    const call = { capability: 'propagating', parameters: { item: 'x' } };

    const reply = await client.invoke(call);
    const keyless = await client.invoke({ ...call, idempotency_key: null });
    const recovered = await withRecovery(client, call);

    for (const told of [reply, keyless, recovered.reply]) {
      assert.ok(!told.ok);
      assert.deepEqual(
        [told.failure.type, told.failure.retry],
        ['composition_child_failed', false],
      );
      assert.match(
        told.failure.detail,
        /step "hold_two" failed: Cannot hold: the carrier is down$/,
      );
    }
    assert.equal(recovered.stopped, 'caller');
    assert.deepEqual(world.effects, ['hold_one x', 'hold_one x', 'hold_one x']);
  });

  test('policy fail_parent names the step, and undoes nothing', async () => {
    const { world, invoke, token, spent } = desk();
    const held = await token();
    world.script('hold_two', () => {
      throw new NoEffect('Cannot hold: no such thing', 'not_found');
    });

    const { status, body } = await invoke(held.token, 'failing', { item: 'x' });

    assert.equal(status, 422);
    assert.equal(body.failure.type, 'composition_child_failed');
    assert.match(body.failure.detail, /step "hold_two" failed: Cannot hold: no such thing$/);
    assert.deepEqual(world.effects, ['hold_one x']);
    assert.deepEqual(await spent(held), [0n, 10_00n]);
  });

  test('nothing is charged when the first step did nothing', async () => {
    const { world, invoke, token, spent } = desk();
    const held = await token();
    world.script('hold_one', () => {
      throw new NoEffect('Cannot hold: sold out');
    });

    const { body } = await invoke(held.token, 'trip', { item: 'x' });

    assert.match(body.failure.detail, /nothing had to be compensated$/);
    assert.deepEqual(await spent(held), [0n, 0n]);
  });

  test('a step of unknown outcome leaves the whole unknown, and charged, with the rest undone', async () => {
    const { world, invoke, token, entries, spent } = desk();
    const held = await token();
    world.script('hold_two', () => {
      throw new HandlerFailure('Cannot say: the line went dead', 'outcome_unknown');
    });

    const { status, body } = await invoke(held.token, 'trip', { item: 'x' });

    assert.equal(status, 503);
    assert.equal(body.failure.type, 'outcome_unknown');
    assert.match(body.failure.detail, /"hold_two" ended; compensated: "hold_one"$/);
    const [parent] = await entries(body.invocation_id);
    assert.equal(parent?.state, 'indeterminate');
    assert.deepEqual(await spent(held), [0n, 30_00n]);
  });

  for (const [name, status, type] of [
    ['empty_clarify', 422, 'clarification_required'],
    ['empty_deny', 422, 'composition_empty_result'],
  ] as const) {
    test(`an empty result ends ${name} with ${type}, and completed steps are undone`, async () => {
      const { world, invoke, token } = desk();
      world.script('look', () => ({ list: [] }));

      const reply = await invoke((await token()).token, name, { item: 'x' });

      assert.equal(reply.status, status);
      assert.equal(reply.body.failure.type, type);
      assert.equal(world.calls('act').length, 0);
      assert.equal(world.calls('undo_one').length, 1);
      if (type === 'clarification_required') {
        assert.deepEqual(reply.body.failure.clarify, [{ input: 'item', reason: 'unresolved' }]);
      }
    });
  }

  test('an empty result can be a success with the declared output', async () => {
    const { world, invoke, token, spent } = desk();
    const held = await token();
    world.script('look', () => ({ list: null }));

    const { status, body } = await invoke(held.token, 'empty_ok', { item: 'x' });

    assert.equal(status, 200);
    assert.deepEqual(body.result, { id: 'none' });
    assert.equal(world.calls('act').length + world.calls('undo_one').length, 0);
    assert.deepEqual(await spent(held), [0n, 10_00n]);
  });

  test('an empty result without a policy, and a full result with one, change nothing', async () => {
    const { world, invoke, token } = desk();
    const held = await token();
    world.script('look', () => ({ list: [] }));
    await invoke(held.token, 'empty_open', { item: 'x' });
    assert.equal(world.calls('act').length, 1);

    world.script('look', () => ({ list: [1] }));
    await invoke(held.token, 'empty_deny', { item: 'x' });
    assert.equal(world.calls('act').length, 2);
  });

  test('a composed call that misses its deadline starts no further step, and is undone later', async () => {
    const { world, invoke, token, entries } = desk();
    const held = await token();
    let finish: (result: { id: string }) => void = () => undefined;
    world.script(
      'hold_one',
      () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    );

    const { status, body } = await invoke(held.token, 'late', { item: 'x' });
    assert.equal(status, 503);
    assert.equal(body.failure.type, 'outcome_unknown');
    assert.equal(world.calls('hold_one')[0]?.context.signal.aborted, true);
    finish({ id: 'H-9' });

    const told = async () =>
      (await entries(body.invocation_id)).map((each) => [each.entry_type, each.state]);
    for (let tries = 0; tries < 500 && (await told()).length < 2; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.deepEqual(await told(), [
      ['invocation', 'indeterminate'],
      ['settlement', 'failed'],
    ]);
    assert.equal(world.calls('hold_two').length, 0);
    assert.deepEqual(
      world.calls('undo_one').map(({ parameters }) => parameters),
      [{ id: 'H-9' }],
    );
    assert.equal(await desk().store.adoptComposition('nobody', new Date(8.64e15)), undefined);
  });
});
