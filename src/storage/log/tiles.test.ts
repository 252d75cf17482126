import assert from 'node:assert/strict';
import { test } from 'vitest';
import { appendLeaves, hashLeaf } from '../../domain/log/merkle.ts';
import { nodeFrom, ORIGIN_SPAN } from '../../domain/log/origin.ts';
import { equalBytes } from '../../domain/wire/hash.ts';
import type { TreeHead } from '../port/log-store.ts';
import { foldComplete, growTiles, neededFor, tileOf, within } from './tiles.ts';

const LEAVES = Array.from({ length: 70_000 }, (_, n) => hashLeaf(`leaf ${n}`));

/** Tiles as a store keeps them. */
function createTiles() {
  const tiles = new Map<string, Uint8Array>();
  return {
    add(grown: ReturnType<typeof growTiles>) {
      for (const { height, index, hashes } of grown.tiles) {
        const key = `${height}/${index}`;
        tiles.set(key, Buffer.concat([tiles.get(key) ?? Buffer.alloc(0), hashes]));
      }
    },
    get: (key: string) => tiles.get(key) as Uint8Array,
  };
}

for (const first of [0, 3 * ORIGIN_SPAN]) {
  test(`every node of a tree that begins at ${first} is computed from leaves and tiles`, () => {
    const tiles = createTiles();
    let head: TreeHead = { first, size: 0, peaks: [] };
    for (let at = 0, step = 1; at < LEAVES.length; at += step, step = (step * 7) % 1_999) {
      const grown = growTiles(head, LEAVES.slice(at, at + step));
      tiles.add(grown);
      head = grown.head;
    }

    const { nodes, peaks, size } = appendLeaves(0, [], LEAVES);

    assert.deepEqual(head, { first, size, peaks });
    for (const node of nodes.filter((_, place) => place % 97 === 0 || place > nodes.length - 40)) {
      const needed = neededFor(nodeFrom(first, node));
      const { height, index } = tileOf(needed);
      const hashes =
        height === 0
          ? Buffer.concat(LEAVES.slice(needed.from - first, needed.from - first + needed.count))
          : within(tiles.get(`${height}/${index}`), needed);
      assert.ok(equalBytes(foldComplete(hashes as Uint8Array), node.hash));
    }
  });
}

test('within() finds nothing in a tile that is too short', () => {
  const [tile] = growTiles({ first: 0, size: 0, peaks: [] }, LEAVES.slice(0, 512)).tiles;
  const needed = neededFor({ level: 9, index: 1 });

  assert.equal(within(tile?.hashes as Uint8Array, needed), undefined);
  assert.ok(within(tile?.hashes as Uint8Array, neededFor({ level: 9, index: 0 })));
});
