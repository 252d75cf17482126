/**
 * Programs that a machine may lack: a browser, a PostgreSQL. A test that needs one is skipped there, and the run
 * names it in its last lines. In CI it fails instead, because there a missing program means a test that never ran.
 *
 * @module
 */

import { TestRunner } from 'vitest';
import { NEEDS } from './missing-reporter.ts';

/** Skips the test that runs now. Outside a test, and in CI, throws. */
export function skipWithout(program: string, cause: Error): never {
  const test = process.env.CI ? undefined : TestRunner.getCurrentTest();
  test?.context.skip(`${NEEDS}${program}: ${cause.message}`);
  throw cause;
}
