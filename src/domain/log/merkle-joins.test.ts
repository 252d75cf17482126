import assert from 'node:assert/strict';
import { test } from 'vitest';
import { naiveTree } from '../../../test/support/naive-tree.ts';
import {
  consistencyJoins,
  inclusionJoins,
  type Join,
  type LeafRange,
  topOf,
} from './merkle-proof.ts';

const SIZE_MAX = 40;
const tree = naiveTree((index) => `leaf ${index}`);

/** Each join must give the hash of the leaves it names, and reach the node over all leaves so far. */
function assertJoins(joins: readonly Join[], seed: LeafRange): LeafRange {
  let reached = seed;
  for (const { side, given, covers, joined } of joins) {
    const [left, right] = side === 'left' ? [covers, reached] : [reached, covers];
    assert.equal(left.end, right.start);
    assert.deepEqual(given, tree.root(covers.start, covers.end));
    reached = { start: left.start, end: right.end };
    assert.deepEqual(joined, tree.root(reached.start, reached.end));
  }
  return reached;
}

test('inclusionJoins() names the leaves of each given hash, up to the root', () => {
  for (let size = 1; size <= SIZE_MAX; size++) {
    for (let index = 0; index < size; index++) {
      const leaf = tree.leaf(index);
      const joins = inclusionJoins({ index, size, leaf, proof: tree.inclusion(index, size) });

      assert.ok(joins);
      const whole = assertJoins(joins, { start: index, end: index + 1 });
      assert.deepEqual(whole, { start: 0, end: size });
      assert.deepEqual(topOf(leaf, joins), tree.root(0, size));
    }
  }
});

test('consistencyJoins() climbs from one subtree to both roots', () => {
  for (let to = 2; to <= SIZE_MAX; to++) {
    for (let from = 1; from < to; from++) {
      const proof = tree.consistency(from, to);
      const joins = consistencyJoins({ from, to, fromRoot: tree.root(0, from), proof });

      assert.ok(joins);
      const { seed, covers, earlier, later } = joins;
      assert.deepEqual(seed, tree.root(covers.start, covers.end));
      assert.deepEqual(assertJoins(earlier, covers), { start: 0, end: from });
      assert.deepEqual(assertJoins(later, covers), { start: 0, end: to });
    }
  }
});

test('inclusionJoins() and consistencyJoins() return undefined for a proof of another length', () => {
  const leaf = tree.leaf(5);
  const proof = tree.inclusion(5, 8);
  const growth = { from: 3, to: 7, fromRoot: tree.root(0, 3) };

  assert.equal(inclusionJoins({ index: 5, size: 8, leaf, proof: proof.slice(1) }), undefined);
  assert.equal(inclusionJoins({ index: 8, size: 8, leaf, proof }), undefined);
  assert.equal(consistencyJoins({ ...growth, proof: [] }), undefined);
  assert.equal(consistencyJoins({ ...growth, from: 7, proof: [] }), undefined);
  assert.equal(consistencyJoins({ ...growth, from: 0, proof: [] }), undefined);
});
