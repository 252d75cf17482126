/**
 * Fsck: reads the whole log and the rows it explains, and reports every contradiction.
 *
 * Hashes every leaf, compares every column with its leaf, rebuilds the tree and compares it with the stored
 * nodes, the head, every checkpoint, and the mark where the caller has it. Then compares the rows of
 * authority and money with the log (`ledger.ts`), and asks the store for damage that only it can find. Reads
 * through the port.
 *
 * What an attacker can change in a store without being found here: the time, type and state of an entry whose
 * contents were erased (its hash stays, but nothing is left to compare with), how far retention has erased,
 * and a whole history replaced by another. Signatures and the mark protect against the last, and are checked
 * where the caller has the keys and the mark.
 *
 * @module
 */

import { entryView, type StoredEntry } from '../../domain/log/entry.ts';
import {
  appendLeaves,
  foldPeaks,
  type GrownTree,
  type Hash,
  isTreeSize,
  type NodeId,
  peaksOf,
  type TreeNode,
} from '../../domain/log/merkle.ts';
import {
  breakFault,
  firstPlaceOf,
  leafIndexOf,
  nodeFrom,
  type Origin,
} from '../../domain/log/origin.ts';
import { countText } from '../../domain/values/count-text.ts';
import { equalBytes, toHex } from '../../domain/wire/hash.ts';
import { isTiled } from '../log/tiles.ts';
import { storeFaults } from '../port/inspection.ts';
import type { LogStatus } from '../port/mark.ts';
import type { CheckpointRecord } from '../port/records.ts';
import { OutcomeUnknown, type Store, StoreUnavailable, type TreeHead } from '../port/store.ts';
import { type CheckSignatures, cosignatureFault, noteFault } from './checkpoint.ts';
import { entryFaults } from './entry.ts';
import { erasureFault } from './erased.ts';
import { createIds, fingerprintOf, type Ids } from './ids.ts';
import { createLedgerCheck, type LedgerCheck, type LedgerReport } from './ledger.ts';
import { firstPlaceFrom, readablePages } from './pages.ts';
import type { LedgerPart } from './rows.ts';

/** Checkpoints read at once. */
const CHECKPOINTS_PAGE = 500;

/** Findings that are listed. A log that is damaged everywhere needs no longer list. */
export const FINDINGS_MAX = 100;

interface Finding {
  readonly what: 'entry' | 'node' | 'head' | 'checkpoint' | 'mark' | 'store' | LedgerPart;
  /** Which one: its sequence, or level and index; for a store the id of its log; for a row its id. */
  readonly where: string;
  readonly detail: string;
}

export interface FsckReport {
  readonly logId: string;
  readonly entries: number;
  /** Entries whose contents retention erased: only their hash can be checked. */
  readonly erased: number;
  readonly nodes: number;
  readonly checkpoints: number;
  readonly ledger: LedgerReport;
  /** The rebuilt root, in hex. */
  readonly root: string;
  /** The first `FINDINGS_MAX`; empty when the store is sound. */
  readonly findings: readonly Finding[];
  readonly findingsCount: number;
}

/**
 * Rejects when the store cannot be read. Read the mark before. `erasing`: the configured policies, if known.
 */
export async function checkStore(
  store: Store,
  checkSignatures: CheckSignatures = () => undefined,
  mark?: Marked,
  erasing?: readonly string[],
): Promise<FsckReport> {
  // In this order, so that the head covers the tree of every checkpoint up to this one.
  const last = await store.lastCheckpoint();
  const head = await store.treeHead();
  const origins = await store.origins();
  const check: Check = {
    ...{
      store,
      checkSignatures,
      findings: [],
      findingsCount: 0,
      entries: 0,
      erased: 0,
      nodes: 0,
      checkpoints: 0,
    },
    ids: createIds(),
    ledger: createLedgerCheck((...finding) => report(check, ...finding)),
    origins,
    trees: new Map(),
    tree: EMPTY,
  };

  await checkEntries(check, head);
  check.trees.set(head.first, check.tree);
  await checkIds(check, head);
  await checkTail(check, head);
  checkHead(check, head);
  await checkCheckpoints(check, last);
  if (mark) await checkMark(check, mark, last);
  const ledger = await check.ledger.compare(store, endOf(head));
  const damages = [...(await storeFaults(store, origins, erasing)), ...(await store.inspect())];
  for (const damage of damages) report(check, 'store', store.logId, damage);

  const { entries, erased, nodes, checkpoints, findings, findingsCount } = check;
  const root = toHex(foldPeaks(check.tree.peaks));
  const logId = origins.at(-1)?.logId ?? store.logId;
  const counted = { entries, erased, nodes, checkpoints };
  return { logId, ...counted, ledger, root, findings, findingsCount };
}

