/**
 * Places where space runs out, and comes back when asked.
 *
 * A file system of its own is the real thing, but making one needs privileges. A limit on the size of
 * files needs none; what is written beyond it fails as on a disk that has no room.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PRLIMIT = 'prlimit';

export interface SmallDisk {
  readonly folder: string;
  /** Leaves so many bytes. */
  fill(bytesLeft: number): void;
  grow(): void;
  remove(): void;
}

/** Why no small disk can be had here; undefined when it can. */
export function whyNoDisk(): string | undefined {
  try {
    makeDisk('1m').remove();
    return undefined;
  } catch {
    return 'mounting needs privileges';
  }
}

/** `owner` may use it, root too. */
export function makeDisk(size: string, owner?: { uid: number; gid: number }): SmallDisk {
  // Not within a folder of ours, which others may not enter.
  const folder = mkdtempSync(join(tmpdir(), 'writ-small-disk-'));
  try {
    run('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=700`, 'tmpfs', folder]);
  } catch (error) {
    rmSync(folder, { recursive: true });
    throw error;
  }
  if (owner) chownSync(folder, owner.uid, owner.gid);
  return {
    folder,
    fill(bytesLeft) {
      const { bavail, bsize } = statfsSync(folder);
      try {
        writeFileSync(join(folder, 'ballast'), new Uint8Array(bavail * bsize - bytesLeft));
      } catch (error) {
        // A process under load takes the last bytes itself: the disk is full all the same.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    },
    grow: () => run('mount', ['-o', 'remount,size=256m', folder]),
    remove() {
      run('umount', ['-l', folder]);
      rmSync(folder, { recursive: true });
    },
  };
}

/** Only while no file there is open for writing. */
export function remountReadOnly(folder: string): void {
  run('mount', ['-o', 'remount,ro', folder]);
}

/** Why files cannot be limited, and the limit lifted, here; undefined when they can. */
export function whyNoLimit(): string | undefined {
  const isThere = spawnSync(PRLIMIT, ['--version']).status === 0;
  return isThere ? undefined : 'there is no prlimit';
}

/** A command that runs the one after it with files of at most so many bytes. */
export function underLimit(bytes: number): string[] {
  return [PRLIMIT, `--fsize=${bytes}:unlimited`];
}

/** From now on this process has at most so many files and connections open. */
export function limitFiles(pid: number, files: number): void {
  run(PRLIMIT, [`--pid=${pid}`, `--nofile=${files}:${files}`]);
}

export function liftLimit(pid: number): void {
  run(PRLIMIT, [`--pid=${pid}`, '--fsize=unlimited:unlimited']);
}

function run(command: string, args: readonly string[]): void {
  const done = spawnSync(command, args, { encoding: 'utf8' });
  if (done.status === 0) return;
  throw new Error(`Cannot run ${command}: ${done.stderr || done.error}`);
}
