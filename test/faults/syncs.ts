/**
 * A process that appends one after the other, then all together, so that its flushes can be counted.
 *
 * @module
 */

import { writeSync } from 'node:fs';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { entry } from '../support/fixtures.ts';

const { file, alone, together } = JSON.parse(process.argv[2] ?? '') as SyncsConfig;

/** How often to append alone, and how often at once. */
export interface SyncsConfig {
  readonly file: string;
  readonly alone: number;
  readonly together: number;
}

const store = await openSqlite(file);
mark('alone');
for (let count = 0; count < alone; count++) await store.append([entry()]);
mark('together');
await Promise.all(Array.from({ length: together }, () => store.append([entry()])));
mark('end');
await store.close();

/** Seen among the system calls. */
function mark(name: string): void {
  writeSync(1, `mark ${name}\n`);
}