interface Check {
  readonly store: Store;
  readonly checkSignatures: CheckSignatures;
  readonly findings: Finding[];
  findingsCount: number;
  entries: number;
  erased: number;
  nodes: number;
  checkpoints: number;
  readonly ids: Ids;
  readonly ledger: LedgerCheck;
  readonly origins: readonly Origin[];
  /** The tree of each finished log, by its first place, and the tree of the log that is being read. */
  readonly trees: Map<number, GrownTree>;
  tree: GrownTree;
}

const EMPTY: GrownTree = { size: 0, peaks: [], nodes: [] };

/** What the place outside the store holds for its current log. */
export interface Marked {
  readonly checkpoint: CheckpointRecord | undefined;
  readonly status: LogStatus | undefined;
}

function report(check: Check, what: Finding['what'], where: string, detail: string): void {
  check.findingsCount += 1;
  if (check.findings.length < FINDINGS_MAX) check.findings.push({ what, where, detail });
}

async function checkEntries(check: Check, head: TreeHead): Promise<void> {
  let expected = 0;
  for await (const page of pagesOf(check, endOf(head))) {
    // One log at a time: each has a tree of its own.
    for (const { first, entries } of byLog(page)) {
      if (first !== firstPlaceOf(expected)) expected = beginLog(check, expected, entries);
      for (const stored of entries) {
        checkEntry(check, stored, expected);
        expected = stored.sequence + 1;
      }
      await growTree(check, first, entries);
    }
    await checkErasures(check, page);
  }
}

/** The place after the last entry. */
function endOf({ first, size }: TreeHead): number {
  return first + size;
}

function byLog(page: readonly StoredEntry[]): { first: number; entries: StoredEntry[] }[] {
  const logs = new Map<number, StoredEntry[]>();
  for (const stored of page) {
    const first = firstPlaceOf(stored.sequence);
    logs.set(first, [...(logs.get(first) ?? []), stored]);
  }
  return [...logs].map(([first, entries]) => ({ first, entries }));
}

/** Ends the current tree where a later log begins. Returns the place that comes next. */
function beginLog(check: Check, before: number, entries: readonly StoredEntry[]): number {
  const [stored] = entries as [StoredEntry];
  const first = firstPlaceOf(stored.sequence);
  const fail = (detail: string) => report(check, 'entry', `${stored.sequence}`, detail);
  const { size, peaks } = check.tree;
  if (!check.origins.some((origin) => origin.first === first)) fail('no log begins here');
  // Retention may have erased the heads that this entry names.
  else if (stored.leaf && stored.personal) {
    const fault = breakFault(detailOf(stored), { size, root: foldPeaks(peaks) });
    if (fault) fail(fault);
  }
  check.trees.set(firstPlaceOf(before), check.tree);
  check.tree = EMPTY;
  return first;
}

async function checkErasures(check: Check, page: readonly StoredEntry[]): Promise<void> {
  if (page.every(({ leaf, personal }) => leaf && personal)) return;
  const erased = { below: await check.store.erasures(), now: check.store.now() };
  for (const stored of page) {
    const fault = erasureFault(stored, erased);
    if (fault) report(check, 'entry', `${stored.sequence}`, fault);
  }
}

/** All entries below `end`. What cannot be read is reported, and left out. */
function pagesOf(check: Check, end: number): AsyncGenerator<readonly StoredEntry[]> {
  return readablePages(check.store, end, (where, damage) => report(check, 'entry', where, damage));
}

