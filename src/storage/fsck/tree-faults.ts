/**
 * Whether the nodes that a store keeps are as many as its trees have, and none is ahead of them.
 *
 * Compares counts only: what each node says is compared with the leaves by `fsck.ts`. A node ahead of
 * the tree is never read until the tree grows there, and then stops it from growing.
 *
 * @module
 */

export interface NodeCounts {
  /** Of the tree of each log, in leaves. */
  readonly sizes: readonly number[];
  readonly kept: number;
  /** Kept nodes that cover leaves which the tree does not have. */
  readonly ahead: number;
  /** One of those, as level and index. */
  readonly firstAhead: string | null;
}

/** `lowest` is the level at which the store begins to keep nodes. */
export function treeFaults(counts: NodeCounts, lowest: 0 | 1): string[] {
  const { sizes, kept, ahead, firstAhead } = counts;
  const faults: string[] = [];
  const due = sizes.reduce((sum, size) => sum + nodeCount(size, lowest), 0);
  const trees = sizes.length === 1 ? 'a tree of' : 'trees of';
  const have = sizes.length === 1 ? 'has' : 'have';
  if (kept !== due) {
    faults.push(`it keeps ${kept} nodes, ${trees} ${sizes.join(' and ')} leaves ${have} ${due}`);
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
