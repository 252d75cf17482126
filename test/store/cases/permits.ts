/**
 * The contract of rate limits: no window grants more than its limit.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { at, HOUR } from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';

const WINDOW = { key: 'principal:human:a', windowStart: at(0), limit: 5, slice: 2 };

export const PERMIT_CASES: Cases = {
  'takePermits() gives slices until the window is empty': async (store) => {
    const taken = [];
    for (let i = 0; i < 4; i++) taken.push(await store.takePermits(WINDOW));

    assert.deepEqual(taken, [
      { granted: 2, left: 3 },
      { granted: 2, left: 1 },
      { granted: 1, left: 0 },
      { granted: 0, left: 0 },
    ]);
  },

  'takePermits() starts the next window, and grants nothing of an earlier one': async (store) => {
    await store.takePermits({ ...WINDOW, slice: 5 });
    const next = { ...WINDOW, windowStart: at(HOUR) };

    assert.deepEqual(await store.takePermits(next), { granted: 2, left: 3 });
    assert.deepEqual(await store.takePermits(WINDOW), { granted: 0, left: 0 });
    assert.deepEqual(await store.takePermits(next), { granted: 2, left: 1 });
  },

  'takePermits() counts each key for itself': async (store) => {
    await store.takePermits({ ...WINDOW, slice: 5 });

    const other = await store.takePermits({ ...WINDOW, key: 'principal:human:b' });

    assert.deepEqual(other, { granted: 2, left: 3 });
  },

  'takePermits() gives nothing when a limit was lowered below what is taken': async (store) => {
    await store.takePermits({ ...WINDOW, slice: 4 });

    assert.deepEqual(await store.takePermits({ ...WINDOW, limit: 3 }), { granted: 0, left: 0 });
  },

  'takePermits() grants at most the limit to concurrent callers': async (store) => {
    const request = { ...WINDOW, limit: 50, slice: 3 };
    const all = await Promise.all(Array.from({ length: 40 }, () => store.takePermits(request)));

    assert.equal(
      all.reduce((sum, { granted }) => sum + granted, 0),
      50,
    );
  },
};
