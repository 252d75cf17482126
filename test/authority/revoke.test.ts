/**
 * Revocation and the view of a token: by whom, what ends, and what others learn.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { AGENT, ALICE, BOB, OPERATOR, PARTNER, type TestService } from '../support/world.ts';
import {
  ALICE_PRINCIPAL,
  ask,
  assertRefusalEntry,
  assertRefused,
  blurred,
  DESK,
  FREEZER,
  onBothStores,
  permissionsOf,
  READER,
  REVOKER,
  revoke,
  view,
  watched,
} from './support.ts';

const UNKNOWN = `tok_${'0'.repeat(32)}`;

/** root (alice) → middle (agent:trip-planner) → leaf (service:partner-portal), and a sibling. */
async function family(service: TestService) {
  const root = await service.issue(ALICE, { scope: ['travel.search'] });
  const middle = await service.delegate(root, { subject: 'agent:trip-planner' });
  const leaf = await service.delegate(middle, { subject: 'service:partner-portal' });
  const below = await service.delegate(leaf, { subject: 'agent:below' });
  const sibling = await service.delegate(root, { subject: 'agent:sibling' });
  return { root, middle, leaf, below, sibling };
}
type Family = Awaited<ReturnType<typeof family>>;

/** Decisions, section 1.9: root principal, holder, any ancestor's holder, operator. */
const ALLOWED: readonly [who: string, bearer: (family: Family) => string][] = [
  ['the root principal by its credential', () => ALICE],
  ['the root principal by its token', ({ root }) => root.token],
  ['the holder by its credential', () => PARTNER],
  ['the holder by the token itself', ({ leaf }) => leaf.token],
  ["an ancestor's holder by its credential", () => AGENT],
  ["an ancestor's holder by its token", ({ middle }) => middle.token],
];

const REFUSED: readonly [who: string, bearer: (family: Family) => string][] = [
  ['a sibling', ({ sibling }) => sibling.token],
  ['a child', ({ below }) => below.token],
  ['a stranger by credential', () => BOB],
  ['another service by credential', () => DESK],
  ['an operator of something else', () => FREEZER],
];

