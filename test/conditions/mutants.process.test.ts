/**
 * Each line that decides in `narrower.ts` is needed: without it, a pair of the vectors is judged wrongly, or a value is
 * within the child and not within the parent.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { afterAll, test } from 'vitest';
import { bundled, bundleFolder } from '../simulation/bundle.ts';

const FILE = 'src/domain/conditions/narrower.ts';
const source = readFileSync(FILE, 'utf8');
const folder = bundleFolder();
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What is replaced, and by what. */
const MUTANTS: readonly (readonly [string, string])[] = [
  ['if (admitsAbsence(child) && !admitsAbsence(parent)) return false;', ''],
  ['if (child.absent) return true;', ''],
  ['if (parent.absent) return false;', ''],
  ['if (listed) return', 'if (!listed) return true; else return'],
  ['!admits(child, each) || ', ''],
  ['admits(parent, each))', 'true)'],
  ['is: () => false', 'is: () => true'],
  ['one_of: () => false', 'one_of: () => true'],
  ['isBounded(parent.at_least, child.at_least)', 'true'],
  ['isBounded(parent.at_least, child.at_least)', 'isBounded(child.at_least, parent.at_least)'],
  ['isBounded(child.at_most, parent.at_most)', 'true'],
  ["covered('starts_with', (root, text) => text.startsWith(root))", '() => true'],
  ['text.startsWith(root)', 'root.startsWith(text)'],
  ['isPathUnder(known, path)', 'true'],
  ["covered('email_domain', isDomainIn)", '() => true'],
  ['isUrlUnder(known, url)', 'true'],
  ['child.same === parent.same', 'true'],
  ['low.kind === high?.kind', 'high !== undefined'],
  ['low.value <= high.value', 'true'],
  ['own?.every(', 'own?.some('],
  ['?? false', '?? true'],
  ['own ?? ANYTHING', 'own ?? condition'],
];

test('the probe finds nothing in the sources', { timeout: 60_000 }, async () => {
  assert.equal(await foundBy(source), '');
});

for (const [text, by] of MUTANTS) {
  test(`the probe finds "${by || 'nothing'}" in place of "${text}"`, {
    timeout: 60_000,
  }, async () => {
    const parts = source.split(text);
    assert.equal(parts.length, 2, 'the text is there once');

    assert.notEqual(await foundBy(parts.join(by)), '');
  });
}

async function foundBy(text: string): Promise<string> {
  const program = await bundled('test/conditions/probe.ts', folder, {
    files: [FILE],
    edit: (file, original) => (file === FILE ? text : original),
  });
  return execFileSync(process.execPath, [program], { encoding: 'utf8' });
}
