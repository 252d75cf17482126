/**
 * Tokens of one name that passed through different hands, over a real socket: what belongs to one
 * requester does not exist for the other.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import type { AskOptions, Reply } from '../support/world.ts';
import { ALICE, assertRefused, BOB, type Desk, onEachStore } from './desk.ts';
import { askedOverSocket } from './socket.ts';

const VICTIM = 'agent:victim';
const NO_REQUEST = `apr_${'0'.repeat(32)}`;
const NO_GRANT = `gnt_${'0'.repeat(32)}`;

let count = 0;

/** The victim under alice, and a token of its name that agent:evil made below its own. */
async function namesakes(desk: Desk) {
  count += 1;
  const victim = await desk.token({ subject: VICTIM });
  const evil = await desk.token({ subject: 'agent:evil' });
  const child = { scope: ['a.use'], parent_token: evil.token_id, subject: VICTIM };
  const thief = await desk.issue(evil.token, child);
  return { victim, thief, parameters: { note: `chain ${count}` } };
}

type Ask = (method: string, path: string, options: AskOptions) => Promise<Reply>;

/** A call of "sign" over the socket, with a grant. */
function use(ask: Ask, { token }: IssueAnswer, parameters: object, approval_grant: string) {
  return ask('POST', '/svc/invoke/sign', { bearer: token, body: { parameters, approval_grant } });
}

/** A call of "plain" over the socket, with an idempotency key. */
function call(ask: Ask, { token }: IssueAnswer, parameters: object, key: string) {
  const headers = { 'idempotency-key': key };
  return ask('POST', '/svc/invoke/plain', { bearer: token, body: { parameters }, headers });
}

onEachStore((desk) => {
  test('a request is hidden from a token with the requester’s name and another lineage', async () => {
    const ask = await askedOverSocket(desk());
    const { victim, thief, parameters } = await namesakes(desk());
    const id = await desk().asked(victim, 'sign', parameters);
    const path = (of: string) => `/svc/approval_requests/${of}`;
    const attempts = (of: string): Promise<Reply>[] => [
      ask('GET', path(of), { bearer: thief.token }),
      ask('GET', path(of), { bearer: thief.token, headers: { prefer: 'wait=1' } }),
      ask('POST', `${path(of)}/deny`, { bearer: thief.token, body: { reason: 'mine' } }),
      ask('POST', '/svc/approval_grants', {
        bearer: thief.token,
        body: { approval_request_id: of, grant_type: 'one_time' },
      }),
    ];

    const foreign = await Promise.all(attempts(id));
    const unknown = await Promise.all(attempts(NO_REQUEST));

    for (const [place, reply] of foreign.entries()) {
      assertRefused(reply, 'not_found');
      assert.equal(reply.status, unknown[place]?.status);
      assert.deepEqual(reply.body, unknown[place]?.body);
    }
    assert.equal((await ask('GET', path(id), { bearer: victim.token })).body.status, 'pending');
    assert.equal((await ask('GET', path(id), { bearer: ALICE })).status, 200);
  });

  test('the same call through another lineage is another request', async () => {
    const { victim, thief, parameters } = await namesakes(desk());

    const first = await desk().asked(victim, 'sign', parameters);
    const second = await desk().asked(thief, 'sign', parameters);

    assert.notEqual(second, first);
    assert.equal(await desk().asked(victim, 'sign', parameters), first);
  });

  test('a grant does not exist for a token with the requester’s name and another lineage', async () => {
    const ask = await askedOverSocket(desk());
    const { victim, thief, parameters } = await namesakes(desk());
    const grant = await desk().granted(await desk().asked(victim, 'sign', parameters), BOB);
    const runs = desk().world.runs('sign').length;

    const stolen = await use(ask, thief, parameters, grant);
    const made = await use(ask, thief, parameters, NO_GRANT);
    const tried = await ask('POST', '/svc/test/sign', {
      bearer: thief.token,
      body: { parameters, approval_grant: grant },
    });

    assertRefused(stolen, 'approval_grant_invalid', /there is no such grant/);
    assert.equal(stolen.body.failure.detail, made.body.failure.detail.replace(NO_GRANT, grant));
    assert.equal(tried.body.failure?.type, 'approval_grant_invalid');
    assert.equal(desk().world.runs('sign').length, runs);
    const entry = (await desk().entries('invocation')).find(
      ({ invocation_id }) => invocation_id === stolen.body.invocation_id,
    );
    assert.deepEqual([entry?.approval_grant_id, entry?.approval_request_id], [null, null]);
    const own = await use(ask, victim, parameters, grant);
    assert.equal(own.status, 200);
  });

  test('an idempotency key is not readable through another lineage', async () => {
    const ask = await askedOverSocket(desk());
    const { victim, thief, parameters } = await namesakes(desk());
    const key = `read-${count}`;
    const first = await call(ask, victim, parameters, key);

    const other = await call(ask, thief, parameters, key);
    const again = await call(ask, victim, parameters, key);

    assert.equal(other.status, 200);
    assert.notEqual(other.body.invocation_id, first.body.invocation_id);
    assert.equal(other.headers['idempotent-replayed'], undefined);
    assert.equal(again.text, first.text);
  });

  test('an idempotency key cannot be poisoned or claimed through another lineage', async () => {
    const ask = await askedOverSocket(desk());
    const { victim, thief, parameters } = await namesakes(desk());
    const key = `taken-${count}`;
    const poisoned = await call(ask, thief, { note: 'poison' }, key);

    const own = await call(ask, victim, parameters, key);

    assert.equal(poisoned.status, 200);
    assert.equal(own.status, 200, own.text);
    assert.equal(own.headers['idempotent-replayed'], undefined);
  });

  test('a renewed token of the same lineage continues with request, grant and key', async () => {
    const ask = await askedOverSocket(desk());
    const { victim, parameters } = await namesakes(desk());
    const child = { scope: ['a.use'], parent_token: victim.token_id, subject: VICTIM };
    const renewed = await desk().issue(victim.token, child);
    const anew = await desk().token({ subject: VICTIM });
    const key = `renewed-${count}`;
    const id = await desk().asked(victim, 'sign', parameters);
    const grant = await desk().granted(id, BOB);
    const first = await call(ask, victim, parameters, key);

    for (const token of [renewed, anew]) {
      const seen = await ask('GET', `/svc/approval_requests/${id}`, { bearer: token.token });
      assert.equal(seen.body.grant_id, grant);
      assert.equal((await call(ask, token, parameters, key)).text, first.text);
    }
    const used = await use(ask, renewed, parameters, grant);
    assert.equal(used.status, 200, used.text);
  });

  test('approval_grants.issue bars every principal in the requesting chain', async () => {
    const bobs = await desk().token({ subject: 'human:bob' });
    const child = { scope: ['a.use'], parent_token: bobs.token_id, subject: 'agent:x' };
    const id = await desk().asked(await desk().issue(bobs.token, child), 'sign', { note: 'bob' });

    assertRefused(await desk().approve(BOB, id), 'approver_not_authorized', /own request/);
    assert.equal((await desk().approve(ALICE, id)).status, 200);
  });
});