onBothStores((rig) => {
  for (const [who, bearer] of ALLOWED) {
    test(`tokens.revoke and tokens.get accept ${who}`, async () => {
      const tokens = await family(rig());
      const { leaf } = tokens;

      const seen = await view(rig(), bearer(tokens), leaf.token_id);
      const revoked = await revoke(rig(), bearer(tokens), leaf.token_id);

      assert.equal(seen.body.state, 'active');
      assert.equal(revoked.status, 200, JSON.stringify(revoked.body));
      assert.equal(revoked.body.ended, 2);
    });
  }

  for (const [who, bearer] of REFUSED) {
    test(`tokens.revoke and tokens.get answer ${who} as if the token did not exist`, async () => {
      const tokens = await family(rig());
      const { leaf } = tokens;

      for (const perform of [revoke, view]) {
        const foreign = await perform(rig(), bearer(tokens), leaf.token_id);
        const absent = await perform(rig(), bearer(tokens), UNKNOWN);
        assertRefused(foreign, 'not_found');
        assert.deepEqual(blurred(foreign, leaf.token_id), blurred(absent, UNKNOWN));
      }
      assert.equal((await permissionsOf(rig(), leaf.token)).status, 200);
    });
  }

  test('tokens.revoke and tokens.get accept operators with their scope', async () => {
    const tokens = await family(rig());
    const { leaf, sibling } = tokens;
    const token = await rig().issue(REVOKER, { scope: ['operator:revoke'] });

    assertRefused(await revoke(rig(), READER, leaf.token_id), 'not_found');
    assertRefused(await view(rig(), REVOKER, leaf.token_id), 'not_found');
    assert.equal((await view(rig(), READER, leaf.token_id)).status, 200);
    assert.equal((await revoke(rig(), token.token, leaf.token_id)).status, 200);
    assert.equal((await view(rig(), OPERATOR, leaf.token_id)).body.state, 'revoked');
    assert.equal((await revoke(rig(), OPERATOR, sibling.token_id)).status, 200);
  });

  test('tokens.revoke refuses a token that only has the name of the root principal', async () => {
    const root = await rig().issue(DESK, { scope: ['travel.search'] });
    const agent = await rig().delegate(root, { subject: 'agent:crook' });
    const victim = await rig().delegate(root, { subject: 'agent:victim' });
    const minted = await rig().delegate(agent, { subject: 'service:desk' });
    const other = await rig().issue(DESK, { scope: ['travel.search'], subject: 'agent:crook' });

    for (const { token } of [minted, agent, other]) {
      for (const { token_id } of [victim, root]) {
        assertRefused(await revoke(rig(), token, token_id), 'not_found');
        assertRefused(await view(rig(), token, token_id), 'not_found');
      }
    }
    assert.equal((await permissionsOf(rig(), victim.token)).status, 200);
    // The root principal's own root token speaks for it, also over another tree.
    const own = await rig().issue(DESK, { scope: ['approver:x'] });
    assert.equal((await revoke(rig(), own.token, victim.token_id)).status, 200);
  });

  test('tokens.revoke ends the token and all its descendants at once, and no other', async () => {
    const { root, middle, leaf, below, sibling } = await family(rig());

    const { result, entries } = await watched(rig().store, () =>
      revoke(rig(), AGENT, middle.token_id),
    );

    assert.deepEqual(Object.keys(result.body).sort(), [
      'ended',
      'revoked',
      'revoked_at',
      'token_id',
    ]);
    assert.deepEqual([result.body.revoked, result.body.ended], [true, 3]);
    for (const { token } of [middle, leaf, below]) {
      assertRefused(await permissionsOf(rig(), token), 'invalid_token');
    }
    for (const { token } of [root, sibling]) {
      assert.equal((await permissionsOf(rig(), token)).status, 200);
    }
    assert.equal(entries.length, 1);
    const [entry] = entries;
    assert.deepEqual(
      [entry?.entry_type, entry?.state, entry?.actor_key, entry?.root_principal, entry?.token_id],
      ['revocation', 'completed', 'agent:trip-planner', ALICE_PRINCIPAL, middle.token_id],
    );
    assert.deepEqual(entry?.detail, { was_alive: true, subject: 'agent:trip-planner' });
  });

  test('tokens.revoke counts only tokens that were alive', async () => {
    const { root, leaf, below } = await family(rig());
    assert.equal((await revoke(rig(), ALICE, leaf.token_id)).body.ended, 2);
    assert.equal((await revoke(rig(), ALICE, below.token_id)).body.ended, 0);

    assert.equal((await revoke(rig(), ALICE, root.token_id)).body.ended, 3);
  });

  test('tokens.revoke can be repeated and ends nothing more', async () => {
    const { leaf } = await family(rig());
    const first = await revoke(rig(), ALICE, leaf.token_id);
    rig().advance(5_000);

    const { result, entries } = await watched(rig().store, () =>
      revoke(rig(), ALICE, leaf.token_id),
    );

    assert.deepEqual(result.body, { ...first.body, ended: 0 });
    assert.deepEqual(
      entries.map(({ entry_type, detail }) => [entry_type, detail?.was_alive]),
      [['revocation', false]],
    );
  });

  test('tokens.revoke records one entry for a refusal, in the trail of the caller', async () => {
    const { leaf } = await family(rig());

    const { result, entries } = await watched(rig().store, () => revoke(rig(), BOB, leaf.token_id));

    assertRefused(result, 'not_found');
    assertRefusalEntry(entries, {
      entry_type: 'revocation',
      actor_key: 'human:bob@example.com',
      root_principal: 'human:bob@example.com',
      failure_type: 'not_found',
      token_id: null,
    });
  });

  test('tokens.revoke names a malformed token id in its refusal, and stores no credential', async () => {
    for (const body of [
      {},
      { token_id: null },
      { token_id: 7 },
      { token_id: '' },
      { token_id: ALICE },
      { token_id: UNKNOWN, all: true },
    ]) {
      const { result, entries } = await watched(rig().store, () =>
        ask(rig(), ALICE, '/svc/tokens/revoke', body),
      );
      assertRefused(result, 'invalid_parameters');
      assert.match(result.body.failure.detail, /token_id|"all"/);
      assertRefusalEntry(entries, { failure_type: 'invalid_parameters' });
      assert.ok(!JSON.stringify(entries).includes(ALICE));
    }
    assertRefused(await view(rig(), ALICE, 'revoked'), 'invalid_parameters');
    assertRefused(await view(rig(), 'nobody', UNKNOWN), 'authentication_required');
  });

  test('tokens.get shows authority, state, spending and children, and never the signed text', async () => {
    const root = await rig().issue(ALICE, {
      scope: ['travel.extras', 'travel.search'],
      budget: { currency: 'USD', max_amount: 100 },
      purpose_parameters: { task_id: 'task-1' },
      session_id: 's-1',
    });
    const child = await rig().delegate(root, {
      subject: 'agent:x',
      capability: 'buy_lounge_pass',
      scope: ['travel.extras'],
      budget: { currency: 'USD', max_amount: 90 },
    });
    assert.equal((await rig().invoke(root.token, 'buy_lounge_pass')).status, 200);
    assert.equal((await rig().invoke(child.token, 'buy_lounge_pass')).status, 200);

    const above = await view(rig(), root.token, root.token_id);
    const below = await view(rig(), child.token, child.token_id);

    const { issued_at, ...stored } = above.body;
    assert.ok(Math.abs(Date.parse(issued_at) - Date.parse(root.expires_at) + 7_200_000) <= 1_000);
    assert.deepEqual(stored, {
      token_id: root.token_id,
      state: 'active',
      subject: ALICE_PRINCIPAL,
      root_principal: ALICE_PRINCIPAL,
      parent_token_id: null,
      depth: 0,
      scope: ['travel.extras', 'travel.search'],
      capability: null,
      purpose: { task_id: 'task-1' },
      budget: { currency: 'USD', max_amount: 100 },
      budget_spent: 50,
      budget_reserved: 0,
      budget_remaining: 50,
      conditions: null,
      max_delegation_depth: 5,
      concurrent_branches: 'allowed',
      caller_class: 'internal',
      session_id: 's-1',
      expires_at: root.expires_at,
      revoked_at: null,
      children: [child.token_id],
      children_count: 1,
      debts: [],
    });
    // 65 of its own are left, but its parent has only 50.
    assert.deepEqual(
      [below.body.budget_spent, below.body.budget_remaining, below.body.parent_token_id],
      [25, 50, root.token_id],
    );
    assert.ok(!JSON.stringify(above.body).includes(root.token.split('.')[2] as string));
  });

  test('tokens.get shows when a token ended, and that an ancestor ended it', async () => {
    const { root, middle } = await family(rig());
    const { body } = await revoke(rig(), ALICE, root.token_id);

    for (const { token_id } of [root, middle]) {
      const seen = await view(rig(), ALICE, token_id);
      assert.deepEqual([seen.body.state, seen.body.revoked_at], ['revoked', body.revoked_at]);
    }
  });

  test('tokens.get shows a hundred children and counts them all', async () => {
    const root = await rig().issue(ALICE, { scope: ['travel.search'] });
    const children: IssueAnswer[] = [];
    for (let index = 0; index < 101; index += 1) {
      children.push(await rig().delegate(root, { subject: 'agent:x' }));
    }

    const { body } = await view(rig(), root.token, root.token_id);

    const ids = children.map(({ token_id }) => token_id).sort();
    assert.deepEqual(body.children, ids.slice(0, 100));
    assert.equal(body.children_count, 101);
  });

  test('tokens.get records no entry', async () => {
    const { root } = await family(rig());
    const { entries } = await watched(rig().store, async () => {
      await view(rig(), root.token, root.token_id);
      await view(rig(), BOB, root.token_id);
    });

    assert.deepEqual(entries, []);
  });

  test('a revoked token is refused while its call waits for the store', async () => {
    const { leaf } = await family(rig());
    const rounds = Array.from({ length: 10 }, async () => {
      const answers = await Promise.all([
        permissionsOf(rig(), leaf.token),
        revoke(rig(), ALICE, leaf.token_id),
      ]);
      return [...answers, await permissionsOf(rig(), leaf.token)] as const;
    });

    for (const [, revoked, after] of await Promise.all(rounds)) {
      assert.equal(revoked.status, 200);
      assertRefused(after, 'invalid_token');
    }
  });
});
