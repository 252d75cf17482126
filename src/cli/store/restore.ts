/**
 * `writ restore`: makes a new store from a backup, in either kind of database.
 *
 * @module
 */

import { createReadStream, statSync } from 'node:fs';
import type { Config } from '../../config/config.ts';
import { countText } from '../../domain/values/count-text.ts';
import type { RestoredFacts } from '../../storage/backup/backup.ts';
import { checkBackup, openStore, restoreStore } from '../../storage/open.ts';
import { type Io, leaf } from '../shell/command.ts';
import { needed } from '../shell/options.ts';
import { JSON_OPTION, printFacts, printJson, startProgress } from '../shell/output.ts';
import { configAt, STORE_OPTION } from './at-store.ts';
import { type LogState, logState } from './mark-state.ts';

export const restoreCommand = leaf({
  name: 'restore',
  summary: 'make a new store from a backup',
  about: `Reads the whole file first, then makes a new store from it: all of it, or nothing. Refuses a place that has a store. A backup of SQLite restores into PostgreSQL, and the reverse.

Takes the store and the mark from the environment and from the configuration file in the working folder, and says how the restored log relates to the mark. The service needs the keys that it had when the backup was made.`,
  operands: { file: needed('<file>', 'a file that "writ backup" made') },
  options: { ...STORE_OPTION, ...JSON_OPTION },
  examples: [
    ['writ restore writ-backup.gz', 'into the store of the configuration'],
    ['writ restore writ-backup.gz --store postgres://writ@db/writ', 'into another database'],
  ],
  cannot: 'restore the store',
  async run({ file, store, json }, io) {
    const config = await configAt(io, store);
    const facts = await restored(config.store, file, io);
    const state = await stateAfter(config);
    if (json) printJson(io, { ...summary(facts), state: state.state, why: state.why });
    else report(facts, state, io);
  },
});

async function restored(url: string, file: string, io: Io): Promise<RestoredFacts> {
  const { size } = statSync(file);
  const open = () => ({ bytes: createReadStream(file), size });
  const progress = startProgress(io);
  try {
    await checkBackup(open(), (rows) => progress.say(`${countText(rows, 'row')} checked`));
    return await restoreStore(url, open, (rows) =>
      progress.say(`${countText(rows, 'row')} restored`),
    );
  } finally {
    progress.end();
  }
}

async function stateAfter(config: Config): Promise<LogState> {
  const store = await openStore(config.store, { create: false });
  try {
    return await logState(config, store);
  } finally {
    await store.close();
  }
}

function summary({ header, entries, rows }: RestoredFacts) {
  const { created_at, product, kind, log_id } = header;
  return { created_at, product, kind, log_id, entry_count: entries, rows };
}

function report(facts: RestoredFacts, state: LogState, io: Io): void {
  const { created_at, product, kind, log_id, entry_count, rows } = summary(facts);
  printFacts(io, [
    ['backup', `${created_at}, ${kind}, version ${product}`],
    ['log', log_id],
    ['entries', entry_count],
    ['rows', rows],
    ['state', stateText(state)],
  ]);
}

function stateText({ state, why, entries, signed }: LogState): string {
  if (state === 'ready') return `ready: ${why}`;
  if (state === 'mark_missing')
    return `not ready: ${why}, and "writ recover --accept-missing-mark"`;
  if (state === 'unknown') return `unknown: ${why}`;
  const lost = signed === undefined ? '' : ` by ${countText(signed - entries, 'entry', 'entries')}`;
  return `rolled back${lost}: ${why}, and "writ recover --accept-loss"`;
}
