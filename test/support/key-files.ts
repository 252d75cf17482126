/**
 * The key files of a folder, without what else stands beside them.
 *
 * @module
 */

import { readdirSync } from 'node:fs';

export function keyFilesIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort();
}
