/**
 * Writes files so that contents and names are on disk when the call returns.
 *
 * @module
 */

import { closeSync, fsyncSync, openSync, writeFileSync } from 'node:fs';

const PRIVATE = 0o600;

/** Creates a file. Throws when the name is taken. */
export function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', PRIVATE);
  try {
    writeFileSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Syncs the folder: without that a crash can lose the name. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
