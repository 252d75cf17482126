/**
 * The bill of materials of a checkout, as CycloneDX 1.6: every package of the lock, by name, version, hash and licence.
 *
 *     npm run sbom -- [--out dist/sbom.cdx.json]
 *
 * Everything comes from the lock and the manifest, so one lock gives one file, on every machine and on every day. What
 * is inside the binary of a package (SQLite in its binding) and Node itself are not in it.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DEFAULT_OUT = 'dist/sbom.cdx.json';

/** What the built pages of the console contain: tools for npm, and parts of the package that others install. */
export const BUNDLED = ['@preact/signals', 'preact'] as const;

type Names = Readonly<Record<string, string>>;

/** One package of the lock. */
interface LockedPackage {
  /** Where it differs from the path: a package under another name. */
  readonly name?: string;
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dev?: boolean;
  readonly dependencies?: Names;
  readonly devDependencies?: Names;
  readonly optionalDependencies?: Names;
  readonly peerDependencies?: Names;
}

/** By path below the root; the empty path is the package itself. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

/** In CycloneDX "excluded" is what takes part in making the package, and not in the package. */
type Scope = 'required' | 'optional' | 'excluded';

type Licence =
  | { readonly license: { readonly id: string } | { readonly name: string } }
  | { readonly expression: string };

