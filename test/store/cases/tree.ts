/**
 * The contract of `LogStore`: the tree over the entries, what it proves, and checkpoints of it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { EntryRecord } from '../../../src/domain/log/entry.ts';
import {
  appendLeaves,
  foldPeaks,
  type Hash,
  type NodeId,
  peaksOf,
  rootOf,
} from '../../../src/domain/log/merkle.ts';
import {
  consistencyNodes,
  foldAll,
  inclusionNodes,
  isConsistent,
  verifyInclusion,
} from '../../../src/domain/log/merkle-proof.ts';
import { toHex } from '../../../src/domain/wire/hash.ts';
import type { CheckpointRecord } from '../../../src/storage/port/records.ts';
import type { Store, TreeHead } from '../../../src/storage/port/store.ts';
import { at, entry, newId } from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { same } from '../observe.ts';
import { fill } from './log.ts';

export const TREE_CASES: Cases = {
  'treeHead() of an empty log has no peaks': async (store) => {
    same(await store.treeHead(), { first: 0, size: 0, peaks: [] });
  },

  'treeHead() is the tree over the leaves in order, at every size': async (store) => {
    const leaves: Hash[] = [];
    for (let size = 1; size <= 17; size++) {
      const one = entry();
      leaves.push(one.leaf_hash);
      await store.append([one]);

      const head = await store.sequence();

      same(head, { first: 0, size, peaks: appendLeaves(0, [], leaves).peaks });
      same(await store.treeHead(), head);
    }
  },

  'inspect() finds nothing wrong with a log of any size, whatever its times': async (store) => {
    const times = [5, 9, 1, 7, 9, 30, 2, 2, 8];
    same(await store.inspect(), []);

    for (const time of times) {
      await store.append([entry({ timestamp: at(time).toISOString() })]);
      await store.sequence();

      same(await store.inspect(), []);
    }
  },

  'nodes() gives stored nodes in the order asked': async (store) => {
    const entries = await fill(store, 9);
    const { nodes } = appendLeaves(0, [], hashesOf(entries));
    const shuffled = nodes.toSorted((one, other) => (toHex(one.hash) < toHex(other.hash) ? -1 : 1));

    const found = await store.nodes(shuffled);

    same(
      found,
      shuffled.map(({ hash }) => hash),
    );
    const twice = [nodes[0], nodes[0]] as NodeId[];
    same(await store.nodes(twice), [nodes[0]?.hash, nodes[0]?.hash]);
    same(await store.nodes([]), []);
  },

  'nodes() rejects when one is not there': async (store) => {
    await fill(store, 3);

    await assert.rejects(store.nodes([{ level: 0, index: 3 }]));
    await assert.rejects(store.nodes([peaksOf(2)[0] as NodeId, { level: 1, index: 1 }]));
  },

  'nodes() proves every entry under the head': async (store) => {
    const entries = await fill(store, 21);
    const { size, peaks } = await store.treeHead();
    const root = foldPeaks(peaks);

    for (const [index, { leaf_hash }] of entries.entries()) {
      const proof = await proofFrom(store, inclusionNodes(index, size));
      assert.equal(verifyInclusion({ index, size, leaf: leaf_hash, proof, root }), true);
    }
  },

  'nodes() proves that every later head extends every earlier one': async (store) => {
    const heads: TreeHead[] = [];
    for (const count of [1, 2, 5, 1, 8, 3]) {
      await fill(store, count);
      heads.push(await store.treeHead());
    }

    for (const [place, earlier] of heads.entries()) {
      for (const later of heads.slice(place)) {
        const proof = await proofFrom(store, consistencyNodes(earlier.size, later.size));
        const roots = { fromRoot: foldPeaks(earlier.peaks), toRoot: foldPeaks(later.peaks) };
        const claim = { from: earlier.size, to: later.size, ...roots, proof };
        assert.equal(isConsistent(claim), true, `${earlier.size} to ${later.size}`);
      }
    }
  },
};

export const CHECKPOINT_CASES: Cases = {
  'insertCheckpoint() keeps the first, whose sequence is 1': async (store) => {
    const first = checkpoint(1, 0);
    assert.equal(await store.lastCheckpoint(), undefined);
    for (const sequence of [0, 2]) {
      assert.equal(await store.insertCheckpoint(checkpoint(sequence, 0)), false);
    }

    const kept = await store.insertCheckpoint(first);

    assert.equal(kept, true);
    same(await store.lastCheckpoint(), first);
    same(await store.loadCheckpoint(first.checkpoint_id), first);
    assert.equal(await store.loadCheckpoint(newId('ckpt-')), undefined);
  },

  'insertCheckpoint() keeps only the next, and none that is smaller': async (store) => {
    await store.insertCheckpoint(checkpoint(1, 5));
    const refused = [checkpoint(1, 6), checkpoint(3, 6), checkpoint(2, 4), checkpoint(0, 5)];

    for (const one of refused) {
      assert.equal(await store.insertCheckpoint(one), false);
      assert.equal(await store.loadCheckpoint(one.checkpoint_id), undefined);
    }

    assert.equal(await store.insertCheckpoint(checkpoint(2, 5)), true, 'the same size may follow');
    assert.equal(await store.insertCheckpoint(checkpoint(3, 9)), true);
    assert.equal((await store.lastCheckpoint())?.sequence, 3);
  },

  'insertCheckpoint() keeps one of several that come at once': async (store) => {
    const rivals = Array.from({ length: 12 }, () => checkpoint(1, 0));

    const results = await Promise.all(rivals.map((rival) => store.insertCheckpoint(rival)));

    assert.equal(results.filter(Boolean).length, 1);
    same(await store.lastCheckpoint(), rivals[results.indexOf(true)]);
  },

  'insertCosignature() adds lines to one checkpoint, each once': async (store) => {
    const [first, second] = [checkpoint(1, 0), checkpoint(2, 0)];
    for (const one of [first, second]) await store.insertCheckpoint(one);
    const lines = ['— b ä\n', '— a x\n', '— b ä\n'];

    for (const line of lines) await store.insertCosignature(first.checkpoint_id, line);

    assert.deepEqual(await store.cosignatures(first.checkpoint_id), ['— a x\n', '— b ä\n']);
    assert.deepEqual(await store.cosignatures(second.checkpoint_id), []);
    same(await store.loadCheckpoint(first.checkpoint_id), first);
  },

  'listCheckpoints() returns the newest first, below a given sequence': async (store) => {
    for (const sequence of [1, 2, 3, 4]) await store.insertCheckpoint(checkpoint(sequence, 0));
    const listed = async (limit: number, before?: number) => {
      const found = await store.listCheckpoints(limit, before);
      return found.map(({ sequence }) => sequence);
    };

    assert.deepEqual(await listed(10), [4, 3, 2, 1]);
    assert.deepEqual(await listed(2), [4, 3]);
    assert.deepEqual(await listed(2, 3), [2, 1]);
    assert.deepEqual(await listed(2, 1), []);
  },
};

export function checkpoint(sequence: number, size: number, leaves: Hash[] = []): CheckpointRecord {
  return {
    checkpoint_id: newId('ckpt-'),
    sequence,
    size,
    root: rootOf(leaves),
    created_at: at(sequence),
    signature: 'header..signature',
    note: `log\n${size}\nroot\n\n— log signature\n`,
  };
}

function hashesOf(entries: readonly EntryRecord[]): Hash[] {
  return entries.map(({ leaf_hash }) => leaf_hash);
}

async function proofFrom(store: Store, groups: NodeId[][]): Promise<Hash[]> {
  const hashes = await store.nodes(groups.flat());
  const byId = new Map(groups.flat().map((id, place) => [id, hashes[place] as Hash]));
  return foldAll(groups, (id) => byId.get(id) as Hash);
}
