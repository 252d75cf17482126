/**
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';
import { olderNode, packageManifest } from './package.ts';

const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const [major, minor] = manifest.engines.node.slice('>='.length).split('.').map(Number);

test('packageManifest() is that of this package', () => {
  assert.equal(packageManifest().version, manifest.version);
});

const OLDER = [`${major}.${minor - 1}.9`, `${major - 2}.99.0`, '0.12.18'];
for (const version of OLDER) {
  test(`olderNode() says in one line that ${version} is too old`, () => {
    const line = `Cannot run on Node ${version}: Writ needs Node ${major}.${minor} or later`;

    assert.equal(olderNode(version), line);
  });
}

const FIT = [`${major}.${minor}.0`, `${major}.${minor + 1}.0`, `${major + 2}.0.0`, '100.1.0'];
for (const version of FIT) {
  test(`olderNode() finds nothing wrong with ${version}`, () => {
    assert.equal(olderNode(version), undefined);
  });
}
