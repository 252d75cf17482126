/**
 * Programs that a machine may lack: a browser, a PostgreSQL. A test that needs one is skipped there, and the run
 * names it in its last lines. In CI it fails instead, because there a missing program means a test that never ran.
 *
 * @module
 */

import { beforeEach, describe, TestRunner, test } from 'vitest';
import { NEEDS } from './missing-reporter.ts';

/** What a file or a group opens for all of its tests needs a program that is not there. */
class ProgramMissing extends Error {}

/** Skips the test that runs now; outside a test, what `unlessMissing()` collects now. In CI, throws. */
export function skipWithout(program: string, cause: Error): never {
  if (process.env.CI) throw cause;
  const note = `${NEEDS}${program}: ${cause.message}`;
  TestRunner.getCurrentTest()?.context.skip(note);
  throw new ProgramMissing(note, { cause });
}

/**
 * `describe()` for a body that opens what its tests share. Where that needs a program that is not there, the tests are
 * skipped.
 */
export function group(name: string, body: () => unknown): void {
  describe(name, () => unlessMissing(body));
}

/** Collects the tests of a file or a group. */
export async function unlessMissing(collect: () => unknown): Promise<void> {
  try {
    await collect();
  } catch (error) {
    if (!(error instanceof ProgramMissing)) throw error;
    const { message } = error;
    // Those that were collected before have nothing to work with.
    beforeEach(({ skip }) => skip(message));
    // Those that come after are not known: this one stands for them.
    test('what needs a program that is not there', () => {});
  }
}
