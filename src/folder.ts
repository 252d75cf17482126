/**
 * Makes folders that only this user can read.
 *
 * One level at a time: Node's recursive form never returns on a file system that reports a new folder as
 * having no parent, such as /proc.
 *
 * @module
 */

import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** For every new folder; an existing one keeps its mode. */
const FOLDER_MODE = 0o700;

/** Makes the folder and its missing ancestors. Throws with the folder that cannot be made. */
export function makeFolder(folder: string): void {
  const path = resolve(folder);
  if (isFolder(path)) return;
  const above = dirname(path);
  if (above !== path) makeFolder(above);
  try {
    mkdirSync(path, { mode: FOLDER_MODE });
  } catch (cause) {
    // Another process may have made it just now.
    if (isFolder(path)) return;
    const { code = '' } = cause as NodeJS.ErrnoException;
    throw new Error(`Cannot make folder "${path}": ${REASONS[code] ?? code}`, { cause });
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'this user may not write to the folder above it',
  EEXIST: 'a file or link of this name exists',
  ENOENT: 'the file system does not allow a folder there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
};

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    // mkdir reports the reason.
    return false;
  }
}
