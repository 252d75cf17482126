/**
 * `writ fsck`: checks a store; `fsck-report.ts` prints what it checked and what it found.
 *
 * Exits with 0 when it finds nothing, with 1 when it finds something, and with 2 when it could not
 * check, for example because there is no store.
 *
 * @module
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, fileSettings, MARK_FILE, stateFolder } from '../../config/config.ts';
import { markAddress } from '../../config/log.ts';
import { countText } from '../../domain/values/count-text.ts';
import { createCheckpointCheck } from '../../keyring/checkpoint-check.ts';
import { readKeyFolder } from '../../keyring/key-folder.ts';
import { noteKeysOf } from '../../keyring/note-signing.ts';
import { readRowKeys } from '../../keyring/row-keys.ts';
import { EventClass } from '../../protocol/audit.ts';
import {
  currentOrigin,
  type SignedElsewhere,
  signedElsewhere,
  storeAddress,
} from '../../service/log/compare-log.ts';
import { sealFault } from '../../service/rows/row-seal.ts';
import { checkStore, type Marked } from '../../storage/fsck/fsck.ts';
import { checkMacs } from '../../storage/fsck/macs.ts';
import { openMark, openStore } from '../../storage/open.ts';
import type { Store } from '../../storage/port/store.ts';
import { type Io, leaf } from '../shell/command.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import { value } from '../shell/options.ts';
import { JSON_OPTION, type Progress, printJson, startProgress } from '../shell/output.ts';
import { configAt, STORE_OPTION } from './at-store.ts';
import { type Checked, findingsOf, jsonReport, textReport } from './fsck-report.ts';
import { markAddressOf } from './mark-state.ts';

const ABOUT = `Reads the whole log, hashes every leaf again, rebuilds the tree and compares it with every stored node, with the head and with every checkpoint and its note; verifies their signatures where it has the keys, and that the log extends the mark where there is one. Compares tokens, revocations, budgets, debts, approval requests, decisions, grants with their uses, freezes and closed calls with what the log says they must be, and kept declarations with their digests; with the keys, also with their MACs. Finds child tokens that allow more than their parents. Checks the database itself: on SQLite pages, tables, indexes and triggers; on PostgreSQL only named indexes and the guards of the log. Creates and migrates nothing. Uses less than one kilobyte of memory for each token, request and grant.

Retention leaves only the hash of an erased entry, so fsck cannot check its time, type and state.`;

export const fsckCommand = leaf({
  name: 'fsck',
  summary: 'check that the log is complete and unchanged',
  about: ABOUT,
  options: {
    ...STORE_OPTION,
    keys: value('<folder>', 'the keys of the service (default: those of the configuration)'),
    mark: value('<file or url>', 'the mark of the log (default: that of the configuration)'),
    retention: value(
      '<policies>',
      'which policies of retention are configured, separated by commas, or none; fsck reports erasures by any other (default: those of the configuration file, where there is one; else fsck only counts them)',
    ),
    ...JSON_OPTION,
  },
  examples: [
    ['writ fsck', 'the store of the service in this folder'],
    ['writ fsck --store sqlite:copy.db --keys .writ/keys --json', 'a copy, for a program'],
  ],
  exits: [
    [EXIT_OK, 'nothing found'],
    [EXIT_FOUND, 'something found'],
    [EXIT_FAILED, 'the check could not run'],
  ],
  cannot: 'check the store',
  async run({ store, keys, mark, retention, json }, io) {
    const config = await configAt(io, store);
    const { store: url } = config;
    const folder = keys ?? keyFolder(config);
    const address =
      mark === undefined
        ? config.mark
        : markAddress({ ...config, mark }, process.cwd(), stateFolder());
    const isNamed = address !== `sqlite:${join(stateFolder(), MARK_FILE)}`;
    const place = readableMark(address, isNamed);
    const erasing = retention === undefined ? await configuredPolicies(io) : listed(retention);
    const progress = startProgress(io);
    const asked = { keys: folder, place, isNamed, erasing, progress };
    const checked = await check(url, asked).finally(progress.end);
    const sources = { url, keys: folder, erasing };
    if (json) printJson(io, jsonReport(checked, sources));
    else io.out(textReport(checked, sources));
    return findingsOf(checked) === 0 ? EXIT_OK : EXIT_FOUND;
  },
});

function listed(policies: string): string[] {
  const names = policies.split(',').filter((name) => name !== 'none');
  const unknown = names.find((name) => !ERASING.includes(name));
  if (unknown === undefined) return names;
  throw new Error(
    `"${unknown}" is not a policy of retention; expected ${ERASING.join(', ')} or none`,
  );
}

const ERASING: readonly string[] = [...EventClass.options, 'personal'];

/** Only the configuration file is known here, not the settings that a program passes to `serve()`. */
async function configuredPolicies({ env }: Io): Promise<string[] | undefined> {
  const settings = await fileSettings(process.cwd(), env);
  return settings && Object.keys(settings.retention ?? {});
}

