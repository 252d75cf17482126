/**
 * A small SQLite store in a file, changed by an attacker, and what fsck says of it.
 *
 * @module
 */

import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { checkStore, type FsckReport } from '../../src/storage/fsck/fsck.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { temporaryFolder } from '../support/ends.ts';
import { attackFile } from './raw-segments.ts';
import { sealLog, smallEntry } from './small-log.ts';

/** Changes a store behind its guards. */
export type Deed = (raw: DatabaseSyncInstance) => void;

export const inSql =
  (...statements: string[]): Deed =>
  (raw) =>
    raw.exec(statements.join(';'));

export interface Tampered {
  /** A copy of one small log. */
  smallFile(): Promise<string>;
  /** What fsck says of a copy after the deed. */
  checkAfter(deed: Deed): Promise<FsckReport>;
}

/** Files of one test file, which calls this at its top level: they are removed at its end. */
export function tamperedFiles(): Tampered {
  const folder = temporaryFolder();
  let files = 0;
  let original: Promise<string> | undefined;

  const smallFile = async () => {
    original ??= fillFile(join(folder, 'original.db'));
    const file = join(folder, `${files++}.db`);
    copyFileSync(await original, file);
    return file;
  };
  return {
    smallFile,
    async checkAfter(deed) {
      const file = await smallFile();
      attackFile(file, deed);
      const store = await openSqlite(file);
      const report = await checkStore(store);
      await store.close();
      return report;
    },
  };
}

async function fillFile(file: string): Promise<string> {
  const store = await openSqlite(file);
  for (const places of SEGMENTS) {
    await store.append(places.map(smallEntry));
    if (places[0] !== 3) await sealLog(store);
  }
  await store.close();
  return file;
}

/** The places of each segment of the small log. Checkpoints cover three and all entries. */
const SEGMENTS = [
  [0, 1, 2],
  [3, 4],
  [5, 6],
] as const;

/** The kinds of what was found, in order. */
export function whats(report: FsckReport): string[] {
  return [...new Set(report.findings.map(({ what }) => what))].sort();
}

export function detailsOf({ findings }: FsckReport): string {
  return findings.map(({ what, where, detail }) => `${what} ${where}: ${detail}`).join('\n');
}
