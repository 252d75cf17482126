/**
 * The log of the simulated database: entries in their places, the logs they belong to, and the trees over them.
 *
 * An entry gets its place at once. A tree grows when somebody reads it, from the entries of finished
 * transitions only, so a transition that is undone never has to shrink one.
 *
 * @module
 */

import type { EntryRecord, StoredEntry } from '../../../src/domain/log/entry.ts';
import { appendLeaves, type Hash, type NodeId } from '../../../src/domain/log/merkle.ts';
import { nextPlaceAfter, nodeFrom, type Origin } from '../../../src/domain/log/origin.ts';
import { equalBytes } from '../../../src/domain/wire/hash.ts';
import { refuseUnstorable } from '../../../src/storage/log/segment.ts';
import type { TreeHead } from '../../../src/storage/port/log-store.ts';
import { copiesOf, copyOf } from './copy.ts';
import type { Journal } from './table.ts';

interface OriginRow extends Origin {
  /** Entries of earlier logs. */
  readonly before: number;
}

interface Tree {
  size: number;
  peaks: readonly Hash[];
}

export interface Log {
  /** In the order of their places. */
  readonly entries: readonly StoredEntry[];
  readonly origins: readonly OriginRow[];
  /** The index of an entry in `entries`. */
  indexOf(entryId: string): number | undefined;
  /** The index of the first entry at this place or after it. */
  indexFrom(place: number): number;
  /** Throws for an entry that no store can take. Like the databases, does not look for its id. */
  append(entry: EntryRecord): void;
  /** Puts an entry with the same place and hash in place of another one. */
  replace(index: number, entry: StoredEntry): void;
  /** Names the first log. */
  beginFirst(logId: string): void;
  /** Ends the current log and begins the next with this entry. */
  beginNext(logId: string, entry: EntryRecord, signed: number): void;
  head(): TreeHead;
  node(id: NodeId): Hash | undefined;
}

export function createLog(journal: Journal): Log {
  const entries: StoredEntry[] = [];
  const indexes = new Map<string, number>();
  const origins: OriginRow[] = [];
  const trees: Tree[] = [];
  const nodes = new Map<string, Hash>();

  function append(entry: EntryRecord): void {
    const origin = origins.at(-1);
    if (!origin) throw new Error('Cannot append an entry: the store has no log');
    refuseUnstorable(entry);
    const before = indexes.get(entry.entry_id);
    const index = entries.length;
    const sequence = origin.first + index - origin.before;
    journal.note(() => {
      entries.length = index;
      if (before === undefined) indexes.delete(entry.entry_id);
      else indexes.set(entry.entry_id, before);
    });
    entries.push(Object.assign(copyOf(entry), { sequence }));
    indexes.set(entry.entry_id, index);
  }

  function begin(logId: string, first: number): void {
    const count = origins.length;
    journal.note(() => {
      origins.length = count;
      trees.length = count;
    });
    origins.push({ logId, first, before: entries.length });
    trees.push({ size: 0, peaks: [] });
  }

  function grow(): void {
    for (const [place, { first, before }] of origins.entries()) {
      const tree = trees[place] as Tree;
      const end = origins[place + 1]?.before ?? entries.length;
      if (before + tree.size === end) continue;
      const leaves = entries.slice(before + tree.size, end).map(({ leaf_hash }) => leaf_hash);
      const grown = appendLeaves(tree.size, tree.peaks, leaves);
      for (const node of grown.nodes) nodes.set(nodeKey(nodeFrom(first, node)), node.hash);
      Object.assign(tree, { size: grown.size, peaks: grown.peaks });
    }
  }

  return {
    entries,
    origins,
    indexOf: (entryId) => indexes.get(entryId),
    indexFrom: (place) => firstFrom(entries, place),
    append,
    replace(index, entry) {
      const before = entries[index] as StoredEntry;
      if (!isErasureOf(before, entry)) {
        throw new Error(`Cannot change entry "${before.entry_id}": the log is append-only`);
      }
      journal.note(() => {
        entries[index] = before;
      });
      entries[index] = entry;
    },
    beginFirst: (logId) => begin(logId, 0),
    beginNext(logId, entry, signed) {
      begin(logId, nextPlaceAfter(origins.at(-1)?.first ?? 0, signed));
      append(entry);
    },
    head() {
      grow();
      const { size, peaks } = trees.at(-1) as Tree;
      return { first: origins.at(-1)?.first ?? 0, size, peaks: copiesOf(peaks) };
    },
    node(id) {
      grow();
      return copyOf(nodes.get(nodeKey(id)));
    },
  };
}

function nodeKey({ level, index }: NodeId): string {
  return `${level}/${index}`;
}

/** By bisection: places grow, and have gaps between two logs. */
function firstFrom(entries: readonly StoredEntry[], place: number): number {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle] as StoredEntry).sequence < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

function isErasureOf(before: StoredEntry, after: StoredEntry): boolean {
  return (
    before.entry_id === after.entry_id &&
    before.sequence === after.sequence &&
    equalBytes(before.leaf_hash, after.leaf_hash) &&
    after.personal === undefined &&
    (after.leaf === undefined || after.leaf === before.leaf)
  );
}
