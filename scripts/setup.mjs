// @ts-check
/**
 * Set-up: decides whether this checkout must be installed or built again, and does it.
 *
 * Uses Node alone, since it runs before any dependency is there. The decisions are pure functions of
 * what was found on disk; the effects below them hold one lock per checkout, so two commands started
 * together never write node_modules or dist at once. Invariant: a stamp is removed before the work
 * it vouches for begins and written after it ended, so an interrupted install or build is done again.
 *
 * @module
 */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { exitOf, outputOf } from './child.mjs';
import { withLock } from './lock.mjs';

/** The oldest Node the locked dependencies admit (test/lock.test.ts checks them against it). */
export const NODE_MIN = '20.20.0';

const INSTALL_STAMP = 'node_modules/.writ-install';
const BUILD_STAMP = 'dist/.writ-build';

/** What a build reads: folders in whole, and the files that steer it. */
const BUILD_FOLDERS = ['src', 'examples'];
const BUILD_FILES = ['package.json', 'tsconfig.json', 'tsconfig.build.json'];

/**
 * Says why this Node is too old, or nothing.
 *
 * @param {string} version as in `process.versions.node`
 * @returns {string | undefined}
 */
export function unsupportedNode(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [majorMin = 0, minorMin = 0] = NODE_MIN.split('.').map(Number);
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return undefined;

  return `Cannot run on Node ${version}: Writ needs Node ${majorMin}.${minorMin} or later`;
}

/**
 * Says why the dependencies must be installed, or nothing. A stamp vouches for one lock on one
 * platform and Node major, because binaries in node_modules fit only that.
 *
 * @param {{ hasModules: boolean, stamp: string | undefined, wanted: string }} found
 * @returns {string | undefined}
 */
export function installReason({ hasModules, stamp, wanted }) {
  if (!hasModules) return 'node_modules is absent';
  if (stamp === undefined) return 'the last install did not finish here';
  if (stamp === wanted) return undefined;

  const [lock] = stamp.split(' ');
  const [wantedLock] = wanted.split(' ');
  return lock === wantedLock ? 'the platform or Node changed' : 'package-lock.json changed';
}

/**
 * Says why dist must be built, or nothing.
 *
 * @param {{ stamp: string | undefined, wanted: string }} found
 * @returns {string | undefined}
 */
export function buildReason({ stamp, wanted }) {
  if (stamp === undefined) return 'dist has no finished build';
  return stamp === wanted ? undefined : 'the sources changed';
}

/**
 * Names an install: the lock it follows and the machine it fits.
 *
 * @param {string | Uint8Array} lock the bytes of package-lock.json
 * @param {{ platform: string, arch: string, node: string }} machine
 * @returns {string}
 */
export function installStamp(lock, { platform, arch, node }) {
  const [major] = node.split('.');
  return `${createHash('sha256').update(lock).digest('hex')} ${platform}-${arch} node${major}`;
}

/**
 * Names a build by the content of everything it reads, so that neither a checkout's fresh
 * modification times nor a restored old file can mislead it.
 *
 * @param {string} root
 * @returns {string}
 */
