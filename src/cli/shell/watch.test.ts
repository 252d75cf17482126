import assert from 'node:assert/strict';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, vi } from 'vitest';
import { closedAtEnd, temporaryFolder } from '../../../test/support/ends.ts';
import { system } from '../../platform.ts';
import { watchFiles } from './watch.ts';

const CHANGES: [what: string, change: (path: string) => void][] = [
  ['was written', (path) => writeFileSync(path, 'longer text')],
  ['was replaced', (path) => replaced(path)],
  ['went', (path) => rmSync(path)],
];

function replaced(path: string): void {
  writeFileSync(`${path}.part`, 'same');
  renameSync(`${path}.part`, path);
}

for (const [what, change] of CHANGES) {
  test(`watchFiles() reports once that a file ${what}`, async () => {
    const file = join(temporaryFolder(), 'a');
    writeFileSync(file, 'text');
    let reports = 0;
    const count = () => {
      reports += 1;
    };
    closedAtEnd(watchFiles([file], system, count));

    change(file);

    await vi.waitFor(() => assert.equal(reports, 1), { timeout: 10_000 });
  });
}

test('watchFiles() finds a change without any notice, by looking', () => {
  const file = join(temporaryFolder(), 'a');
  let look = () => {};
  let reports = 0;
  const platform = {
    ...system,
    every(_: number, run: () => void) {
      look = run;
      return { unref: () => undefined };
    },
    after: () => ({ unref: () => undefined }),
  };
  const count = () => {
    reports += 1;
  };
  closedAtEnd(watchFiles([file], platform, count));

  look();
  assert.equal(reports, 0);
  writeFileSync(file, 'new');
  look();
  look();

  assert.equal(reports, 1);
});
