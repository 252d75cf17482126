/**
 * The index of the guides has every guide once, and a test walks each of them.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'vitest';

const INDEX = 'README.md';
const guides = readdirSync('docs/guides').filter((name) => name.endsWith('.md') && name !== INDEX);

test('docs/guides/README.md lists every guide once', () => {
  const text = readFileSync(`docs/guides/${INDEX}`, 'utf8');
  const listed = [...text.matchAll(/^- \[[^\]]+\]\(([\w-]+\.md)\): /gm)].map(([, name]) => name);

  assert.deepEqual(listed.sort(), guides.sort());
});

test('every guide is walked by a test', () => {
  const tests = readdirSync('test/guides')
    .filter((name) => name.endsWith('.process.test.ts'))
    .map((name) => readFileSync(`test/guides/${name}`, 'utf8'))
    .join('\n');

  assert.deepEqual(
    guides.filter((name) => !tests.includes(name.replace('.md', ''))),
    [],
  );
});
