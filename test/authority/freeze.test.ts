/**
 * The kill switch: who may throw it, what it stops, and that it stops before anything runs.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { afterEach, test } from 'vitest';
import { AGENT, ALICE, OPERATOR, type Reply, type TestService } from '../support/world.ts';
import {
  ALICE_PRINCIPAL,
  ask,
  askToken,
  assertRefusalEntry,
  assertRefused,
  DESK,
  FREEZER,
  onBothStores,
  permissionsOf,
  type Refused,
  revoke,
  view,
  watched,
} from './support.ts';

const REASON = 'odd bookings';
const ALL = [
  { what: 'service' },
  { what: 'capability', target: 'buy_lounge_pass' },
  { what: 'root_principal', target: ALICE_PRINCIPAL },
];

function freeze(service: TestService, bearer: string, request: object): Promise<Reply> {
  return ask(service, bearer, '/svc/operator/freeze', { reason: REASON, ...request });
}

function unfreeze(service: TestService, bearer: string, request: object): Promise<Reply> {
  return ask(service, bearer, '/svc/operator/unfreeze', { reason: 'looked at it', ...request });
}

function frozen(service: TestService, bearer = OPERATOR): Promise<Reply> {
  return ask(service, bearer, '/svc/operator/frozen');
}

/** Every field wrong in type, form, size or meaning. */
const WRONG: readonly [what: string, request: object, type: Refused, named: RegExp][] = [
  ['nothing named', { what: undefined }, 'invalid_parameters', /what/],
  ['an unknown kind', { what: 'token', target: 'x' }, 'invalid_parameters', /what/],
  ['no capability', { what: 'capability' }, 'invalid_parameters', /target/],
  ['no principal', { what: 'root_principal', target: null }, 'invalid_parameters', /target/],
  ['a named service', { what: 'service', target: 'travel-desk' }, 'invalid_parameters', /target/],
  ['an empty target', { what: 'capability', target: '' }, 'invalid_parameters', /target/],
  ['an unknown capability', { what: 'capability', target: 'fly' }, 'unknown_capability', /"fly"/],
  ['an odd capability', { what: 'capability', target: '__proto__' }, 'unknown_capability', /proto/],
  ['half a principal', { what: 'root_principal', target: 'alice' }, 'invalid_parameters', /target/],
  ['a pattern', { what: 'root_principal', target: 'human:*' }, 'invalid_parameters', /target/],
  [
    'a copy of a principal',
    { what: 'root_principal', target: 'human:zoe\u0308' },
    'invalid_parameters',
    /zoe/,
  ],
  ['no reason', { what: 'service', reason: undefined }, 'invalid_parameters', /reason/],
  ['an empty reason', { what: 'service', reason: '  ' }, 'invalid_parameters', /reason/],
  ['a book', { what: 'service', reason: 'x'.repeat(1_001) }, 'invalid_parameters', /reason/],
  [
    'an end that is past',
    { what: 'service', until: '2020-01-01T00:00:00.000Z' },
    'invalid_parameters',
    /until/,
  ],
  ['an end that is not a time', { what: 'service', until: 'soon' }, 'invalid_parameters', /until/],
  [
    'an end without zone',
    { what: 'service', until: '2100-01-01T00:00:00' },
    'invalid_parameters',
    /until/,
  ],
  [
    'a misspelt end',
    { what: 'service', untill: '2100-01-01T00:00:00Z' },
    'invalid_parameters',
    /untill/,
  ],
];

