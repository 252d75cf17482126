/**
 * Files and names that are on the disk when the call returns.
 *
 * @module
 */

import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';

const PRIVATE = 0o600;

/** A new file. Throws when there is one of this name. */
export function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', PRIVATE);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** A name is durable only with its folder. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
