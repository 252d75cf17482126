/**
 * Delegation: from which token, by whom, and that a child never has more than its parent.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { AGENT, ALICE, PARTNER, type TestService } from '../support/world.ts';
import {
  ALICE_PRINCIPAL,
  askToken,
  assertRefusalEntry,
  assertRefused,
  blurred,
  DESK,
  onInspectedStores,
  permissionsOf,
  type Refused,
  revoke,
  rowCounts,
  view,
  watched,
} from './support.ts';

/** A parent with every constraint there is. */
const BOUND = {
  subject: 'agent:planner',
  scope: ['travel.search', 'travel.book'],
  capability: 'book_flight',
  purpose_parameters: { task_id: 'task-1', region: { eu: ['de', { b: 1, a: null }] } },
  budget: { currency: 'USD', max_amount: 300 },
  caller_class: 'partner',
  concurrent_branches: 'exclusive',
  ttl_hours: 1,
  max_delegation_depth: 3,
  session_id: 's-1',
};

const CONSTRAINTS = Object.keys(BOUND).filter((field) => !/^(scope|subject)$/.test(field));

/** Decisions, section 1.4: each way to ask for more than the parent has, and what answers it. */
const WIDER: readonly [what: string, request: object, type: Refused][] = [
  ['a scope more', { scope: ['travel.search', 'travel.read'] }, 'scope_escalation'],
  ['a longer scope', { scope: ['travel.search.all'] }, 'scope_escalation'],
  ['a shorter scope', { scope: ['travel'] }, 'scope_escalation'],
  ['a pattern', { scope: ['travel.*'] }, 'scope_escalation'],
  ['a star', { scope: ['*'] }, 'scope_escalation'],
  ['a scope in other letters', { scope: ['Travel.search'] }, 'scope_escalation'],
  ['an approver', { scope: ['approver:book_flight'] }, 'scope_escalation'],
  ['an operator', { scope: ['travel.book', 'operator:*'] }, 'scope_escalation'],
  ['another capability', { capability: 'search_flights' }, 'purpose_mismatch'],
  ['another task', { purpose_parameters: { task_id: 'task-2' } }, 'purpose_mismatch'],
  ['a look-alike task', { purpose_parameters: { task_id: 'task-1 ' } }, 'purpose_mismatch'],
  ['less of a purpose', { purpose_parameters: { region: { eu: ['de'] } } }, 'purpose_mismatch'],
  ['an emptied purpose', { purpose_parameters: { region: {} } }, 'purpose_mismatch'],
  ['another session', { session_id: 's-2' }, 'purpose_mismatch'],
  ['a session by purpose', { purpose_parameters: { session_id: 's-2' } }, 'purpose_mismatch'],
  ['a cent more', { budget: { currency: 'USD', max_amount: 300.01 } }, 'budget_exceeded'],
  ['another currency', { budget: { currency: 'EUR', max_amount: 1 } }, 'budget_currency_mismatch'],
  ['a budget of 0 EUR', { budget: { currency: 'EUR', max_amount: 0 } }, 'budget_currency_mismatch'],
  ['a deeper line', { max_delegation_depth: 4 }, 'delegation_depth_exceeded'],
  ['more branches', { concurrent_branches: 'allowed' }, 'purpose_mismatch'],
  ['a class that is told more', { caller_class: 'internal' }, 'not_entitled'],
  ['a person', { subject: 'human:alice@example.com' }, 'not_entitled'],
];

