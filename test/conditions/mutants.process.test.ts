/**
 * Each line that decides in `narrower.ts` is needed: without it, a pair of the vectors is judged wrongly, or a value is
 * within the child and not within the parent. So is each rule about conditions of tokens.
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

const TOKENS = 'src/domain/authority/token-conditions.ts';
const TYPES = 'src/domain/authority/input-types.ts';
const CALLS = 'src/domain/invocation/conditions.ts';
/** Those that would widen a token; the probe finds the others, too. */
const TOKEN_MUTANTS: readonly (readonly [file: string, text: string, by: string])[] = [
  [TOKENS, 'if (above && beyond.length > 0)', 'if (false && above)'],
  [TOKENS, '{ ...above?.where, ...own.where }', '{ ...own.where }'],
  [TOKENS, 'inputs: above?.inputs ?? own.inputs', 'inputs: own.inputs'],
  [TOKENS, '[...regionFaults(read.conditions), ...misfits', '[...misfits'],
  [TOKENS, '!own || canonicalJson(own.inputs ?? null) !== canonicalJson(above.inputs)', '!own'],
  [TOKENS, 'shape: digestOf(held?.inputs ?? {})', "shape: ''"],
  [TYPES, '|| before[name] !== type', ''],
  [TYPES, 'typeOf(input, input_schema)', 'input.type'],
  [CALLS, 'if (used) return', 'if (false) return'],
  [CALLS, 'if (!needsPolicy(input) ||', 'if (true ||'],
  [CALLS, 'charge && charge.currency === capability.cost?.financial?.currency', 'charge'],
  [CALLS, 'if (unmet.length === 0) return undefined;', 'return undefined;'],
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

test('the probe of tokens finds nothing in the sources', { timeout: 60_000 }, async () => {
  assert.equal(await foundBy('', TOKENS, 'token-probe'), '');
});

for (const [file, text, by] of TOKEN_MUTANTS) {
  test(`the probe finds "${by || 'nothing'}" in place of "${text}"`, {
    timeout: 60_000,
  }, async () => {
    const parts = readFileSync(file, 'utf8').split(text);
    assert.equal(parts.length, 2, 'the text is there once');

    assert.notEqual(await foundBy(parts.join(by), file, 'token-probe'), '');
  });
}

async function foundBy(text: string, edited = FILE, probe = 'probe'): Promise<string> {
  const program = await bundled(`test/conditions/${probe}.ts`, folder, {
    files: [edited],
    edit: (file, original) => (file === edited && text !== '' ? text : original),
  });
  return execFileSync(process.execPath, [program], { encoding: 'utf8' });
}
