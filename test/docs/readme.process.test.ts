/**
 * Commands of the pages can be typed into every shell that people use.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { shellTraps } from '../support/shell-words.ts';

const PAGES = ['README.md', 'CONTRIBUTING.md', ...pagesIn('docs'), ...pagesIn('docs/guides')];
for (const page of PAGES) {
  test(`${page} has no comment in a command, which an interactive zsh refuses`, () => {
    const scripts = readFileSync(page, 'utf8').matchAll(/```sh\n([\s\S]*?)```/g);

    const traps = [...scripts].flatMap(([, script = '']) => shellTraps(script));
    assert.deepEqual(
      traps.filter((trap) => trap.startsWith('a comment')),
      [],
    );
  });
}

function pagesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}
