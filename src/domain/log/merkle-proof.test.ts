import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { naiveTree } from '../../../test/support/naive-tree.ts';
import {
  EMPTY_ROOT,
  foldPeaks,
  type Hash,
  hashLeaf,
  hashNode,
  type NodeId,
  peaksOf,
  TREE_SIZE_MAX,
} from './merkle.ts';
import {
  type ConsistencyClaim,
  consistencyNodes,
  foldAll,
  type InclusionClaim,
  inclusionNodes,
  isConsistent,
  verifyInclusion,
} from './merkle-proof.ts';

const SIZE_MAX = 140;
const tree = naiveTree((index) => `leaf ${index}`);
const read = ({ level, index }: NodeId): Hash =>
  tree.root(index * 2 ** level, (index + 1) * 2 ** level);

function inclusionOf(index: number, size: number): InclusionClaim {
  const proof = foldAll(inclusionNodes(index, size), read);
  return { index, size, leaf: tree.leaf(index), proof, root: tree.root(0, size) };
}

function consistencyOf(from: number, to: number): ConsistencyClaim {
  const proof = foldAll(consistencyNodes(from, to), read);
  return { from, to, fromRoot: tree.root(0, from), toRoot: tree.root(0, to), proof };
}

// Many hashes each, which may take longer than the usual timeout on a busy machine.
const EXHAUSTIVE = { timeout: 300_000 };

test(
  'inclusionNodes() proves every leaf of every tree up to 140 as the RFC does',
  EXHAUSTIVE,
  () => {
    for (let size = 1; size <= SIZE_MAX; size++) {
      for (let index = 0; index < size; index++) {
        const claim = inclusionOf(index, size);

        assert.ok(sameHashes(claim.proof, tree.inclusion(index, size)), `leaf ${index} of ${size}`);
        assert.ok(verifyInclusion(claim), `leaf ${index} of ${size}`);
      }
    }
  },
);

test('consistencyNodes() proves every growth up to 140 as the RFC does', EXHAUSTIVE, () => {
  for (let to = 1; to <= SIZE_MAX; to++) {
    for (let from = 1; from <= to; from++) {
      const claim = consistencyOf(from, to);

      assert.ok(sameHashes(claim.proof, tree.consistency(from, to)), `${from} to ${to}`);
      assert.ok(isConsistent(claim), `${from} to ${to}`);
    }
  }
});

test('inclusionNodes() and consistencyNodes() name only complete nodes of the tree', () => {
  const sizes = fc.tuple(fc.integer({ min: 1, max: TREE_SIZE_MAX }), fc.nat(TREE_SIZE_MAX));

  return fc.assert(
    fc.property(sizes, ([size, other]) => {
      const index = other % size;
      const groups = [...inclusionNodes(index, size), ...consistencyNodes(index + 1, size)];
      for (const { level, index: node } of groups.flat()) {
        assert.ok(Number.isSafeInteger(node) && (node + 1) * 2 ** level <= size);
      }
    }),
  );
});

// Equal leaves make all nodes of a level equal, so a tree of any size is known without being built. One
// marked leaf makes the nodes above it differ, so that a misplaced node is noticed.
const FAR = 2 ** 40 + 5;
const EDGES = [2 ** 31, 2 ** 32, 2 ** 40, 2 ** 52].flatMap((edge) => [edge - 1, edge, edge + 1]);
const FAR_SIZES = [...EDGES, FAR, 2 ** 52 + 2 ** 33 + 7, TREE_SIZE_MAX - 1, TREE_SIZE_MAX];

for (const size of FAR_SIZES) {
  test(`verifyInclusion() accepts proofs in a tree of ${size} leaves`, () => {
    for (const marked of leavesToTry(size)) {
      const sparse = sparseTree(marked);
      const root = sparse.root(size);
      for (const index of leavesToTry(size)) {
        const proof = foldAll(inclusionNodes(index, size), sparse.read);
        const claim = { index, size, leaf: sparse.leaf(index), proof, root };

        assert.equal(verifyInclusion(claim), true);
        assert.equal(verifyInclusion({ ...claim, leaf: sparse.other(index) }), false);
      }
    }
  });

  test(`isConsistent() accepts proofs up to a tree of ${size} leaves`, () => {
    const unmarkedRoot = sparseTree(-1).root(size);
    for (const marked of leavesToTry(size)) {
      const sparse = sparseTree(marked);
      const toRoot = sparse.root(size);
      for (const from of leavesToTry(size).map((index) => index + 1)) {
        const proof = foldAll(consistencyNodes(from, size), sparse.read);
        const claim = { from, to: size, fromRoot: sparse.root(from), toRoot, proof };

        assert.equal(isConsistent(claim), true);
        assert.equal(isConsistent({ ...claim, toRoot: unmarkedRoot }), false);
      }
    }
  });
}

