/**
 * Composed capabilities through the front door: order, data, entries, streams and documents.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { NoEffect } from '../../src/service/author/handler.ts';
import { whole } from './catalog.ts';
import { onEachStore } from './desk.ts';

const HOLDS = ['hold_one', 'hold_two', 'hold_three'];

const wholes = [
  whole('trip', HOLDS),
  whole('quiet', HOLDS, {
    composition: { audit_policy: { record_child_invocations: false, parent_task_lineage: false } },
  }),
  whole('reading', ['look', 'look_again'], { side_effect: 'read' }),
  whole('needing', ['hold_one', 'need']),
  whole('deep', ['look', 'act'], {
    composition: {
      input_mapping: {
        look: { item: '$.input.item' },
        act: { item: '$.steps.look.output.deep.0.name' },
      },
      output_mapping: { id: '$.steps.act.output.item' },
    },
  }),
  whole('stolen', ['look', 'act'], {
    composition: {
      input_mapping: { act: { item: '$.steps.look.output.deep.__proto__.name' } },
      output_mapping: { id: '$.steps.look.output.deep.constructor.name' },
    },
    output: { type: 'object', fields: ['id'] },
  }),
  whole('telling', HOLDS, { response_modes: ['unary', 'streaming'] }),
];

onEachStore(wholes, (desk) => {
  test('a composed capability runs its steps in order and answers as one', async () => {
    const { world, invoke, token, entries, children, spent } = desk();
    const held = await token({ purpose_parameters: { task_id: 'offsite' } });

    const { status, body } = await invoke(held.token, 'trip', { item: 'x' });

    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(world.effects, ['hold_one x', 'hold_two x', 'hold_three x']);
    assert.match(body.result.id, /^id-/);
    assert.deepEqual(body.cost_actual, { currency: 'USD', amount: 30 });
    assert.deepEqual(await spent(held), [0n, 30_00n]);
    const [parent] = await entries(body.invocation_id);
    assert.equal(parent?.state, 'completed');
    assert.equal(parent?.detail, null);
    const steps = await children(body.invocation_id);
    assert.deepEqual(
      steps.map((each) => [each.capability, each.state, each.task_id, each.cost_actual]),
      HOLDS.map((name) => [name, 'completed', 'offsite', null]),
    );
    assert.equal(new Set(steps.map(({ invocation_id }) => invocation_id)).size, 3);
    for (const [index, name] of HOLDS.entries()) {
      const context = world.calls(name)[0]?.context;
      assert.equal(context?.invocation_id, steps[index]?.invocation_id);
      assert.equal(context?.parent_invocation_id, body.invocation_id);
      assert.deepEqual(steps[index]?.detail, {
        step: name,
        drawn: { currency: 'USD', amount: 10 },
      });
    }
  });

  test('steps without entries of their own are listed in the entry of the whole', async () => {
    const { world, invoke, token, entries, children } = desk();
    const held = await token({ purpose_parameters: { task_id: 'offsite' } });

    const { body } = await invoke(held.token, 'quiet', { item: 'x' });

    assert.deepEqual(await children(body.invocation_id), []);
    const [parent] = await entries(body.invocation_id);
    const steps = parent?.detail?.steps as {
      step: string;
      outcome: string;
      invocation_id: string;
    }[];
    assert.deepEqual(
      steps.map(({ step, outcome }) => [step, outcome]),
      HOLDS.map((name) => [name, 'completed']),
    );
    const { context } = world.calls('hold_one')[0] as { context: { task_id?: string } };
    assert.equal(context.task_id, undefined);
    assert.equal(steps[0]?.invocation_id, world.calls('hold_one')[0]?.context.invocation_id);
  });

  test('a compensation has its own entry also where steps have none', async () => {
    const { world, invoke, token, children } = desk();
    world.script('hold_two', () => {
      throw new NoEffect('Cannot hold: sold out');
    });

    const { body } = await invoke((await token()).token, 'quiet', { item: 'x' });

    const told = await children(body.invocation_id);
    assert.deepEqual(
      told.map((each) => [each.entry_type, each.capability]),
      [['compensation', 'undo_one']],
    );
    assert.equal(told[0]?.detail?.compensates, world.calls('hold_one')[0]?.context.invocation_id);
  });

  test('a composed call that only reads needs no admission, and its steps have entries', async () => {
    const { world, invoke, token, children } = desk();

    const { status, body } = await invoke((await token({ budget: null })).token, 'reading', {
      item: 'x',
    });

    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(world.effects, ['look x', 'look_again x']);
    assert.equal((await children(body.invocation_id)).length, 2);
  });

  test('data flows by own properties, through lists too', async () => {
    const { world, invoke, token } = desk();
    world.script('look', () => ({ deep: [{ name: 'found' }] }));

    const { body } = await invoke((await token()).token, 'deep', { item: 'x' });

    assert.deepEqual(world.effects, ['act found']);
    assert.equal(body.result.id, 'found');
  });

  test('a value that a mapping does not find is left to the declaration of the step', async () => {
    const { world, invoke, token, children } = desk();

    const { body } = await invoke((await token()).token, 'needing', {});

    assert.equal(body.failure.type, 'composition_child_failed');
    assert.match(body.failure.detail, /Cannot invoke without "item"/);
    assert.deepEqual(
      world.effects.map((effect) => effect.split(' ')[0]),
      ['hold_one', 'undo_one'],
    );
    const told = await children(body.invocation_id);
    assert.deepEqual(
      told.map((each) => [each.capability, each.state, each.failure_type]),
      [
        ['hold_one', 'completed', null],
        ['need', 'refused', 'invalid_parameters'],
        ['undo_one', 'completed', null],
      ],
    );
  });

  test('a step is checked by its own declaration, for any parameters of the whole', async () => {
    const { world, invoke, token } = desk();

    const { body } = await invoke((await token()).token, 'needing', { item: 'no number' });

    assert.equal(body.failure.type, 'composition_child_failed');
    assert.equal(world.calls('need').length, 0);
  });

  test('a path to an inherited property sends nothing and returns nothing', async () => {
    const { world, invoke, token } = desk();
    world.script('look', () => ({ deep: {} }));

    const { status, body } = await invoke((await token()).token, 'stolen', { item: 'x' });

    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(world.calls('act')[0]?.parameters, {});
    assert.deepEqual(body.result, { id: null });
  });

  test('a streamed composed call reports each step when it ends', async () => {
    const { world, invoke, token } = desk();
    world.script('hold_three', () => {
      throw new NoEffect('Cannot hold: sold out');
    });

    const { body } = await invoke(
      (await token()).token,
      'telling',
      { item: 'x' },
      { fields: { stream: true } },
    );

    const events = [...String(body).matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(
      ([, event, data = '']) => [event, JSON.parse(data).progress] as const,
    );
    assert.deepEqual(
      events.map(([event]) => event),
      ['started', 'progress', 'progress', 'progress', 'failed'],
    );
    assert.deepEqual(
      events.flatMap(([, progress]) =>
        progress ? [[progress.step, progress.outcome, progress.of]] : [],
      ),
      [
        ['hold_one', 'completed', 3],
        ['hold_two', 'completed', 3],
        ['hold_three', 'no_effect', 3],
      ],
    );
  });

  test('a key replays the composed call without running a step again', async () => {
    const { world, invoke, token } = desk();
    const held = await token();
    const headers = { 'idempotency-key': 'once' };

    const first = await invoke(held.token, 'trip', { item: 'x' }, { headers });
    const again = await invoke(held.token, 'trip', { item: 'x' }, { headers });

    assert.deepEqual(again.body, first.body);
    assert.equal(world.calls('hold_one').length, 1);
  });

  test('the manifest and the graph show the steps of a composed capability', async () => {
    const { ask } = desk();

    const { body: manifest } = await ask('GET', '/svc/manifest');
    const { body: graph } = await ask('GET', '/svc/graph/trip');

    const { composition, kind } = manifest.capabilities.trip;
    assert.equal(kind, 'composed');
    assert.deepEqual(
      composition.steps.map(({ capability }: { capability: string }) => capability),
      HOLDS,
    );
    assert.deepEqual(
      graph.edges.map(({ type, to }: { type: string; to: string }) => [type, to]),
      HOLDS.map((name) => ['composition', name]),
    );
  });

  test('a dry run of a composed call reports its cost, and runs nothing', async () => {
    const { world, ask, token } = desk();
    const held = await token();

    const { body } = await ask('POST', '/svc/test/trip', {
      bearer: held.token,
      body: { parameters: { item: 'x' } },
    });

    assert.equal(body.would_be_admitted, true, JSON.stringify(body));
    assert.equal(body.cost_check.amount, 30);
    assert.deepEqual(world.effects, []);
  });
});