function checkEntry(check: Check, stored: StoredEntry, expected: number): void {
  const where = `${stored.sequence}`;
  if (stored.sequence !== expected) {
    report(check, 'entry', where, `expected entry ${expected} at this place`);
  }
  if (stored.leaf === undefined) check.erased += 1;
  for (const fault of entryFaults(stored)) report(check, 'entry', where, fault);
  check.ids.add(stored.entry_id);
  check.ledger.fold(stored);
  check.entries += 1;
}

/** An unreadable entry is reported separately. */
function detailOf(stored: StoredEntry): unknown {
  try {
    return entryView(stored).detail;
  } catch {
    return undefined;
  }
}

async function growTree(
  check: Check,
  first: number,
  entries: readonly StoredEntry[],
): Promise<void> {
  const hashes = entries.map(({ leaf_hash }) => leaf_hash);
  check.tree = appendLeaves(check.tree.size, check.tree.peaks, hashes);
  check.nodes += check.tree.nodes.length;
  // The store computes the others from these and from the leaf hashes, which are those of the entries.
  const tiled = check.tree.nodes.filter(isTiled);
  if (tiled.length === 0) return;
  const nodes = tiled.map(({ hash, ...id }) => ({ ...nodeFrom(first, id), hash }));
  const stored = await readNodes(check.store, nodes);
  for (const [place, node] of nodes.entries()) {
    const fault = nodeFault(node, stored[place]);
    if (fault) report(check, 'node', `${node.level}/${node.index}`, fault);
  }
}

function nodeFault(node: TreeNode, stored: Hash | undefined): string | undefined {
  if (stored === undefined) return 'it is missing';
  if (equalBytes(stored, node.hash)) return undefined;
  return `it is ${toHex(stored)}, the leaves below it give ${toHex(node.hash)}`;
}

/**
 * The port rejects the whole read for one missing node, so this halves it until the missing node is alone.
 */
async function readNodes(
  store: Store,
  ids: readonly NodeId[],
): Promise<readonly (Hash | undefined)[]> {
  try {
    return await store.nodes(ids);
  } catch (error) {
    if (error instanceof StoreUnavailable || error instanceof OutcomeUnknown) throw error;
    if (ids.length <= 1) return ids.map(() => undefined);
    const middle = Math.ceil(ids.length / 2);
    return [
      ...(await readNodes(store, ids.slice(0, middle))),
      ...(await readNodes(store, ids.slice(middle))),
    ];
  }
}

/** Names entries with repeated ids; needs a second reading, because the first keeps no ids. */
async function checkIds(check: Check, head: TreeHead): Promise<void> {
  const repeated = check.ids.repeated();
  if (repeated.size === 0) return;
  for await (const page of pagesOf(check, endOf(head))) {
    for (const { sequence, entry_id } of page) {
      if (!repeated.has(fingerprintOf(entry_id))) continue;
      report(check, 'entry', `${sequence}`, `its id "${entry_id}" occurs more than once`);
    }
  }
}

/** Entries beyond the head are not in the tree, unless the head has moved since. */
async function checkTail(check: Check, head: TreeHead): Promise<void> {
  const beyond = await firstPlaceFrom(check.store, endOf(head));
  if (beyond === undefined) return;
  const now = await check.store.treeHead();
  if (endOf(now) > endOf(head)) return;
  report(check, 'entry', `${beyond}`, `it is beyond the head, whose size is ${now.size}`);
}

function checkHead(check: Check, head: TreeHead): void {
  const where = `${head.size}`;
  if (head.size !== check.tree.size) {
    const found = `its size is ${head.size}, the log has ${countText(check.tree.size, 'entry', 'entries')}`;
    report(check, 'head', where, found);
  }
  if (head.peaks.length !== check.tree.peaks.length) {
    const counts = `it has ${countText(head.peaks.length, 'peak')}, the log gives ${check.tree.peaks.length}`;
    report(check, 'head', where, counts);
    return;
  }
  for (const [place, peak] of check.tree.peaks.entries()) {
    const stored = head.peaks[place] as Hash;
    if (equalBytes(stored, peak)) continue;
    const both = `peak ${place} is ${toHex(stored)}, the log gives ${toHex(peak)}`;
    report(check, 'head', where, both);
  }
}

