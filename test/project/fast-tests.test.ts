/**
 * Which tests a fast run chooses.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { test } from 'vitest';
import { fastTests, SLOW } from '../../scripts/fast-tests.ts';

const TEXTS: Record<string, string> = {
  'src/domain/money.ts': '',
  'src/domain/money.test.ts': '',
  'src/storage/sqlite/store.test.ts': '',
  'src/storage/open.test.ts': "import { emptyStore } from '../../test/empty-store.ts';",
  'test/store.test.ts': "import { openInstances } from './store-places.ts';",
  'test/http/front.test.ts': '',
  'test/serve.alone.test.ts': '',
  'test/tidy.test.ts': '',
  'test/project/changelog.test.ts': '',
  'examples/starter/test/service.test.ts': '',
};
const RULES = ['test/project/changelog.test.ts', 'test/tidy.test.ts'];

function chosen(...changed: string[]) {
  return fastTests(Object.keys(TEXTS), changed, (path) => TEXTS[path] ?? '');
}

test('fastTests() runs the tests beside the sources and the rules, and no store', () => {
  assert.deepEqual(chosen(), { run: ['src/domain/money.test.ts', ...RULES], left: [] });
});

test('the slow tests that a fast run leaves out exist', () => {
  assert.deepEqual(
    SLOW.filter((path) => !existsSync(path)),
    [],
  );
});

test('fastTests() adds tests that changed, and tests beside a changed source', () => {
  assert.ok(chosen('test/http/front.test.ts').run.includes('test/http/front.test.ts'));
  assert.ok(chosen('src/storage/sqlite/rows.ts').run.includes('src/storage/sqlite/store.test.ts'));
  assert.ok(!chosen('docs/sqlite/store.md').run.includes('src/storage/sqlite/store.test.ts'));
});

test('fastTests() names changed tests that need PostgreSQL or a program, and does not run them', () => {
  const needy = ['src/storage/open.test.ts', 'test/store.test.ts', 'test/serve.alone.test.ts'];

  const { run, left } = chosen(...needy);

  assert.deepEqual([...left].sort(), [...needy].sort());
  assert.deepEqual(
    run.filter((path) => needy.includes(path)),
    [],
  );
});

test('a fast run begins in a new clone: the setup of the suite imports no source, which would need compiled files', () => {
  const reached = new Set(['test/global-setup.ts']);
  for (const path of reached) {
    const imports = readFileSync(path, 'utf8').matchAll(/^(?:import .*|\}) from '(\..*\.ts)';$/gm);
    for (const [, file = ''] of imports) reached.add(posix.join(posix.dirname(path), file));
  }

  assert.ok(reached.has('test/postgres.ts'));
  assert.deepEqual(
    [...reached].filter((path) => path.startsWith('src/')),
    [],
  );
});
