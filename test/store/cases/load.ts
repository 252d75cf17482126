/**
 * The contract of `load`: everything that the rules of one call need, never stale.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { TokenRecord } from '../../../src/storage/port/records.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  admission,
  admitCall,
  at,
  binding,
  cents,
  chain,
  childToken,
  entry,
  freezeOf,
  granted,
  HOUR,
  insert,
  keyOf,
  newId,
  rootToken,
  settlement,
  usd,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { same } from '../observe.ts';

export const LOAD_CASES: Cases = {
  'load() finds nothing of an unknown token': async (store) => {
    const known = await insert(store, rootToken());
    await store.admit(admission(known, { idempotency: keyOf(known, 'k') }));

    const loaded = await store.load({
      tokenId: newId('tok_'),
      grantId: newId('gnt_'),
      bindingIds: [newId('bnd_')],
      idempotency: { capability: 'book_flight', key: 'k' },
    });

    same(loaded, { lineage: [], freezes: [], bindings: [] });
  },

  'load() gives the token and its lineage, root first, with spending and marks': async (store) => {
    const line = await chain(store, [
      { budget: cents(900), concurrent_branches: 'exclusive' },
      { expires_at: at(3 * HOUR) },
      { budget: cents(100), purpose: { task_id: 't' }, session_id: 's' },
    ]);
    const leaf = line[2];
    const done = await admitCall(store, leaf, { charge: usd(30n) });
    await store.settle(settlement(done, { actual: 20n }));
    await store.admit(admission(leaf, { charge: usd(7n) }));
    await store.revokeToken(line[1].token_id, at(5), () => entry());

    const loaded = await store.load({ tokenId: leaf.token_id });

    same(loaded.token, leaf);
    const described = await store.describeToken(leaf.token_id, 0);
    same(loaded.lineage, described?.lineage);
    assert.deepEqual(
      loaded.lineage.map(({ token_id }) => token_id),
      leaf.lineage,
    );
    assert.deepEqual(loaded.lineage[1]?.revoked_at, at(5));
    assert.deepEqual(
      loaded.lineage.map(({ budget }) => budget && [budget.reserved, budget.consumed]),
      [[7n, 20n], undefined, [7n, 20n]],
    );
  },

  'load() returns only what was requested': async (store) => {
    const token = await insert(store, rootToken());
    const grant = await granted(store, token);
    const issued = binding(token, { price: usd(5n) });
    const call = await admitCall(store, token, { idempotency: keyOf(token, 'k') });
    await store.settle(settlement(call, { bindings: [issued] }));

    const bare = await store.load({ tokenId: token.token_id });
    const full = await store.load({
      tokenId: token.token_id,
      grantId: grant.grant_id,
      bindingIds: [issued.binding_id, newId('bnd_')],
      idempotency: { capability: 'book_flight', key: 'k' },
    });

    same([bare.grant, bare.bindings, bare.idempotency], [undefined, [], undefined]);
    same(full.grant, grant);
    same(full.bindings, [issued]);
    assert.equal(full.idempotency?.operation_id, call.intent.operation_id);
  },

  'load() looks keys up under the token’s own chain': async (store) => {
    const root = await insert(store, rootToken());
    const child = await insert(store, childToken(root));
    const twin = await insert(store, childToken(root, { subject: child.subject }));
    const renewed = await insert(store, childToken(child, { subject: child.subject }));
    const other = await insert(store, childToken(root));
    const namesake = await insert(store, childToken(other, { subject: child.subject }));
    await store.admit(admission(child, { idempotency: keyOf(child, 'k') }));
    const idempotency = { capability: 'book_flight', key: 'k' };
    const seenBy = async ({ token_id }: TokenRecord, asked = idempotency) => {
      return (await store.load({ tokenId: token_id, idempotency: asked })).idempotency?.key;
    };

    assert.equal(await seenBy(child), 'k');
    assert.equal(await seenBy(twin), 'k', 'another token of the same chain');
    assert.equal(await seenBy(renewed), 'k', 'a token renewed by the same hands');
    assert.equal(await seenBy(namesake), undefined, 'the same name through other hands');
    assert.equal(await seenBy(root), undefined, 'another subject');
    assert.equal(await seenBy(child, { capability: 'cancel_flight', key: 'k' }), undefined);
    assert.equal(await seenBy(child, { capability: 'book_flight', key: 'K' }), undefined);
  },

  'load() returns the freezes widest first, in any order of insertion': async (store) => {
    const token = await insert(store, rootToken());
    const freezes = [
      freezeOf({ frozen_at: at(2) }),
      freezeOf({ what: 'root_principal', target: token.root_principal, frozen_at: at(1) }),
      freezeOf({ what: 'capability', target: 'book_flight', frozen_at: at(3) }),
    ];
    for (const freeze of freezes.toReversed()) await store.freeze(freeze, entry());

    const loaded = await store.load({ tokenId: token.token_id, capability: 'book_flight' });

    same(loaded.freezes, freezes);
  },

  'load() gives the freezes that apply, also those whose time has passed, and no others': async (
    store,
  ) => {
    const token = await insert(store, rootToken());
    const soon = new Date(store.now().getTime() + HOUR);
    const past = new Date(store.now().getTime() - HOUR);
    const applying = [
      freezeOf({ until: soon }),
      freezeOf({ what: 'capability', target: 'book_flight' }),
      freezeOf({ what: 'root_principal', target: token.root_principal, until: soon }),
    ];
    const others = [
      freezeOf({ what: 'capability', target: 'cancel_flight' }),
      freezeOf({ what: 'root_principal', target: 'human:other@example.com' }),
    ];
    for (const freeze of [...applying, ...others]) await store.freeze(freeze, entry());

    const loaded = await store.load({ tokenId: token.token_id, capability: 'book_flight' });
    const unnamed = await store.load({ tokenId: token.token_id });
    const passed = applying.map((freeze) => ({ ...freeze, until: past, mac: 'kid.mac' }));
    for (const freeze of passed) await store.freeze(freeze, entry());
    const after = await store.load({ tokenId: token.token_id, capability: 'book_flight' });

    const byWhat = (freezes: readonly { what: string }[]) =>
      [...freezes].sort((one, other) => (one.what < other.what ? -1 : 1));
    same(byWhat(loaded.freezes), byWhat(applying));
    same(
      byWhat(unnamed.freezes).map(({ what }) => what),
      ['root_principal', 'service'],
    );
    same(byWhat(after.freezes), byWhat(passed));
  },

  'load() gives each of many concurrent callers its own answer': async (store) => {
    const tokens: TokenRecord[] = [];
    for (let i = 0; i < 12; i++) {
      const token = await insert(store, rootToken({ budget: cents(100 + i) }));
      await admitCall(store, token, { idempotency: keyOf(token, `k${i}`) });
      tokens.push(token);
    }

    const asked = Array.from({ length: 96 }, (_, i) => ({ i, token: tokens[i % 12] }));
    const answers = await Promise.all(
      asked.map(({ i, token }) =>
        store.load({
          tokenId: token?.token_id ?? '',
          // Some request a key, and some of those an unknown one.
          ...(i % 3 === 0 && {
            idempotency: { capability: 'book_flight', key: i % 18 === 0 ? 'none' : `k${i % 12}` },
          }),
        }),
      ),
    );

    for (const [i, answer] of answers.entries()) {
      same(answer.token, tokens[i % 12]);
      assert.equal(answer.lineage[0]?.budget?.max, BigInt(100 + (i % 12)));
      const expected = i % 3 === 0 && i % 18 !== 0 ? `k${i % 12}` : undefined;
      assert.equal(answer.idempotency?.key, expected);
    }
  },

  'load() sees every change that was acknowledged before it': async (store) => {
    const tokens = await Promise.all(
      Array.from({ length: 24 }, () => insert(store, rootToken({ budget: cents(100) }))),
    );

    await Promise.all(tokens.map((token) => changeAndLook(store, token)));
  },
};

/** Others load meanwhile, which would expose a shared trip that began too early. */
async function changeAndLook(store: Store, token: TokenRecord): Promise<void> {
  const tokenId = token.token_id;
  const early = store.load({ tokenId });
  await store.admit(admission(token, { charge: usd(9n) }));
  const reserved = await store.load({ tokenId });
  await store.revokeToken(tokenId, at(5), () => entry());
  const revoked = await store.load({ tokenId });

  same((await early).token, token);
  assert.equal(reserved.lineage[0]?.budget?.reserved, 9n);
  assert.deepEqual(revoked.lineage[0]?.revoked_at, at(5));
}
