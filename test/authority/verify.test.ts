/**
 * Verification: a text counts only as the stored token it names, alive, in the specified order.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { afterEach, test, vi } from 'vitest';
import { openKeyring } from '../../src/keyring/keyring.ts';
import { ARTEFACTS } from '../../src/keyring/wire.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { ALICE, OPERATOR, type Reply, type TestService } from '../support/world.ts';
import {
  ALICE_PRINCIPAL,
  ask,
  assertRefusalEntry,
  assertRefused,
  DESK,
  onInspectedStores,
  permissionsOf,
  revoke,
  SETTINGS,
  watched,
} from './support.ts';

const KEYS = temporaryFolder();

/** The service's own keys: whoever holds them can sign anything, and yet not make a token. */
const keyring = closedAtEnd(
  openKeyring({ folder: KEYS }, { now: () => new Date(), onWarning: () => undefined }),
);
afterEach(() => void vi.useRealTimers());

const SEARCH = { origin: 'SEA', destination: 'SFO', date: '2030-01-01' };

/** Every operation that takes a token. */
const OPERATIONS: Readonly<
  Record<string, (service: TestService, bearer: string, tokenId: string) => Promise<Reply>>
> = {
  permissions: (service, bearer) => permissionsOf(service, bearer),
  invoke: (service, bearer) => service.invoke(bearer, 'search_flights', SEARCH),
  'tokens.issue': (service, bearer, parent_token) =>
    ask(service, bearer, '/svc/tokens', {
      parent_token,
      subject: 'agent:x',
      scope: ['travel.search'],
    }),
  'tokens.get': (service, bearer, tokenId) => ask(service, bearer, `/svc/tokens/${tokenId}`),
  'tokens.revoke': (service, bearer, tokenId) => revoke(service, bearer, tokenId),
  'audit.query': (service, bearer) => ask(service, bearer, '/svc/audit', {}),
  'operator.freeze': (service, bearer) =>
    ask(service, bearer, '/svc/operator/freeze', { what: 'service', reason: 'x' }),
  'operator.frozen': (service, bearer) => ask(service, bearer, '/svc/operator/frozen'),
  'identities.list': (service, bearer) => ask(service, bearer, '/svc/operator/identities'),
  'identities.add': (service, bearer) =>
    ask(service, bearer, '/svc/operator/identities', {
      principal: 'human:x',
      key_sha256: '0'.repeat(64),
    }),
  'identities.remove': (service, bearer) =>
    ask(service, bearer, '/svc/operator/identities/remove', {
      identity_id: `idn_${'0'.repeat(32)}`,
    }),
  'agents.list': (service, bearer) => ask(service, bearer, '/svc/agents'),
};

/** The operations that leave an entry whenever they are refused. */
const ACTS = [
  'invoke',
  'tokens.issue',
  'tokens.revoke',
  'operator.freeze',
  'identities.add',
  'identities.remove',
];

const BUDGETED = {
  scope: ['travel.search'],
  capability: 'search_flights',
  subject: 'agent:planner',
  purpose_parameters: { task_id: 'task-1' },
  budget: { currency: 'USD', max_amount: 10 },
  session_id: 's-1',
};

