/**
 * A lock on a file for as long as a process lives: the system ends it when the process ends, however it ends.
 *
 * It is the write lock of an empty SQLite database, because Node has no call for the locks of the system. It holds
 * between the processes of one machine, in containers too if they share the file.
 *
 * @module
 */

import { closeSync, openSync } from 'node:fs';
import { resolve } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';

/** Holds the lock until the answer is called. `undefined` when another holder has it. */
export function holdLock(path: string): (() => void) | undefined {
  // Absolute, so that SQLite does not read the name as a URI with options.
  const file = resolve(path);
  // Mode 0600: a stranger who can open the file could hold the lock.
  closeSync(openSync(file, 'a', 0o600));
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
    return () => database.close();
  } catch (error) {
    database.close();
    const { message } = error as Error;
    if (/locked|busy/i.test(message)) return undefined;
    throw error;
  }
}
