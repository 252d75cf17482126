// @ts-check
/**
 * Counts test reports (the JSON of vitest) and prints one line over all. Fails when a test failed, when a report
 * counts none, and when there is no report: silence is not success.
 *
 * A file that could not be loaded has no tests to count, so it counts as one failure itself.
 *
 * @module
 */

import { readFileSync } from 'node:fs';

const counts = process.argv.slice(2).map(countOf);
const passed = counts.reduce((sum, count) => sum + count.passed, 0);
const failed = counts.reduce((sum, count) => sum + count.failed, 0);
process.stdout.write(`tests: ${passed} passed, ${failed} failed\n`);
process.exitCode = failed === 0 && passed > 0 && counts.every((count) => count.passed > 0) ? 0 : 1;

/**
 * @param {string} path
 * @returns {{ passed: number, failed: number }}
 */
function countOf(path) {
  try {
    const report = JSON.parse(readFileSync(path, 'utf8'));
    const broken = report.testResults.filter(isBroken).length;
    return { passed: report.numPassedTests, failed: report.numFailedTests + broken };
  } catch {
    // The suite ended before it wrote its report; what it printed stands above.
    return { passed: 0, failed: 0 };
  }
}

/** @param {{ status: string, assertionResults: { status: string }[] }} file */
function isBroken({ status, assertionResults }) {
  return status === 'failed' && !assertionResults.some((test) => test.status === 'failed');
}