/** The folder of the keys; empty where the default one is missing, as on a machine that has only a copy. */
function keyFolder({ keys, data }: Config): string {
  return existsSync(keys) || keys !== join(data, 'keys') ? keys : '';
}

/** The mark, if it can be read from here. Only the default file may be missing. */
function readableMark(mark: string | undefined, isNamed: boolean): string | undefined {
  const address = markAddressOf({ mark, witnesses: [] });
  if (!address?.startsWith('sqlite:')) return address;
  const file = address.slice('sqlite:'.length);
  if (existsSync(file)) return address;
  if (!isNamed) return undefined;
  throw new Error(`there is no mark in "${file}"`);
}

interface Asked {
  readonly keys: string;
  readonly place: string | undefined;
  /** Whether the mark is another than the default one. */
  readonly isNamed: boolean;
  readonly erasing: readonly string[] | undefined;
  readonly progress: Progress;
}

/** The default file may have the marks of other logs only. */
async function check(url: string, asked: Asked): Promise<Checked> {
  const { keys, place, isNamed, erasing, progress } = asked;
  const signatures = keys === '' ? undefined : signatureCheck(keys);
  const rowKeys = keys === '' ? undefined : rowKeysOf(keys);
  // Opening would create a missing store, which then passes every check.
  const store = await openStore(url, { create: false });
  try {
    // Read before the log, since both grow.
    const { logId } = (await store.origins()).at(-1) ?? store;
    const read = place === undefined ? undefined : await readMark(place, logId);
    const marked = isNamed || read?.checkpoint || read?.status ? read : undefined;
    const deleted = read?.checkpoint ? [] : await deletedLogs(url, store, { keys, place });
    const { size } = await store.treeHead();
    const watching = watched(store, progress, size);
    const report = await checkStore(watching, signatures, marked, erasing);
    progress.say('checking the MACs of the rows');
    const macs = rowKeys && (await checkMacs(store, rowKeys.isMacOf));
    const isSealed = rowKeys && macs && macs.byKey.size > 0;
    const seal = isSealed ? await sealFault(store, rowKeys) : undefined;
    const others = [
      ...deleted.map(deletedLogLine),
      ...(seal === undefined ? [] : [`store seal: ${seal}`]),
    ];
    return { report, macs, marked, others };
  } finally {
    await store.close();
  }
}

/** The same store, which says how far the log is read. */
function watched(store: Store, progress: Progress, size: number): Store {
  let read = 0;
  const scanEntries: Store['scanEntries'] = async (from, limit) => {
    const page = await store.scanEntries(from, limit);
    read += page.length;
    progress.reach(read, size, 'entries read');
    return page;
  };
  // All other methods are those of the store.
  return Object.assign(Object.create(store) as Store, { scanEntries });
}

async function readMark(place: string, logId: string): Promise<Marked> {
  const mark = await openMark(place);
  try {
    return { checkpoint: await mark.read(logId), status: await mark.status(logId) };
  } finally {
    await mark.close();
  }
}

/** Other logs that the keys signed for this store, if its own log was never signed: their store was deleted. */
async function deletedLogs(
  url: string,
  store: Pick<Store, 'origins'>,
  { keys, place }: Pick<Asked, 'keys' | 'place'>,
): Promise<SignedElsewhere[]> {
  if (keys === '' || place === undefined) return [];
  const kids = logKeysOf(keys).map(({ key }) => key.kid);
  const signer = { kids: () => kids, place: storeAddress(url) };
  const mark = await openMark(place);
  try {
    return await signedElsewhere({ mark, signer }, await currentOrigin(store));
  } finally {
    await mark.close();
  }
}

function deletedLogLine({ logId, signed: { sequence, size } }: SignedElsewhere): string {
  return `mark ${sequence}: it covers ${countText(size, 'entry', 'entries')} of log ${logId}, and the store has none of them`;
}

/** Includes compromised keys: their earlier signatures are part of the log. */
function logKeysOf(folder: string) {
  const { files, faults } = readKeyFolder(folder);
  if (faults.length > 0) throw new Error(faults.join('; '));
  return [...files.values()].filter(({ use }) => use === 'log');
}

function signatureCheck(folder: string) {
  const logKeys = logKeysOf(folder);
  return createCheckpointCheck(
    logKeys.map(({ key }) => key.jwk),
    (origin) => logKeys.flatMap(({ key }) => noteKeysOf(key, origin)),
  );
}

function rowKeysOf(folder: string) {
  const { rowKeys, faults } = readRowKeys(folder);
  if (faults.length > 0) throw new Error(faults.join('; '));
  return rowKeys;
}
