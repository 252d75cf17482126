/**
 * A process that dies at every point of a composed call: another one goes on with it. Every effect
 * happens at most once, every compensation that was not interrupted exactly once, and the money is
 * what the entries say.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'vitest';
import type { AuditEntry } from '../../src/protocol/audit.ts';
import { NoEffect } from '../../src/service/author/handler.ts';
import { OutcomeUnknown, type Store } from '../../src/storage/port/store.ts';
import { temporaryFolder } from '../support/ends.ts';
import { group } from '../support/missing.ts';
import { eventually, STORES } from '../support/world.ts';
import { createWorld, type World, whole } from './catalog.ts';
import { type Desk, openDesk } from './desk.ts';
import { type Death, mortal } from './mortal.ts';

const HOLDS = ['hold_one', 'hold_two', 'hold_three'];
const wholes = [
  whole('trip', HOLDS),
  whole('quiet', HOLDS, {
    composition: { audit_policy: { record_child_invocations: false, parent_task_lineage: true } },
  }),
  whole('failing', HOLDS, { composition: { failure_policy: 'fail_parent' } }),
  whole('mixed', ['hold_one', 'look', 'act']),
];

/** More than any call here makes. */
const CHANGES_MAX = 16;

/** All processes of this file sign with the same keys, and wait for nothing when they stop. */
const SHARED = {
  keys: temporaryFolder(),
  settings: { stop_grace_seconds: 0 },
};

interface Ended {
  readonly parent: AuditEntry;
  readonly children: AuditEntry[];
  readonly money: [reserved: bigint, consumed: bigint];
  readonly died: boolean;
}

interface Crash extends Death {
  /** How the process that goes on differs from the first one. */
  readonly takeover?: Parameters<typeof openDesk>[1];
  /** Of the token. */
  readonly conditions?: object;
}

/** Runs one call in a process that dies on the way, then another process until the call is closed. */
async function runTo(crash: Crash, world: World, url: string, name: string): Promise<Ended> {
  let died = false;
  let tell: () => void = () => undefined;
  const dead = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const wrap = mortal(crash, () => {
    died = true;
    tell();
  });
  const first = await openDesk(world, { store: url, wrap, ...SHARED });
  const token = await first.token({ conditions: crash.conditions });
  const call = first.invoke(token.token, name, { item: 'x' });
  await Promise.race([dead, call]);
  await first.close();
  const { body } = await call;

  const recovery = { intervalMs: 20, silentMs: 1 };
  const second = await openDesk(world, { store: url, recovery, ...SHARED, ...crash.takeover });
  try {
    const { invocation_id: id } = body;
    await eventually(async () => (await second.entries(id)).length > 0);
    const [parent, ...more] = await second.entries(id);
    assert.ok(parent);
    assert.deepEqual(more, [], 'the call has one entry');
    const left = await second.store.adoptComposition('nobody', new Date(8.64e15));
    assert.equal(left, undefined, 'nobody has to go on any more');
    const children = await second.children(id);
    const money = await second.spent(token);
    return { parent, children, money, died };
  } finally {
    await second.close();
  }
}

function count(world: World, effect: string): number {
  return world.effects.filter((each) => each.split(' ')[0] === effect).length;
}

/** What holds wherever the process died. */
function assertSound(world: World, { parent, children, money }: Ended): void {
  for (const effect of new Set(world.effects)) {
    assert.equal(world.effects.filter((each) => each === effect).length, 1, `${effect} once`);
  }
  for (const hold of HOLDS) {
    const undo = hold.replace('hold', 'undo');
    const told = (capability: string) => children.find((each) => each.capability === capability);
    const isDue = parent.state !== 'completed' && told(hold)?.state === 'completed';
    // Only where nobody knows whether a compensation ran may it not have run.
    if (isDue && told(undo)?.state !== 'indeterminate') assert.equal(count(world, undo), 1, undo);
    if (!isDue) assert.equal(count(world, undo), 0, undo);
  }
  const [reserved, consumed] = money;
  assert.equal(reserved, 0n);
  assert.equal(consumed, BigInt(Math.round((parent.cost_actual?.amount ?? 0) * 100)));
  const drawn = children.map(({ detail }) => (detail?.drawn as { amount: number })?.amount ?? 0);
  const sum = drawn.reduce((total, amount) => total + amount, 0);
  if (parent.state === 'indeterminate') assert.equal(consumed, 30_00n);
  else assert.equal(consumed, BigInt(sum * 100));
  const unknown = children.some(({ state, entry_type, capability }) => {
    return state === 'indeterminate' && !(entry_type === 'invocation' && capability === 'look');
  });
  assert.equal(parent.state === 'indeterminate', unknown, 'unknown exactly where a step is');
}