onInspectedStores((rig) => {
  test('tokens.issue inherits every constraint that is absent or null', async () => {
    const parent = await rig().issue(ALICE, BOUND);
    const nulls = Object.fromEntries(CONSTRAINTS.map((field) => [field, null]));

    for (const request of [{}, nulls, { purpose_parameters: { task_id: null, region: null } }]) {
      const child = await rig().delegate(parent, { subject: 'agent:x', ...request });
      const [above, below] = [await seen(rig(), parent), await seen(rig(), child)];

      assert.equal(below.depth, 1);
      assert.equal(below.parent_token_id, parent.token_id);
      for (const field of [...CONSTRAINTS, 'root_principal', 'purpose', 'expires_at']) {
        assert.deepEqual(below[field], above[field], field);
      }
      const { budget, capability, task_id, expires_at } = child;
      assert.deepEqual(
        { budget, capability, task_id, expires_at },
        {
          budget: BOUND.budget,
          capability: 'book_flight',
          task_id: 'task-1',
          expires_at: parent.expires_at,
        },
      );
    }
  });

  test('tokens.issue narrows every constraint that is named', async () => {
    const parent = await rig().issue(ALICE, {
      scope: ['travel.search', 'travel.book'],
      session_id: 's-1',
    });
    const child = await rig().delegate(parent, { ...BOUND, scope: ['travel.book'] });

    const stored = await seen(rig(), child);
    const { ttl_hours, purpose_parameters, ...rest } = BOUND;
    assert.deepEqual(stored.purpose, purpose_parameters);
    for (const [field, value] of Object.entries({ ...rest, scope: ['travel.book'] })) {
      assert.deepEqual(stored[field], value, field);
    }
  });

  test('tokens.issue adds keys to a purpose and keeps the existing ones', async () => {
    const parent = await rig().issue(ALICE, BOUND);
    const child = await rig().delegate(parent, {
      subject: 'agent:x',
      purpose_parameters: { seats: 2, task_id: 'task-1' },
    });

    const { purpose } = await seen(rig(), child);
    assert.deepEqual(purpose, { ...BOUND.purpose_parameters, seats: 2 });
  });

  for (const [what, request, type] of WIDER) {
    test(`tokens.issue refuses a child with ${what}, and issues nothing`, async () => {
      const parent = await rig().issue(ALICE, BOUND);
      const before = await rowCounts(rig());

      const { result, entries } = await watched(rig().store, () =>
        askToken(rig(), parent.token, {
          parent_token: parent.token_id,
          subject: 'agent:x',
          scope: ['travel.book'],
          ...request,
        }),
      );

      assertRefused(result, type);
      assertRefusalEntry(entries, {
        entry_type: 'issuance',
        actor_key: 'agent:planner',
        root_principal: ALICE_PRINCIPAL,
        failure_type: type,
        token_id: parent.token_id,
      });
      assert.deepEqual(await rowCounts(rig()), before);
    });
  }

  test('tokens.issue refuses a new session below the root', async () => {
    const parent = await rig().issue(ALICE, { scope: ['travel.search'] });

    for (const more of [{ session_id: 's' }, { purpose_parameters: { session_id: 's' } }]) {
      const reply = await askToken(rig(), parent.token, {
        parent_token: parent.token_id,
        subject: 'agent:x',
        scope: ['travel.search'],
        ...more,
      });
      assertRefused(reply, 'purpose_mismatch');
    }
  });

  test('tokens.issue allows a child exactly what a wildcard covers', async () => {
    const parent = await rig().issue(DESK, { scope: ['approver:*'] });
    const below = (scope: string) =>
      askToken(rig(), parent.token, {
        parent_token: parent.token_id,
        subject: 'agent:x',
        scope: [scope],
      });

    assert.equal((await below('approver:charter_jet')).status, 200);
    assert.equal((await below('approver:*')).status, 200);
    for (const scope of ['approver:', 'approver', 'approver:**x', 'approvers:x', 'travel.search']) {
      const { body } = await below(scope);
      assert.equal(body.issued ?? false, scope === 'approver:**x', scope);
    }
  });

  test('tokens.issue shortens a lifetime to what the parent has left', async () => {
    const parent = await rig().issue(ALICE, { scope: ['travel.search'], ttl_hours: 1 });

    for (const ttl_hours of [undefined, 1.5, 876_000]) {
      const child = await rig().delegate(parent, { subject: 'agent:x', ttl_hours });
      assert.equal(child.expires_at, parent.expires_at);
    }
    const shorter = await rig().delegate(parent, { subject: 'agent:x', ttl_hours: 0.5 });
    assert.ok(shorter.expires_at < parent.expires_at);
  });

  test('tokens.issue ends a lineage at its depth, which a request may lower', async () => {
    let token = await rig().issue(ALICE, { scope: ['travel.search'], subject: 'agent:0' });
    for (const depth of [1, 2, 3, 4, 5]) {
      token = await rig().delegate(token, { subject: `agent:${depth}` });
      assert.equal((await seen(rig(), token)).depth, depth);
    }
    const sixth = { parent_token: token.token_id, subject: 'agent:6', scope: ['travel.search'] };
    assertRefused(await askToken(rig(), token.token, sixth), 'delegation_depth_exceeded');

    const low = await rig().issue(ALICE, { scope: ['travel.search'], max_delegation_depth: 1 });
    const child = await rig().delegate(low, { subject: 'agent:x' });
    const next = { parent_token: child.token_id, subject: 'agent:y', scope: ['travel.search'] };
    assertRefused(await askToken(rig(), child.token, next), 'delegation_depth_exceeded');
    const none = await rig().issue(ALICE, { scope: ['travel.search'], max_delegation_depth: 0 });
    const first = { parent_token: none.token_id, subject: 'agent:y', scope: ['travel.search'] };
    assertRefused(await askToken(rig(), none.token, first), 'delegation_depth_exceeded');
  });

  test('tokens.issue lets only a human delegate to a human', async () => {
    const human = await rig().issue(ALICE, { scope: ['travel.search'] });
    const agent = await rig().delegate(human, { subject: 'agent:x' });
    const person = await rig().delegate(human, { subject: 'human:bob@example.com' });

    assert.equal((await seen(rig(), person)).subject, 'human:bob@example.com');
    for (const subject of ['human:bob@example.com', ALICE_PRINCIPAL]) {
      const request = { parent_token: agent.token_id, subject, scope: ['travel.search'] };
      assertRefused(await askToken(rig(), agent.token, request), 'not_entitled');
      assertRefused(await askToken(rig(), ALICE, request), 'not_entitled');
    }
  });

  test('tokens.issue issues no root from a token, and assumes no subject', async () => {
    const parent = await rig().issue(ALICE, BOUND);
    const request = { subject: 'agent:x', scope: ['travel.search'] };

    for (const parent_token of [undefined, null]) {
      const reply = await askToken(rig(), parent.token, { ...request, parent_token });
      assertRefused(reply, 'invalid_parameters');
      assert.match(reply.body.failure.detail, /parent_token/);
    }
    for (const subject of [undefined, null]) {
      const { token_id: parent_token } = parent;
      const reply = await askToken(rig(), parent.token, { ...request, subject, parent_token });
      assertRefused(reply, 'invalid_parameters');
      assert.match(reply.body.failure.detail, /subject/);
    }
  });

  test('tokens.issue delegates only from the presented token', async () => {
    const root = await rig().issue(ALICE, { scope: ['travel.search'] });
    const presented = await rig().delegate(root, { subject: 'agent:planner' });
    const others = {
      parent: root,
      child: await rig().delegate(presented, { subject: 'agent:planner' }),
      sibling: await rig().delegate(root, { subject: 'agent:planner' }),
      stranger: await rig().issue(AGENT, { scope: ['travel.search'] }),
    };
    const unknown = `tok_${'0'.repeat(32)}`;
    const from = (parent_token: string) =>
      askToken(rig(), presented.token, {
        parent_token,
        subject: 'agent:x',
        scope: ['travel.search'],
      });

    const absent = await from(unknown);
    assertRefused(absent, 'not_entitled');
    for (const [name, { token_id }] of Object.entries(others)) {
      assert.deepEqual(blurred(await from(token_id), token_id), blurred(absent, unknown), name);
    }
  });

  test('tokens.issue lets a credential delegate from a token of its own or of its root', async () => {
    const root = await rig().issue(ALICE, {
      scope: ['travel.search', 'travel.book'],
      subject: 'agent:trip-planner',
    });
    const request = { parent_token: root.token_id, scope: ['travel.book'] };

    const own = await rig().issue(AGENT, request);
    const { result: given, entries } = await watched(rig().store, () =>
      rig().issue(ALICE, { ...request, subject: 'agent:other' }),
    );

    const stored = [await seen(rig(), own), await seen(rig(), given)];
    assert.deepEqual(
      stored.map(({ subject, root_principal, depth }) => [subject, root_principal, depth]),
      [
        ['agent:trip-planner', ALICE_PRINCIPAL, 1],
        ['agent:other', ALICE_PRINCIPAL, 1],
      ],
    );
    assert.deepEqual(
      entries.map(({ actor_key, root_principal, token_id }) => [
        actor_key,
        root_principal,
        token_id,
      ]),
      [[ALICE_PRINCIPAL, ALICE_PRINCIPAL, given.token_id]],
    );
    const wider = await askToken(rig(), ALICE, {
      ...request,
      scope: ['travel.admin'],
      subject: 'agent:x',
    });
    assertRefused(wider, 'scope_escalation');
  });

  test('tokens.issue gives a credential the same answer for a foreign and an unknown parent', async () => {
    const root = await rig().issue(ALICE, { scope: ['travel.search'] });
    const child = await rig().delegate(root, { subject: 'agent:trip-planner' });
    const grandchild = await rig().delegate(child, { subject: 'agent:x' });
    const unknown = `tok_${'0'.repeat(32)}`;
    const from = (bearer: string, parent_token: string) =>
      askToken(rig(), bearer, { parent_token, scope: ['travel.search'] });

    const absent = await from(PARTNER, unknown);
    assertRefused(absent, 'not_entitled');
    for (const { token_id } of [root, child, grandchild]) {
      assert.deepEqual(blurred(await from(PARTNER, token_id), token_id), blurred(absent, unknown));
    }
    // The holder of a token above is not the holder of the token.
    assertRefused(await from(AGENT, grandchild.token_id), 'not_entitled');
    assertRefused(await from(AGENT, root.token_id), 'not_entitled');
  });

  test('tokens.issue issues nothing below a token that has ended, to any caller', async () => {
    const request = { scope: ['travel.search'], subject: 'agent:x' };
    const root = await rig().issue(ALICE, { scope: ['travel.search'] });
    const child = await rig().delegate(root, { subject: 'agent:trip-planner' });
    await revoke(rig(), ALICE, root.token_id);

    for (const [bearer, parent] of [
      [ALICE, root],
      [ALICE, child],
      [AGENT, child],
      [root.token, root],
      [child.token, child],
    ] as const) {
      const reply = await askToken(rig(), bearer, { ...request, parent_token: parent.token_id });
      assertRefused(reply, 'invalid_token');
    }
  });

  test('tokens.issue records a refusal for a token that has ended, and none for an unknown token', async () => {
    const root = await rig().issue(ALICE, { scope: ['travel.search'], subject: 'agent:planner' });
    await revoke(rig(), ALICE, root.token_id);
    const request = {
      scope: ['travel.search'],
      subject: 'agent:x',
      parent_token: root.token_id,
    };

    const ended = await watched(rig().store, () => askToken(rig(), root.token, request));
    const forged = await watched(rig().store, () =>
      askToken(rig(), `${root.token.slice(0, -4)}AAAA`, request),
    );

    assertRefused(ended.result, 'invalid_token');
    assertRefusalEntry(ended.entries, {
      entry_type: 'issuance',
      actor_key: 'agent:planner',
      root_principal: ALICE_PRINCIPAL,
      failure_type: 'invalid_token',
      token_id: root.token_id,
    });
    assertRefused(forged.result, 'invalid_token');
    assert.deepEqual(forged.entries, []);
  });

  test('tokens.issue makes children that work, each within its own bounds', async () => {
    const root = await rig().issue(ALICE, { scope: ['travel.search', 'travel.extras'] });
    const child = await rig().delegate(root, {
      subject: 'agent:x',
      scope: ['travel.extras'],
      budget: { currency: 'USD', max_amount: 30 },
    });

    assert.equal((await rig().invoke(child.token, 'buy_lounge_pass')).status, 200);
    assertRefused(await rig().invoke(child.token, 'buy_lounge_pass'), 'budget_exceeded');
    assertRefused(await rig().invoke(child.token, 'search_flights'), 'scope_insufficient');
    assert.equal((await rig().invoke(root.token, 'buy_lounge_pass')).status, 200);
    assert.equal((await permissionsOf(rig(), child.token)).status, 200);
  });
});

/** The stored authority, as its holder sees it. */
// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
async function seen(service: TestService, { token, token_id }: IssueAnswer): Promise<any> {
  const { status, body } = await view(service, token, token_id);
  assert.equal(status, 200);
  return body;
}
