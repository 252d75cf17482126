/**
 * The last lines of a run: which tests did not run for want of a program, and what to install.
 *
 * @module
 */

import type { Reporter, TestModule } from 'vitest/node';

/** How the note of such a skipped test begins. */
export const NEEDS = 'needs ';

export const missingReporter: Reporter = {
  onTestRunEnd(modules) {
    const counts = new Map<string, number>();
    for (const note of modules.flatMap(needsIn)) counts.set(note, (counts.get(note) ?? 0) + 1);
    for (const [note, count] of counts) {
      process.stdout.write(`${count} ${count === 1 ? 'test' : 'tests'} did not run: ${note}\n`);
    }
  },
};

function needsIn(module: TestModule): string[] {
  return [...module.children.allTests('skipped')].flatMap((test) => {
    const result = test.result();
    return result.state === 'skipped' && result.note?.startsWith(NEEDS) ? [result.note] : [];
  });
}
