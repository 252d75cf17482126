/**
 * The log: one list of entries in the order in which the store executed their transitions.
 *
 * Whatever reads the log is compared with this list: heads, pages and queries. An act of authority has an
 * entry, and an invocation has one.
 *
 * @module
 */

import type { EntryRecord, StoredEntry } from '../../../src/domain/log/entry.ts';
import { appendLeaves, foldPeaks, type Hash, hashLeaf } from '../../../src/domain/log/merkle.ts';
import { equalBytes } from '../../../src/domain/wire/hash.ts';
import type { InvokeAnswer } from '../../../src/protocol/invocation.ts';
import type { Store, TreeHead } from '../../../src/storage/port/store.ts';
import { broken } from '../broken.ts';
import type { ClientEvent } from '../events.ts';
import { type Executed, type Method, reconciledBy, type Shadow, type Subject } from './shadow.ts';
import { ENTRIES } from './transitions.ts';

export interface Log {
  readonly entries: readonly EntryRecord[];
  /** By entry id. */
  readonly byId: ReadonlyMap<string, EntryRecord>;
  /** Whether an entry of any type names the invocation. */
  hasInvocation(id: string): boolean;
  /** The root over the first `size` entries; undefined while the log is shorter. */
  rootAt(size: number): Hash | undefined;
}

export function createLog(shadow: Shadow): Log & Subject {
  const entries: EntryRecord[] = [];
  const byId = new Map<string, EntryRecord>();
  const invoked = new Map<string, EntryRecord>();
  const invocations = new Set<string>();
  /** The peaks of the tree at each size. */
  const peaks: (readonly Hash[])[] = [[]];

  const append = (entry: EntryRecord) => {
    // The port: an entry whose id is already stored is skipped.
    if (byId.has(entry.entry_id)) return;
    if (!equalBytes(hashLeaf(entry.leaf), entry.leaf_hash)) {
      broken('log-contiguous', `entry "${entry.entry_id}" has another hash than its leaf`);
    }
    const grown = appendLeaves(entries.length, peaks.at(-1) ?? [], [entry.leaf_hash]);
    peaks.push(grown.peaks);
    entries.push(entry);
    byId.set(entry.entry_id, entry);
    if (entry.invocation_id !== undefined) invocations.add(entry.invocation_id);
    count(invoked, entry);
  };
  const rootAt = (size: number) => {
    const found = peaks[size];
    return found && foldPeaks(found);
  };
  const hasInvocation = (id: string) => invocations.has(id);
  const log: Log = { entries, byId, hasInvocation, rootAt };
  const appending = Object.entries(ENTRIES).map(([method, entriesOf]) => {
    const read = entriesOf as (event: Executed<Method>, shadow: Shadow) => readonly EntryRecord[];
    return [method, (event: Executed<Method>) => read(event, shadow).forEach(append)];
  });
  return {
    ...log,
    store: {
      ...(Object.fromEntries(appending) as Subject['store']),
      revokeToken: (event) => actedOn(event, typeof event.result === 'object', append),
      reconcile: (event) => {
        actedOn(event, reconciledBy(shadow, event) !== undefined, append);
        const frozen = event.args[3]?.overrun?.freeze?.entry;
        if (frozen && typeof event.result === 'object') append(frozen);
      },
      expireApprovals: (event) => actedOn(event, event.result.length > 0, append),
      treeHead: ({ result }) => compareHead(log, result),
      sequence({ result }) {
        compareHead(log, result);
        if (result.size !== entries.length) {
          broken('log-contiguous', `the tree has ${result.size} of ${entries.length} entries`);
        }
      },
      scanEntries: ({ args: [from], result }) => comparePage(log, result, from),
      queryEntries: ({ result }) => comparePage(log, result.entries),
    },
    answer: (event) => compareReceipt(log, event),
    atRest: (store) => compareWhole(log, store),
  };
}

/** The entry of an act of authority, which the service made while the store ran it. */
function actedOn(
  event: Executed<'revokeToken'> | Executed<'reconcile'> | Executed<'expireApprovals'>,
  isDone: boolean,
  append: (entry: EntryRecord) => void,
): void {
  if (!isDone) return;
  const { entries = [], method } = event;
  if (entries.length === 0) broken('logged-once', `${method} changed a row without an entry`);
  entries.forEach(append);
}

/** An invocation has one entry; late ends have entries of another type. */
function count(invoked: Map<string, EntryRecord>, entry: EntryRecord): void {
  const { entry_type, invocation_id, entry_id } = entry;
  if (entry_type !== 'invocation' || invocation_id === undefined) return;
  const before = invoked.get(invocation_id);
  if (before) {
    const both = `"${before.entry_id}" as ${before.state} and "${entry_id}" as ${entry.state}`;
    broken('logged-once', `invocation "${invocation_id}" has the entries ${both}`);
  }
  invoked.set(invocation_id, entry);
}

function compareHead({ entries, rootAt }: Log, { first, size, peaks }: TreeHead): void {
  const root = first === 0 ? rootAt(size) : undefined;
  if (root && equalBytes(root, foldPeaks(peaks))) return;
  broken(
    'log-contiguous',
    `the head of ${size} entries is not that of the ${entries.length} entries`,
  );
}

function comparePage({ entries }: Log, page: readonly StoredEntry[], from?: number): void {
  let expected = from;
  for (const { sequence, entry_id, leaf_hash } of page) {
    const kept = entries[sequence];
    const isThere = kept?.entry_id === entry_id && equalBytes(kept.leaf_hash, leaf_hash);
    if (!isThere || (expected !== undefined && sequence !== expected)) {
      broken('log-contiguous', `place ${sequence} has "${entry_id}", expected "${kept?.entry_id}"`);
    }
    if (expected !== undefined) expected += 1;
  }
}

/** An answer that names an entry has it, with the outcome that it claims. */
function compareReceipt({ byId }: Log, { operation, answer, id }: ClientEvent): void {
  if (operation !== 'invoke' || answer === undefined) return;
  const { audit, success, invocation_id } = answer as InvokeAnswer;
  if (!audit) {
    if (success) broken('acknowledged', `answer ${id} claims success and names no entry`);
    return;
  }
  const entry = byId.get(audit.entry_id);
  if (!entry)
    broken('acknowledged', `answer ${id} names "${audit.entry_id}", which is not in the log`);
  if (Buffer.from(entry.leaf_hash).toString('hex') !== audit.leaf_hash) {
    broken('acknowledged', `answer ${id} names another hash than that of "${audit.entry_id}"`);
  }
  if (entry.invocation_id !== invocation_id || (entry.state === 'completed') !== success) {
    const said = success ? 'success' : 'a failure';
    broken('acknowledged', `answer ${id} says ${said}, "${audit.entry_id}" says ${entry.state}`);
  }
}

/** Entries in one read. */
const PAGE = 1_000;

async function compareWhole(log: Log, store: Store): Promise<void> {
  for (let from = 0; from < log.entries.length; ) {
    const page = await store.scanEntries(from, PAGE);
    if (page.length === 0)
      broken('log-contiguous', `the log ends at ${from} of ${log.entries.length}`);
    comparePage(log, page, from);
    from += page.length;
  }
  const [beyond] = await store.scanEntries(log.entries.length, 1);
  if (beyond)
    broken('log-contiguous', `"${beyond.entry_id}" is in the log, and no transition made it`);
}
