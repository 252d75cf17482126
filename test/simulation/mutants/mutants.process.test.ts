/**
 * Tests the tester: the simulation finds each deliberate bug, by an invariant that explains it.
 *
 * Each hunt begins with the seed that found the bug before (`known-seeds.json`, written by `npm run mutants`). A
 * change of the simulation moves the seeds; then the hunt begins at the first one.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { runSeed } from '../run.ts';
import { MUTANTS } from './all.ts';
import { edited, hunt, knownSeeds, sourceOf } from './hunt.ts';

/** Processes at the same time: one for each core of a small machine. */
const PROCESSES = 2;

/** Seeds for one bug. */
const SEEDS_MAX = 2_000;

/** In milliseconds. Only ends a hunt that hangs. */
const HUNT_MS = 600_000;

test('every mutant changes exactly one place with each of its edits', () => {
  for (const { name, edits } of MUTANTS) {
    for (const edit of edits) {
      assert.notEqual(edited(name, edit, sourceOf(edit)), sourceOf(edit), name);
    }
  }
  assert.equal(new Set(MUTANTS.map(({ name }) => name)).size, MUTANTS.length);
});

test('the simulation finds every mutant that a run reaches', { timeout: HUNT_MS }, async () => {
  const known = knownSeeds();
  const reached = MUTANTS.filter(({ unreached }) => unreached === undefined);
  const hunted = await hunt(reached, { seeds: SEEDS_MAX, known, processes: PROCESSES });

  for (const { mutant, invariant = 'nothing', message } of hunted) {
    assert.ok(
      (mutant.found as readonly string[]).includes(invariant),
      `"${mutant.name}" was found as ${invariant}, expected ${mutant.found.join(' or ')}: ${message}`,
    );
  }
});

test('the sources without a bug pass the seeds that find the bugs', {
  timeout: HUNT_MS,
}, async () => {
  const known = knownSeeds();
  for (const { name, mode } of MUTANTS) {
    const seed = known[name];
    if (seed === undefined) continue;
    const { broken } = await runSeed(seed, { mode });
    assert.equal(broken, undefined, `seed ${seed}, which finds "${name}"`);
  }
});
