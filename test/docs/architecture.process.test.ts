/**
 * The lists of files in ARCHITECTURE.md, compared with the files that ran for each request.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { test } from 'vitest';
import type { Walk } from '../support/walks.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The title of each list, and the name of the request that `walks.ts` measures. */
const LISTS: readonly [title: string, request: string][] = [
  ['Invoke a capability', 'invoke book_flight'],
  ['Issue a token', 'issue a token'],
  ['Ask for permissions', 'permissions'],
  ['Approve a request', 'approve a request'],
  ['Query the audit log', 'query the audit log'],
  ['A call whose process died', 'a call whose process died'],
];
/** Files to read. More are not one story any longer. */
const FILES_MAX = 12;

test('ARCHITECTURE.md lists files that run for the request, at most twelve of them', async () => {
  const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const program = ['--conditions=writ-source', '--import', 'tsx', 'test/support/walks.ts'];
  const { stdout } = await promisify(execFile)(process.execPath, program, { cwd: ROOT });
  const walks = JSON.parse(stdout) as Record<string, Walk>;

  for (const [title, request] of LISTS) {
    const listed = filesUnder(page, title);
    const idle = listed.filter((path) => !walks[request]?.[path]);

    assert.deepEqual(idle, [], `files of "${title}" that did not run`);
    assert.ok(listed.length > 2 && listed.length <= FILES_MAX, `${title}: ${listed.length} files`);
  }
});

function filesUnder(page: string, title: string): string[] {
  const list = page.split(`**${title}**\n\n`)[1]?.split('\n\n')[0] ?? '';
  return list.split('\n').flatMap((line) => /^\d+\. `([^`]+)`/.exec(line)?.[1] ?? []);
}
