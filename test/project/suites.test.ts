/**
 * How tests are counted for SECURITY.md.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { runTests } from '../../scripts/counted-tests.ts';
import { SUITES, suiteCounts } from '../../scripts/suites.ts';

test('suiteCounts() counts the tests that passed, by their titles', () => {
  const tests = [
    { title: 'writ attack finds nothing broken at the showcase', status: 'passed' },
    { title: 'writ attack reports that a grant is used twice', status: 'passed' },
    { title: 'writ attack reports that a budget is not counted', status: 'passed' },
    { title: 'writ attack reports that nothing ran', status: 'skipped' },
    { title: 'every case is reported by a weakness', status: 'passed' },
  ];

  assert.deepEqual(suiteCounts(tests, SUITES.attack.counts), {
    'runs at the showcase with nothing broken': 1,
    'weakened services found out': 2,
  });
  assert.throws(
    () => suiteCounts(tests.slice(0, 1), SUITES.attack.counts),
    /Cannot count "weakened services found out": no test of it passed/,
  );
});

test('runTests() refuses a file that is absent', async () => {
  await assert.rejects(runTests(['test/gone.test.ts']), /test\/gone\.test\.ts is absent/);
});