onInspectedStores(
  (rig) => {
    /** Asks everything with a text, and holds each answer to the same refusal. */
    async function assertUnusable(
      text: string,
      tokenId: string,
      type: 'invalid_token' | 'token_expired',
    ) {
      for (const [name, perform] of Object.entries(OPERATIONS)) {
        const { result, entries } = await watched(rig().store, () => perform(rig(), text, tokenId));
        assertRefused(result, type);
        assert.match(
          String(result.headers['www-authenticate']),
          /^Bearer error="invalid_token"/,
          name,
        );
        assert.deepEqual(entries, [], name);
      }
    }

    test('every operation refuses a signed text that was never stored', async () => {
      const { token } = await rig().issue(ALICE, BUDGETED);
      const jti = `tok_${'0'.repeat(32)}`;

      await assertUnusable(signed({ ...claimsOf(token), jti }), jti, 'invalid_token');
    });

    test('every operation refuses a signed text that differs from the stored row', async () => {
      const { token, token_id } = await rig().issue(ALICE, BUDGETED);
      const claims = claimsOf(token);

      await assertUnusable(
        signed({ ...claims, scope: ['travel.search', 'operator:*'] }),
        token_id,
        'invalid_token',
      );
      for (const changed of [
        { sub: 'agent:other' },
        { exp: claims.exp + 1 },
        { iat: claims.iat - 1 },
        { constraints: { max_delegation_depth: 5 } },
        { constraints: { ...claims.constraints, budget: { currency: 'USD', max_amount: 11 } } },
        { caller_class: 'automated_agent' },
        { capability: undefined },
        { purpose: undefined },
        { session_id: 's-2' },
        { root_principal: 'human:bob@example.com' },
        { admin: true },
        { aud: 'other-desk' },
        { iss: 'other-desk' },
      ]) {
        const reply = await permissionsOf(rig(), signed({ ...claims, ...changed }));
        assertRefused(reply, 'invalid_token');
      }
      assert.equal((await permissionsOf(rig(), signed(claims))).status, 200);
    });

    test('every operation refuses a token whose stored row was altered', async () => {
      const { token, token_id } = await rig().issue(ALICE, BUDGETED);
      const isFile = rig().place.url.startsWith('sqlite:');
      const scope = isFile
        ? `'["travel.search","operator:*"]'`
        : "ARRAY['travel.search','operator:*']";

      await rig().place.alter(`UPDATE tokens SET scope = ${scope} WHERE token_id = '${token_id}'`);

      await assertUnusable(token, token_id, 'invalid_token');
    });

    for (const [column, value] of [
      ['subject', "'agent:other'"],
      ['root_principal', "'human:bob@example.com'"],
      ['capability', 'NULL'],
      ['purpose', "'{}'"],
      ['caller_class', "'automated_agent'"],
      ['concurrent_branches', "'exclusive'"],
      ['max_delegation_depth', '32'],
      ['session_id', "'s-2'"],
      ['claims_digest', "'sha256:00'"],
    ] as const) {
      test(`permissions refuses a token whose stored ${column} was altered`, async () => {
        const { token, token_id } = await rig().issue(ALICE, BUDGETED);
        assert.equal((await permissionsOf(rig(), token)).status, 200);

        await rig().place.alter(
          `UPDATE tokens SET ${column} = ${value} WHERE token_id = '${token_id}'`,
        );

        assertRefused(await permissionsOf(rig(), token), 'invalid_token');
      });
    }

    test('permissions refuses a token whose stored budget or lifetime was raised', async () => {
      const one = await rig().issue(ALICE, BUDGETED);
      const other = await rig().issue(ALICE, BUDGETED);
      const isFile = rig().place.url.startsWith('sqlite:');
      const hour = isFile ? '3600000' : "interval '1 hour'";

      await rig().place.alter(`UPDATE budgets SET max = 100000 WHERE token_id = '${one.token_id}'`);
      await rig().place.alter(
        `UPDATE tokens SET expires_at = expires_at + ${hour} WHERE token_id = '${other.token_id}'`,
      );

      assertRefused(await permissionsOf(rig(), one.token), 'invalid_token');
      assertRefused(await permissionsOf(rig(), other.token), 'invalid_token');
    });

    test('every operation refuses an artefact of another kind with the claims of a token', async () => {
      const { token, token_id } = await rig().issue(ALICE, BUDGETED);
      const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url');
      const { grant, manifest, checkpoint, delegation } = ARTEFACTS;

      await assertUnusable(keyring.sign('token', grant.typ, payload), token_id, 'invalid_token');
      for (const text of [
        keyring.sign('token', manifest.typ, payload),
        keyring.sign('log', checkpoint.typ, payload),
        keyring.sign('log', delegation.typ, payload),
      ]) {
        assertRefused(await permissionsOf(rig(), text), 'invalid_token');
      }
    });

    test("permissions refuses the service's own signed documents", async () => {
      const { headers, text } = await rig().ask('GET', '/svc/manifest');
      const [header = '', signature = ''] = String(headers['x-svc-signature']).split('..');
      const attached = `${header}.${Buffer.from(text ?? '').toString('base64url')}.${signature}`;

      for (const bearer of [attached, `${header}..${signature}`]) {
        assertRefused(await permissionsOf(rig(), bearer), 'invalid_token');
      }
    });

    test('permissions refuses a bootstrap credential, which carries no authority', async () => {
      for (const bearer of [ALICE, OPERATOR]) {
        assertRefused(await permissionsOf(rig(), bearer), 'invalid_token');
        assertRefused(await rig().invoke(bearer, 'search_flights', SEARCH), 'invalid_token');
      }
      assertRefused(await ask(rig(), undefined, '/svc/permissions', {}), 'authentication_required');
    });

    test('a token is the same token in both spellings of its signature, and ends in both', async () => {
      const { token, token_id } = await rig().issue(ALICE, BUDGETED);
      const twin = twinOf(token);
      assert.notEqual(twin, token);
      assert.equal((await permissionsOf(rig(), twin)).status, 200);

      await revoke(rig(), ALICE, token_id);

      for (const text of [token, twin]) {
        assertRefused(await permissionsOf(rig(), text), 'invalid_token');
      }
    });

    test('a token is valid until its expiry second, and not in it', async () => {
      vi.useFakeTimers({ toFake: ['Date'], now: Math.floor(Date.now() / 1_000) * 1_000 + 400 });
      const { token, token_id, expires_at } = await rig().issue(ALICE, {
        ...BUDGETED,
        ttl_hours: 1,
      });

      vi.setSystemTime(Date.parse(expires_at) - 1);
      const before = await permissionsOf(rig(), token);
      vi.setSystemTime(Date.parse(expires_at));
      const at = await permissionsOf(rig(), token);
      const seen = await ask(rig(), ALICE, `/svc/tokens/${token_id}`);

      assert.equal(before.status, 200);
      assertRefused(at, 'token_expired');
      assert.equal(seen.body.state, 'expired');
    });

    test('every operation refuses an expired token as expired, and a revoked one as revoked', async () => {
      const expired = await rig().issue(ALICE, { ...BUDGETED, ttl_hours: 1e-9 });
      const both = await rig().issue(ALICE, { ...BUDGETED, ttl_hours: 1e-9 });
      const revoked = await rig().issue(ALICE, BUDGETED);
      await revoke(rig(), ALICE, both.token_id);
      await revoke(rig(), ALICE, revoked.token_id);
      rig().advance(2_000);

      await assertEnded(rig(), expired, 'token_expired');
      await assertEnded(rig(), both, 'invalid_token');
      await assertEnded(rig(), revoked, 'invalid_token');
    });

    test('a child ends with its ancestors, and the refusal names what ended it', async () => {
      const root = await rig().issue(DESK, { scope: ['travel.search'] });
      const child = await rig().delegate(root, { subject: 'agent:x', ttl_hours: 1e-9 });
      const living = await rig().delegate(root, { subject: 'agent:planner' });
      rig().advance(2_000);
      assertRefused(await permissionsOf(rig(), child.token), 'token_expired');

      await revoke(rig(), DESK, root.token_id);

      assertRefused(await permissionsOf(rig(), child.token), 'invalid_token');
      assertRefused(await permissionsOf(rig(), living.token), 'invalid_token');
    });
  },
  { settings: { ...SETTINGS, keys: KEYS } },
);