test('inclusionNodes() names the nodes around the last leaf of a tree beyond 32 bits', () => {
  assert.deepEqual(inclusionNodes(FAR - 1, FAR), [
    [{ level: 2, index: 2 ** 38 }],
    [{ level: 40, index: 0 }],
  ]);
  assert.deepEqual(inclusionNodes(0, FAR).at(-1), [
    { level: 2, index: 2 ** 38 },
    { level: 0, index: 2 ** 40 + 4 },
  ]);
});

type Alteration = (hashes: readonly Hash[], at: number, other: number) => readonly Hash[];

const alterations: Record<string, Alteration> = {
  'with a flipped bit': (hashes, at, bit) =>
    hashes.map((hash, i) => (i === at % hashes.length ? flip(hash, bit) : hash)),
  'without one hash': (hashes, at) => hashes.filter((_, i) => i !== at % hashes.length),
  'with a hash more': (hashes, at, leaf) =>
    hashes.toSpliced(at % (hashes.length + 1), 0, tree.leaf(leaf)),
  'with two hashes swapped': (hashes, at, by) => {
    const [i, j] = [at % hashes.length, (at + 1 + (by % (hashes.length - 1))) % hashes.length];
    return hashes.with(i, hashes[j] as Hash).with(j, hashes[i] as Hash);
  },
  'with one hash cut short': (hashes, at) =>
    hashes.map((hash, i) => (i === at % hashes.length ? hash.subarray(1) : hash)),
};

const places = fc.record({ at: fc.nat(1000), other: fc.nat(255) });
const pairs = fc
  .integer({ min: 1, max: SIZE_MAX })
  .chain((size) => fc.tuple(fc.nat(size - 1), fc.constant(size)));

for (const [name, alter] of Object.entries(alterations)) {
  const hashesMin = name === 'with two hashes swapped' ? 2 : name === 'with a hash more' ? 0 : 1;

  test(`verifyInclusion() refuses a proof ${name}`, () => {
    return fc.assert(
      fc.property(pairs, places, ([index, size], { at, other }) => {
        const claim = inclusionOf(index, size);
        fc.pre(claim.proof.length >= hashesMin);

        assert.equal(verifyInclusion({ ...claim, proof: alter(claim.proof, at, other) }), false);
      }),
      { numRuns: 500 },
    );
  });

  test(`isConsistent() refuses a proof ${name}`, () => {
    return fc.assert(
      fc.property(pairs, places, ([index, to], { at, other }) => {
        const claim = consistencyOf(index + 1, to);
        fc.pre(claim.proof.length >= hashesMin);

        assert.equal(isConsistent({ ...claim, proof: alter(claim.proof, at, other) }), false);
      }),
      { numRuns: 500 },
    );
  });
}

test('verifyInclusion() refuses another leaf and another root', () => {
  return fc.assert(
    fc.property(pairs, fc.nat(255), ([index, size], bit) => {
      const claim = inclusionOf(index, size);

      assert.equal(verifyInclusion({ ...claim, leaf: flip(claim.leaf, bit) }), false);
      assert.equal(verifyInclusion({ ...claim, root: flip(claim.root, bit) }), false);
    }),
  );
});

test('isConsistent() refuses another root on either side', () => {
  return fc.assert(
    fc.property(pairs, fc.nat(255), ([index, to], bit) => {
      const claim = consistencyOf(index + 1, to);

      assert.equal(isConsistent({ ...claim, fromRoot: flip(claim.fromRoot, bit) }), false);
      assert.equal(isConsistent({ ...claim, toRoot: flip(claim.toRoot, bit) }), false);
    }),
  );
});

