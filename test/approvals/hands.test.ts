/**
 * Tokens of one name that passed through different hands: who approved never uses what was approved.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { ALICE, assertRefused, BOB, type Desk, onEachStore } from './desk.ts';

const below = (desk: Desk, parent: IssueAnswer, subject: string, scope = 'a.use') =>
  desk.issue(parent.token, { scope: [scope], parent_token: parent.token_id, subject });

/** Two agents of one name under alice: one of her own, one that somebody else passed on. */
async function namesakes(desk: Desk, between = 'human:bob') {
  const own = await desk.token({ subject: 'agent:x' });
  const passedOn = await below(desk, await desk.token({ subject: between }), 'agent:x');
  return { own, passedOn };
}

onEachStore((desk) => {
  test('approval_grants.issue bars everyone through whose hands the same question came', async () => {
    const { own, passedOn } = await namesakes(desk());
    const parameters = { note: 'asked twice' };
    const id = await desk().asked(own, 'sign', parameters);
    assert.equal(await desk().asked(passedOn, 'sign', parameters), id);

    assertRefused(await desk().approve(BOB, id), 'approver_not_authorized', /asked for/);

    const grant = await desk().granted(id, ALICE);
    assert.equal((await desk().resume(passedOn, 'sign', grant, parameters)).status, 200);
  });

  test('invoke() refuses a grant to a token that passed through its approver', async () => {
    const { own, passedOn } = await namesakes(desk());
    const parameters = { note: 'asked once' };
    const grant = await desk().granted(await desk().asked(own, 'sign', parameters), BOB);
    const runs = desk().world.runs('sign').length;

    const reply = await desk().resume(passedOn, 'sign', grant, parameters);

    assertRefused(reply, 'approval_grant_invalid', /human:bob stands on the side of the caller/);
    assert.equal(desk().world.runs('sign').length, runs);
    assert.equal((await desk().resume(own, 'sign', grant, parameters)).status, 200);
  });

  test('invoke() refuses a grant to a token that passed through a deputy of its approver', async () => {
    const { own, passedOn } = await namesakes(desk(), 'human:deputy');
    const bobs = await desk().token({ scope: ['approver:*'], subject: 'human:bob' }, BOB);
    const deputy = await below(desk(), bobs, 'human:deputy', 'approver:sign');
    const parameters = { note: 'by a deputy' };
    const grant = await desk().granted(await desk().asked(own, 'sign', parameters), deputy.token);

    const reply = await desk().resume(passedOn, 'sign', grant, parameters);

    assertRefused(reply, 'approval_grant_invalid', /human:deputy stands on the side/);
    assert.equal((await desk().resume(own, 'sign', grant, parameters)).status, 200);
  });

  test('invoke() refuses a grant whose approver asked the same below the quorum', async () => {
    const { own, passedOn } = await namesakes(desk());
    const parameters = { note: 'counted first' };
    const id = await desk().asked(own, 'pair', parameters);
    assert.equal((await desk().approve(BOB, id)).status, 202);
    await desk().asked(passedOn, 'pair', parameters);
    const grant = await desk().granted(id, ALICE);

    const reply = await desk().resume(passedOn, 'pair', grant, parameters);

    assertRefused(reply, 'approval_grant_invalid', /human:bob stands/);
    assert.equal((await desk().resume(own, 'pair', grant, parameters)).status, 200);
  });
});