/** A stored token that has ended has an owner: each act is refused with one entry in their trail. */
async function assertEnded(
  service: TestService,
  { token, token_id }: IssueAnswer,
  type: 'invalid_token' | 'token_expired',
): Promise<void> {
  for (const [name, perform] of Object.entries(OPERATIONS)) {
    const { result, entries } = await watched(service.store, () =>
      perform(service, token, token_id),
    );
    assertRefused(result, type);
    if (!ACTS.includes(name)) {
      assert.deepEqual(entries, [], name);
      continue;
    }
    assertRefusalEntry(entries, {
      actor_key: 'agent:planner',
      root_principal: ALICE_PRINCIPAL,
      failure_type: type,
      token_id,
      ...(name === 'invoke' && { event_class: 'low_risk_failure' }),
    });
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a test changes whatever it likes.
function claimsOf(token: string): any {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
}

function signed(claims: object): string {
  const { use, typ } = ARTEFACTS.delegation;
  return keyring.sign(use, typ, Buffer.from(JSON.stringify(claims)));
}

/** The order of the curve P-256: with (r, s) also (r, n − s) is a signature of the same text. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

function twinOf(token: string): string {
  const [header, payload, signature = ''] = token.split('.');
  const bytes = Buffer.from(signature, 'base64url');
  const s = BigInt(`0x${bytes.subarray(32).toString('hex')}`);
  const mirrored = Buffer.from((ORDER - s).toString(16).padStart(64, '0'), 'hex');
  const twin = Buffer.concat([bytes.subarray(0, 32), mirrored]).toString('base64url');
  return `${header}.${payload}.${twin}`;
}
