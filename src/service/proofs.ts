/**
 * Proofs over the stored tree: what the verifying half of `domain/merkle-proof.ts` takes.
 *
 * One trip to the store for the few nodes a proof is made of, however long the log is.
 *
 * @module
 */

import type { Hash, NodeId } from '../domain/merkle.ts';
import { consistencyNodes, foldAll, inclusionNodes } from '../domain/merkle-proof.ts';
import type { LogStore } from '../storage/store.ts';

type Nodes = Pick<LogStore, 'nodes'>;

export function inclusionHashes(store: Nodes, index: number, size: number): Promise<Hash[]> {
  return folded(store, inclusionNodes(index, size));
}

export function consistencyHashes(store: Nodes, from: number, to: number): Promise<Hash[]> {
  return folded(store, consistencyNodes(from, to));
}

async function folded(store: Nodes, groups: NodeId[][]): Promise<Hash[]> {
  const ids = groups.flat();
  const hashes = ids.length === 0 ? [] : await store.nodes(ids);
  const byId = new Map(ids.map((id, place) => [id, hashes[place] as Hash]));
  return foldAll(groups, (id) => byId.get(id) as Hash);
}
