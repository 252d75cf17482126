/**
 * Listing, reading, waiting for and denying requests, and what each caller sees of them.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import { ApprovalRequest } from '../../src/protocol/approval.ts';
import type { Store } from '../../src/storage/port/store.ts';
import { emptyStore } from '../support/empty-store.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { eventually } from '../support/world.ts';
import {
  ALICE,
  AUDITOR,
  assertRefused,
  BOB,
  CAROL,
  CLERK,
  OPERATOR,
  onEachStore,
  ROBOT,
  startDesk,
} from './desk.ts';

const list = (query = '') => `/svc/approval_requests${query}`;

onEachStore((desk) => {
  test('approval_requests.get shows the whole request to a caller that may decide it', async () => {
    const token = await desk().token({ session_id: 'room-1' });
    const id = await desk().asked(token, 'sign', { note: 'p\u0430y \u202E001' });

    const { status, body } = await desk().read(BOB, id);

    assert.equal(status, 200);
    assert.deepEqual(ApprovalRequest.parse(body), body);
    assert.equal(body.status, 'pending');
    assert.equal(body.session_id, 'room-1');
    assert.deepEqual(body.parameters, { note: 'p\u0430y \u202E001' });
    assert.deepEqual(body.safe.parameters, { note: 'p⟨U+0430⟩y ⟨U+202E⟩001' });
    assert.deepEqual(body.safe.preview, { action: 'Sign', note: 'p⟨U+0430⟩y ⟨U+202E⟩001' });
  });

  test('approval_requests.get shows names that callers wrote in a safe form too', async () => {
    const token = await desk().token({ subject: 'agent:b\u043Eb', session_id: 'ro\u200Bom' });
    const id = await desk().asked(token, 'sign', { note: 'names' });

    const { body } = await desk().read(BOB, id);

    assert.equal(body.requester.subject, 'agent:b\u043Eb');
    assert.equal(body.session_id, 'ro\u200Bom');
    assert.deepEqual(body.safe.requester, {
      subject: 'agent:b⟨U+043E⟩b',
      root_principal: 'human:alice',
    });
    assert.equal(body.safe.session_id, 'ro⟨U+200B⟩om');
  });

  test('approval_requests.get shows a request to its requester and its root principal', async () => {
    const token = await desk().token();
    const id = await desk().asked(token, 'sign', { note: 'mine' });

    const again = await desk().token();
    for (const bearer of [token.token, again.token, ALICE]) {
      assert.equal((await desk().read(bearer, id)).status, 200);
    }
    const other = await desk().token({ subject: 'agent:b' });
    const bobs = await desk().token({}, BOB);
    for (const bearer of [other.token, bobs.token, ROBOT, OPERATOR, AUDITOR]) {
      const reply = await desk().read(bearer, id);
      assert.equal(reply.status, 404);
      assert.deepEqual(reply.body, (await desk().read(bearer, `apr_${'0'.repeat(32)}`)).body);
    }
    assert.equal((await desk().ask('GET', list(`/${id}`))).status, 401);
  });

  test('approval_requests.get shows who decided and why, by the disclosure level of the class', async () => {
    const reason = 'r'.repeat(300);
    const seen = async (caller_class: string) => {
      const token = await desk().token({ caller_class, subject: `agent:${caller_class}` });
      const id = await desk().asked(token, 'sign', { note: 'classes' });
      await desk().deny(BOB, id, reason);
      const { body } = await desk().read(token.token, id);
      return [body.status, body.decided_by, body.reason];
    };

    assert.deepEqual(await seen('internal'), ['denied', 'human:bob', reason]);
    assert.deepEqual(await seen('partner'), ['denied', null, 'r'.repeat(200)]);
    assert.deepEqual(await seen('silent'), ['denied', null, null]);
  });

  test('approval_requests.list shows the requests that the caller may decide, newest first, in pages', async () => {
    const token = await desk().token({ subject: 'agent:lister' });
    const ids: string[] = [];
    for (const note of ['1', '2', '3']) ids.unshift(await desk().asked(token, 'over', { note }));
    const own = await desk().asked(await desk().token({ subject: 'human:carol' }), 'over', {});
    const seen = async (bearer: string, query = '') => {
      const { status, body } = await desk().ask('GET', list(query), { bearer });
      assert.equal(status, 200, JSON.stringify(body));
      const found = body.approval_requests.map(
        (each: { approval_request_id: string }) => each.approval_request_id,
      );
      return { ids: found, next: body.next_cursor };
    };

    const all = (await seen(BOB, '?status=pending&limit=100')).ids;
    assert.deepEqual(all.slice(0, 4), [own, ...ids]);
    assert.deepEqual((await seen(CAROL, '?limit=100')).ids.slice(0, 3), ids);
    assert.deepEqual(
      (await seen(CLERK)).ids.filter((id: string) => ids.includes(id)),
      [],
    );
    assert.deepEqual((await seen(ROBOT)).ids, []);
    assert.deepEqual((await seen(token.token)).ids, []);
    const first = await seen(BOB, '?limit=2');
    const second = await seen(BOB, `?limit=2&cursor=${first.next}`);
    assert.deepEqual([...first.ids, ...second.ids], [own, ...ids]);
    for (const query of ['?cursor=nowhere', '?limit=0', '?status=lost', '?stat=pending']) {
      assertRefused(await desk().ask('GET', list(query), { bearer: BOB }), 'invalid_parameters');
    }
  });

  test('approval_requests.deny ends a request once, with its reason and an entry', async () => {
    const token = await desk().token();
    const id = await desk().asked(token, 'sign', { note: 'denied' });

    const { status, body } = await desk().deny(BOB, id, 'too dear');

    assert.equal(status, 200);
    assert.deepEqual(
      [body.status, body.decided_by, body.reason],
      ['denied', 'human:bob', 'too dear'],
    );
    const entry = (await desk().entries('approval_decision')).at(-1);
    assert.deepEqual(entry?.detail, { decision: 'denied', reason: 'too dear' });
    assertRefused(await desk().deny(CAROL, id), 'approval_request_decided');
    assertRefused(await desk().approve(CAROL, id), 'approval_request_decided');
    assert.equal((await desk().read(token.token, id)).body.status, 'denied');
  });

  test('approval_requests.deny needs a caller that could approve, and hides other requests', async () => {
    const token = await desk().token();
    const id = await desk().asked(token, 'sign', { note: 'whose' });

    assertRefused(await desk().deny(token.token, id), 'approver_not_authorized');
    assertRefused(await desk().deny(ROBOT, id), 'not_found');
    assertRefused(await desk().deny((await desk().token({}, BOB)).token, id), 'not_found');
    const body = { reason: 'x', why: 'y' };
    const path = `/svc/approval_requests/${id}/deny`;
    assertRefused(await desk().ask('POST', path, { bearer: BOB, body }), 'invalid_parameters');
    assert.equal((await desk().read(BOB, id)).body.status, 'pending');
  });

  test('approval_requests.get waits until the decision and not longer', async () => {
    const token = await desk().token();
    const id = await desk().asked(token, 'sign', { note: 'waiting' });
    const waiting = desk().read(token.token, id, { prefer: 'respond-async, wait=30' });
    await sleep(50);

    const grant = await desk().granted(id);

    const { body, headers } = await waiting;
    assert.equal(body.status, 'approved');
    assert.equal(body.grant_id, grant);
    assert.equal(headers['preference-applied'], 'wait=30');
    const decided = await desk().read(token.token, id, { prefer: 'wait=30' });
    assert.equal(decided.body.status, 'approved');
  });

  test('approval_requests.get answers when the wait is over, and ignores other preferences', async () => {
    const token = await desk().token();
    const id = await desk().asked(token, 'sign', { note: 'undecided' });

    for (const prefer of ['wait=1', 'wait=0', 'return=minimal', 'wait=-5', 'wait=soon']) {
      const { status, body } = await desk().read(token.token, id, { prefer });
      assert.equal(status, 200);
      assert.equal(body.status, 'pending');
    }
  });

  test('approval_requests.get discloses nothing to a caller whose token ended during the wait', async () => {
    const token = await desk().token();
    const id = await desk().asked(token, 'sign', { note: 'revoked' });
    const waiting = desk().read(token.token, id, { prefer: 'wait=30' });
    await sleep(50);
    const body = { token_id: token.token_id };
    await desk().ask('POST', '/svc/tokens/revoke', { bearer: ALICE, body });

    await desk().granted(id);

    assertRefused(await waiting, 'invalid_token');
  });
});

test('approval_requests.get sees what another process decided', async () => {
  const database = await emptyStore();
  const keys = temporaryFolder();
  const [one, two] = [
    await startDesk({ store: database.url, keys }),
    await startDesk({ store: database.url, keys }),
  ];
  atEnd(() => two.close());
  atEnd(() => one.close());
  const token = await one.token();
  const id = await one.asked(token, 'sign');
  const waiting = one.read(ALICE, id, { prefer: 'wait=30' });
  await sleep(50);
  assert.equal((await two.deny(BOB, id, 'elsewhere')).status, 200);

  assert.equal((await waiting).body.reason, 'elsewhere');
});

test('approval_requests.get bounds waiters per root principal, and frees the place of one that leaves', async () => {
  let looks = 0;
  const wrap = (store: Store): Store => ({
    ...store,
    async loadApproval(id) {
      const found = await store.loadApproval(id);
      looks += 1;
      return found;
    },
  });
  const desk = await startDesk({ wrap });
  const id = await desk.asked(await desk.token(), 'sign');
  const address = await desk.app.listen({ host: '127.0.0.1', port: 0 });
  const headers = { authorization: `Bearer ${BOB}`, prefer: 'wait=60' };
  const leaving = new AbortController();
  const left = Promise.allSettled(
    Array.from({ length: 50 }, () =>
      fetch(`${address}${list(`/${id}`)}`, { headers, signal: leaving.signal }),
    ),
  );
  const hasPlace = async (key: string) => {
    const reply = await desk.read(key, id, { prefer: 'wait=1' });
    return reply.headers['preference-applied'] === 'wait=1';
  };
  atEnd(() => {
    leaving.abort();
    // An aborted fetch may leave a connection without a request, for which a close without a drain waits.
    desk.app.server.closeAllConnections();
  });
  await eventually(() => looks >= 50);
  assert.equal(await hasPlace(BOB), false);
  assert.equal(await hasPlace(CAROL), true);

  leaving.abort();

  await left;
  await eventually(() => hasPlace(BOB));
});

test('close() does not wait for callers that wait for a decision', async () => {
  const desk = await startDesk();
  const id = await desk.asked(await desk.token(), 'sign');
  const address = await desk.app.listen({ host: '127.0.0.1', port: 0 });
  const headers = { authorization: `Bearer ${BOB}`, prefer: 'wait=60', connection: 'close' };
  const waiting = fetch(`${address}${list(`/${id}`)}`, { headers });
  await sleep(100);

  // A stop that waited for the whole minute would end this test by its time.
  const [reply] = await Promise.all([waiting, desk.close()]);

  assert.equal(((await reply.json()) as { status: string }).status, 'pending');
});
