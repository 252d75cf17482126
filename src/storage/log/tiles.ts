/**
 * Tiles: the nodes of the tree that a store keeps, 256 hashes a row.
 *
 * A tile has consecutive nodes of level 8, 16, 24 or 32. Segments have the hashes of the leaves, and every other
 * node is computed from at most 255 nodes below it. A tile only grows, and it is never written again when it
 * is full.
 *
 * @module
 */

import {
  appendLeaves,
  HASH_BYTES,
  type Hash,
  hashNode,
  type NodeId,
} from '../../domain/log/merkle.ts';
import { nodeFrom } from '../../domain/log/origin.ts';
import type { TreeHead } from '../port/log-store.ts';

/** Levels between two tiles, and nodes in one. */
const TILE_HEIGHT = 8;
const TILE_NODES = 2 ** TILE_HEIGHT;

/** Counts tiles of one height from the left; `height` 1 has the nodes of level 8. */
export interface TileId {
  readonly height: number;
  readonly index: number;
}

/** Hashes that a tile gets at its end. */
interface TileGrowth extends TileId {
  readonly hashes: Uint8Array;
}

export interface GrownHead {
  readonly head: TreeHead;
  readonly tiles: readonly TileGrowth[];
}

/** Whether a tile has this node. Every other one is computed from leaf hashes or from such nodes. */
export function isTiled({ level }: Pick<NodeId, 'level'>): boolean {
  return level > 0 && level % TILE_HEIGHT === 0;
}

/** The tree after these leaves, and what its tiles get. */
export function growTiles(head: TreeHead, leaves: readonly Hash[]): GrownHead {
  const grown = appendLeaves(head.size, head.peaks, leaves);
  const tiles = new Map<string, { id: TileId; hashes: Hash[] }>();
  for (const node of grown.nodes) {
    if (!isTiled(node)) continue;
    const { index } = nodeFrom(head.first, node);
    const id = { height: node.level / TILE_HEIGHT, index: Math.floor(index / TILE_NODES) };
    const key = `${id.height}/${id.index}`;
    const tile = tiles.get(key);
    if (tile) tile.hashes.push(node.hash);
    else tiles.set(key, { id, hashes: [node.hash] });
  }
  return {
    head: { first: head.first, size: grown.size, peaks: grown.peaks },
    tiles: [...tiles.values()].map(({ id, hashes }) => ({ ...id, hashes: Buffer.concat(hashes) })),
  };
}

/** Consecutive hashes, one after the other. */
export type Hashes = Uint8Array;

/** The hashes that the computation of a node needs: of leaves or of one tile. */
export interface Needed {
  /** 0 for leaves. */
  readonly height: number;
  /** The first node of level `8 * height`, counted in the store. */
  readonly from: number;
  readonly count: number;
}

/** What is read to know this node. */
export function neededFor({ level, index }: NodeId): Needed {
  const height = Math.floor(level / TILE_HEIGHT);
  const count = 2 ** (level - TILE_HEIGHT * height);
  return { height, from: index * count, count };
}

/** The tile that has all of these hashes. */
export function tileOf({ height, from }: Needed): TileId {
  return { height, index: Math.floor(from / TILE_NODES) };
}

/** The needed hashes within their tile. Undefined when the tile does not have them. */
export function within(tile: Hashes, { from, count }: Needed): Hashes | undefined {
  const start = HASH_BYTES * (from % TILE_NODES);
  const end = start + HASH_BYTES * count;
  return end > tile.length ? undefined : tile.subarray(start, end);
}

/** Each by itself. */
export function hashesIn(hashes: Hashes): Hash[] {
  return Array.from({ length: hashes.length / HASH_BYTES }, (_, index) => {
    return hashes.slice(HASH_BYTES * index, HASH_BYTES * (index + 1));
  });
}

/** The root over a complete subtree. */
export function foldComplete(hashes: Hashes): Hash {
  let row = hashesIn(hashes);
  while (row.length > 1) {
    row = Array.from({ length: row.length / 2 }, (_, pair) => {
      return hashNode(row[2 * pair] as Hash, row[2 * pair + 1] as Hash);
    });
  }
  return row[0] as Hash;
}
