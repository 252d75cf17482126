/**
 * Root issuance: what a token says, what its holder is told, and what the log keeps of it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { compactVerify, createLocalJWKSet } from 'jose';
import { afterEach, test, vi } from 'vitest';
import { canonicalJson, textDigest } from '../../src/domain/wire/canonical.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { AGENT, ALICE, OPERATOR, type TestService } from '../support/world.ts';
import {
  ALICE_PRINCIPAL,
  askToken,
  assertRefused,
  DESK,
  NO_INSTANCE,
  onInspectedStores,
  permissionsOf,
  rowCounts,
  SECRETS,
  view,
  watched,
} from './support.ts';

/** Every field of the request. */
const WHOLE = {
  scope: ['travel.search', 'travel.extras'],
  capability: 'search_flights',
  subject: 'agent:planner',
  purpose_parameters: { task_id: 'task-1', canary: { list: [1, 'two', null, 0.1, 1e-7] } },
  budget: { currency: 'USD', max_amount: 300.5 },
  caller_class: 'partner',
  concurrent_branches: 'exclusive',
  ttl_hours: 1.5,
  max_delegation_depth: 3,
  session_id: 'session-1',
};

const OPTIONAL = Object.keys(WHOLE).filter((field) => field !== 'scope');

/** The beginning of a second that is a moment old, so that a lifetime which forgets it is found. */
const MOMENT = Math.floor(Date.now() / 1_000) * 1_000 + 250;

afterEach(() => void vi.useRealTimers());