interface Component {
  readonly type: 'library';
  readonly 'bom-ref': string;
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly scope?: Scope;
  readonly hashes?: readonly { readonly alg: 'SHA-512'; readonly content: string }[];
  readonly licenses: readonly Licence[];
  readonly purl: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

interface Bom {
  readonly $schema: string;
  readonly bomFormat: 'CycloneDX';
  readonly specVersion: '1.6';
  readonly serialNumber: string;
  readonly version: 1;
  readonly metadata: { readonly lifecycles: readonly object[]; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** The bill of materials of a lock. */
export function bomOf(packages: LockedPackages): Bom {
  const own = packages[''];
  if (!own)
    throw new Error('Cannot make a bill of materials: the lock does not have its own package');
  const scopes = scopesOf(packages);
  const paths = Object.keys(packages).filter((path) => path !== '');
  const components = paths.map((path) => componentOf(packages, path, scopes.get(path)));
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: serialNumberOf(packages),
    version: 1,
    metadata: {
      // Read from the lock, before anything was built.
      lifecycles: [{ phase: 'pre-build' }],
      component: componentOf(packages, '', undefined),
    },
    components: merged(components),
    dependencies: edgesOf(packages),
  };
}

/** The paths that each path needs, found as Node finds them. */
function neededBy(packages: LockedPackages, path: string, names: Names = {}): string[] {
  return Object.keys(names).flatMap((name) => placeOf(packages, path, name) ?? []);
}

/** From the folder of the package outwards. A package that is not in the lock is for another platform, or an optional peer. */
function placeOf(packages: LockedPackages, from: string, name: string): string | undefined {
  for (
    let folder = from;
    ;
    folder = folder.slice(0, Math.max(folder.lastIndexOf('node_modules/') - 1, 0))
  ) {
    const path = `${folder}${folder === '' ? '' : '/'}node_modules/${name}`;
    if (packages[path]) return path;
    if (folder === '') return undefined;
  }
}

function scopesOf(packages: LockedPackages): ReadonlyMap<string, Scope> {
  const own = packages[''];
  const scopes = new Map<string, Scope>();
  const reach = (paths: readonly string[], scope: Scope): void => {
    const open = paths.filter((path) => !scopes.has(path));
    for (const path of open) scopes.set(path, scope);
    for (const path of open) reach(neededBy(packages, path, packages[path]?.dependencies), scope);
  };
  const shipped = Object.fromEntries(BUNDLED.map((name) => [name, '']));
  reach(neededBy(packages, '', { ...own?.dependencies, ...shipped }), 'required');
  const choices = [...scopes.keys()].flatMap((path) =>
    neededBy(packages, path, packages[path]?.optionalDependencies),
  );
  reach([...choices, ...neededBy(packages, '', own?.peerDependencies)], 'optional');
  reach(
    Object.keys(packages).filter((path) => path !== ''),
    'excluded',
  );
  return scopes;
}

function componentOf(packages: LockedPackages, path: string, scope: Scope | undefined): Component {
  const locked = packages[path] as LockedPackage;
  const [group, name] = fullName(path, locked);
  const isBundled = BUNDLED.some((each) => path === `node_modules/${each}`);
  const properties = [
    ...(scope === 'excluded' ? [{ name: 'cdx:npm:package:development', value: 'true' }] : []),
    ...(isBundled ? [{ name: 'cdx:npm:package:bundled', value: 'true' }] : []),
  ];
  const purl = purlOf(path, locked);
  return {
    type: 'library',
    'bom-ref': purl,
    ...(group && { group }),
    name,
    version: locked.version,
    ...(scope && { scope }),
    ...(locked.integrity && { hashes: [hashOf(locked.integrity)] }),
    licenses: [licenceOf(locked.license)],
    purl,
    ...(properties.length > 0 && { properties }),
  };
}

function fullName(
  path: string,
  { name }: LockedPackage,
): [group: string | undefined, name: string] {
  const full = name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const [group, rest] = full.split('/');
  return rest === undefined ? [undefined, full] : [group, rest];
}

function purlOf(path: string, locked: LockedPackage): string {
  const [group, name] = fullName(path, locked);
  const scope = group ? `${group.replace('@', '%40')}/` : '';
  return `pkg:npm/${scope}${name}@${locked.version}`;
}

function hashOf(integrity: string): { alg: 'SHA-512'; content: string } {
  const [, base64] = /^sha512-([\w+/]{86}==)$/.exec(integrity) ?? [];
  if (!base64) throw new Error(`Cannot read the hash "${integrity}": expected sha512`);
  return { alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') };
}

/** An SPDX id, an SPDX expression, or the words of the package. */
function licenceOf(text = 'unknown'): Licence {
  if (/^[\w.+-]+$/.test(text) && text !== 'unknown') return { license: { id: text } };
  if (/ (OR|AND|WITH) /.test(text)) return { expression: text };
  return { license: { name: text } };
}

/** One component for a version that stands in several places, in the nearest of their scopes. */
function merged(components: readonly Component[]): Component[] {
  const order: Scope[] = ['required', 'optional', 'excluded'];
  const nearness = ({ scope = 'excluded' }: Component) => order.indexOf(scope);
  const byRef = new Map<string, Component>();
  for (const each of components) {
    const known = byRef.get(each['bom-ref']);
    if (!known || nearness(each) < nearness(known)) byRef.set(each['bom-ref'], each);
  }
  return [...byRef.values()].sort((a, b) => compare(a['bom-ref'], b['bom-ref']));
}

function edgesOf(packages: LockedPackages): Bom['dependencies'] {
  const edges = new Map<string, Set<string>>();
  for (const [path, locked] of Object.entries(packages)) {
    const { dependencies, optionalDependencies, peerDependencies, devDependencies } = locked;
    const names = {
      ...dependencies,
      ...optionalDependencies,
      ...peerDependencies,
      ...devDependencies,
    };
    const ref = purlOf(path, locked);
    const targets = edges.get(ref) ?? new Set();
    for (const needed of neededBy(packages, path, names)) {
      targets.add(purlOf(needed, packages[needed] as LockedPackage));
    }
    edges.set(ref, targets);
  }
  return [...edges]
    .map(([ref, targets]) => ({ ref, dependsOn: [...targets].sort(compare) }))
    .sort((a, b) => compare(a.ref, b.ref));
}

/** A UUID of version 8, which leaves its bits to the maker: here they follow from the lock. */
function serialNumberOf(packages: LockedPackages): string {
  const bytes = createHash('sha256').update(JSON.stringify(packages)).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return `urn:uuid:${bytes.toString('hex').replace(/(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')}`;
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values } = parseArgs({ options: { out: { type: 'string', default: DEFAULT_OUT } } });
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const bom = bomOf(lock.packages);
  mkdirSync(dirname(values.out), { recursive: true });
  writeFileSync(values.out, `${JSON.stringify(bom, null, 2)}\n`);
  const count = (scope: Scope) => bom.components.filter((each) => each.scope === scope).length;
  process.stdout.write(
    `wrote ${values.out}: ${count('required')} required, ${count('optional')} optional, ${count('excluded')} excluded\n`,
  );
}
