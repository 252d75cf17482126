/**
 * What a walk finds in a guide that is wrong.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { walk } from './walk.ts';

function fence(words: string, text: string): string {
  return `\`\`\`${words}\n${text}\n\`\`\`\n`;
}

function walked(...fences: string[]): Promise<void> {
  const page = join(temporaryFolder(), 'guide.md');
  writeFileSync(page, fences.join(''));
  return walk(page);
}

const START = fence('sh', 'echo "cost 800 EUR"');

test('walk() takes a guide whose commands print what it shows, directly and elsewhere', async () => {
  await walked(START, fence('text', 'cost … EUR'), '\nLater:\n\n', fence('text', 'cost 800'));
  await walked(START, fence('sh refused', 'true || false\necho no\nfalse'), fence('text', 'no'));
});

const WRONG: readonly [what: string, page: readonly string[], why: RegExp][] = [
  ['a command that fails', [fence('sh', 'false\ntrue')], /the program ended/],
  ['a refusal that is none', [fence('sh refused', 'true')], /ended with 0/],
  [
    'a failure before the refused command',
    [fence('sh refused', 'not-a-command\nfalse')],
    /2 commands failed/,
  ],
  ['output that is not there', [START, fence('text', 'price')], /lacks "price"/],
  ['a number that is longer', [START, fence('text', 'cost 80')], /lacks "cost 80"/],
  ['a text elsewhere that nothing showed', [START, '\n', fence('text', 'paid')], /lacks "paid"/],
  ['a fence in a list', [START, '1. Then:\n\n   ```sh\n   true\n   ```\n'], /means nothing/],
  ['a fence with too many words', [START, fence('sh refused twice', 'false')], /means nothing/],
  ['output of a file', [START, fence('js a.js', '1'), fence('text', '1')], /output of a file/],
];
for (const [what, page, why] of WRONG) {
  test(`walk() rejects ${what}`, () => assert.rejects(walked(...page), why));
}
