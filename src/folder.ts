/**
 * Makes folders for files of this user alone.
 *
 * One step at a time: Node's own recursive form never returns where a file system says that a new
 * folder has no parent, as the one under /proc does.
 *
 * @module
 */

import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Of every folder that is made; one that is there keeps its own. */
const FOLDER_MODE = 0o700;

/** Makes the folder and those above it, where they are missing. Throws with the one that cannot be made. */
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
    // Making it says why.
    return false;
  }
}
