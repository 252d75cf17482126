/**
 * Rows that carry authority, changed behind the service's back: each is refused without an effect, in
 * the words of one that does not exist, and raises an alarm. Asked over a real socket.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { ALICE, OPERATOR } from '../support/world.ts';
import { ALICE_PRINCIPAL, onInspectedStores, rowCounts } from './support.ts';
import {
  alarmCount,
  alarms,
  childOf,
  type Dialect,
  isFile,
  issue,
  refusedAs,
  type Sent,
  send,
  update,
} from './tampering.ts';

/** In which every column that can be filled is. */
const FULL = {
  subject: 'agent:planner',
  scope: ['travel.search', 'travel.extras'],
  purpose_parameters: { task_id: 'trip-7' },
  budget: { currency: 'USD', max_amount: 1_000 },
  session_id: 's-1',
  conditions: { search_flights: { max_results: { at_least: 1, at_most: 3 } } },
  ttl_hours: 2,
};

/** What each column of a token's row, and of its budget's, is changed to. */
const TOKEN_EDITS: readonly [name: string, set: Dialect][] = [
  ['subject', "subject = 'agent:evil'"],
  ['root_principal', "root_principal = 'human:bob@example.com'"],
  ['scope', { file: `scope = '["operator:*"]'`, database: "scope = ARRAY['operator:*']" }],
  ['scope, to no list', { file: "scope = 'x'", database: "scope = '{}'" }],
  ['lineage, to no list', { file: "lineage = '{'", database: "lineage = '{}'" }],
  ['capability', "capability = 'search_flights'"],
  ['purpose', "purpose = '{}'"],
  ['caller_class', "caller_class = 'automated_agent'"],
  ['concurrent_branches', "concurrent_branches = 'exclusive'"],
  ['max_delegation_depth', 'max_delegation_depth = 32'],
  ['session_id', 'session_id = NULL'],
  ['conditions, to none', 'conditions = NULL'],
  [
    'conditions, to wider ones',
    {
      file: "conditions = replace(conditions, '3', '9')",
      database: "conditions = replace(conditions::text, '3', '9')::jsonb",
    },
  ],
  [
    'the inputs that the conditions know',
    {
      file: `conditions = replace(conditions, '"inputs":{', '"inputs":{"more":"string",')`,
      database: `conditions = jsonb_set(conditions, '{search_flights,inputs,more}', '"string"')`,
    },
  ],
  [
    'issued_at',
    { file: 'issued_at = issued_at + 1', database: "issued_at = issued_at + interval '1 ms'" },
  ],
  [
    'expires_at',
    { file: 'expires_at = expires_at + 9', database: "expires_at = expires_at + interval '9 h'" },
  ],
  ['kid', "kid = 'other'"],
  ['claims_digest', "claims_digest = 'sha256:00'"],
  ['mac', 'mac = NULL'],
  ['mac of another key', "mac = 'other.AAAA'"],
];

const BUDGET_EDITS: readonly [name: string, sql: string][] = [
  ['ceiling', 'UPDATE budgets SET max = max * 2'],
  ['currency', "UPDATE budgets SET currency = 'EUR'"],
  ['currency, to none', "UPDATE budgets SET currency = 'USA'"],
  ['ceiling, beyond what is counted', 'UPDATE budgets SET max = 9000000000000000000'],
  ['row', 'DELETE FROM budgets'],
];

