/**
 * The service answers like a plain model that keeps nothing in memory, for random sequences of issuance, revocation,
 * freezes, passing time, budgets, keys, approvals and calls.
 *
 * `WRIT_MODEL_SEEDS=500` runs so many seeds at each place, `WRIT_MODEL_FROM` names the first one:
 *
 *     WRIT_MODEL_SEEDS=500 npm test -- test/model/model.test.ts
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { drawActs } from './draw.ts';
import { PLACES } from './place.ts';
import { newCount, runActs } from './run.ts';
import { differenceText, shrink } from './shrink.ts';

const { WRIT_MODEL_SEEDS, WRIT_MODEL_FROM = '1' } = process.env;

const ACTS = 60;

/** In milliseconds: ends a test that hangs. A long run takes a tenth of a second for each seed. */
const LONG_MS = 120_000 + 2_000 * Number(WRIT_MODEL_SEEDS ?? 0);

/** Endings that every run of the suite reaches. Without them the comparison would prove less than it says. */
const REACHED = [
  'call success',
  'call replay',
  'call invalid_token',
  'call token_expired',
  'call frozen',
  'call budget_exceeded',
  'call approval_required',
  'call approval_grant_invalid',
  'call idempotency_mismatch',
  'call binding_invalid',
  'call outcome_unknown',
  'issue success',
  'issue scope_escalation',
  'issue frozen',
  'issue invalid_token',
  'revoke success',
  'unfreeze success',
  'approve success',
  'view success',
];

for (const { name, seeds, open } of PLACES) {
  const count = Number(WRIT_MODEL_SEEDS ?? seeds);
  test(`${name}: every answer is one that the model allows, for ${count} seeds`, {
    timeout: LONG_MS,
  }, async () => {
    const place = await open();
    const first = Number(WRIT_MODEL_FROM);
    const counted = newCount();
    for (let seed = first; seed < first + count; seed++) {
      const acts = drawActs(seed, { acts: ACTS, services: place.services.length });
      const found = await runActs(place, acts, counted);
      if (found) assert.fail(`seed ${seed}. ${differenceText(await shrink(place, found))}`);
    }

    if (count < seeds) return;
    const missing = REACHED.filter((ending) => !counted.answers.has(ending));
    assert.deepEqual(missing, []);
  });
}
