/**
 * Rollback windows: what was done can be undone by its compensation for as long as is declared.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { BOB } from '../invoke/principals.ts';
import { whole } from './catalog.ts';
import { onEachStore } from './desk.ts';

const HOUR_MS = 3_600_000;

const wholes = [
  whole('cancel', ['undo_one'], {
    inputs: [{ name: 'held', type: 'string' }] as never,
    output: { type: 'object', fields: [] },
    composition: {
      input_mapping: { undo_one: { id: '$.input.held' } },
      output_mapping: {},
      failure_policy: 'propagate',
    },
  }),
  whole('trip', ['look', 'hold_one']),
  whole('long_trip', ['look', 'hold_one'], {
    side_effect: { type: 'transactional', rollback_window: 'PT2H', compensation: 'undo_one' },
  }),
];

/** Both sides of the end of a window, in the service's own time. */
const SIDES = [
  ['a moment before the window closes', -1, 200],
  ['when the window has closed', 0, 409],
] as const;

onEachStore(wholes, (desk) => {
  for (const [when, shift, status] of SIDES) {
    for (const [name, made] of [
      ['a transactional call', 'hold_one'],
      ['a step of a whole', 'trip'],
    ] as const) {
      test(`the compensation of ${name} is answered ${status} ${when}`, async () => {
        const { token, invoke, advance, holdClock, world, entries } = desk();
        const held = await token({ ttl_hours: 24 });
        holdClock(true);
        const { body } = await invoke(held.token, made, { item: 'x' });

        advance(HOUR_MS + shift);
        const reply = await invoke(held.token, 'undo_one', { id: body.result.id });
        advance(-HOUR_MS - shift);
        holdClock(false);

        assert.equal(reply.status, status, JSON.stringify(reply.body));
        assert.equal(world.calls('undo_one').length, status === 200 ? 1 : 0);
        if (status === 200) return;
        assert.equal(reply.body.failure.type, 'rollback_window_closed');
        assert.match(
          reply.body.failure.detail,
          /the rollback window of the call it undoes closed at \d{4}-/,
        );
        const [entry] = await entries(reply.body.invocation_id);
        assert.equal(entry?.state, 'refused');
      });
    }
  }

  test('a closed window also applies to a composed call whose step is the compensation', async () => {
    const { token, invoke, advance, world } = desk();
    const held = await token({ ttl_hours: 24 });
    const { body } = await invoke(held.token, 'hold_one', { item: 'x' });
    const before = world.calls('undo_one').length;

    advance(HOUR_MS + 60_000);
    const reply = await invoke(held.token, 'cancel', { held: body.result.id });
    advance(-HOUR_MS - 60_000);

    assert.equal(reply.body.failure?.type, 'rollback_window_closed', JSON.stringify(reply.body));
    assert.equal(world.calls('undo_one').length, before);
  });

  test('the latest window counts when a composed call has a longer one than its step', async () => {
    const { token, invoke, advance } = desk();
    const held = await token({ ttl_hours: 24 });
    const { body } = await invoke(held.token, 'long_trip', { item: 'x' });

    advance(1.5 * HOUR_MS);
    const within = await invoke(held.token, 'undo_one', { id: body.result.id });
    advance(HOUR_MS);
    const after = await invoke(held.token, 'undo_one', { id: body.result.id });
    advance(-2.5 * HOUR_MS);

    assert.deepEqual([within.status, after.status], [200, 409]);
  });

  test('a window belongs to one root principal and one call', async () => {
    const { token, invoke, issue, advance } = desk();
    const held = await token({ ttl_hours: 24 });
    const other = await issue(BOB, { scope: ['w.use'], subject: 'agent:b', ttl_hours: 24 });
    const { body } = await invoke(held.token, 'hold_one', { item: 'x' });

    advance(2 * HOUR_MS);
    const foreign = await invoke(other.token, 'undo_one', { id: body.result.id });
    const unknown = await invoke(held.token, 'undo_one', { id: 'made elsewhere' });
    const closed = await invoke(held.token, 'undo_one', { id: body.result.id });
    advance(-2 * HOUR_MS);

    assert.deepEqual([foreign.status, unknown.status, closed.status], [200, 200, 409]);
  });

  test('a call that failed has no window', async () => {
    const { token, invoke, advance, world } = desk();
    const held = await token({ ttl_hours: 24 });
    world.script('hold_one', () => {
      throw new Error('a defect of the author');
    });
    await invoke(held.token, 'hold_one', { item: 'x' });

    advance(2 * HOUR_MS);
    const reply = await invoke(held.token, 'undo_one', { id: 'H-1' });
    advance(-2 * HOUR_MS);

    assert.equal(reply.status, 200);
  });

  test('a dry run reports that a window has closed', async () => {
    const { token, invoke, ask, advance } = desk();
    const held = await token({ ttl_hours: 24 });
    const { body } = await invoke(held.token, 'hold_one', { item: 'x' });

    advance(2 * HOUR_MS);
    const reply = await ask('POST', '/svc/test/undo_one', {
      bearer: held.token,
      body: { parameters: { id: body.result.id } },
    });
    advance(-2 * HOUR_MS);

    assert.equal(reply.body.would_be_admitted, false);
    assert.equal(reply.body.failure.type, 'rollback_window_closed');
  });
});
