import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { naiveTree } from '../../../test/support/naive-tree.ts';
import { fromHex, toHex } from '../wire/hash.ts';
import {
  appendLeaves,
  EMPTY_ROOT,
  foldPeaks,
  type Hash,
  hashLeaf,
  hashNode,
  type NodeId,
  peaksOf,
  rootOf,
  TREE_SIZE_MAX,
} from './merkle.ts';

const tree = naiveTree((index) => `leaf ${index}`);
const leavesUpTo = (size: number): Hash[] =>
  Array.from({ length: size }, (_, index) => tree.leaf(index));
const rootOfNode = ({ level, index }: NodeId): Hash =>
  tree.root(index * 2 ** level, (index + 1) * 2 ** level);

// The public known answers (transparency-dev/merkle): eight leaves, and the root after each.
const knownLeaves = [
  '',
  '00',
  '10',
  '2021',
  '3031',
  '40414243',
  '5051525354555657',
  '606162636465666768696a6b6c6d6e6f',
].map((hex) => hashLeaf(fromHex(hex) as Uint8Array));
const knownRoots = [
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

for (const [last, expected] of knownRoots.entries()) {
  test(`rootOf() gives the known answer for size ${last + 1}`, () => {
    assert.equal(toHex(rootOf(knownLeaves.slice(0, last + 1))), expected);
  });
}

test('rootOf() gives the hash of the empty string for no leaves', () => {
  const expected = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

  assert.equal(toHex(rootOf([])), expected);
  assert.equal(rootOf([]), EMPTY_ROOT);
});

test('rootOf() gives the root of the RFC for every size up to 300', () => {
  for (let size = 0; size <= 300; size++) {
    assert.deepEqual(rootOf(leavesUpTo(size)), tree.root(0, size));
  }
});

test('hashLeaf() never gives the hash of a node over the same bytes', () => {
  const [left, right] = [tree.leaf(0), tree.leaf(1)];

  assert.notDeepEqual(hashLeaf(Uint8Array.of(...left, ...right)), hashNode(left, right));
});

test('appendLeaves() in chunks gives the same root, peaks and nodes as one append', () => {
  const chunks = fc.array(fc.nat(40), { maxLength: 12 });

  return fc.assert(
    fc.property(chunks, (sizes) => {
      const whole = leavesUpTo(sizes.reduce((sum, size) => sum + size, 0));
      const nodes: NodeId[] = [];
      let grown = appendLeaves(0, [], []);
      for (const size of sizes) {
        const chunk = whole.slice(grown.size, grown.size + size);
        grown = appendLeaves(grown.size, grown.peaks, chunk);
        nodes.push(...grown.nodes);
      }

      assert.equal(grown.size, whole.length);
      assert.deepEqual(foldPeaks(grown.peaks), rootOf(whole));
      assert.deepEqual(grown.peaks, peaksOf(whole.length).map(rootOfNode));
      assert.deepEqual(nodes, appendLeaves(0, [], whole).nodes);
    }),
  );
});

test('appendLeaves() returns every complete subtree exactly once', () => {
  const { nodes } = appendLeaves(0, [], leavesUpTo(300));

  const names = nodes.map(({ level, index }) => `${level}/${index}`);
  const expected: string[] = [];
  for (let level = 0; 2 ** level <= 300; level++) {
    for (let index = 0; (index + 1) * 2 ** level <= 300; index++) {
      expected.push(`${level}/${index}`);
    }
  }
  assert.deepEqual(names.toSorted(), expected.toSorted());
  for (const node of nodes) assert.deepEqual(node.hash, rootOfNode(node));
});

test('appendLeaves() does not change the peaks it was given', () => {
  const { size, peaks } = appendLeaves(0, [], leavesUpTo(3));
  const before = [...peaks];

  appendLeaves(size, peaks, leavesUpTo(5).slice(3));

  assert.deepEqual(peaks, before);
});

test('appendLeaves() names nodes above 32 bits', () => {
  const size = 2 ** 40 + 3;
  const peaks = [tree.leaf(0), tree.leaf(1), tree.leaf(2)];

  const grown = appendLeaves(size, peaks, [tree.leaf(3)]);

  const names = grown.nodes.map(({ level, index }) => ({ level, index }));
  assert.deepEqual(names, [
    { level: 0, index: 2 ** 40 + 3 },
    { level: 1, index: 2 ** 39 + 1 },
    { level: 2, index: 2 ** 38 },
  ]);
  const corner = hashNode(tree.leaf(1), hashNode(tree.leaf(2), tree.leaf(3)));
  assert.deepEqual(grown.peaks, [tree.leaf(0), corner]);
});

test('appendLeaves() refuses peaks that are not those of the size', () => {
  assert.throws(() => appendLeaves(3, [tree.leaf(0)], []), {
    name: 'RangeError',
    message: 'Cannot append leaves: a tree of 3 has 2 peaks, not 1',
  });
});

test('appendLeaves() fills a tree to its largest size and no further', () => {
  const size = TREE_SIZE_MAX - 1;
  const peaks = peaksOf(size).map(() => tree.leaf(0));

  assert.equal(appendLeaves(size, peaks, [tree.leaf(1)]).size, TREE_SIZE_MAX);
  assert.throws(() => appendLeaves(size, peaks, leavesUpTo(2)), {
    name: 'RangeError',
    message: `Cannot append 2 leaves: tree has ${size}`,
  });
});

test('peaksOf() covers every tree from left to right without gap', () => {
  return fc.assert(
    fc.property(fc.nat(TREE_SIZE_MAX), (size) => {
      let covered = 0;
      let width = Number.POSITIVE_INFINITY;
      for (const { level, index } of peaksOf(size)) {
        assert.equal(index * 2 ** level, covered);
        assert.ok(2 ** level < width);
        width = 2 ** level;
        covered += width;
      }
      assert.equal(covered, size);
    }),
  );
});

for (const size of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53]) {
  test(`peaksOf() refuses the size ${size}`, () => {
    const message = `Cannot find peaks: tree size is ${size}, not 0 to 9007199254740991`;

    assert.throws(() => peaksOf(size), { name: 'RangeError', message });
  });
}
