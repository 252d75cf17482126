/**
 * `writ backup`: copies a store into one file while services use it.
 *
 * The file has no keys and no mark. It appears under its name when it is complete.
 *
 * @module
 */

import { existsSync, statSync } from 'node:fs';
import { countText } from '../../domain/values/count-text.ts';
import { packageManifest } from '../../package.ts';
import { backupOf, type Snapshot } from '../../storage/backup/backup.ts';
import { openSnapshot, openStore, SCHEMA_VERSIONS } from '../../storage/open.ts';
import type { CheckpointRecord } from '../../storage/port/records.ts';
import { writeNew } from '../shell/atomic-file.ts';
import { type Io, leaf } from '../shell/command.ts';
import { needed } from '../shell/options.ts';
import { JSON_OPTION, printFacts, printJson, startProgress } from '../shell/output.ts';
import { configAt, STORE_OPTION } from './at-store.ts';
import { markAddressOf, readMark } from './mark-state.ts';

export const backupCommand = leaf({
  name: 'backup',
  summary: 'copy the store into one file while services run',
  about: `Copies every row of one state of the store into a new file, for "writ restore" in either kind of database. Services may run meanwhile.

Takes the store and the mark from the environment and from the configuration file in the working folder. The file has neither keys nor the mark: back up the keys apart. It says what people did, so its mode is 0600.`,
  options: {
    out: needed('<file>', 'the new file; it must not exist'),
    ...STORE_OPTION,
    ...JSON_OPTION,
  },
  examples: [
    ['writ backup --out writ-backup.gz', 'the store of the configuration'],
    [
      'writ backup --store sqlite:.writ/writ.db --out writ-backup.gz --json',
      'another store, for a program',
    ],
  ],
  cannot: 'back up the store',
  async run({ out, store, json }, io) {
    if (existsSync(out)) throw new Error(`"${out}" exists`);
    const config = await configAt(io, store);
    const url = config.store;
    // The mark first: what was signed by then must be in the snapshot.
    const marked = await readMark(config, await currentLog(url));
    const snapshot = await openSnapshot(url);
    try {
      refuseOlder(snapshot, marked);
      await write(snapshot, out, io);
    } finally {
      await snapshot.close();
    }
    const now = await readMark(config, await currentLog(url));
    const isMarked = markAddressOf(config) !== undefined;
    const { size } = statSync(out);
    report({ snapshot, out, size, marked, now, isMarked }, json, io);
  },
});

async function currentLog(url: string): Promise<string> {
  const store = await openStore(url, { create: false });
  try {
    return (await store.origins()).at(-1)?.logId ?? store.logId;
  } finally {
    await store.close();
  }
}

function refuseOlder({ head }: Snapshot, marked: CheckpointRecord | undefined): void {
  if (!marked || marked.size <= head.entries) return;
  const found = `checkpoint ${marked.sequence} was signed over ${countText(marked.size, 'entry', 'entries')}, the log has ${head.entries}`;
  throw new Error(`${found}; see docs/operating.md, "The log was rolled back"`);
}

async function write(snapshot: Snapshot, out: string, io: Io): Promise<void> {
  const progress = startProgress(io);
  try {
    const bytes = backupOf(snapshot, {
      now: new Date(),
      product: packageManifest().version,
      schema: SCHEMA_VERSIONS,
      // Only the number of entries is known before: most rows are entries, or belong to calls that have one.
      onProgress: (rows, table) => progress.reach(rows, snapshot.head.entries, `rows (${table})`),
    });
    await writeNew(out, bytes);
  } finally {
    progress.end();
  }
}

interface Report {
  readonly snapshot: Snapshot;
  readonly out: string;
  readonly size: number;
  readonly marked: CheckpointRecord | undefined;
  readonly now: CheckpointRecord | undefined;
  readonly isMarked: boolean;
}

function report({ snapshot, out, size, marked, now, isMarked }: Report, json: boolean, io: Io) {
  const { entries, root, checkpoint } = snapshot.head;
  const newer = Math.max(0, (now?.size ?? 0) - entries);
  if (json) {
    const signed = now && { checkpoint: now.sequence, entry_count: now.size };
    const relation = { mark: signed ?? null, newer_signed_entries: newer };
    printJson(io, {
      file: out,
      bytes: size,
      log_id: snapshot.logId,
      entry_count: entries,
      merkle_root: root,
      checkpoint,
      ...relation,
    });
    return;
  }
  printFacts(io, [
    ['file', out],
    ['bytes', size],
    ['log', snapshot.logId],
    ['entries', entries],
    ['root', root],
    ['checkpoint', checkpoint],
    ['mark', relationText({ marked, now, newer, isMarked })],
  ]);
}

function relationText({
  marked,
  now,
  newer,
  isMarked,
}: Pick<Report, 'marked' | 'now' | 'isMarked'> & { readonly newer: number }): string {
  if (!isMarked) return 'none configured here';
  if (!now) return 'nothing of this log was signed yet';
  const coverage = `checkpoint ${now.sequence} over ${countText(now.size, 'entry', 'entries')}`;
  if (newer > 0) {
    return `${coverage}: ${countText(newer, 'entry', 'entries')} were signed after this backup began and are not in it`;
  }
  return `${coverage}: all of them are in this backup${marked ? '' : ' (signed while it ran)'}`;
}