onBothStores((rig) => {
  afterEach(async () => {
    for (const target of ALL) await unfreeze(rig(), OPERATOR, target);
  });

  for (const [what, request, type, named] of WRONG) {
    test(`operator.freeze refuses ${what} by name, and freezes nothing`, async () => {
      const { result, entries } = await watched(rig().store, () =>
        freeze(rig(), OPERATOR, request),
      );

      assertRefused(result, type);
      assert.match(result.body.failure.detail, named);
      assertRefusalEntry(entries, {
        entry_type: 'operator',
        actor_key: 'service:operator',
        failure_type: type,
      });
      assert.deepEqual((await frozen(rig())).body, { frozen: [], next_cursor: null });
    });
  }

  test('operator.freeze, unfreeze and frozen each require their own scope', async () => {
    const agent = await rig().issue(ALICE, { scope: ['travel.search'], subject: 'agent:x' });
    const only = await rig().issue(FREEZER, { scope: ['operator:freeze'] });
    const [service] = ALL;

    for (const bearer of [ALICE, AGENT, agent.token]) {
      for (const perform of [freeze, unfreeze]) {
        const { result, entries } = await watched(rig().store, () =>
          perform(rig(), bearer, service as object),
        );
        assertRefused(result, 'scope_insufficient');
        assert.deepEqual(result.body.failure.resolution.requires, [
          `operator:${perform === freeze ? 'freeze' : 'unfreeze'}`,
        ]);
        assertRefusalEntry(entries, {
          entry_type: 'operator',
          failure_type: 'scope_insufficient',
          token_id: bearer === agent.token ? agent.token_id : null,
        });
      }
      const { result, entries } = await watched(rig().store, () => frozen(rig(), bearer));
      assertRefused(result, 'scope_insufficient');
      assert.deepEqual(entries, []);
    }
    for (const bearer of [FREEZER, only.token]) {
      assert.equal((await freeze(rig(), bearer, service as object)).status, 200);
      assertRefused(await unfreeze(rig(), bearer, service as object), 'scope_insufficient');
      assertRefused(await frozen(rig(), bearer), 'scope_insufficient');
    }
    assert.equal((await unfreeze(rig(), OPERATOR, service as object)).body.lifted, true);
  });

  test('operator.freeze answers, lists and records the freeze, and unfreeze what it lifted', async () => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    for (const target of ALL) {
      const request = { ...target, ...(target.what === 'capability' && { until }) };
      const { result, entries } = await watched(rig().store, () =>
        freeze(rig(), OPERATOR, request),
      );

      const { frozen_at, ...told } = result.body;
      assert.match(frozen_at, /^\d{4}-.*Z$/);
      assert.deepEqual(told, {
        what: target.what,
        target: target.target ?? null,
        root_principal: null,
        reason: REASON,
        frozen_by: 'service:operator',
        until: target.what === 'capability' ? until : null,
      });
      assert.deepEqual((await frozen(rig())).body.frozen[0], result.body);
      assert.equal(entries.length, 1);
      const [entry] = entries;
      assert.deepEqual(
        [entry?.entry_type, entry?.state, entry?.actor_key],
        ['operator', 'completed', 'service:operator'],
      );
      assert.deepEqual(entry?.detail, { verb: 'freeze', reason: REASON, ...request });
      rig().advance(1);
    }
    const { body } = await frozen(rig());
    assert.deepEqual(
      body.frozen.map(({ what }: { what: string }) => what),
      ['root_principal', 'capability', 'service'],
    );
    for (const target of ALL) {
      const lifted = await watched(rig().store, () => unfreeze(rig(), OPERATOR, target));
      const again = await watched(rig().store, () => unfreeze(rig(), OPERATOR, target));
      assert.deepEqual(
        [lifted.result.body, again.result.body],
        [{ lifted: true }, { lifted: false }],
      );
      const detail = { verb: 'unfreeze', reason: 'looked at it', ...target };
      assert.deepEqual(
        [...lifted.entries, ...again.entries].map((entry) => entry.detail),
        [detail, detail],
      );
    }
  });

  test('a frozen root principal can invoke and issue nothing, at any depth; others continue', async () => {
    const root = await rig().issue(ALICE, SPENDING);
    const child = await rig().delegate(root, { subject: 'agent:trip-planner' });
    const other = await rig().issue(DESK, SPENDING);
    await freeze(rig(), OPERATOR, { what: 'root_principal', target: ALICE_PRINCIPAL });

    const below = { scope: ['travel.extras'], subject: 'agent:x' };
    const refused = [
      await rig().invoke(root.token, 'buy_lounge_pass'),
      await rig().invoke(child.token, 'buy_lounge_pass'),
      await rig().invoke(child.token, 'search_flights', SEARCH),
      await askToken(rig(), ALICE, { scope: ['travel.extras'] }),
      await askToken(rig(), child.token, { ...below, parent_token: child.token_id }),
      // The agent is not frozen, but what it delegates from is.
      await askToken(rig(), AGENT, { ...below, parent_token: child.token_id }),
      await askToken(rig(), ALICE, { ...below, parent_token: child.token_id }),
    ];
    for (const reply of refused) assertFrozen(reply);
    assert.equal((await rig().invoke(other.token, 'buy_lounge_pass')).status, 200);
    assert.equal((await askToken(rig(), AGENT, { scope: ['travel.search'] })).status, 200);
    assert.equal((await view(rig(), root.token, root.token_id)).body.budget_spent, 0);

    await unfreeze(rig(), OPERATOR, { what: 'root_principal', target: ALICE_PRINCIPAL });
    assert.equal((await rig().invoke(child.token, 'buy_lounge_pass')).status, 200);
  });

  test('a frozen capability cannot be invoked; the others continue', async () => {
    const { token, token_id } = await rig().issue(ALICE, SPENDING);
    await freeze(rig(), OPERATOR, { what: 'capability', target: 'buy_lounge_pass' });

    assertFrozen(await rig().invoke(token, 'buy_lounge_pass'));
    assert.equal((await rig().invoke(token, 'search_flights', SEARCH)).status, 200);
    assert.equal((await askToken(rig(), ALICE, SPENDING)).status, 200);
    assert.equal((await view(rig(), token, token_id)).body.budget_spent, 0);
  });

  test('a frozen service invokes and issues nothing, and still answers reads and revocations', async () => {
    const { token, token_id } = await rig().issue(ALICE, SPENDING);
    await freeze(rig(), OPERATOR, { what: 'service' });

    assertFrozen(await rig().invoke(token, 'search_flights', SEARCH));
    for (const [bearer, scope] of [
      [ALICE, 'travel.search'],
      [OPERATOR, 'operator:freeze'],
    ] as const) {
      assertFrozen(await askToken(rig(), bearer, { scope: [scope] }));
    }
    assert.equal((await permissionsOf(rig(), token)).status, 200);
    assert.equal((await view(rig(), token, token_id)).status, 200);
    assert.equal((await ask(rig(), token, '/svc/audit', {})).status, 200);
    assert.equal((await revoke(rig(), ALICE, token_id)).status, 200);
    assert.equal((await unfreeze(rig(), OPERATOR, { what: 'service' })).body.lifted, true);
  });

  test('a refusal by a freeze is recorded, with its reason and its end', async () => {
    const { token, token_id } = await rig().issue(ALICE, SPENDING);
    const until = new Date(rig().store.now().getTime() + 60_000).toISOString();
    await freeze(rig(), OPERATOR, { what: 'service', until });

    const invoked = await watched(rig().store, () => rig().invoke(token, 'buy_lounge_pass'));
    const issued = await watched(rig().store, () => askToken(rig(), ALICE, SPENDING));

    for (const { result } of [invoked, issued]) {
      assertRefused(result, 'frozen');
      assert.match(result.body.failure.detail, /odd bookings/);
      assert.equal(result.body.failure.resolution.estimated_availability, until);
    }
    const common = { actor_key: ALICE_PRINCIPAL, failure_type: 'frozen' } as const;
    assertRefusalEntry(invoked.entries, { entry_type: 'invocation', token_id, ...common });
    assertRefusalEntry(issued.entries, { entry_type: 'issuance', token_id: null, ...common });
  });

  test('a freeze ends at its end time, and then there is nothing to lift', async () => {
    const { token } = await rig().issue(ALICE, SPENDING);
    const end = rig().store.now().getTime() + 60_000;
    await freeze(rig(), OPERATOR, { what: 'service', until: new Date(end).toISOString() });
    assertRefused(await rig().invoke(token, 'buy_lounge_pass'), 'frozen');

    rig().advance(60_001);

    assert.deepEqual((await frozen(rig())).body, { frozen: [], next_cursor: null });
    assert.equal((await rig().invoke(token, 'buy_lounge_pass')).status, 200);
    assert.equal((await askToken(rig(), ALICE, SPENDING)).status, 200);
    assert.deepEqual((await unfreeze(rig(), OPERATOR, { what: 'service' })).body, {
      lifted: false,
    });
  });

  test('operator.freeze replaces the reason and the end of a freeze', async () => {
    const until = new Date(rig().store.now().getTime() + 60_000).toISOString();
    await freeze(rig(), OPERATOR, { what: 'service', until });
    await freeze(rig(), FREEZER, { what: 'service', reason: 'worse than thought' });

    const { body } = await frozen(rig());
    assert.equal(body.frozen.length, 1);
    const [{ reason, until: end, frozen_by }] = body.frozen;
    assert.deepEqual([reason, end, frozen_by], ['worse than thought', null, 'service:freezer']);
  });
});

const SPENDING = {
  scope: ['travel.extras', 'travel.search'],
  budget: { currency: 'USD', max_amount: 100 },
};

const SEARCH = { origin: 'SEA', destination: 'SFO', date: '2030-01-01' };

function assertFrozen(reply: Reply): void {
  assertRefused(reply, 'frozen');
  assert.equal(reply.body.failure.resolution.estimated_availability, undefined);
}
