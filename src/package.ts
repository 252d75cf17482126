/**
 * This package as npm knows it: its version, the Node it needs, what may be installed beside it.
 *
 * Read from package.json when somebody asks, so that nothing here is written down twice. Imports nothing
 * that an older Node lacks: it is the part that must run there.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Manifest {
  readonly version: string;
  /** Of Node, in the form ">=major.minor". */
  readonly engines: { readonly node: string };
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** The nearest one above this file, which may be a source or compiled. */
export function packageManifest(): Manifest {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) folder = dirname(folder);
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** Why this package cannot run on a Node of this version, if it cannot. */
export function olderNode(running = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = numbersOf(running);
  const [majorMin = 0, minorMin = 0] = numbersOf(packageManifest().engines.node);
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return undefined;
  return `Cannot run on Node ${running}: Writ needs Node ${majorMin}.${minorMin} or later`;
}

function numbersOf(version: string): number[] {
  return version.split(/\D+/).filter(Boolean).map(Number);
}