export function buildStamp(root) {
  const inFolders = BUILD_FOLDERS.flatMap((folder) => filesUnder(join(root, folder)));
  const steering = BUILD_FILES.map((file) => join(root, file)).filter((path) => existsSync(path));

  const hash = createHash('sha256');
  for (const path of [...inFolders, ...steering]) {
    if (path.endsWith('.test.ts')) continue;
    const content = readFileSync(path);
    hash.update(`${relative(root, path)}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/**
 * Installs the locked dependencies when {@link installReason} has one.
 *
 * @param {string} root
 * @returns {Promise<void>}
 */
export async function ensureInstalled(root) {
  if (missingInstall(root) === undefined) return;

  await withLock(root, async (share) => {
    // Asked again: the holder we waited for may have done it.
    const reason = missingInstall(root);
    if (reason === undefined) return;

    say(`Installing dependencies: ${reason}`);
    await install(root, share);
  });
}

/**
 * Compiles to dist when {@link buildReason} has one.
 *
 * @param {string} root
 * @returns {Promise<void>}
 */
export async function ensureBuilt(root) {
  if (missingBuild(root) === undefined) return;

  await withLock(root, async (share) => {
    const reason = missingBuild(root);
    if (reason === undefined) return;

    say(`Building dist: ${reason}`);
    await build(root, share);
  });
}

/**
 * Our own remarks go to stderr: stdout belongs to the command that was asked for.
 *
 * @param {string} line
 */
export function say(line) {
  process.stderr.write(`${line}\n`);
}

/** @param {string} root */
function missingInstall(root) {
  return installReason({
    hasModules: existsSync(join(root, 'node_modules')),
    stamp: readIfThere(join(root, INSTALL_STAMP)),
    wanted: wantedInstall(root),
  });
}

/** @param {string} root */
function missingBuild(root) {
  return buildReason({
    stamp: readIfThere(join(root, BUILD_STAMP)),
    wanted: buildStamp(root),
  });
}

/** @param {string} root */
function wantedInstall(root) {
  const machine = { platform: process.platform, arch: process.arch, node: process.versions.node };
  return installStamp(readFileSync(join(root, 'package-lock.json')), machine);
}

/**
 * @param {string} root
 * @param {(pid: number) => void} share
 */
async function install(root, share) {
  const stamp = wantedInstall(root);
  rmSync(join(root, INSTALL_STAMP), { force: true });

  // `--include=dev`: under NODE_ENV=production npm would leave out the compiler we build with.
  const args = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
  const [command, ...before] = npmCommand(process.env.npm_execpath);
  const child = spawn(command, [...before, ...args, '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (child.pid !== undefined) share(child.pid);
  const code = await exitOf(child);
  if (code !== 0) throw new Error(`Cannot install: npm ci ended with exit code ${code}`);

  writeFileSync(join(root, INSTALL_STAMP), stamp);
}

/**
 * The npm that started us, else the one on the PATH. Another package manager also sets
 * `npm_execpath`, but cannot read our lock.
 *
 * @param {string | undefined} execPath
 * @returns {[string, ...string[]]}
 */
export function npmCommand(execPath) {
  return execPath !== undefined && basename(execPath) === 'npm-cli.js'
    ? [process.execPath, execPath]
    : ['npm'];
}

/**
 * @param {string} root
 * @param {(pid: number) => void} share
 */
async function build(root, share) {
  const stamp = buildStamp(root);
  rmSync(join(root, BUILD_STAMP), { force: true });

  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  // `--noEmitOnError`: a source that imports from outside this checkout is an error, but without this
  // tsc would still write the output of what it imports, beside it and outside dist: seen.
  const flags = ['--noEmitOnError', '--listEmittedFiles', '--pretty', 'false'];
  const args = [tsc, '-p', 'tsconfig.build.json', ...flags];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  if (child.pid !== undefined) share(child.pid);
  const output = outputOf(child);
  const code = await exitOf(child);
  if (code !== 0) {
    say(
      output()
        .replaceAll(/^TSFILE: .*\n/gm, '')
        .trimEnd(),
    );
    throw new Error(`Cannot build: tsc ended with exit code ${code}`);
  }

  removeStale(root, emittedFiles(output()));
  writeFileSync(join(root, BUILD_STAMP), stamp);
}

/**
 * @param {string} output what `tsc --listEmittedFiles` printed
 * @returns {Set<string>}
 */
function emittedFiles(output) {
  return new Set([...output.matchAll(/^TSFILE: (.*)$/gm)].map(([, path = '']) => path));
}

/**
 * Removes what an earlier build left of sources that are gone. The files still wanted are written
 * in place, never removed first: a service may be running from them.
 *
 * @param {string} root
 * @param {Set<string>} emitted
 */
function removeStale(root, emitted) {
  for (const path of filesUnder(join(root, 'dist'))) {
    const isEmitted = emitted.has(path) || emitted.has(relative(root, path));
    if (!isEmitted) rmSync(path, { force: true });
  }
}

/**
 * Every file under a folder, in a stable order; none when the folder is absent.
 *
 * @param {string} folder
 * @returns {string[]}
 */
function filesUnder(folder) {
  if (!existsSync(folder)) return [];

  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((item) => {
      const path = join(folder, item.name);
      return item.isDirectory() ? filesUnder(path) : [path];
    });
}

/**
 * @param {string} path
 * @returns {string | undefined}
 */
function readIfThere(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
