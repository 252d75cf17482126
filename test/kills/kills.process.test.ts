/**
 * A few kills of `npm run kills`, and a few stops of `npm run rolling`: the long runs are those of the scripts.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { freshDatabase } from '../support/postgres.ts';
import { runKills } from './kills.ts';
import { runStops } from './rolling.ts';

/** Only to end a test that hangs. */
const PATIENT = { timeout: 180_000 };

const KILLS = 2;
const say = () => undefined;

for (const store of ['sqlite', 'postgresql'] as const) {
  test(
    `killed processes on ${store} keep what they acknowledged, and nothing happens twice`,
    PATIENT,
    async () => {
      const report = await runKills({ kills: KILLS, store, say });

      assert.equal(report.kills, KILLS);
      assert.ok(report.acknowledged > 0 && report.effects > 0 && report.checkpoints > 0);
      assert.ok(report['revocations checked'] > 0);
    },
  );
}

test(
  'replicas that were taken out of the balancer stop under load and cut no request',
  PATIENT,
  async () => {
    const { url: store } = await freshDatabase();

    const { calls, cut, refused } = await runStops(3, { store, say });

    assert.ok(calls > 0);
    assert.deepEqual([cut, refused], [0, 0]);
  },
);
