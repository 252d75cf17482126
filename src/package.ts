/**
 * This package as npm knows it: its version, the Node it needs, its optional peers.
 *
 * Read from package.json on demand, so that nothing is written twice. Imports nothing that an older Node
 * lacks, because it must run there.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Manifest {
  readonly version: string;
  /** Exact versions. */
  readonly devDependencies: Readonly<Record<string, string>>;
  /** Of Node, in the form ">=major.minor". */
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** The nearest folder above this file that has a package.json. The file may be a source or compiled. */
export function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return folder;
}

export function packageManifest(): Manifest {
  return JSON.parse(readFileSync(join(packageFolder(), 'package.json'), 'utf8'));
}

/** Why this package cannot run on this version of Node, or undefined. */
export function olderNode(running = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = numbersOf(running);
  const [majorMin = 0, minorMin = 0] = numbersOf(packageManifest().engines.node);
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return undefined;
  return `Cannot run on Node ${running}: Writ needs Node ${majorMin}.${minorMin} or later`;
}

function numbersOf(version: string): number[] {
  return version.split(/\D+/).filter(Boolean).map(Number);
}
