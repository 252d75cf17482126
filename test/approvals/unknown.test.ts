/**
 * Ids of others, over a real socket: for a caller who may neither read nor decide, what exists and
 * what does not are one answer. Only who may approve something else learns, by approving, that a request exists.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { entryView } from '../../src/domain/log/entry.ts';
import type { Reply } from '../support/world.ts';
import { assertRefused, BOB, CLERK, type Desk, OPERATOR, onEachStore, ROBOT } from './desk.ts';
import { askedOverSocket } from './socket.ts';

const HEX = '0'.repeat(32);

/** Callers that may approve nothing and have nothing to do with a request of alice's for "over". */
async function strangers(desk: Desk): Promise<Record<string, string>> {
  const robots = await desk.token({ subject: 'agent:a' }, ROBOT);
  const sibling = await desk.token({ subject: 'agent:b' });
  const stray = { scope: ['approver:plain'], subject: 'human:bob' };
  return {
    'the namesake of the requester under another root': robots.token,
    'another agent of the same root': sibling.token,
    'an approver of what needs no approval': (await desk.token(stray, BOB)).token,
    'an operator': OPERATOR,
  };
}

/** Callers that may approve "sign" and not "over". */
async function otherApprovers(desk: Desk): Promise<Record<string, string>> {
  const scope = ['approver:sign'];
  const narrow = await desk.token({ scope, subject: 'human:bob' }, BOB);
  return {
    'an approver of something else': CLERK,
    'a token for approving something else': narrow.token,
  };
}

onEachStore((desk) => {
  test('approval_grants.issue discloses nothing about an existing request to an outsider', async () => {
    const ask = await askedOverSocket(desk());
    const id = await desk().asked(await desk().token(), 'over', {});
    const approve = (bearer: string, approval_request_id: string) =>
      ask('POST', '/svc/approval_grants', {
        bearer,
        body: { approval_request_id, grant_type: 'one_time', max_uses: 99 },
      });

    for (const [who, bearer] of Object.entries(await strangers(desk()))) {
      const foreign = await approve(bearer, id);
      const unknown = await approve(bearer, `apr_${HEX}`);

      assertRefused(foreign, 'not_found');
      assert.deepEqual([foreign.status, foreign.body], [unknown.status, unknown.body], who);
      assert.deepEqual(Object.keys(foreign.headers), Object.keys(unknown.headers), who);
    }
  });

  test('approval_grants.issue checks the authority of an approver after it found the request', async () => {
    const id = await desk().asked(await desk().token(), 'over', {});

    for (const [who, bearer] of Object.entries(await otherApprovers(desk()))) {
      const outside = await desk().approve(bearer, id, { max_uses: 99 });
      const unknown = await desk().approve(bearer, `apr_${HEX}`);

      assertRefused(outside, 'approver_not_authorized', /lacks scope "approver:over"/);
      assert.deepEqual([outside.status, unknown.status], [403, 404], who);
      assertRefused(await desk().read(bearer, id), 'not_found');
      assertRefused(await desk().deny(bearer, id), 'not_found');
    }
    assert.equal((await desk().store.loadApproval(id))?.status, 'pending');
  });

  test('the trail of an outsider does not name the request it asked for', async () => {
    const id = await desk().asked(await desk().token(), 'over', { note: 'trail' });
    const before = (await desk().entries('approval_decision')).length;

    await desk().approve(OPERATOR, id);
    await desk().deny(CLERK, id);

    const told = (await desk().entries('approval_decision')).slice(before);
    assert.deepEqual(
      told.map((entry) => [entry.failure_type, entry.approval_request_id, entry.capability]),
      [
        ['not_found', null, null],
        ['not_found', null, null],
      ],
    );
    for (const rootPrincipal of ['service:clerk', 'service:operator']) {
      const { entries: stored } = await desk().store.queryEntries({ rootPrincipal, limit: 9 });
      const named = stored.filter((each) => JSON.stringify(entryView(each)).includes(id));
      assert.deepEqual(named, []);
    }
  });

  test('every other id of another root is answered like one that does not exist', async () => {
    const ask = await askedOverSocket(desk());
    const theirs = await desk().token();
    const id = await desk().asked(theirs, 'sign', { note: 'theirs' });
    const grant = await desk().granted(id);
    const call = await desk().invoke(theirs.token, 'plain');
    const { token: bearer } = await desk().token({ subject: 'agent:a' }, ROBOT);
    await desk().ask('POST', '/svc/operator/checkpoints', { bearer: 'operator-key', body: {} });
    const sealed = (await desk().ask('GET', '/svc/checkpoints')).body.checkpoints[0];
    const proof = `/svc/checkpoints/${sealed.checkpoint_id}?include_proof=true&invocation_id=`;
    const table: [foreign: string, unknown: string, (of: string) => Promise<Reply>][] = [
      [theirs.token_id, `tok_${HEX}`, (of) => ask('GET', `/svc/tokens/${of}`, { bearer })],
      [
        theirs.token_id,
        `tok_${HEX}`,
        (of) => ask('POST', '/svc/tokens/revoke', { bearer, body: { token_id: of } }),
      ],
      [
        theirs.token_id,
        `tok_${HEX}`,
        (of) =>
          ask('POST', '/svc/tokens', {
            bearer: ROBOT,
            body: { parent_token: of, scope: ['a.use'] },
          }),
      ],
      [id, `apr_${HEX}`, (of) => ask('GET', `/svc/approval_requests/${of}`, { bearer })],
      [
        id,
        `apr_${HEX}`,
        (of) =>
          ask('POST', `/svc/approval_requests/${of}/deny`, { bearer, body: { reason: 'no' } }),
      ],
      [
        grant,
        `gnt_${HEX}`,
        (of) =>
          ask('POST', '/svc/invoke/sign', {
            bearer,
            body: { parameters: { note: 'theirs' }, approval_grant: of },
          }),
      ],
      [
        call.body.invocation_id,
        `inv-${HEX.slice(0, 12)}`,
        (of) => ask('GET', `${proof}${of}`, { bearer }),
      ],
    ];

    for (const [foreign, unknown, attempt] of table) {
      const [one, other] = [await attempt(foreign), await attempt(unknown)];

      assert.ok(one.status >= 400, one.text);
      assert.equal(one.status, other.status);
      const failure = JSON.stringify(other.body.failure).replaceAll(unknown, foreign);
      assert.equal(JSON.stringify(one.body.failure), failure);
    }
  });
});
