/**
 * A disk in memory for files that need not survive a power failure: flushes and removals cost nothing there.
 *
 * @module
 */

import { statfsSync } from 'node:fs';

/** In bytes. The files of a run take less, the databases included; the memory disk of a container is often smaller. */
const FREE_MIN = 4 * 2 ** 30;

/** Its folder, where there is one with enough room. */
export function memoryDisk(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize >= FREE_MIN ? '/dev/shm' : undefined;
  } catch {
    return undefined;
  }
}
