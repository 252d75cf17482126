/**
 * The bill of materials has what the lock has, has the form of CycloneDX 1.6, and says of each package whether users get it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { BUNDLED, bomOf, type LockedPackages } from '../../scripts/sbom.ts';

const packages: LockedPackages = JSON.parse(readFileSync('package-lock.json', 'utf8')).packages;
const bom = bomOf(packages);
const placed = Object.entries(packages).filter(([path]) => path !== '');

const byRef = new Map(bom.components.map((each) => [each['bom-ref'], each]));
const nameIn = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 13);
const refOf = (path: string) => {
  const { name = nameIn(path), version } = packages[path] as LockedPackages[string];
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
};

/** Copied by hand from the list of SPDX: a licence beside these needs a look before it is used. */
const SPDX = [
  ...['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT'],
  ...['MPL-2.0', 'Unlicense'],
];

test('bomOf() has every locked version once, with its hash', () => {
  const wanted = new Map(placed.map(([path, { integrity }]) => [refOf(path), integrity]));

  assert.deepEqual([...byRef.keys()], [...wanted.keys()].sort());
  assert.equal(bom.components.length, byRef.size);
  for (const [ref, integrity = ''] of wanted) {
    const [hash] = byRef.get(ref)?.hashes ?? [];
    const base64 = Buffer.from(hash?.content ?? '', 'hex').toString('base64');
    assert.equal(`sha512-${base64}`, integrity, ref);
  }
});

test('bomOf() requires what an install of the package has, and what its pages contain', () => {
  const isShipped = (path: string) => {
    const { scope } = byRef.get(refOf(path)) ?? {};
    return scope !== 'excluded';
  };
  const installed = placed.filter(([, { dev }]) => dev !== true).map(([path]) => path);
  const shippedTools = placed.filter(([path, { dev }]) => dev === true && isShipped(path));

  assert.ok(installed.length > 10);
  assert.deepEqual(
    installed.filter((path) => !isShipped(path)),
    [],
  );
  // npm calls these tools of development: parts of the built pages, and peers that the service loads where they are.
  assert.deepEqual(
    shippedTools
      .map(([path]) => nameIn(path))
      .filter((name) => !/^(preact$|@preact\/|@opentelemetry\/)/.test(name)),
    [],
  );
  for (const name of BUNDLED)
    assert.equal(byRef.get(refOf(`node_modules/${name}`))?.scope, 'required');
  assert.equal(byRef.get(refOf('node_modules/@opentelemetry/api'))?.scope, 'optional');
  assert.equal(byRef.get(refOf('node_modules/vitest'))?.scope, 'excluded');
});

test('the built pages contain no package beside those that the bill of materials names', () => {
  const sources = readdirSync('src/console', { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?<!\.test)\.tsx?$/.test(path))
    .map((path) => readFileSync(join('src/console', path), 'utf8'));
  const imported = sources.flatMap((text) => [
    ...text.matchAll(/ from '((?:@[^/']+\/)?[^./'][^/']*)/g),
  ]);

  assert.deepEqual([...new Set(imported.map(([, name]) => name))].sort(), [...BUNDLED]);
});

test('bomOf() has the form of CycloneDX 1.6', () => {
  const all = [bom.metadata.component, ...bom.components];

  assert.deepEqual([bom.bomFormat, bom.specVersion, bom.version], ['CycloneDX', '1.6', 1]);
  assert.match(
    bom.serialNumber,
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  for (const { purl, 'bom-ref': ref, group = '', name, version, licenses } of all) {
    assert.equal(ref, purl);
    assert.equal(decodeURIComponent(purl), `pkg:npm/${group}${group && '/'}${name}@${version}`);
    assert.equal(licenses.length, 1);
  }
  const ids = all.flatMap(({ licenses }) =>
    licenses.flatMap((each) =>
      'license' in each && 'id' in each.license ? [each.license.id] : [],
    ),
  );
  assert.deepEqual(
    [...new Set(ids)].filter((id) => !SPDX.includes(id)),
    [],
  );
});

test('bomOf() knows the licence of everything that users get', () => {
  const unknown = bom.components.filter(({ scope, licenses: [licence] }) => {
    return (
      scope !== 'excluded' && (!licence || ('license' in licence && 'name' in licence.license))
    );
  });

  assert.deepEqual(unknown, []);
});

test('the licences of the lock are those of the installed packages', () => {
  const installed = placed.filter(([path]) => existsSync(join(path, 'package.json')));
  const other = installed.filter(([path, { license }]) => {
    const { license: own, licenses } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
    const text = own?.type ?? own ?? licenses?.[0]?.type;
    return text !== license;
  });

  assert.ok(installed.length > placed.length / 2);
  assert.deepEqual(
    other.map(([path]) => path),
    [],
  );
});

test('bomOf() leads from the package to each component, and nowhere else', () => {
  const edges = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const reached = new Set([bom.metadata.component['bom-ref']]);
  for (const ref of reached) for (const next of edges.get(ref) ?? []) reached.add(next);

  assert.deepEqual(
    [...edges.values()].flat().filter((ref) => !byRef.has(ref)),
    [],
  );
  assert.deepEqual(
    [...byRef.keys()].filter((ref) => !reached.has(ref)),
    [],
  );
});

test('bomOf() takes the package inside another one before the one beside it', () => {
  const integrity = `sha512-${'A'.repeat(86)}==`;
  const { dependencies, components } = bomOf({
    '': { name: 'own', version: '1.0.0', license: 'MIT', dependencies: { a: '1', b: '1' } },
    'node_modules/a': { version: '1.0.0', integrity, license: 'MIT', dependencies: { b: '2' } },
    'node_modules/b': { version: '1.0.0', integrity, license: 'MIT' },
    'node_modules/a/node_modules/b': { version: '2.0.0', integrity, license: 'see the file' },
    'node_modules/c': { version: '1.0.0', integrity, license: 'MIT OR ISC', dev: true },
  });

  assert.deepEqual(dependencies[0], { ref: 'pkg:npm/a@1.0.0', dependsOn: ['pkg:npm/b@2.0.0'] });
  assert.deepEqual(
    components.map(({ name, version, scope, licenses }) => [name, version, scope, licenses]),
    [
      ['a', '1.0.0', 'required', [{ license: { id: 'MIT' } }]],
      ['b', '1.0.0', 'required', [{ license: { id: 'MIT' } }]],
      ['b', '2.0.0', 'required', [{ license: { name: 'see the file' } }]],
      ['c', '1.0.0', 'excluded', [{ expression: 'MIT OR ISC' }]],
    ],
  );
});

test('bomOf() refuses a hash that is not SHA-512, and a lock without the package itself', () => {
  const own = { name: 'own', version: '1.0.0' };

  assert.throws(() => bomOf({}), /the lock does not have its own package/);
  assert.throws(
    () => bomOf({ '': own, 'node_modules/a': { version: '1.0.0', integrity: 'sha1-AAAA' } }),
    /Cannot read the hash "sha1-AAAA"/,
  );
});
