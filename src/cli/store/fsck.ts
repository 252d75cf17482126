/**
 * `writ fsck`: checks a store and prints what it checked and what it found.
 *
 * Exits with 0 when it finds nothing, with 1 when it finds something, and with 2 when it could not
 * check, for example because there is no store.
 *
 * @module
 */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileSettings, MARK_FILE, stateFolder } from '../../config/config.ts';
import { absoluteStore } from '../../config/log.ts';
import { createCheckpointCheck } from '../../keyring/checkpoint-check.ts';
import { readKeyFolder } from '../../keyring/key-folder.ts';
import { noteKeysOf } from '../../keyring/note-signing.ts';
import { readRowKeys } from '../../keyring/row-keys.ts';
import { EventClass } from '../../protocol/audit.ts';
import {
  currentOrigin,
  placeOf,
  type SignedElsewhere,
  signedElsewhere,
} from '../../service/log/compare-log.ts';
import { sealFault } from '../../service/rows/row-seal.ts';
import { checkStore, type FsckReport, type Marked } from '../../storage/fsck/fsck.ts';
import { checkMacs, type MacReport } from '../../storage/fsck/macs.ts';
import { openMark, openStore } from '../../storage/open.ts';
import type { Store } from '../../storage/port/store.ts';
import { joinedValues } from '../shell/arguments.ts';
import { EXIT_FAILED, EXIT_FOUND, EXIT_OK } from '../shell/exit.ts';
import type { Io } from '../shell/io.ts';

const STORE_DEFAULT = 'sqlite:.writ/writ.db';
const KEYS_DEFAULT = '.writ/keys';

const FSCK_USAGE = `Usage: writ fsck [--store <url>] [--keys <folder>] [--mark <file or url>]
                 [--retention <policies>]

Reads the whole log, hashes every leaf again, rebuilds the tree and compares it
with every stored node, with the head and with every checkpoint and its note;
verifies their signatures where it has the keys, and that the log extends the
mark where there is one. Compares tokens, revocations, budgets, debts, approval
requests, decisions, grants with their uses, and freezes with what the log says
they must be; with the keys, also with their MACs. Finds child tokens that
allow more than their parents. Checks the database itself: on SQLite pages,
tables, indexes and triggers; on PostgreSQL only named indexes and the guards
of the log. Creates and migrates nothing. Uses less than one kilobyte of memory
for each token, request and grant.

Retention leaves only the hash of an erased entry, so fsck cannot check its
time, type and state.

  --store <url>  memory:, sqlite:<file> or postgres://… (default: $WRIT_STORE,
                 else ${STORE_DEFAULT})
  --keys <folder>  the keys of the service (default: $WRIT_KEYS, else
                 ${KEYS_DEFAULT} where there is one)
  --mark <file or url>  the mark of the log (default: $WRIT_MARK, else
                 writ/mark.db in the state folder of the user)
  --retention <policies>  which policies of retention are configured, separated
                 by commas, or none; fsck reports erasures by any other
                 (default: those of the configuration file, where there is one;
                 else fsck only counts them)
  --help         this text

Exit status: 0 nothing found, 1 something found, 2 the check could not run.
`;

export async function fsck(args: readonly string[], io: Io): Promise<number> {
  try {
    const { store, keys, mark, retention, help } = optionsOf(args);
    if (help) {
      io.out(FSCK_USAGE);
      return EXIT_OK;
    }
    const url = store ?? (io.env.WRIT_STORE || STORE_DEFAULT);
    const folder = keys ?? (io.env.WRIT_KEYS || (existsSync(KEYS_DEFAULT) ? KEYS_DEFAULT : ''));
    const named = mark ?? (io.env.WRIT_MARK || undefined);
    const place = markPlace(named);
    const isNamed = named !== undefined;
    const erasing = retention === undefined ? await configuredPolicies(io) : listed(retention);
    const asked = { keys: folder, place, isNamed, erasing };
    const { report, macs, marked, others } = await check(url, asked);
    io.out(textOf(report, { url, keys: folder, macs, marked, others, erasing }));
    const found = report.findingsCount + macsFound(macs) + others.length;
    return found === 0 ? EXIT_OK : EXIT_FOUND;
  } catch (error) {
    io.err(`Cannot check the store: ${error instanceof Error ? error.message : String(error)}\n`);
    return EXIT_FAILED;
  }
}

interface Options {
  readonly store?: string;
  readonly keys?: string;
  readonly mark?: string;
  readonly retention?: string;
  readonly help?: boolean;
}

function optionsOf(args: readonly string[]): Options {
  const options = {
    store: { type: 'string' },
    keys: { type: 'string' },
    mark: { type: 'string' },
    retention: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  } as const;
  return parseArgs({ args: joinedValues(args, options), options }).values;
}

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