const SMALL_MAX = 24;

test('verifyInclusion() refuses every other index', () => {
  for (const [index, size] of smallPairs()) {
    const claim = inclusionOf(index, size);
    for (let other = 0; other <= SMALL_MAX; other++) {
      assert.equal(verifyInclusion({ ...claim, index: other }), other === index);
    }
  }
});

test('isConsistent() refuses every other earlier size', () => {
  for (const [index, to] of smallPairs()) {
    const claim = consistencyOf(index + 1, to);
    for (let other = 0; other <= SMALL_MAX; other++) {
      assert.equal(isConsistent({ ...claim, from: other }), other === index + 1);
    }
  }
});

// RFC 6962 binds the size only through the path. Where two sizes share a path, the checkpoint that signs
// size and root together distinguishes them.
test('verifyInclusion() refuses every other size whose path to the leaf differs', () => {
  for (const [index, size] of smallPairs()) {
    const claim = inclusionOf(index, size);
    for (let other = index + 1; other <= SMALL_MAX; other++) {
      const same = turns(index, other) === turns(index, size);
      assert.equal(verifyInclusion({ ...claim, size: other }), same);
    }
  }
});

test('isConsistent() refuses every other later size whose path differs', () => {
  for (const [index, to] of smallPairs()) {
    const from = index + 1;
    const claim = consistencyOf(from, to);
    for (let other = from; other <= SMALL_MAX; other++) {
      const same = turns(index, other, from) === turns(index, to, from);
      assert.equal(isConsistent({ ...claim, to: other }), same);
    }
  }
});

test('isConsistent() accepts that every tree extends the empty one, without a proof', () => {
  const claim = consistencyOf(0, 7);

  assert.deepEqual(claim.proof, []);
  assert.equal(isConsistent(claim), true);
  assert.equal(isConsistent({ ...claim, proof: [tree.leaf(0)] }), false);
  assert.equal(isConsistent({ ...claim, fromRoot: tree.leaf(0) }), false);
  assert.equal(isConsistent(consistencyOf(0, 0)), true);
  assert.equal(isConsistent({ ...consistencyOf(0, 0), toRoot: tree.leaf(0) }), false);
});

test('verifyInclusion() refuses every leaf of the empty tree', () => {
  const claim = { index: 0, size: 0, leaf: EMPTY_ROOT, proof: [], root: EMPTY_ROOT };

  assert.equal(verifyInclusion(claim), false);
});

test('verifyInclusion() and isConsistent() return false for an absent claim', () => {
  for (const claim of [null, undefined]) {
    assert.equal(verifyInclusion(claim), false);
    assert.equal(isConsistent(claim), false);
  }
});

const hostileNumbers: unknown[] = [
  -1,
  0.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  2 ** 64,
  1e300,
  5n,
  '5',
  null,
  undefined,
  {},
];
const hostileHashes: unknown[] = [
  new Uint8Array(0),
  new Uint8Array(31),
  new Uint8Array(33),
  new Array(32).fill(0),
  '0'.repeat(32),
  new Uint16Array(32),
  null,
  undefined,
  7,
];
const hostileProofs: unknown[] = [
  null,
  undefined,
  'abc',
  3,
  {},
  { length: 3 },
  new Uint8Array(3),
  new Array(3),
  new Array(1e6).fill(tree.leaf(0)),
  [tree.leaf(0), null, tree.leaf(1)],
];

const inclusionFields: Record<keyof InclusionClaim, unknown[]> = {
  index: hostileNumbers,
  size: hostileNumbers,
  leaf: hostileHashes,
  root: hostileHashes,
  proof: [...hostileProofs, ...hostileHashes.map((hash) => [tree.leaf(0), hash, tree.leaf(1)])],
};

for (const [field, values] of Object.entries(inclusionFields)) {
  test(`verifyInclusion() returns false, and never throws, for a hostile ${field}`, () => {
    const claim = inclusionOf(5, 8);
    assert.equal(claim.proof.length, 3);

    for (const value of values) {
      assert.equal(verifyInclusion({ ...claim, [field]: value } as InclusionClaim), false);
    }
  });
}

