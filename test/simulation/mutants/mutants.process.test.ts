/**
 * Tests the tester: each invariant finds a deliberate bug. `npm run mutants` hunts all of them.
 *
 * Each hunt begins with the seed that found the bug before (`known-seeds.json`, written by `npm run mutants`). A
 * change of the simulation moves the seeds; then the hunt begins at the first one. That these seeds pass without the
 * bug is shown by `simulation.test.ts`.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
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

test('the simulation finds a mutant by each invariant', { timeout: HUNT_MS }, async () => {
  const known = knownSeeds();
  const reached = MUTANTS.filter(({ unreached }) => unreached === undefined);
  const first = new Map(reached.toReversed().map((each) => [each.found[0], each]));
  const hunted = await hunt([...first.values()], {
    seeds: SEEDS_MAX,
    known,
    processes: PROCESSES,
  });

  for (const { mutant, invariant = 'nothing', message } of hunted) {
    assert.ok(
      (mutant.found as readonly string[]).includes(invariant),
      `"${mutant.name}" was found as ${invariant}, expected ${mutant.found.join(' or ')}: ${message}`,
    );
  }
});