for (const place of STORES) {
  group(place.name, async () => {
    const world = createWorld(wholes);
    const opened = await place.open();
    // One that outlives its process: a memory does not.
    const url =
      opened.url === 'memory:' ? `sqlite:${join(temporaryFolder(), 'store.db')}` : opened.url;

    test('a process that goes on judges a step by the conditions of the token, and no compensation', async () => {
      world.reset();
      const conditions = { hold_two: { item: 'y' }, undo_one: { id: 'none' } };

      const ended = await runTo({ after: 1, happened: true, conditions }, world, url, 'trip');

      assert.ok(ended.died);
      assert.notEqual(ended.parent.state, 'completed');
      assert.deepEqual(
        ['hold_one', 'hold_two', 'undo_one'].map((each) => count(world, each)),
        [1, 0, 1],
      );
      assertSound(world, ended);
    });

    /** Dies at one change after another, until the call is over before it could die. */
    async function atEveryPoint(
      prepare: () => void,
      name: string,
      check: (ended: Ended, death: Death) => void,
    ): Promise<number> {
      for (let after = 0; after < CHANGES_MAX; after++) {
        for (const happened of [false, true]) {
          world.reset();
          prepare();
          const ended = await runTo({ after, happened }, world, url, name);
          check(ended, { after, happened });
          if (!ended.died) return after;
        }
      }
      throw new Error('Cannot end: the call makes more changes than were counted on');
    }

    const failThird = () =>
      world.script('hold_three', () => {
        throw new NoEffect('Cannot hold: sold out');
      });

    test('a failed call is undone, each step once, for a crash at any point', {
      timeout: 120_000,
    }, async () => {
      const states = new Set<string>();

      const points = await atEveryPoint(failThird, 'trip', (ended) => {
        assertSound(world, ended);
        states.add(ended.parent.state);
      });

      // Three steps begin and end, two compensations do, and the whole is settled.
      assert.equal(points, 3 * 2 + 2 * 2 + 1);
      assert.deepEqual([...states].sort(), ['failed', 'indeterminate']);
    });

    test('a call whose steps all completed is completed after a crash at any later point', {
      timeout: 120_000,
    }, async () => {
      const points = await atEveryPoint(
        () => undefined,
        'trip',
        (ended, { after, happened }) => {
          assertSound(world, ended);
          const allRan = after > 5 || (after === 5 && happened);
          assert.equal(ended.parent.state === 'completed', allRan);
        },
      );

      assert.equal(points, 3 * 2 + 1);
    });

    test('a call that a process took over without learning of it is resumed all the same', {
      timeout: 120_000,
    }, async () => {
      world.reset();
      let lost = 0;
      const wrap = (store: Store): Store => ({
        ...store,
        async adoptComposition(...args) {
          const adopted = await store.adoptComposition(...args);
          if (!adopted || lost > 0) return adopted;
          lost++;
          throw new OutcomeUnknown('Cannot tell: a test');
        },
      });
      // Longer than between two heartbeats: a process that beats is not taken for dead.
      const recovery = { intervalMs: 20, silentMs: 500 };

      const crash = { after: 4, happened: true, takeover: { wrap, recovery } };
      const ended = await runTo(crash, world, url, 'trip');

      assert.equal(lost, 1);
      assertSound(world, ended);
    });

    test('an interrupted read leaves no unknown outcome', { timeout: 120_000 }, async () => {
      await atEveryPoint(
        () =>
          world.script('act', () => {
            throw new NoEffect('Cannot act');
          }),
        'mixed',
        (ended) => {
          for (const effect of new Set(world.effects))
            assert.equal(count(world, effect.split(' ')[0] ?? ''), 1);
          const told = ended.children.find(({ capability }) => capability === 'look');
          if (told?.state === 'indeterminate') assert.equal(ended.parent.state, 'failed');
        },
      );
    });

    test('a call that is not compensated lists what ran', { timeout: 120_000 }, async () => {
      const death = { after: 3, happened: true };
      world.reset();

      const { parent, died } = await runTo(death, world, url, 'failing');

      assert.ok(died);
      assert.equal(parent.state, 'indeterminate');
      const steps = parent.detail?.steps as { step: string; outcome: string }[];
      assert.deepEqual(
        steps.map(({ step, outcome }) => [step, outcome]),
        [
          ['hold_one', 'completed'],
          ['hold_two', 'completed'],
        ],
      );
      assert.equal(count(world, 'undo_one') + count(world, 'undo_two'), 0);
    });

    test('steps without entries of their own are listed also after a crash', {
      timeout: 120_000,
    }, async () => {
      world.reset();

      const { parent, children } = await runTo({ after: 4, happened: true }, world, url, 'quiet');

      const steps = parent.detail?.steps as { step: string; role?: string; outcome: string }[];
      assert.deepEqual(
        steps.map(({ step, role, outcome }) => [role ?? 'step', step, outcome]),
        [
          ['step', 'hold_one', 'completed'],
          ['step', 'hold_two', 'completed'],
          ['step', 'hold_three', 'indeterminate'],
          ['compensation', 'hold_two', 'completed'],
          ['compensation', 'hold_one', 'completed'],
        ],
      );
      assert.deepEqual(
        children.map(({ entry_type, capability }) => [entry_type, capability]),
        [
          ['compensation', 'undo_two'],
          ['compensation', 'undo_one'],
        ],
      );
    });

    test('a key replays the outcome that another process recorded', {
      timeout: 120_000,
    }, async () => {
      world.reset();
      let died: () => void = () => undefined;
      const dead = new Promise<void>((resolve) => {
        died = resolve;
      });
      const wrap = mortal({ after: 6, happened: false }, () => died());
      const first = await openDesk(world, { store: url, wrap, ...SHARED });
      const token = await first.token();
      const more = { headers: { 'idempotency-key': 'across' } };
      const call = first.invoke(token.token, 'trip', { item: 'x' }, more);
      await dead;
      await first.close();
      const { body: unknown } = await call;
      assert.equal(unknown.failure.type, 'outcome_unknown');

      const second: Desk = await openDesk(world, {
        store: url,
        ...SHARED,
        recovery: { intervalMs: 20, silentMs: 1 },
      });
      await eventually(async () => (await second.entries(unknown.invocation_id)).length > 0);
      const { status, body } = await second.invoke(token.token, 'trip', { item: 'x' }, more);
      await second.close();

      assert.equal(status, 200);
      assert.equal(body.invocation_id, unknown.invocation_id);
      assert.match(body.result.id, /^id-/);
      assert.equal(world.calls('hold_one').length, 1);
    });
  });
}