const consistencyFields: Record<keyof ConsistencyClaim, unknown[]> = {
  from: hostileNumbers,
  to: hostileNumbers,
  fromRoot: hostileHashes,
  toRoot: hostileHashes,
  proof: inclusionFields.proof,
};

for (const [field, values] of Object.entries(consistencyFields)) {
  for (const [from, to] of [
    [6, 8],
    [4, 4],
    [0, 4],
  ] as const) {
    test(`isConsistent() returns false for a hostile ${field} from ${from} to ${to}`, () => {
      const claim = consistencyOf(from, to);

      for (const value of values) {
        assert.equal(isConsistent({ ...claim, [field]: value } as ConsistencyClaim), false);
      }
    });
  }
}

const outside: [() => unknown, string][] = [
  [() => inclusionNodes(3, 3), 'Cannot prove leaf 3: tree has 3 leaves'],
  [() => inclusionNodes(-1, 3), 'Cannot prove leaf -1: tree has 3 leaves'],
  [() => inclusionNodes(0.5, 3), 'Cannot prove leaf 0.5: tree has 3 leaves'],
  [() => inclusionNodes(0, 0), 'Cannot prove leaf 0: tree has 0 leaves'],
  [() => inclusionNodes(0, 2 ** 53), 'Cannot prove leaf 0: tree has 9007199254740992 leaves'],
  [() => consistencyNodes(4, 3), 'Cannot prove growth to 3 leaves: earlier tree has 4 leaves'],
  [() => consistencyNodes(-1, 3), 'Cannot prove growth to 3 leaves: earlier tree has -1 leaves'],
  [() => consistencyNodes(1, 1.5), 'Cannot prove growth to 1.5 leaves: earlier tree has 1 leaves'],
];

for (const [prove, message] of outside) {
  test(`inclusionNodes() or consistencyNodes() throws "${message}"`, () => {
    assert.throws(prove, { name: 'RangeError', message });
  });
}

function sameHashes(left: readonly Hash[], right: readonly Hash[]): boolean {
  return left.length === right.length && left.every((hash, i) => isSame(hash, right[i] as Hash));
}

function isSame(left: Hash, right: Hash): boolean {
  return Buffer.compare(left, right) === 0;
}

function flip(hash: Hash, bit: number): Hash {
  return hash.with(Math.floor(bit / 8), (hash[Math.floor(bit / 8)] as number) ^ (1 << (bit % 8)));
}

function* smallPairs(): Generator<[index: number, size: number]> {
  for (let size = 1; size <= SMALL_MAX; size++) {
    for (let index = 0; index < size; index++) yield [index, size];
  }
}

/** The turns from the root towards a leaf, down to it or to the subtree that ends at `until`. */
function turns(leaf: number, size: number, until?: number): string {
  let [start, end, path] = [0, size, ''];
  while (end - start > 1 && end !== until) {
    let middle = start + 1;
    while ((middle - start) * 2 < end - start) middle = start + (middle - start) * 2;
    path += leaf < middle ? 'l' : 'r';
    if (leaf < middle) end = middle;
    else start = middle;
  }
  return path;
}

function leavesToTry(size: number): number[] {
  const some = [0, 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, Math.floor(size / 3), size - 2];
  return [...new Set([...some, size - 1])].filter((index) => index < size);
}

/** A tree of equal leaves but one, at `marked` (nowhere when negative). */
function sparseTree(marked: number) {
  const plain: Hash[] = [hashLeaf(Uint8Array.of(0))];
  const above: Hash[] = [hashLeaf(Uint8Array.of(1))];
  for (let level = 0; level < 53; level++) {
    const [usual, special] = [plain[level] as Hash, above[level] as Hash];
    const onRight = Math.floor(marked / 2 ** level) % 2 === 1;
    plain.push(hashNode(usual, usual));
    above.push(onRight ? hashNode(usual, special) : hashNode(special, usual));
  }

  const readNode = ({ level, index }: NodeId): Hash =>
    (Math.floor(marked / 2 ** level) === index ? above : plain)[level] as Hash;
  return {
    read: readNode,
    leaf: (index: number) => readNode({ level: 0, index }),
    other: (index: number) => (index === marked ? plain : above)[0] as Hash,
    root: (size: number) => foldPeaks(peaksOf(size).map(readNode)),
  };
}