onInspectedStores((rig) => {
  test('tokens.issue answers with exactly the specified fields', async () => {
    stopClock();
    const { status, body } = await askToken(rig(), ALICE, WHOLE);

    assert.equal(status, 200);
    const expires = new Date(MOMENT - 250 + 5_400_000).toISOString();
    assert.match(body.token_id, /^tok_[0-9a-f]{32}$/);
    assert.deepEqual(body, {
      issued: true,
      token_id: body.token_id,
      token: body.token,
      scope: WHOLE.scope,
      capability: 'search_flights',
      task_id: 'task-1',
      budget: WHOLE.budget,
      conditions: null,
      expires_at: expires,
      expires,
    });
  });

  test('tokens.issue answers null for what a token does not have', async () => {
    const { body } = await askToken(rig(), ALICE, { scope: ['travel.search'] });

    assert.deepEqual(Object.keys(body).sort(), [
      'budget',
      'capability',
      'conditions',
      'expires',
      'expires_at',
      'issued',
      'scope',
      'task_id',
      'token',
      'token_id',
    ]);
    assert.deepEqual([body.capability, body.task_id, body.budget], [null, null, null]);
  });

  test('tokens.issue signs exactly the decided claims under exactly the decided header', async () => {
    stopClock();
    const answer = await rig().issue(ALICE, WHOLE);
    const { header, claims } = await verified(rig(), answer);

    assert.deepEqual(Object.keys(header).sort(), ['alg', 'kid', 'typ']);
    assert.deepEqual([header.alg, header.typ], ['ES256', 'svc-delegation+jwt']);
    const iat = Math.floor(MOMENT / 1_000);
    assert.deepEqual(claims, {
      iss: 'travel-desk',
      aud: 'travel-desk',
      sub: 'agent:planner',
      jti: answer.token_id,
      iat,
      exp: iat + 5_400,
      expires: answer.expires_at,
      scope: WHOLE.scope,
      capability: 'search_flights',
      purpose: WHOLE.purpose_parameters,
      constraints: { budget: WHOLE.budget, max_delegation_depth: 3 },
      concurrent_branches: 'exclusive',
      caller_class: 'partner',
      root_principal: ALICE_PRINCIPAL,
      session_id: 'session-1',
    });
  });

  test('tokens.issue signs the canonical text of the claims, and stores its digest', async () => {
    for (const request of [WHOLE, { scope: ['travel.search'] }]) {
      const { token, token_id } = await rig().issue(ALICE, request);

      const signed = Buffer.from(token.split('.')[1] as string, 'base64url').toString();
      assert.equal(signed, canonicalJson(JSON.parse(signed)));
      const { token: row } = await rig().store.load({ tokenId: token_id });
      assert.equal(row?.claims_digest, textDigest(signed));
    }
  });

  test('tokens.issue omits claims that a token does not have, and names its parent', async () => {
    const root = await rig().issue(ALICE, { scope: ['travel.search'] });
    const child = await rig().issue(root.token, {
      scope: ['travel.search'],
      subject: 'agent:x',
      parent_token: root.token_id,
    });

    const { claims } = await verified(rig(), root);
    const below = await verified(rig(), child);

    const { jti, iat, exp, expires, ...rest } = claims;
    assert.equal(exp, Date.parse(expires) / 1_000);
    assert.deepEqual(rest, {
      iss: 'travel-desk',
      aud: 'travel-desk',
      sub: ALICE_PRINCIPAL,
      scope: ['travel.search'],
      constraints: { max_delegation_depth: 5 },
      concurrent_branches: 'allowed',
      caller_class: 'internal',
      root_principal: ALICE_PRINCIPAL,
    });
    assert.equal(below.claims.parent_token_id, root.token_id);
    assert.equal(below.claims.root_principal, ALICE_PRINCIPAL);
  });

  test('tokens.issue treats null as absent, in every optional field', async () => {
    const nulls = Object.fromEntries(OPTIONAL.map((field) => [field, null]));
    const given = await rig().issue(ALICE, { scope: ['travel.search'], ...nulls });
    const left = await rig().issue(ALICE, { scope: ['travel.search'] });

    const [one, other] = [await verified(rig(), given), await verified(rig(), left)];
    const ids = { jti: '', iat: 0, exp: 0, expires: '' };
    assert.deepEqual({ ...one.claims, ...ids }, { ...other.claims, ...ids });
  });

  test('tokens.issue gives a lifetime of whole seconds from the start of the current second', async () => {
    const table: [ttl: number | undefined, seconds: number][] = [
      [undefined, 7_200],
      [0.5, 1_800],
      [49 / 3_600, 49],
      [1e-9, 1],
      [720, 2_592_000],
    ];
    stopClock();
    for (const [ttl_hours, seconds] of table) {
      const { expires_at } = await rig().issue(ALICE, { scope: ['travel.search'], ttl_hours });
      assert.equal(Date.parse(expires_at), MOMENT - 250 + seconds * 1_000, `${ttl_hours}`);
    }
  });

  test('tokens.issue names the caller as subject unless another is named', async () => {
    const own = await rig().issue(AGENT, { scope: ['travel.search'] });
    const named = await rig().issue(ALICE, { scope: ['travel.search'], subject: 'agent:any' });

    const subjects = [own, named].map(async (each) => (await verified(rig(), each)).claims.sub);
    assert.deepEqual(await Promise.all(subjects), ['agent:trip-planner', 'agent:any']);
  });

  test('tokens.issue assigns only the classes of the entitlement', async () => {
    const { issue } = rig();
    const request = { scope: ['travel.search'] };

    for (const caller_class of ['internal', 'automated_agent', 'partner', 'default']) {
      const answer = await issue(ALICE, { ...request, caller_class });
      assert.equal((await verified(rig(), answer)).claims.caller_class, caller_class);
    }
    const own = await issue(AGENT, request);
    assert.equal((await verified(rig(), own)).claims.caller_class, 'automated_agent');
    const more = await askToken(rig(), AGENT, { ...request, caller_class: 'internal' });
    assertRefused(more, 'not_entitled');
  });

  test('tokens.issue issues nothing to an identity without an entitlement, not even for itself', async () => {
    for (const scope of ['travel.search', 'agent:nobody', 'approver:*', 'operator:audit']) {
      assertRefused(await askToken(rig(), NO_INSTANCE, { scope: [scope] }), 'not_entitled');
    }
  });

  test('tokens.issue grants a wildcard only where the entitlement has it', async () => {
    const wide = await rig().issue(DESK, { scope: ['approver:*', 'approver:x', 'travel.book'] });
    const operator = await rig().issue(OPERATOR, { scope: ['operator:*', 'operator:freeze'] });

    assert.deepEqual(wide.scope, ['approver:*', 'approver:x', 'travel.book']);
    assert.deepEqual(operator.scope, ['operator:*', 'operator:freeze']);
    for (const scope of ['approver:', 'approver', 'approver:**', '*:*', 'travel.*', 'operator:x']) {
      assertRefused(await askToken(rig(), DESK, { scope: [scope] }), 'not_entitled');
    }
  });

  test('tokens.issue takes a session from its field or from the purpose', async () => {
    const { issue } = rig();
    const scope = ['travel.search'];
    const requests = [
      { session_id: 's-1' },
      { purpose_parameters: { session_id: 's-1' } },
      { session_id: 's-1', purpose_parameters: { session_id: 's-1' } },
    ];

    for (const request of requests) {
      const { token, token_id } = await issue(ALICE, { scope, ...request });
      assert.equal((await view(rig(), token, token_id)).body.session_id, 's-1');
    }
    const both = { session_id: 's-1', purpose_parameters: { session_id: 's-2' } };
    const differing = await askToken(rig(), ALICE, { scope, ...both });
    assertRefused(differing, 'purpose_mismatch');
    assert.match(differing.body.failure.detail, /session_id/);
  });

  test('tokens.issue records one entry with issuer, subject and authority, and no secret', async () => {
    const { result, entries } = await watched(rig().store, () => rig().issue(ALICE, WHOLE));

    assert.equal(entries.length, 1);
    const [entry] = entries;
    assert.deepEqual(
      [entry?.entry_type, entry?.state, entry?.success, entry?.event_class, entry?.failure_type],
      ['issuance', 'completed', true, 'high_risk_success', null],
    );
    assert.deepEqual(
      [entry?.actor_key, entry?.root_principal, entry?.token_id, entry?.capability, entry?.task_id],
      [ALICE_PRINCIPAL, ALICE_PRINCIPAL, result.token_id, 'search_flights', 'task-1'],
    );
    const { kid, chain, claims_digest, ...said } = entry?.detail ?? {};
    const { token } = await rig().store.load({ tokenId: result.token_id });
    assert.deepEqual([kid, chain, claims_digest], [token?.kid, token?.chain, token?.claims_digest]);
    assert.deepEqual(said, {
      service: 'travel-desk',
      subject: 'agent:planner',
      scope: WHOLE.scope,
      depth: 0,
      parent_token_id: null,
      budget: WHOLE.budget,
      expires_at: result.expires_at,
    });
    const text = JSON.stringify(entries);
    const [, , signature = ''] = result.token.split('.');
    for (const secret of [...SECRETS, signature, 'canary']) assert.ok(!text.includes(secret));
  });

  test('tokens.issue stores a row for the token, and one for its budget', async () => {
    const before = await rowCounts(rig());
    await rig().issue(ALICE, WHOLE);
    await rig().issue(ALICE, { scope: ['travel.search'] });

    const { tokens, budgets } = await rowCounts(rig());
    assert.deepEqual([tokens - before.tokens, budgets - before.budgets], [2, 1]);
  });

  test('tokens.issue makes no token that is too large to be presented', async () => {
    const scope = Array.from({ length: 19 }, (_, index) => `travel.${'x'.repeat(100)}${index}`);
    const asked = (length: number) => ({ scope, purpose_parameters: { note: 'x'.repeat(length) } });
    const first = await rig().issue(ALICE, asked(1_000));
    const most = 1_000 + 4_500 - payloadOf(first.token).length;

    const largest = await rig().issue(ALICE, asked(most));
    const larger = await askToken(rig(), ALICE, asked(most + 1));

    assert.equal(payloadOf(largest.token).length, 4_500);
    assert.equal((await permissionsOf(rig(), largest.token)).status, 200);
    assertRefused(larger, 'invalid_parameters');
    assert.match(larger.body.failure.detail, /4501 bytes/);
  });

  test('tokens.issue makes usable tokens, for any purpose', async () => {
    const purposes: object[] = [
      { a: { b: { c: { d: { e: { f: { g: 1 } } } } } } },
      { '': 1, constructor: 'x', toString: null, 'a.b': [[], {}] },
      {
        text: '\u{1f9ed}\u2028"\\/\u0007',
        numbers: [-0, 5e-324, 0.1, 1e-7, 9007199254740991],
      },
      { z: 1, a: { z: 1, a: 2 }, é: 'e\u0301' },
    ];
    for (const purpose_parameters of purposes) {
      const { token } = await rig().issue(ALICE, { scope: ['travel.search'], purpose_parameters });
      assert.equal(
        (await permissionsOf(rig(), token)).status,
        200,
        JSON.stringify(purpose_parameters),
      );
    }
  });

  test('tokens.issue makes usable tokens, to the last minor unit of a budget', async () => {
    const budgets = [
      ['USD', 0],
      ['USD', 0.01],
      ['USD', 1_234_567.89],
      ['JPY', 7],
      ['KWD', 0.001],
      ['USD', 70_368_744_177_663.99],
    ] as const;
    for (const [currency, max_amount] of budgets) {
      const budget = { currency, max_amount };
      const { token } = await rig().issue(ALICE, { scope: ['travel.search'], budget });
      const { body } = await permissionsOf(rig(), token);
      assert.deepEqual(body.available[0].constraints.budget, { ...budget, remaining: max_amount });
    }
  });
});

function stopClock(): void {
  vi.useFakeTimers({ toFake: ['Date'], now: MOMENT });
}

function payloadOf(token: string): Buffer {
  return Buffer.from(token.split('.')[1] ?? '', 'base64url');
}

/** Reads a token as a stranger would: with the published keys and a library of others. */
async function verified(service: TestService, { token }: IssueAnswer) {
  const { body } = await service.ask('GET', '/.well-known/jwks.json');
  const { payload, protectedHeader } = await compactVerify(token, createLocalJWKSet(body));
  return { header: protectedHeader, claims: JSON.parse(new TextDecoder().decode(payload)) };
}
