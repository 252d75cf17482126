/**
 * The contract of a log that ends, of its successor, and of voiding.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { foldPeaks, rootOf } from '../../../src/domain/log/merkle.ts';
import { foldAll, inclusionNodes, verifyInclusion } from '../../../src/domain/log/merkle-proof.ts';
import { leafIndexOf, nodeFrom, ORIGIN_SPAN } from '../../../src/domain/log/origin.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  admitCall,
  at,
  binding,
  chain,
  entry,
  FAR,
  granted,
  HOUR,
  insert,
  keyOf,
  newId,
  rootToken,
  SECOND,
  settlement,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { foundIn, grantOf, recordOf, same } from '../observe.ts';
import { fill } from './log.ts';
import { checkpoint } from './tree.ts';

const NEXT = 'the-next-log-of-the-store';

/** Ends the log as it is and begins the next one. */
async function begin(store: Store, logId = NEXT) {
  const first = entry({ entry_type: 'operator' });
  assert.equal(await store.beginOrigin(await store.sequence(), logId, first), true);
  return first;
}

export const ORIGIN_CASES: Cases = {
  'origins() has the log that was made with the store': async (store) => {
    same(await store.origins(), [{ logId: store.logId, first: 0 }]);
  },

  'beginOrigin() begins a tree with the entry as its first leaf, and keeps what was there': async (
    store,
  ) => {
    const before = await fill(store, 5);
    const first = await begin(store);
    const after = [first, ...(await fill(store, 6))];

    const head = await store.sequence();
    const kept = await store.scanEntries(0, 100);

    same(await store.origins(), [
      { logId: store.logId, first: 0 },
      { logId: NEXT, first: ORIGIN_SPAN },
    ]);
    assert.deepEqual([head.first, head.size], [ORIGIN_SPAN, 7]);
    same(foldPeaks(head.peaks), rootOf(after.map(({ leaf_hash }) => leaf_hash)));
    assert.deepEqual(
      kept.map(({ sequence }) => sequence),
      [0, 1, 2, 3, 4, ...after.map((_, index) => ORIGIN_SPAN + index)],
    );
    for (const [place, { leaf_hash }] of [...before, ...after].entries()) {
      const found = await store.findLeaf({ leaf_hash });
      assert.equal(found?.sequence, kept[place]?.sequence);
    }
    same(await store.inspect(), []);
  },

  'beginOrigin() begins above every number that was signed elsewhere': async (store) => {
    await fill(store, 2);
    const signed = 3 * ORIGIN_SPAN + 2;

    await store.beginOrigin(await store.sequence(), NEXT, entry(), signed);
    await fill(store, 2);

    const { first, size } = await store.sequence();
    const kept = await store.scanEntries(0, 9);
    assert.deepEqual([first, size], [4 * ORIGIN_SPAN, 3]);
    assert.deepEqual(
      kept.map(({ sequence }) => sequence),
      [0, 1, first, first + 1, first + 2],
    );
    assert.equal(await store.insertCheckpoint(checkpoint(signed + 1, 3)), false);
    assert.equal(await store.insertCheckpoint(checkpoint(first + 1, 3)), true);
    same(await store.inspect(), []);
    await begin(store, 'a-third-log-of-the-store');
    assert.equal((await store.sequence()).first, 5 * ORIGIN_SPAN);
  },

  'nodes() proves every entry of either log': async (store) => {
    const before = await fill(store, 11);
    const old = await store.treeHead();
    const after = [await begin(store), ...(await fill(store, 4))];
    const current = await store.treeHead();

    for (const [{ first, size, peaks }, entries] of [
      [old, before],
      [current, after],
    ] as const) {
      for (const [index, { leaf_hash: leaf }] of entries.entries()) {
        const groups = inclusionNodes(index, size);
        const ids = groups.flat();
        const hashes = await store.nodes(ids.map((id) => nodeFrom(first, id)));
        const proof = foldAll(groups, (id) => hashes[ids.indexOf(id)] as Uint8Array);
        assert.equal(verifyInclusion({ index, size, leaf, proof, root: foldPeaks(peaks) }), true);
      }
    }
  },

  'beginOrigin() changes nothing when the log has grown, or ended, since it was read': async (
    store,
  ) => {
    await fill(store, 2);
    const read = await store.sequence();
    await fill(store, 1);
    assert.equal(await store.beginOrigin(read, NEXT, entry()), false);
    const grown = await store.sequence();
    await begin(store);

    assert.equal(await store.beginOrigin(grown, 'another-log-of-the-store', entry()), false);
    assert.equal((await store.origins()).length, 2);
    assert.equal((await store.sequence()).size, 1);
  },

  'beginOrigin() lets one of several that come at once succeed': async (store) => {
    await fill(store, 3);
    const read = await store.sequence();

    const results = await Promise.all(
      [1, 2, 3, 4].map((each) => store.beginOrigin(read, `${NEXT}-${each}`, entry())),
    );

    assert.equal(results.filter(Boolean).length, 1);
    assert.equal((await store.sequence()).size, 1);
    same(await store.inspect(), []);
  },

  'insertCheckpoint() numbers those of a later log from its first place on': async (store) => {
    await store.insertCheckpoint(checkpoint(1, 0));
    await fill(store, 9);
    await store.insertCheckpoint(checkpoint(2, 9));
    await begin(store);

    for (const refused of [3, ORIGIN_SPAN, ORIGIN_SPAN + 2]) {
      assert.equal(await store.insertCheckpoint(checkpoint(refused, 10)), false);
    }
    assert.equal(await store.insertCheckpoint(checkpoint(ORIGIN_SPAN + 1, 1)), true);
    assert.equal(await store.insertCheckpoint(checkpoint(ORIGIN_SPAN + 2, 0)), false);
    assert.equal((await store.lastCheckpoint())?.sequence, ORIGIN_SPAN + 1);
    assert.equal((await store.listCheckpoints(9)).length, 3);
  },

  'erase() and queryEntries() go from one log to the next': async (store) => {
    await fill(store, 3);
    await begin(store);
    await fill(store, 3);
    const policy = { what: 'personal', until: at(HOUR), limit: 2 } as const;

    for (const passed of [2, 2, 2, 1, 0]) assert.equal(await store.erase(policy), passed);

    const { entries: newest } = await store.queryEntries({ limit: 5 });
    assert.deepEqual(
      newest.map(({ sequence }) => leafIndexOf(sequence)),
      [3, 2, 1, 0, 2],
    );
    assert.ok(newest.every(({ personal }) => personal === undefined));
    const rest = await foundIn(store, { limit: 5, before: newest[4]?.sequence });
    assert.deepEqual(
      rest.map(({ sequence }) => sequence),
      [1, 0],
    );
  },
};