/** The mark, if it can be read from here. A mark named by an option must exist. */
function markPlace(mark: string | undefined): string | undefined {
  if (mark === 'none' || mark === 'witness') return undefined;
  if (mark !== undefined && /^postgres(?:ql)?:\/\//.test(mark)) return mark;
  const file = mark?.replace(/^sqlite:/, '') ?? join(stateFolder(), MARK_FILE);
  if (existsSync(file)) return `sqlite:${file}`;
  if (mark === undefined) return undefined;
  throw new Error(`there is no mark in "${file}"`);
}

interface Checked {
  readonly report: FsckReport;
  /** Absent without the keys. */
  readonly macs: MacReport | undefined;
  /** Absent if no mark of this log was read. */
  readonly marked: Marked | undefined;
  /** Findings outside the log and its rows, as lines to print: a store that was deleted here, the seal of the rows. */
  readonly others: readonly string[];
}

interface Asked {
  readonly keys: string;
  readonly place: string | undefined;
  /** Whether an option or a variable names the mark. */
  readonly isNamed: boolean;
  readonly erasing: readonly string[] | undefined;
}

/** The default file may have the marks of other logs only. */
async function check(url: string, { keys, place, isNamed, erasing }: Asked): Promise<Checked> {
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
    const report = await checkStore(store, signatures, marked, erasing);
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
  const signer = { kids: () => kids, place: placeOf(absoluteStore(url, process.cwd())) };
  const mark = await openMark(place);
  try {
    return await signedElsewhere({ mark, signer }, await currentOrigin(store));
  } finally {
    await mark.close();
  }
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

interface Sources {
  readonly url: string;
  readonly keys: string;
  readonly macs: MacReport | undefined;
  readonly marked: Marked | undefined;
  readonly others: readonly string[];
  readonly erasing: readonly string[] | undefined;
}

function textOf(report: FsckReport, sources: Sources): string {
  const { url, keys, macs, marked, others, erasing } = sources;
  const { entries, erased, nodes, checkpoints, findings } = report;
  const findingsCount = report.findingsCount + macsFound(macs) + others.length;
  const lines = [
    `store        ${withoutPassword(url)}`,
    `log          ${report.logId}`,
    `entries      ${entries}${erased > 0 ? ` (${erased} erased: only their hashes, not their time, type or state)` : ''}`,
    `tree nodes   ${nodes}`,
    `checkpoints  ${checkpoints} (roots and notes; ${signaturesSummary(keys)})`,
    `mark         ${markSummary(marked)}`,
    `rows         ${rowsSummary(report.ledger)}`,
    `MACs         ${macsSummary(macs)}`,
    ...report.ledger.notes.map((note) => `not compared ${note}`),
    ...(erased > 0 && !erasing ? [`not compared ${UNCONFIGURED}`] : []),
    `root         ${report.root}`,
    '',
    ...findings.map(({ what, where, detail }) => `${what} ${where}: ${detail}`),
    ...others,
    ...(macs?.altered ?? []).map((row) => `row ${row}: its MAC does not match`),
    ...(macs?.voided ?? []).map((row) => `row ${row}: it is of a log that an operator ended`),
  ];
  const rows = (macs?.altered.length ?? 0) + (macs?.voided.length ?? 0);
  const named = findings.length + others.length + rows;
  const more = findingsCount - named;
  if (more > 0) lines.push(`and ${more} more`);
  const well = checkpoints === 0 || marked?.checkpoint ? 'All is well' : UNMARKED;
  lines.push(findingsCount === 0 ? well : `Found: ${findingsCount}`);
  return `${lines.join('\n')}\n`;
}

function deletedLogLine({ logId, signed: { sequence, size } }: SignedElsewhere): string {
  return `mark ${sequence}: it covers ${size} entries of log ${logId}, and the store has none of them`;
}

/** Counts of the rows that were compared with the log. */
function rowsSummary(ledger: FsckReport['ledger']): string {
  const { tokens, budgets, requests, grants, freezes, openCalls } = ledger;
  const kinds = [
    `${tokens} tokens`,
    `${budgets} budgets`,
    `${requests} approval requests`,
    `${grants} grants`,
    `${freezes} freezes`,
  ];
  return `${kinds.join(', ')} (${openCalls} calls are open)`;
}

function macsFound(macs: MacReport | undefined): number {
  return macs ? macs.alteredCount + macs.voidedCount : 0;
}

function macsSummary(macs: MacReport | undefined): string {
  if (macs === undefined) return 'not checked: they need the keys';
  const keys = [...macs.byKey].map(([kid, count]) => `${count} under ${kid}`).join(', ');
  return `${macs.rows} rows${keys === '' ? '' : ` (${keys})`}`;
}

const UNCONFIGURED =
  'erased entries with the retention policies: name the policies with --retention';

/** An older copy of the store is consistent too, so only the mark shows which is newest. */
const UNMARKED =
  'The store is consistent; without its mark, fsck cannot check whether it is the newest copy';

function markSummary(marked: Marked | undefined): string {
  if (!marked?.checkpoint)
    return marked?.status === 'accepted' ? 'none yet, as accepted' : 'none read';
  const { sequence, size } = marked.checkpoint;
  return `checkpoint ${sequence}, ${size} entries`;
}

function signaturesSummary(keys: string): string {
  return keys === '' ? 'signatures need the keys' : `signatures by the keys in ${keys}`;
}

/** A password is before the host, up to the last "@", or among the parameters. */
function withoutPassword(url: string): string {
  return url.replace(/^(\w+:\/\/[^:@/]*):.*@/s, '$1:…@').replace(/([?&]password=)[^&]*/g, '$1…');
}
