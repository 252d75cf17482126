/**
 * Proofs over the stored tree, which `domain/log/merkle-proof.ts` verifies.
 *
 * A proof takes one trip to the store, however long the log is.
 *
 * @module
 */

import type { Hash, NodeId } from '../../domain/log/merkle.ts';
import { consistencyNodes, foldAll, inclusionNodes } from '../../domain/log/merkle-proof.ts';
import { nodeFrom } from '../../domain/log/origin.ts';
import type { LogStore } from '../../storage/port/store.ts';

type Nodes = Pick<LogStore, 'nodes'>;

/** `first` is the position of the first leaf. `index` and `size` count within its tree. */
export function inclusionHashes(
  store: Nodes,
  { first, index, size }: { first: number; index: number; size: number },
): Promise<Hash[]> {
  return folded(store, first, inclusionNodes(index, size));
}

export function consistencyHashes(
  store: Nodes,
  { first, from, to }: { first: number; from: number; to: number },
): Promise<Hash[]> {
  return folded(store, first, consistencyNodes(from, to));
}

async function folded(store: Nodes, first: number, groups: NodeId[][]): Promise<Hash[]> {
  const ids = groups.flat();
  const hashes = ids.length === 0 ? [] : await store.nodes(ids.map((id) => nodeFrom(first, id)));
  const byId = new Map(ids.map((id, index) => [id, hashes[index] as Hash]));
  return foldAll(groups, (id) => byId.get(id) as Hash);
}