async function checkCheckpoints(check: Check, last: CheckpointRecord | undefined): Promise<void> {
  let later: CheckpointRecord | undefined;
  for (let before = (last?.sequence ?? 0) + 1; before > 1; ) {
    const page = await check.store.listCheckpoints(CHECKPOINTS_PAGE, before);
    for (const checkpoint of page) {
      await checkCheckpoint(check, checkpoint, later);
      later = checkpoint;
    }
    // Below the last one read, or at the end.
    before = page.length === 0 ? 1 : (later as CheckpointRecord).sequence;
  }
  if (later && leafIndexOf(later.sequence) !== 1) {
    report(check, 'checkpoint', `${later?.sequence}`, 'those before it are missing');
  }
}

async function checkCheckpoint(
  check: Check,
  checkpoint: CheckpointRecord,
  later: CheckpointRecord | undefined,
): Promise<void> {
  const { sequence, size } = checkpoint;
  check.checkpoints += 1;
  const fail = (detail: string) => report(check, 'checkpoint', `${sequence}`, detail);
  const first = firstPlaceOf(sequence);
  const logId = check.origins.find((origin) => origin.first === first)?.logId;
  const isOfSameLog = later && firstPlaceOf(later.sequence) === first;
  const next = isOfSameLog || !later ? sequence + 1 : firstPlaceOf(later.sequence) + 1;
  if (later && later.sequence !== next) fail(`the one after it is ${later.sequence}`);
  if (isOfSameLog && later.size < size) fail(`it covers ${size}, the one after it ${later.size}`);
  const fault =
    logId === undefined
      ? 'it belongs to no log of this store'
      : (noteFault(checkpoint, logId) ?? check.checkSignatures(checkpoint));
  if (fault) fail(fault);
  for (const line of await check.store.cosignatures(checkpoint.checkpoint_id)) {
    const unread = cosignatureFault(line);
    if (unread) fail(unread);
  }
  const other = await treeFault(check, checkpoint);
  if (other) fail(other);
}

/** The log must extend the last signed checkpoint, also when the store was restored from a copy. */
async function checkMark(
  check: Check,
  { checkpoint: mark, status }: Marked,
  last: CheckpointRecord | undefined,
): Promise<void> {
  const fail = (detail: string) => report(check, 'mark', `${mark?.sequence ?? 'none'}`, detail);
  if (status === 'ended') fail('an operator has ended this log: the store is an older copy');
  const { size } = check.tree;
  if (!mark && size > 0 && status !== 'accepted')
    fail(`the log has ${countText(size, 'entry', 'entries')} and no mark`);
  if (!mark) return;
  // The next start stores a checkpoint that was signed before a crash and not stored.
  const missing = mark.sequence - Math.max(last?.sequence ?? 0, firstPlaceOf(mark.sequence));
  if (missing > 1) fail(`it is ${countText(missing, 'checkpoint')} ahead of the store`);
  const fault = await treeFault(check, mark);
  if (fault) fail(fault);
}

async function treeFault(
  check: Check,
  { sequence, size, root: signed }: CheckpointRecord,
): Promise<string | undefined> {
  const first = firstPlaceOf(sequence);
  const entries = check.trees.get(first)?.size ?? 0;
  if (!isTreeSize(size) || size > entries) {
    return `it covers ${countText(size, 'entry', 'entries')}, the log has ${entries}`;
  }
  // All stored nodes were compared with the leaves before, so a wrong one is already reported.
  const ids = peaksOf(size).map((id) => nodeFrom(first, id));
  const peaks = await readNodes(check.store, ids);
  const root = foldPeaks(peaks.filter((peak) => peak !== undefined));
  if (equalBytes(root, signed)) return undefined;
  return `its root is ${toHex(signed)}, the log gives ${toHex(root)} at ${size}`;
}
