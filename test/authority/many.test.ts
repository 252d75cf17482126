/**
 * Large families: ten thousand tokens end with one revocation, and no parent has more children. What
 * ended is counted in slices.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { TokenRecord } from '../../src/storage/port/records.ts';
import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { childToken, entry } from '../support/fixtures.ts';
import { countTurns } from '../support/turns.ts';
import { ALICE, STORES, testService } from '../support/world.ts';
import {
  askToken,
  assertRefused,
  type Inspected,
  onInspectedStores,
  permissionsOf,
  revoke,
  view,
} from './support.ts';

/** Decisions, section 9: children per token. */
const CHILDREN_MAX = 10_000;

onInspectedStores((rig) => {
  test('tokens.revoke ends ten thousand descendants at once, the most a parent can have', async () => {
    const root = await rig().issue(ALICE, { scope: ['travel.search'] });
    const first = await rig().delegate(root, { subject: 'agent:first' });
    const grandchild = await rig().delegate(first, { subject: 'agent:grandchild' });
    // One child is there; one short of the bound, so that both sides of it are asked for.
    await addChildren(rig(), root.token_id, CHILDREN_MAX - 2);

    const request = { parent_token: root.token_id, subject: 'agent:x', scope: ['travel.search'] };
    const fits = await askToken(rig(), root.token, request);
    const beyond = await askToken(rig(), root.token, request);

    assert.equal(fits.status, 200);
    assertRefused(beyond, 'delegation_depth_exceeded');
    assert.match(beyond.body.failure.detail, /10000 children/);
    const seen = await view(rig(), ALICE, root.token_id);
    assert.deepEqual([seen.body.children_count, seen.body.children.length], [CHILDREN_MAX, 100]);

    const revoked = await revoke(rig(), ALICE, root.token_id);

    // The root, its ten thousand children, and the one below the first of them.
    assert.equal(revoked.body.ended, CHILDREN_MAX + 2);
    for (const { token } of [root, first, grandchild, fits.body]) {
      assertRefused(await permissionsOf(rig(), token), 'invalid_token');
    }
    for (const number of [1, 5_000, CHILDREN_MAX - 2]) {
      const described = await rig().store.describeToken(childId(number), 0);
      assert.ok(described?.lineage[0]?.revoked_at);
    }
  });
});

for (const { name, open } of STORES) {
  test(`tokens.revoke ends the token before it counts, and counts in slices (${name})`, async () => {
    const place = await open();
    const read = countTurns();
    let isDead: boolean | undefined;
    const wrap = (store: Store): Store => ({
      ...store,
      async childrenOf(...query) {
        const { lineage } = (await store.describeToken(query[0][0] ?? '', 0)) ?? {};
        isDead ??= lineage?.some(({ revoked_at }) => revoked_at !== undefined);
        const children = await store.childrenOf(...query);
        read.add(children.length);
        return children;
      },
    });
    const desk = await testService({ store: place.url, wrap });
    const { token_id } = await desk.issue(ALICE, { scope: ['travel.search'] });
    const { token: root } = (await desk.store.describeToken(token_id, 0)) ?? {};
    assert.ok(root);
    const bounds = { now: desk.store.now(), childrenMax: CHILDREN_MAX };
    const insert = async (parent: TokenRecord, count: number) => {
      const children = Array.from({ length: count }, () => childToken(parent));
      const kept = children.map((child) => desk.store.insertChild(child, entry(), bounds));
      await Promise.all(kept);
      return children;
    };
    // More than a page of children, and more parents than a page has.
    for (const child of await insert(root, 300)) await insert(child, 2);

    const revoked = await revoke(desk, ALICE, token_id);

    assert.equal(revoked.body.ended, 1 + 300 + 600);
    assert.equal(isDead, true);
    assert.equal(read.all(), 900);
    assert.ok(read.most() <= 128, `${read.most()} children were read in one turn`);
  });
}

test('tokens.revoke confirms the revocation when the ended tokens cannot be counted', async () => {
  const wrap = (store: Store): Store => ({
    ...store,
    childrenOf: () => Promise.reject(new StoreUnavailable('Cannot read: out of reach')),
  });
  const desk = await testService({ wrap });
  const { token_id, token } = await desk.issue(ALICE, { scope: ['travel.search'] });

  const revoked = await revoke(desk, ALICE, token_id);

  assert.deepEqual([revoked.status, revoked.body.ended], [200, 1]);
  assertRefused(await permissionsOf(desk, token), 'invalid_token');
});

function childId(number: number): string {
  return `tok_${number.toString(16).padStart(32, '0')}`;
}

/** Puts children straight into the tables: asking for each would take minutes. */
async function addChildren({ place }: Inspected, parent: string, count: number): Promise<void> {
  const isFile = place.url.startsWith('sqlite:');
  const ids = isFile
    ? `(WITH RECURSIVE numbers (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM numbers
         WHERE n < ${count}) SELECT printf('tok_%032x', n) AS id FROM numbers)`
    : `(SELECT 'tok_' || lpad(to_hex(n), 32, '0') AS id FROM generate_series(1, ${count}) n)`;
  const lineage = isFile ? "json_insert(p.lineage, '$[#]', c.id)" : 'p.lineage || c.id';
  const rest = 'purpose, caller_class, concurrent_branches, max_delegation_depth, issued_at';
  await place.alter(
    `INSERT INTO tokens (token_id, parent_token_id, lineage, subject, root_principal, scope, depth,
       ${rest}, expires_at, kid, claims_digest, chain)
     SELECT c.id, p.token_id, ${lineage}, 'agent:many', p.root_principal, p.scope, p.depth + 1,
       ${rest}, p.expires_at, p.kid, p.claims_digest, p.chain
     FROM tokens p CROSS JOIN ${ids} c WHERE p.token_id = '${parent}'`,
  );
  const counter = isFile ? 'tokens' : 'families';
  await place.alter(
    `UPDATE ${counter} SET children = children + ${count} WHERE token_id = '${parent}'`,
  );
}