onInspectedStores((rig) => {
  const alterToken = (set: Dialect, id: string) =>
    update(rig(), 'tokens', set, `token_id = '${id}'`);

  /** Everything that a token's row could be used for. */
  async function assertGone(root: IssueAnswer, child: IssueAnswer): Promise<void> {
    const before = await rowCounts(rig());
    const request = { parent_token: root.token_id, subject: 'agent:x', scope: ['operator:*'] };
    const counted = await alarmCount(rig());

    refusedAs(await send(rig(), ALICE, '/svc/tokens', request), 'not_entitled');
    refusedAs(await send(rig(), root.token, '/svc/tokens', request), 'invalid_token');
    const below = { ...request, parent_token: child.token_id, scope: child.scope };
    refusedAs(await send(rig(), child.token, '/svc/tokens', below), 'invalid_token');
    refusedAs(await send(rig(), ALICE, '/svc/tokens', below), 'not_entitled');
    for (const { token, token_id } of [root, child]) {
      refusedAs(await send(rig(), token, '/svc/permissions', {}), 'invalid_token');
      const called = await send(rig(), token, '/svc/invoke/buy_lounge_pass', { parameters: {} });
      refusedAs(called, 'invalid_token');
      refusedAs(await send(rig(), ALICE, `/svc/tokens/${token_id}`), 'not_found');
      refusedAs(await send(rig(), ALICE, '/svc/tokens/revoke', { token_id }), 'not_found');
      refusedAs(await send(rig(), OPERATOR, `/svc/tokens/${token_id}`), 'not_found');
    }

    assert.deepEqual(await rowCounts(rig()), before);
    assert.equal(alarms(rig(), 'token', root.token_id), 1);
    assert.ok((await alarmCount(rig())) - counted >= 10);
  }

  test('an API key gets no operator token from a parent whose scope was edited', async () => {
    const parent = await issue(rig(), ALICE, FULL);
    const request = { parent_token: parent.token_id, subject: 'agent:x', scope: ['operator:*'] };
    const unknown = await send(rig(), ALICE, '/svc/tokens', {
      ...request,
      parent_token: `tok_${'0'.repeat(32)}`,
    });

    const scope = { file: `scope = '["operator:*"]'`, database: "scope = ARRAY['operator:*']" };
    await alterToken(scope, parent.token_id);
    const refused = await send(rig(), ALICE, '/svc/tokens', request);

    refusedAs(refused, 'not_entitled');
    const words = ({ body }: Sent) => body.failure.detail.replace(/tok_\w+/, 'ID');
    assert.equal(words(refused), words(unknown));
    assert.equal(alarms(rig(), 'token', parent.token_id), 1);
  });

  describe('a token', () => {
    for (const [name, set] of TOKEN_EDITS) {
      test(`has no authority, nor has a descendant, after its ${name} was edited`, async () => {
        const root = await issue(rig(), ALICE, FULL);
        const child = await childOf(rig(), root);
        assert.equal((await send(rig(), child.token, '/svc/permissions', {})).status, 200);

        await alterToken(set, root.token_id);

        await assertGone(root, child);
      });
    }

    for (const [name, sql] of BUDGET_EDITS) {
      test(`has no authority after the ${name} of its budget was edited`, async () => {
        const root = await issue(rig(), ALICE, FULL);
        const child = await childOf(rig(), root);

        await rig().place.alter(`${sql} WHERE token_id = '${root.token_id}'`);

        await assertGone(root, child);
      });
    }

    test('cannot be detached from its ancestors', async () => {
      const root = await issue(rig(), ALICE, FULL);
      const child = await childOf(rig(), root);

      const lineage = isFile(rig()) ? `'["${child.token_id}"]'` : `ARRAY['${child.token_id}']`;
      const cut = `parent_token_id = NULL, depth = 0, lineage = ${lineage}`;
      await alterToken(cut, child.token_id);

      refusedAs(await send(rig(), child.token, '/svc/permissions', {}), 'invalid_token');
      assert.equal(alarms(rig(), 'token', child.token_id), 1);
      assert.equal((await send(rig(), root.token, '/svc/permissions', {})).status, 200);
    });
  });

  test('an unreadable debt is omitted, and an alarm is raised', async () => {
    const { token_id } = await issue(rig(), ALICE, FULL);

    await rig().place.alter(`INSERT INTO debts VALUES ('${token_id}', 'USA', 5)`);
    const { status, body } = await send(rig(), ALICE, `/svc/tokens/${token_id}`);

    assert.deepEqual([status, body.debts], [200, []]);
    assert.equal(alarms(rig(), 'debt', token_id), 1);
  });

  describe('a revocation', () => {
    const later = { file: 'revoked_at = 9', database: "revoked_at = '2000-01-01'" };
    for (const [name, set] of [
      ['time was edited', later],
      ['time was taken away', 'revoked_at = NULL'],
      ['MAC was taken away', 'revoked_mac = NULL'],
    ] as const) {
      test(`still refuses after its ${name}, and an alarm is raised`, async () => {
        const root = await issue(rig(), ALICE, FULL);
        const child = await childOf(rig(), root);
        const { token_id } = root;
        assert.equal((await send(rig(), ALICE, '/svc/tokens/revoke', { token_id })).status, 200);
        refusedAs(await send(rig(), child.token, '/svc/permissions', {}), 'invalid_token');
        assert.equal(alarms(rig(), 'revocation', token_id), 0);

        await alterToken(set, token_id);

        for (const { token } of [root, child]) {
          refusedAs(await send(rig(), token, '/svc/permissions', {}), 'invalid_token');
          const called = await send(rig(), token, '/svc/invoke/buy_lounge_pass', {
            parameters: {},
          });
          refusedAs(called, 'invalid_token');
        }
        const from = { parent_token: token_id, subject: 'agent:x', scope: root.scope };
        refusedAs(await send(rig(), ALICE, '/svc/tokens', from), 'invalid_token');
        assert.equal(alarms(rig(), 'revocation', token_id), 1);
      });
    }

    test('that was inserted with SQL refuses too, and an alarm is raised', async () => {
      const { token, token_id } = await issue(rig(), ALICE, FULL);

      await alterToken(later, token_id);

      refusedAs(await send(rig(), token, '/svc/permissions', {}), 'invalid_token');
      assert.equal(alarms(rig(), 'revocation', token_id), 1);
    });
  });

  describe('a freeze', () => {
    const past = { file: 'until = 1', database: "until = '2000-01-01'" };
    for (const [name, set] of [
      ['reason', "reason = 'a drill'"],
      ['author', "frozen_by = 'human:bob@example.com'"],
      ['time', { file: 'frozen_at = 1', database: "frozen_at = '2000-01-01'" }],
      ['end', past],
      ['MAC', 'mac = NULL'],
    ] as const) {
      test(`still refuses after its ${name} was edited, until an operator lifts it`, async () => {
        const { token, token_id, scope } = await issue(rig(), ALICE, FULL);
        const target = { what: 'root_principal', target: ALICE_PRINCIPAL };
        const frozen = await send(rig(), OPERATOR, '/svc/operator/freeze', {
          ...target,
          reason: `test of the ${name}`,
        });
        assert.equal(frozen.status, 200, JSON.stringify(frozen.body));
        const raised = await alarmCount(rig());

        await update(rig(), 'freezes', set, `target = '${ALICE_PRINCIPAL}'`);
        const call = () => send(rig(), token, '/svc/invoke/buy_lounge_pass', { parameters: {} });
        const called = await call();
        const asked = { parent_token: token_id, subject: 'agent:x', scope };
        const issued = await send(rig(), token, '/svc/tokens', asked);

        refusedAs(called, 'frozen');
        refusedAs(issued, 'frozen');
        assert.ok(alarms(rig(), 'freeze', `root_principal ${ALICE_PRINCIPAL}`) >= 1);
        assert.ok((await alarmCount(rig())) > raised);
        await send(rig(), OPERATOR, '/svc/operator/unfreeze', { ...target, reason: 'seen' });
        assert.equal((await call()).status, 200);
      });
    }
  });

  describe('a binding', () => {
    const BINDING_EDITS: readonly [name: string, set: Dialect][] = [
      ['price', { file: 'price_amount = 1', database: 'amount = 1' }],
      ['currency', { file: "price_currency = 'EUR'", database: "currency = 'EUR'" }],
      [
        'price, by removing it',
        {
          file: 'price_amount = NULL, price_currency = NULL',
          database: 'amount = NULL, currency = NULL',
        },
      ],
      ['type', "type = 'voucher'"],
      ['capability', "capability = 'charter_jet'"],
      ['root principal', "root_principal = 'human:bob@example.com'"],
      ['data, to no object', { file: "data = '{'", database: "data = '9'" }],
      ['data', `data = '{"flight_number":"XX 1"}'`],
      [
        'time',
        { file: 'issued_at = issued_at + 9', database: "issued_at = issued_at + interval '9 min'" },
      ],
      ['MAC', 'mac = NULL'],
    ];
    for (const [name, set] of BINDING_EDITS) {
      test(`is unknown after its ${name} was edited`, async () => {
        const scope = ['travel.search', 'travel.book'];
        const { token, token_id } = await issue(rig(), ALICE, { ...FULL, scope });
        const parameters = { origin: 'SEA', destination: 'SFO', date: '2030-01-01' };
        const found = await send(rig(), token, '/svc/invoke/search_flights', { parameters });
        const { quote } = found.body.result.cheapest_flight;
        const book = (handle: string) =>
          send(rig(), token, '/svc/invoke/book_flight', {
            parameters: { quote: handle, passenger: 'Alex' },
          });
        const unknown = await book(`bnd_${'0'.repeat(32)}`);

        await update(rig(), 'bindings', set, `binding_id = '${quote}'`);
        const refused = await book(quote);

        assert.equal(refused.body.success, false);
        const words = ({ body }: Sent) => body.failure.detail.replace(/bnd_\w+/, 'ID');
        assert.deepEqual([refused.status, words(refused)], [unknown.status, words(unknown)]);
        assert.equal(alarms(rig(), 'binding', quote), 1);
        const { body } = await send(rig(), ALICE, `/svc/tokens/${token_id}`);
        assert.deepEqual([body.budget_spent, body.budget_reserved], [0, 0]);
      });
    }
  });
});
