/**
 * Quorum terms, over a real socket: the first approver proposes what the grant will be, the others
 * approve exactly that or nothing.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { digestOf } from '../../src/domain/wire/canonical.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE, assertRefused, BOB, CAROL, type Desk, onEachStore } from './desk.ts';
import { askedOverSocket } from './socket.ts';

let count = 0;
async function asked(desk: Desk) {
  count += 1;
  return desk.asked(await desk.token(), 'pair', { note: `terms ${count}` });
}

const STATED = { grant_type: 'session_bound', session_id: 's' };
const TERMS = { ...STATED, expires_in_seconds: 600, max_uses: 3 };

async function approverOf(desk: Desk, id: string) {
  const ask = await askedOverSocket(desk);
  return (bearer: string, terms: object) =>
    ask('POST', '/svc/approval_grants', {
      bearer,
      body: { approval_request_id: id, ...terms },
    });
}

onEachStore((desk) => {
  test('the terms of the first approver are shown, with their digest', async () => {
    const id = await asked(desk());
    const approve = await approverOf(desk(), id);
    const before = (await desk().read(CAROL, id)).body;

    const { status, body } = await approve(BOB, TERMS);

    const after = (await desk().read(CAROL, id)).body;
    assert.deepEqual([before.terms, before.terms_digest], [null, null]);
    assert.equal(status, 202);
    for (const shown of [body, after]) {
      assert.deepEqual(shown.terms, TERMS);
      assert.equal(shown.terms_digest, digestOf(TERMS));
    }
  });

  test('a later approver with other terms is refused and does not count', async () => {
    const id = await asked(desk());
    const approve = await approverOf(desk(), id);
    await approve(BOB, TERMS);
    const others: object[] = [
      { ...TERMS, expires_in_seconds: 601 },
      { ...TERMS, expires_in_seconds: 1 },
      { ...TERMS, max_uses: 1 },
      { ...TERMS, session_id: 't' },
      { grant_type: 'one_time' },
      { grant_type: 'session_bound' },
    ];

    for (const terms of others) {
      assertRefused(await approve(CAROL, terms), 'grant_policy_violation');
    }

    const named = await approve(CAROL, { ...TERMS, max_uses: 1 });
    assert.match(
      named.body.failure.detail,
      /the first approver proposed type "session_bound", session "s", 600 seconds, 3 uses/,
    );
    assert.equal((await desk().read(CAROL, id)).body.approvals.length, 1);
  });

  test('the last approver gets a grant of exactly the proposed terms, starting at its issue', async () => {
    desk().holdClock(true);
    atEnd(() => desk().holdClock(false));
    const id = await asked(desk());
    const approve = await approverOf(desk(), id);
    const first = await approve(BOB, TERMS);
    desk().advance(300_000);

    const { status, body: grant } = await approve(CAROL, STATED);

    assert.equal(status, 200);
    assert.deepEqual(
      [grant.grant_type, grant.session_id, grant.max_uses],
      ['session_bound', 's', 3],
    );
    assert.equal(Date.parse(grant.expires_at) - Date.parse(grant.issued_at), 600_000);
    assert.equal(grant.terms_digest, first.body.terms_digest);
    const votes = (await desk().entries('approval_decision')).filter(
      ({ approval_request_id }) => approval_request_id === id,
    );
    assert.deepEqual(
      votes.map(({ detail }) => detail?.terms_digest),
      [grant.terms_digest, grant.terms_digest],
    );
    desk().advance(-300_000);
  });

  test('an approver who repeats must state the terms it approved, or none', async () => {
    const approve = await approverOf(desk(), await asked(desk()));
    await approve(BOB, TERMS);

    assert.equal((await approve(BOB, STATED)).status, 202);
    assertRefused(await approve(BOB, { ...TERMS, max_uses: 7 }), 'grant_policy_violation');
  });

  test('two concurrent first approvers with different terms: one proposes, one is refused', async () => {
    for (let round = 0; round < 5; round += 1) {
      const id = await asked(desk());
      const approve = await approverOf(desk(), id);
      const proposals = [TERMS, { ...TERMS, max_uses: 4 }];

      const replies = await Promise.all([
        approve(BOB, proposals[0] ?? {}),
        approve(ALICE, proposals[1] ?? {}),
      ]);

      assert.deepEqual(replies.map(({ status }) => status).sort(), [202, 403]);
      const won = replies.findIndex(({ status }) => status === 202);
      assertRefused(replies[1 - won] ?? replies[0], 'grant_policy_violation', /first approver/);
      const { body } = await desk().read(CAROL, id);
      assert.deepEqual(body.terms, proposals[won]);
      assert.equal(body.approvals.length, 1);
    }
  });
});