export const VOIDING_CASES: Cases = {
  'unrevokedRoots() has every root without a revocation, expired or not, page by page': async (
    store,
  ) => {
    const roots = await Promise.all([1, 2, 3].map(() => insert(store, rootToken())));
    const [first] = await chain(store, [{}, {}]);
    const expired = await insert(store, rootToken({ expires_at: at(SECOND) }));
    const revoked = await insert(store, rootToken());
    await store.revokeToken(revoked.token_id, at(SECOND), () => entry());
    const expected = [...roots, first, expired].map((token) => token?.token_id as string).sort();

    const found: string[] = [];
    for (let page = await store.unrevokedRoots('', 3); page.length > 0; ) {
      found.push(...page);
      page = await store.unrevokedRoots(page.at(-1) as string, 3);
    }

    assert.deepEqual(found.sort(), expected);
  },

  'voidPromises() ends grants, bindings and keys': async (store) => {
    const token = await insert(store, rootToken());
    const grant = await granted(store, token, { max_uses: 3, grant_type: 'session_bound' });
    const quote = binding(token);
    await store.append([entry()], [quote]);
    const call = await admitCall(store, token, { idempotency: keyOf(token, 'key') });

    await store.voidPromises();

    same(await grantOf(store, token.token_id, grant.grant_id), { ...grant, uses: 3 });
    const { bindings } = await store.load({
      tokenId: token.token_id,
      bindingIds: [quote.binding_id],
    });
    assert.deepEqual(bindings, []);
    const key = { capability: 'book_flight', key: 'key' };
    assert.equal(await recordOf(store, token.token_id, key), undefined);
    assert.equal(await store.settle(settlement(call)), 'settled', 'an open call can still end');
  },

  'voidPromises() leaves composed calls to be closed, and none to be resumed': async (store) => {
    const token = await insert(store, rootToken());
    const call = await admitCall(store, token, { composed: { to: 'Zürich' } });
    const { operation_id, instance_id } = call.intent;
    const step = { operation_id, role: 'step', step_id: 'hold', capability: 'hold_seat' } as const;
    await store.beginStep({ ...step, invocation_id: newId('inv-'), parameters: {} }, instance_id);

    await store.voidPromises();

    assert.equal(await store.adoptComposition('another', FAR), undefined);
    const [open] = await store.abandonedIntents(FAR, 10);
    assert.equal(open?.operation_id, operation_id);
  },
};
