/**
 * Calling again: with `continue_approved` the same call continues with the grant that waits for it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import type { Reply } from '../support/world.ts';
import { assertRefused, BOB, type Desk, onEachStore, startDesk } from './desk.ts';

const AGAIN = { continue_approved: true };

function again(
  desk: Desk,
  { token }: IssueAnswer,
  capability: string,
  parameters: object = {},
): Promise<Reply> {
  return desk.invoke(token, capability, parameters, { fields: AGAIN });
}

const requestOf = ({ body }: Reply): string => {
  assert.equal(body.failure?.type, 'approval_required', JSON.stringify(body));
  return body.failure.approval_request_id;
};

onEachStore((desk) => {
  const runs = (note: string, capability = 'sign') =>
    desk()
      .world.runs(capability)
      .filter((parameters) => parameters.note === note).length;

  test('invoke() continues when it is called again after the grant, and runs once', async () => {
    const token = await desk().token();
    const call = { note: 'continues' };
    const asked = requestOf(await again(desk(), token, 'sign', call));
    const pending = requestOf(await again(desk(), token, 'sign', call));
    const grant = await desk().granted(asked);

    const done = await again(desk(), token, 'sign', call);
    const after = requestOf(await again(desk(), token, 'sign', call));

    assert.equal(pending, asked);
    assert.equal(done.body.success, true, JSON.stringify(done.body));
    assert.notEqual(after, asked);
    assert.equal(runs('continues'), 1);
    const entries = await desk().entries('invocation');
    const entry = entries.find(({ invocation_id }) => invocation_id === done.body.invocation_id);
    assert.deepEqual([entry?.approval_request_id, entry?.approval_grant_id], [asked, grant]);
  });

  test('invoke() makes a new request when the field is absent or false', async () => {
    const token = await desk().token();
    const call = { note: 'unasked' };
    const asked = await desk().asked(token, 'sign', call);
    await desk().granted(asked);

    const without = await desk().invoke(token.token, 'sign', call);
    const not = await desk().invoke(token.token, 'sign', call, {
      fields: { continue_approved: false },
    });

    assert.notEqual(requestOf(without), asked);
    assert.equal(requestOf(not), requestOf(without));
    assert.equal(runs('unasked'), 0);
  });

  test('invoke() refuses a field that is not a boolean', async () => {
    const { token } = await desk().token();
    for (const continue_approved of ['true', 1, {}]) {
      const reply = await desk().invoke(token, 'sign', {}, { fields: { continue_approved } });
      assertRefused(reply, 'invalid_parameters', /continue_approved/);
    }
  });

  test('invoke() checks a named grant, even when other grants wait', async () => {
    const token = await desk().token();
    const call = { note: 'named' };
    await desk().granted(await desk().asked(token, 'sign', call));
    const fields = { ...AGAIN, approval_grant: 'gnt_none' };

    assertRefused(
      await desk().invoke(token.token, 'sign', call, { fields }),
      'approval_grant_invalid',
    );
    assert.equal(runs('named'), 0);
  });

  test('invoke() finds no grant for other parameters, another capability or another lineage', async () => {
    const token = await desk().token();
    const call = { note: 'mine' };
    await desk().granted(await desk().asked(token, 'sign', call));
    const below = ({ token: parent, token_id }: IssueAnswer, subject: string) =>
      desk().issue(parent, { parent_token: token_id, scope: ['a.use'], subject });
    const child = await below(token, 'agent:b');
    const namesake = await below(child, 'agent:a');

    requestOf(await again(desk(), token, 'sign', { note: 'other' }));
    requestOf(await again(desk(), token, 'brief', call));
    requestOf(await again(desk(), child, 'sign', call));
    requestOf(await again(desk(), namesake, 'sign', call));
    assert.equal(runs('mine'), 0);

    const renewed = await desk().token();
    assert.equal((await again(desk(), renewed, 'sign', call)).body.success, true);
  });

  test('invoke() finds a session-bound grant in its session until its uses are taken', async () => {
    const session = (session_id: string) => desk().token({ purpose_parameters: { session_id } });
    const [own, other] = [await session('s-1'), await session('s-2')];
    const call = { note: 'session' };
    const asked = await desk().asked(own, 'sign', call);
    await desk().granted(asked, BOB, {
      grant_type: 'session_bound',
      session_id: 's-1',
      max_uses: 2,
    });

    requestOf(await again(desk(), other, 'sign', call));
    for (let use = 0; use < 2; use += 1) {
      assert.equal((await again(desk(), own, 'sign', call)).body.success, true);
    }
    requestOf(await again(desk(), own, 'sign', call));
    assert.equal(runs('session'), 2);
  });

  test('invoke() advises what to do when the token lacks the session of the grant', async () => {
    const token = await desk().token();
    const call = { note: 'no session' };
    const asked = await desk().asked(token, 'sign', call);
    await desk().granted(asked, BOB, {
      grant_type: 'session_bound',
      session_id: 's-1',
      max_uses: 1,
    });

    for (let time = 0; time < 3; time += 1) {
      const reply = await again(desk(), token, 'sign', call);
      assertRefused(
        reply,
        'approval_grant_invalid',
        /bound to session "s-1", and the token has no session; call with a token of that session/,
      );
      assert.equal(reply.body.failure.approval_request_id, asked);
    }
    const tried = await desk().ask('POST', '/svc/test/sign', {
      bearer: token.token,
      body: { parameters: call, ...AGAIN },
    });
    assert.match(tried.text ?? '', /and the token has no session/);

    const meant = await desk().token({ purpose_parameters: { session_id: 's-1' } });
    assert.equal((await again(desk(), meant, 'sign', call)).body.success, true);
    // The grant is used up: the question is open again.
    requestOf(await again(desk(), token, 'sign', call));
    assert.equal(runs('no session'), 1);
  });

  test('invoke() lets one of many concurrent repeats use a grant with one use', async () => {
    const token = await desk().token();
    const call = { note: 'race' };
    await desk().granted(await desk().asked(token, 'sign', call));

    const replies = await Promise.all(
      Array.from({ length: 12 }, () => again(desk(), token, 'sign', call)),
    );

    assert.equal(replies.filter(({ body }) => body.success).length, 1);
    assert.equal(runs('race'), 1);
    for (const { body } of replies.filter((each) => !each.body.success)) {
      assert.ok(['approval_grant_invalid', 'approval_required'].includes(body.failure.type));
    }
  });

  test('invoke() skips an expired grant and uses the next', async () => {
    const token = await desk().token();
    const call = { note: 'expired' };
    await desk().granted(await desk().asked(token, 'sign', call), BOB, { expires_in_seconds: 5 });
    const second = await desk().granted(await desk().asked(token, 'sign', call));
    desk().advance(6_000);

    const done = await again(desk(), token, 'sign', call);

    assert.equal(done.body.success, true);
    const entries = await desk().entries('invocation');
    const entry = entries.find(({ invocation_id }) => invocation_id === done.body.invocation_id);
    assert.equal(entry?.approval_grant_id, second);
  });

  test('invoke() reports a denied request, and makes a new one once the denied one would have expired', async () => {
    const token = await desk().token();
    const call = { note: 'denied' };
    const asked = requestOf(await again(desk(), token, 'brief', call));
    await desk().deny(BOB, asked, 'take the train');

    for (let turn = 0; turn < 2; turn += 1) {
      const told = await again(desk(), token, 'brief', call);
      assertRefused(told, 'approval_request_decided', /was denied, .*: take the train$/);
      assert.equal(told.body.failure.approval_request_id, asked);
    }
    const { body: tried } = await desk().ask('POST', '/svc/test/brief', {
      bearer: token.token,
      body: { parameters: call, continue_approved: true },
    });
    assert.equal(tried.failure.type, 'approval_request_decided');
    const dryRuns = await desk().entries('dry_run');
    const dryRun = dryRuns.find(({ invocation_id }) => invocation_id === tried.invocation_id);
    assert.equal(dryRun?.failure_type, 'approval_request_decided');
    assert.equal(dryRun?.approval_request_id, null);
    desk().advance(61_000);
    assert.notEqual(requestOf(await again(desk(), token, 'brief', call)), asked);
  });

  test('invoke() continues with a later grant although an earlier request was denied', async () => {
    const token = await desk().token();
    const call = { note: 'changed mind' };
    await desk().deny(BOB, await desk().asked(token, 'sign', call));
    const second = await desk().asked(token, 'sign', call);

    assert.equal(requestOf(await again(desk(), token, 'sign', call)), second);
    await desk().granted(second);
    assert.equal((await again(desk(), token, 'sign', call)).body.success, true);
  });

  test('invoke() makes a new request when the last one expired undecided', async () => {
    const token = await desk().token();
    const asked = requestOf(await again(desk(), token, 'brief', { note: 'late' }));
    desk().advance(61_000);

    assert.notEqual(requestOf(await again(desk(), token, 'brief', { note: 'late' })), asked);
  });

  test('invoke() with one key continues after the grant, and then replays the answer', async () => {
    const token = await desk().token();
    const call = { note: 'keyed' };
    const headers = { 'idempotency-key': 'key-1' };
    const keyed = () => desk().invoke(token.token, 'sign', call, { fields: AGAIN, headers });
    const asked = requestOf(await keyed());
    await desk().granted(asked);
    // A second grant: a replay must not take it.
    await desk().granted(await desk().asked(token, 'sign', call));

    const done = await keyed();
    const replay = await keyed();

    assert.equal(done.body.success, true);
    assert.equal(replay.headers['idempotent-replayed'], 'true');
    assert.deepEqual(replay.body, done.body);
    assert.equal(runs('keyed'), 1);
  });

  test('invoke() continues after an approval that a handler required, and then replays under the same key', async () => {
    const token = await desk().token();
    const call = { note: 'raised' };
    const headers = { 'idempotency-key': 'key-2' };
    const keyed = () => desk().invoke(token.token, 'raise', call, { fields: AGAIN, headers });
    const asked = requestOf(await keyed());
    const pending = requestOf(await keyed());
    await desk().granted(asked);

    const done = await keyed();
    const replay = await keyed();

    assert.equal(pending, asked);
    assert.equal(done.body.success, true, JSON.stringify(done.body));
    assert.deepEqual(replay.body, done.body);
    assert.equal(runs('raised', 'raise'), 2);
  });

  test('invoke() reports that an approval required by a handler was denied', async () => {
    const token = await desk().token();
    const asked = requestOf(await again(desk(), token, 'raise', { note: 'no' }));
    await desk().deny(BOB, asked);

    const told = await again(desk(), token, 'raise', { note: 'no' });

    assertRefused(told, 'approval_request_decided', new RegExp(asked));
  });

  test('invoke() checks bindings at the time of the approval request when it is repeated', async () => {
    const token = await desk().token({ budget: { currency: 'USD', max_amount: 100 } });
    const { body } = await desk().invoke(token.token, 'quote');
    const { quote } = body.result;
    const asked = requestOf(await again(desk(), token, 'book', { quote }));
    await desk().granted(asked);
    desk().advance(6 * 60_000);

    const done = await again(desk(), token, 'book', { quote });

    assert.equal(done.body.success, true, JSON.stringify(done.body));
    assertRefused(await again(desk(), token, 'book', { quote }), 'binding_stale');
  });

  test('test() reports the waiting grant and takes no use', async () => {
    const token = await desk().token();
    const call = { note: 'dry' };
    await desk().granted(await desk().asked(token, 'sign', call));
    const dry = (fields: object) =>
      desk().ask('POST', '/svc/test/sign', {
        bearer: token.token,
        body: { parameters: call, ...fields },
      });

    const [found, unasked] = [await dry(AGAIN), await dry({})];

    assert.equal(found.body.would_be_admitted, true);
    assert.equal(unasked.body.would_be_admitted, false);
    assert.equal((await again(desk(), token, 'sign', call)).body.success, true);
  });
});

test('invoke() looks for no grant without the field or without an approval policy', async () => {
  const looked: string[] = [];
  const desk = await startDesk({
    wrap: (store) =>
      Object.assign(Object.create(store), {
        waitingGrants: (...query: Parameters<typeof store.waitingGrants>) => {
          looked.push(query[0].capability);
          return store.waitingGrants(...query);
        },
      }),
  });
  const token = await desk.token();

  await desk.invoke(token.token, 'sign');
  await again(desk, token, 'plain');
  assert.deepEqual(looked, []);
  await again(desk, token, 'sign');
  assert.deepEqual(looked, ['sign']);
});

test('invoke() skips a waiting grant whose row was altered, and uses an intact one', async () => {
  const desk = await startDesk({
    wrap: (store) =>
      Object.assign(Object.create(store), {
        async waitingGrants(...query: Parameters<typeof store.waitingGrants>) {
          const grants = await store.waitingGrants(...query);
          return [...grants.map((grant) => ({ ...grant, max_uses: 99 })), ...grants];
        },
      }),
  });
  const token = await desk.token();
  const grant = await desk.granted(await desk.asked(token, 'sign'));

  const { body } = await again(desk, token, 'sign');

  assert.equal(body.success, true);
  const entries = await desk.entries('invocation');
  assert.equal(entries.at(-1)?.approval_grant_id, grant);
  assert.ok(desk.log.some((line) => line.includes('the MAC of a grant does not match')));
});
