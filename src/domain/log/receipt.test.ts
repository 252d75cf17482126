import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { naiveTree } from '../../../test/support/naive-tree.ts';
import { toHex } from '../wire/hash.ts';
import { receiptPayload, receiptRoot, receiptTree } from './receipt.ts';

const receipts = fc.array(
  fc.record({
    entry_id: fc.uuid(),
    leaf_hash: fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toHex),
  }),
  { minLength: 1, maxLength: 40 },
);

test('receiptTree() is the tree of RFC 6962 over the canonical receipts, with a path for each', () => {
  return fc.assert(
    fc.property(receipts, (given) => {
      const tree = naiveTree((index) => {
        const { entry_id, leaf_hash } = given[index] as (typeof given)[number];
        return `{"entry_id":"${entry_id}","leaf_hash":"${leaf_hash}"}`;
      });

      const { root, paths } = receiptTree(given);

      assert.equal(toHex(root), toHex(tree.root(0, given.length)));
      for (const [index, receipt] of given.entries()) {
        const path = [...(paths[index] as string[])];
        assert.deepEqual(path, tree.inclusion(index, given.length).map(toHex));
        const place = { leaf_index: index, tree_size: given.length, path };
        assert.deepEqual(receiptRoot(receipt, place), root);
      }
    }),
  );
});

test('receiptRoot() reaches another root, or none, from another place or an altered path', () => {
  const given = Array.from({ length: 5 }, (_, index) => {
    return { entry_id: `ent_${index}`, leaf_hash: `0${index}`.repeat(32) };
  });
  const { root, paths } = receiptTree(given);
  const receipt = given[1] as (typeof given)[number];
  const path = [...(paths[1] as string[])];
  const right = { leaf_index: 1, tree_size: 5, path };
  const reached = (place: Partial<typeof right>, of = receipt) =>
    receiptRoot(of, { ...right, ...place });

  assert.deepEqual(reached({}), root);
  for (const place of [{ leaf_index: 5 }, { leaf_index: -1 }, { leaf_index: 0.5 }]) {
    assert.equal(reached(place), undefined);
  }
  for (const other of [[], path.slice(1), [...path, path[0] as string], paths[4] as string[]]) {
    assert.equal(reached({ path: [...other] }), undefined);
  }
  for (const place of [{ leaf_index: 0 }, { path: [...path].reverse() }]) {
    assert.notDeepEqual(reached(place), root);
  }
  assert.notDeepEqual(reached({}, given[2]), root);
  assert.notDeepEqual(reached({}, { ...receipt, entry_id: 'ent_9' }), root);
});

test('receiptPayload() covers every field of the promise, the root and the service', () => {
  const promise = {
    log_id: 'log-1',
    last_checkpoint: 4,
    signed_at: '2026-12-01T08:00:00.000Z',
    included_by: '2026-12-01T08:01:00.000Z',
    tree_size: 3,
  };
  const root = new Uint8Array(32).fill(7);

  assert.equal(
    new TextDecoder().decode(receiptPayload('desk', root, promise)),
    `{"included_by":"2026-12-01T08:01:00.000Z","last_checkpoint":4,"log_id":"log-1","merkle_root":"sha256:${'07'.repeat(32)}","service_id":"desk","signed_at":"2026-12-01T08:00:00.000Z","tree_size":3}`,
  );
});
