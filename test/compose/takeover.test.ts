/**
 * A store that is away for a moment, and a process that others take for dead while it still runs.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'vitest';
import { NoEffect } from '../../src/service/author/handler.ts';
import { OutcomeUnknown, type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { group } from '../support/missing.ts';
import { eventually, STORES } from '../support/world.ts';
import { createWorld, whole } from './catalog.ts';
import { openDesk } from './desk.ts';

type Change = 'beginStep' | 'endStep';
type Fault = (real: () => Promise<boolean>) => Promise<boolean>;

const away: Fault = () => Promise.reject(new StoreUnavailable('Cannot write: a test'));
const lost: Fault = async (real) => {
  await real();
  throw new OutcomeUnknown('Cannot tell: a test');
};

/** Later than every sign of life. */
const ALL_SILENT = new Date(8.64e15);

const wholes = [
  whole('trip', ['hold_one', 'hold_two', 'act']),
  whole('slow', ['hold_one', 'hold_two'], { deadline: '60ms' }),
];

const isSlow = ({ capability }: { capability: string }) => capability === 'slow';

for (const place of STORES) {
  group(place.name, async () => {
    const world = createWorld(wholes);
    let planned: { change: Change; fault: Fault } | undefined;

    const faulty =
      <Args extends unknown[]>(change: Change, real: (...args: Args) => Promise<boolean>) =>
      (...args: Args): Promise<boolean> => {
        if (planned?.change !== change) return real(...args);
        const { fault } = planned;
        planned = undefined;
        return fault(() => real(...args));
      };
    const wrap = (store: Store): Store => ({
      ...store,
      beginStep: faulty('beginStep', store.beginStep),
      endStep: faulty('endStep', store.endStep),
    });

    const opened = await place.open();
    const desk = await openDesk(world, { store: opened.url, wrap });
    // What it takes over nobody takes from it while these tests look.
    await desk.store.heartbeat('another', new Date('2100-01-01T00:00:00Z'));
    beforeEach(() => world.reset());

    for (const change of ['beginStep', 'endStep'] as const) {
      for (const [words, fault] of [
        ['is away', away],
        ['loses its answer', lost],
      ] as const) {
        test(`a call continues when the store ${words} at ${change}, and does nothing twice`, async () => {
          const token = await desk.token();
          planned = { change, fault };

          const { status, body } = await desk.invoke(token.token, 'trip', { item: 'x' });

          assert.equal(status, 200, JSON.stringify(body));
          assert.equal(planned, undefined);
          assert.deepEqual(world.effects, ['hold_one x', 'hold_two x', 'act x']);
          assert.equal((await desk.children(body.invocation_id)).length, 3);
        });
      }
    }

    test('a call that another process took over is left to it, and the outcome of a step is reported', async () => {
      const token = await desk.token();
      world.script('hold_two', async () => {
        const adopted = await desk.store.adoptComposition('another', ALL_SILENT);
        assert.equal(adopted?.steps.length, 2);
        return { id: 'H-2' };
      });

      const { status, body } = await desk.invoke(token.token, 'trip', { item: 'x' });

      assert.equal(status, 503);
      assert.equal(body.failure.type, 'outcome_unknown');
      assert.equal('audit' in body, false);
      assert.equal(world.calls('act').length + world.calls('undo_one').length, 0);
      const told = await desk.children(body.invocation_id);
      assert.deepEqual(
        told.map(({ entry_type, capability, state }) => [entry_type, capability, state]),
        [
          ['invocation', 'hold_one', 'completed'],
          ['settlement', 'hold_two', 'completed'],
        ],
      );
      assert.deepEqual(await desk.entries(body.invocation_id), []);
    });

    test('a call that is taken over during compensation is not compensated further by the old process', async () => {
      const token = await desk.token();
      world.script('act', () => {
        throw new NoEffect('Cannot act');
      });
      world.script('undo_two', async () => {
        await desk.store.adoptComposition('another', ALL_SILENT);
        return {};
      });

      const { body } = await desk.invoke(token.token, 'trip', { item: 'x' });

      assert.equal(body.failure.type, 'outcome_unknown');
      assert.equal(world.calls('undo_one').length, 0);
    });

    test('a defect of the store leaves a call unknown, with a list of what ran', async () => {
      const token = await desk.token();
      planned = { change: 'endStep', fault: () => Promise.reject(new Error('a defect')) };

      const { body } = await desk.invoke(token.token, 'trip', { item: 'x' });

      assert.equal(body.failure.type, 'outcome_unknown');
      const [entry] = await desk.entries(body.invocation_id);
      assert.equal(entry?.state, 'indeterminate');
      const steps = entry?.detail?.steps as { step: string }[];
      assert.deepEqual(
        steps.map(({ step }) => step),
        ['hold_one'],
      );
      assert.deepEqual(await desk.spent(token), [0n, 30_00n]);
    });

    test('a call that was closed at its deadline starts no further step, and is undone', async () => {
      const token = await desk.token();
      world.script('hold_one', () => {
        // The store takes the next claim only when the call has been closed.
        const late: Fault = async (real) => {
          await eventually(async () => (await desk.store.indeterminate(10)).some(isSlow));
          return real();
        };
        planned = { change: 'beginStep', fault: late };
        return { id: 'H-1' };
      });

      const { body } = await desk.invoke(token.token, 'slow', { item: 'x' });

      assert.equal(body.failure.type, 'outcome_unknown');
      await eventually(async () => (await desk.entries(body.invocation_id)).length === 2);
      const told = await desk.entries(body.invocation_id);
      assert.deepEqual(
        told.map(({ entry_type, state }) => [entry_type, state]),
        [
          ['invocation', 'indeterminate'],
          ['settlement', 'failed'],
        ],
      );
      assert.equal(world.calls('hold_two').length, 0);
      assert.equal(world.calls('undo_one').length, 1);
    });
  });
}
