/**
 * Granting: the order of checks, who may approve, quorum, and the signature.
 *
 * @module
 */

import assert from 'node:assert/strict';
import canonicalize from 'canonicalize';
import { compactVerify, createLocalJWKSet } from 'jose';
import { test } from 'vitest';
import { chainOf } from '../../src/domain/authority/chain.ts';
import { Grant } from '../../src/protocol/approval.ts';
import { atEnd } from '../support/ends.ts';
import {
  ALICE,
  ALICE_AGAIN,
  AUDITOR,
  assertRefused,
  BOB,
  CAROL,
  CLERK,
  type Desk,
  OPERATOR,
  onEachStore,
  ROBOT,
} from './desk.ts';

/** A request of its own for each test. */
let count = 0;
async function fresh(desk: Desk, capability = 'sign', request: object = {}, key = ALICE) {
  count += 1;
  const parameters = { note: `grant ${count}` };
  const token = await desk.token(request, key);
  return { token, parameters, id: await desk.asked(token, capability, parameters) };
}

const NO_INSTANCE = `apr_${'0'.repeat(32)}`;

onEachStore((desk) => {
  test('approval_grants.issue signs everything the grant is bound to', async () => {
    const { id } = await fresh(desk());

    const { status, body } = await desk().approve(BOB, id);

    assert.equal(status, 200);
    const { signature, ...said } = Grant.parse(body);
    assert.deepEqual(body, { ...said, signature });
    const request = await desk().store.loadApproval(id);
    assert.equal(said.parameters_digest, request?.parameters_digest);
    assert.equal(said.preview_digest, request?.preview_digest);
    assert.deepEqual(said.requester, {
      subject: 'agent:a',
      root_principal: 'human:alice',
      chain: chainOf('human:alice', ['agent:a']),
    });
    assert.deepEqual(said.approved_by, ['human:bob']);
    assert.equal(said.session_id, null);
    assert.equal(said.max_uses, 1);
    const [header, , mark] = signature.split('.');
    const payload = Buffer.from(canonicalize(said) as string).toString('base64url');
    const jwks = (await desk().ask('GET', '/.well-known/jwks.json')).body;
    const verified = await compactVerify(`${header}.${payload}.${mark}`, createLocalJWKSet(jwks));
    assert.equal(verified.protectedHeader.typ, 'svc-grant+jws');
  });

  test('approval_grants.issue moves the request and leaves an entry', async () => {
    const { id } = await fresh(desk());

    const grant = await desk().granted(id);

    const request = await desk().store.loadApproval(id);
    assert.equal(request?.status, 'approved');
    assert.equal(request.decided_by, 'human:bob');
    assert.equal(request.grant_id, grant);
    const entry = (await desk().entries('approval_decision')).at(-1);
    assert.equal(entry?.actor_key, 'human:bob');
    assert.equal(entry.approval_request_id, id);
    assert.equal(entry.approval_grant_id, grant);
    assert.equal(entry.success, true);
  });

  test('approval_grants.issue finds what is wrong in the order of the specification', async () => {
    const { id, token } = await fresh(desk());
    const wide = { grant_type: 'one_time', max_uses: 9 };
    const post = (bearer: string | undefined, body: object) =>
      desk().ask('POST', '/svc/approval_grants', { bearer, body });

    assertRefused(await post(undefined, {}), 'authentication_required');
    assertRefused(await post('nobody', {}), 'authentication_required');
    assertRefused(
      await post(token.token, { approval_request_id: NO_INSTANCE }),
      'invalid_parameters',
    );
    const misspelt = { ...wide, approval_request_id: NO_INSTANCE, maxuses: 1 };
    assertRefused(await post(token.token, misspelt), 'invalid_parameters');
    assertRefused(await desk().approve(token.token, NO_INSTANCE, wide), 'not_found');
    assertRefused(await desk().approve(token.token, id, wide), 'approver_not_authorized');
    assertRefused(await desk().approve(BOB, id, wide), 'grant_policy_violation');
    await desk().granted(id);
    assertRefused(await desk().approve(token.token, id, wide), 'approver_not_authorized');
    assertRefused(await desk().approve(CAROL, id, wide), 'approval_request_decided');
    assert.equal((await desk().approve(CAROL, id, wide)).status, 409);
  });

  test('approval_grants.issue refuses a request at the instant it expires', async () => {
    desk().holdClock(true);
    atEnd(() => desk().holdClock(false));
    const { id } = await fresh(desk(), 'brief');
    const { id: early } = await fresh(desk(), 'brief');
    desk().advance(59_999);
    assert.equal((await desk().approve(BOB, early)).status, 200);
    desk().advance(1);

    const reply = await desk().approve(BOB, id, { max_uses: 99 });

    assertRefused(reply, 'approval_request_expired');
    assert.equal(reply.status, 409);
    desk().advance(-60_000);
  });

  test('approval_grants.issue records every refusal of a known caller', async () => {
    const { id, token } = await fresh(desk());
    const before = (await desk().entries('approval_decision')).length;

    await desk().approve(token.token, id);
    await desk().approve(BOB, id, { max_uses: 2 });
    await desk().approve(BOB, NO_INSTANCE);
    await desk().approve('nobody', id);

    const refused = (await desk().entries('approval_decision')).slice(before);
    assert.deepEqual(
      refused.map((each) => [each.failure_type, each.success, each.approval_request_id]),
      [
        ['approver_not_authorized', false, id],
        ['grant_policy_violation', false, id],
        ['not_found', false, null],
      ],
    );
  });

  test('approval_grants.issue fills omitted terms from the policy and refuses higher ones', async () => {
    const session = { grant_type: 'session_bound', session_id: 's' };
    const refused: object[] = [
      { expires_in_seconds: 901 },
      { max_uses: 2 },
      { session_id: 's' },
      { grant_type: 'session_bound' },
      { ...session, max_uses: 8 },
    ];
    const { id } = await fresh(desk());
    for (const terms of refused) {
      assertRefused(await desk().approve(BOB, id, terms), 'grant_policy_violation');
    }

    const { body } = await desk().approve(BOB, id, session);

    assert.equal(body.max_uses, 7);
    assert.equal(body.session_id, 's');
    assert.equal(Date.parse(body.expires_at) - Date.parse(body.issued_at), 900_000);
  });

  test('approval_grants.issue refuses the requester as approver, with any credential', async () => {
    const own = await fresh(desk(), 'sign', { subject: 'human:alice' });
    const root = await desk().token({ scope: ['approver:*'], subject: 'human:alice' });
    const named = await desk().token({ scope: ['approver:*'], subject: 'service:front' });

    for (const bearer of [ALICE, ALICE_AGAIN, root.token, named.token]) {
      assertRefused(
        await desk().approve(bearer, own.id),
        'approver_not_authorized',
        /their own request/,
      );
    }
    assert.equal((await desk().approve(BOB, own.id)).status, 200);
  });

  test('approval_grants.issue checks every principal in the lineage of a token', async () => {
    const clerk = await fresh(desk(), 'sign', { subject: 'service:clerk' }, CLERK);
    const bobs = await desk().token({ scope: ['approver:*'], subject: 'human:bob' }, BOB);
    const below = (parent: typeof bobs, subject: string) =>
      desk().issue(parent.token, {
        scope: ['approver:sign'],
        parent_token: parent.token_id,
        subject,
      });
    const clerks = await below(bobs, 'service:clerk');
    const hidden = await below(clerks, 'service:other');
    const agents = await below(await below(bobs, 'agent:x'), 'service:other');

    assertRefused(
      await desk().approve(clerks.token, clerk.id),
      'approver_not_authorized',
      /their own request/,
    );
    assertRefused(
      await desk().approve(hidden.token, clerk.id),
      'approver_not_authorized',
      /their own request/,
    );
    assertRefused(
      await desk().approve(agents.token, clerk.id),
      'approver_not_authorized',
      /agents/,
    );
    const deputy = await below(bobs, 'human:deputy');
    const { status, body } = await desk().approve(deputy.token, clerk.id);
    assert.equal(status, 200);
    assert.deepEqual(body.approved_by, ['human:bob']);
  });

  test('approval_grants.issue bars every principal that delegated the requesting authority', async () => {
    const clerk = await desk().token({ subject: 'service:clerk' });
    const front = await desk().issue(clerk.token, {
      scope: ['a.use'],
      parent_token: clerk.token_id,
      subject: 'service:front',
    });
    const id = await desk().asked(front, 'sign', { note: 'under another name' });

    assertRefused(await desk().approve(CLERK, id), 'approver_not_authorized', /their own request/);
  });

  test('approval_grants.issue lets the root principal approve unless it is separated', async () => {
    const { id } = await fresh(desk());
    assert.equal((await desk().approve(ALICE, id)).status, 200);

    const apart = await fresh(desk(), 'apart');
    assertRefused(
      await desk().approve(ALICE, apart.id),
      'approver_not_authorized',
      /root principal/,
    );
    assert.equal((await desk().approve(BOB, apart.id)).status, 200);
  });

  test('approval_grants.issue lets agents approve only where the policy names them', async () => {
    const { id } = await fresh(desk());
    assertRefused(await desk().approve(AUDITOR, id), 'approver_not_authorized', /agents/);
    assertRefused(await desk().approve(ROBOT, id), 'approver_not_authorized', /agents/);

    const auto = await fresh(desk(), 'auto');
    assertRefused(await desk().approve(ROBOT, auto.id), 'approver_not_authorized', /agents/);
    assert.equal((await desk().approve(AUDITOR, auto.id)).status, 200);
  });

  test('approval_grants.issue checks scope and binding against the capability of the request', async () => {
    const { id } = await fresh(desk(), 'over');
    assertRefused(await desk().approve(CLERK, id), 'approver_not_authorized', /lacks scope/);
    const narrow = await desk().token({ scope: ['approver:sign'], subject: 'human:bob' }, BOB);
    assertRefused(await desk().approve(narrow.token, id), 'approver_not_authorized');
    const own = { scope: ['approver:*'], subject: 'human:bob' };
    const bound = await desk().token({ ...own, capability: 'sign' }, BOB);
    assertRefused(await desk().approve(bound.token, id), 'approver_not_authorized', /bound to/);
    const fit = await desk().token({ ...own, capability: 'over' }, BOB);
    assert.equal((await desk().approve(fit.token, id)).status, 200);
  });

  test('approval_grants.issue counts below the quorum, each person once', async () => {
    const { id, token, parameters } = await fresh(desk(), 'pair');

    const first = await desk().approve(BOB, id);
    const again = await desk().approve(BOB, id);
    const bobs = await desk().token({ scope: ['approver:*'], subject: 'human:dave' }, BOB);
    const deputy = await desk().approve(bobs.token, id);

    assert.equal(first.status, 202);
    assert.equal(first.body.status, 'pending');
    assert.equal(first.body.approvals_required, 2);
    assert.deepEqual(
      first.body.approvals.map(({ approver }: { approver: string }) => approver),
      ['human:bob'],
    );
    assert.equal(again.status, 202);
    assert.equal(again.body.approvals.length, 1);
    assertRefused(deputy, 'approver_not_authorized', /delegated tokens may not approve/);
    const last = await desk().approve(CAROL, id);
    assert.equal(last.status, 200);
    assert.deepEqual(last.body.approved_by, ['human:bob', 'human:carol']);
    const done = await desk().resume(token, 'pair', last.body.grant_id, parameters);
    assert.equal(done.status, 200, JSON.stringify(done.body));
  });

  test('approval_grants.issue refuses a frozen approver', async () => {
    const { id } = await fresh(desk());
    const freeze = { what: 'root_principal', target: 'human:bob', reason: 'a drill' };
    await desk().ask('POST', '/svc/operator/freeze', { bearer: OPERATOR, body: freeze });

    assertRefused(await desk().approve(BOB, id), 'frozen');

    await desk().ask('POST', '/svc/operator/unfreeze', { bearer: OPERATOR, body: freeze });
    assert.equal((await desk().approve(BOB, id)).status, 200);
  });
});
