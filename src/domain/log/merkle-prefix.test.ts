import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { naiveTree } from '../../../test/support/naive-tree.ts';
import { type Hash, hashLeaf, type NodeId, peaksOf } from './merkle.ts';
import { foldAll, inclusionNodes, verifyPrefix } from './merkle-proof.ts';

const SIZE_MAX = 300;
const tree = naiveTree((index) => `leaf ${index}`);
const read = ({ level, index }: NodeId): Hash =>
  tree.root(index * 2 ** level, (index + 1) * 2 ** level);

function inclusionOf(index: number, size: number) {
  const proof = foldAll(inclusionNodes(index, size), read);
  return { index, size, leaf: tree.leaf(index), proof, root: tree.root(0, size) };
}

test('verifyPrefix() holds for the leaves before the proved one, and for no other leaves', () => {
  const below = (size: number) => peaksOf(size).map(read);
  const cases = fc.integer({ min: 1, max: SIZE_MAX }).chain((size) => {
    return fc.record({ size: fc.constant(size), index: fc.nat(size - 1), other: fc.nat(SIZE_MAX) });
  });

  return fc.assert(
    fc.property(cases, ({ size, index, other }) => {
      const claim = inclusionOf(index, size);
      const peaks = below(index);
      assert.ok(verifyPrefix(claim, peaks));
      if (other !== index) assert.equal(verifyPrefix(claim, below(other)), false);
      assert.equal(verifyPrefix({ ...claim, root: tree.root(0, size + 1) }, peaks), false);
      const changed = peaks.map((hash, at) => (at === other % peaks.length ? hashLeaf('x') : hash));
      if (peaks.length > 0) assert.equal(verifyPrefix(claim, changed), false);
    }),
  );
});
