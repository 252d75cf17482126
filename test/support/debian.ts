/**
 * Programs of Debian for tests: one on the path, or Debian's own package, which root installs when there is none.
 *
 * @module
 */

import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';

/** Seconds to wait for another installation that has the lock. */
const APT_LOCK_SECONDS = 300;

/** Milliseconds for a download of a hundred megabytes. */
const INSTALL_MS_MAX = 600_000;

/** Daemons are there, which is not on the path of every user. */
const MORE_FOLDERS = ['/usr/sbin', '/sbin'];

/** The first of these programs that is on the path. */
export function findProgram(names: readonly string[]): string | undefined {
  const given = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const folders = [...given, ...MORE_FOLDERS];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Whether packages can be installed here. */
export function canInstall(): boolean {
  return isRoot() && existsSync('/etc/debian_version');
}

export async function installPackages(...packages: string[]): Promise<void> {
  // Lists that were never fetched, or name a version that is gone, are fetched anew.
  await apt('install', ...packages).catch(async () => {
    await apt('update');
    await apt('install', ...packages);
  });
}

async function apt(command: string, ...packages: string[]): Promise<void> {
  const options = [
    '-y',
    '--no-install-recommends',
    '-o',
    `DPkg::Lock::Timeout=${APT_LOCK_SECONDS}`,
  ];
  await promisify(execFile)('apt-get', [command, ...options, ...packages], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: INSTALL_MS_MAX,
    maxBuffer: 16 * 1_024 * 1_024,
  });
}

/**
 * A program of a package that also has a daemon, or why it is not there. Not installed where systemd runs: the
 * package would start its daemon on a port of this machine.
 */
export async function daemonProgram(
  name: string,
  debianPackage: string,
): Promise<{ readonly path: string } | { readonly missing: string }> {
  const found = findProgram([name]);
  if (found) return { path: found };
  if (!canInstall() || existsSync('/run/systemd/system')) {
    return { missing: `${name} is not installed (Debian: ${debianPackage})` };
  }
  try {
    await installPackages(debianPackage);
  } catch {
    return { missing: `${name} cannot be installed (Debian: ${debianPackage})` };
  }
  const path = findProgram([name]);
  return path ? { path } : { missing: `${name} is not in ${debianPackage}` };
}
