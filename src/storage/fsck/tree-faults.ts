/**
 * Compares the number of stored nodes with the size of the trees, and finds nodes ahead of a tree.
 *
 * Compares counts only: `fsck.ts` compares each node with the leaves. A node ahead of the tree is not read
 * until the tree grows to it, and then blocks the growth.
 *
 * @module
 */

export interface NodeCounts {
  /** Of the tree of each log, in leaves. */
  readonly sizes: readonly number[];
  readonly kept: number;
  /** Stored nodes that cover leaves beyond the tree. */
  readonly ahead: number;
  /** One of those, as level and index. */
  readonly firstAhead: string | null;
}

/** `lowest` is the lowest level that the store writes. */
export function treeFaults(counts: NodeCounts, lowest: 0 | 1): string[] {
  const { sizes, kept, ahead, firstAhead } = counts;
  const faults: string[] = [];
  const due = sizes.reduce((sum, size) => sum + nodeCount(size, lowest), 0);
  const trees = sizes.length === 1 ? 'a tree of' : 'trees of';
  const have = sizes.length === 1 ? 'has' : 'have';
  if (kept !== due) {
    faults.push(`it has ${kept} nodes, ${trees} ${sizes.join(' and ')} leaves ${have} ${due}`);
  }
  if (ahead > 0) faults.push(`nodes ahead of the tree: ${ahead}, among them ${firstAhead}`);
  return faults;
}

/** How many complete subtrees a tree has, from this level upwards. */
function nodeCount(size: number, lowest: 0 | 1): number {
  let count = 0;
  for (let width = 2 ** lowest; width <= size; width *= 2) count += Math.floor(size / width);
  return count;
}
