/**
 * Races: however many decide or continue at once, in however many processes, a request has one
 * outcome and a grant no more effects than uses.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { group } from '../support/missing.ts';
import { rounds } from '../support/rounds.ts';
import { type Reply, STORES } from '../support/world.ts';
import { ALICE, BOB, CAROL, type Desk, SETTINGS, startDesk } from './desk.ts';

/** Requests that are raced for, and how many of the approvers race for each of them. */
const REQUESTS = rounds(30);
const APPROVERS = 32;
const APPROVERS_EACH = 8;

/** The service turns away more than it can work on, which is not what is raced for here. */
const REQUESTS_AT_ONCE = 25;

const CONTINUATIONS = rounds(125);
const USES = 7;

const approverKeys = Array.from({ length: APPROVERS }, (_, index) => `approver-${index}-key`);
const identities = [
  ...SETTINGS.identities,
  ...approverKeys.map((key, index) => ({
    key,
    principal: `human:approver-${index}`,
    scopes: ['approver:*'],
    caller_class: 'internal',
  })),
];

for (const place of STORES) {
  group(place.name, async () => {
    const keys = temporaryFolder();
    /** Two processes' worth of service on a shared database; the embedded store has one. */
    const desk = (index: number) => desks[index % desks.length] as Desk;
    const opened = await place.open();
    const start = () => startDesk({ store: opened.url, settings: { keys, identities } });
    const desks = place.name === 'SQLite' ? [await start()] : [await start(), await start()];

    test('approval_grants.issue yields one grant for each request that many race for', {
      timeout: 120_000,
    }, async () => {
      const token = await desk(0).token();
      const ids = await Promise.all(
        Array.from({ length: REQUESTS }, (_, index) =>
          desk(index).asked(token, 'sign', { note: `raced ${index}` }),
        ),
      );

      const replies: Reply[] = [];
      for (let from = 0; from < ids.length; from += REQUESTS_AT_ONCE) {
        const wave = ids.slice(from, from + REQUESTS_AT_ONCE).flatMap((id, index) =>
          Array.from({ length: APPROVERS_EACH }, (_, rival) => {
            const key = approverKeys[(index * APPROVERS_EACH + rival) % APPROVERS] as string;
            return insisting(() => desk(rival).approve(key, id));
          }),
        );
        replies.push(...(await Promise.all(wave)));
      }

      const won = replies.filter(({ status }) => status === 200);
      assert.deepEqual(lostTypes(replies), new Set(['approval_request_decided']));
      assert.equal(won.length, REQUESTS);
      assert.equal(new Set(won.map(({ body }) => body.approval_request_id)).size, REQUESTS);
      for (const { body } of won.slice(0, 20)) {
        const request = await desk(1).store.loadApproval(body.approval_request_id);
        assert.equal(request?.grant_id, body.grant_id);
        assert.equal(request?.approvals.length, 1);
      }
    });

    test('approval_grants.issue yields one grant when 32 race for a quorum of two', async () => {
      const id = await desk(0).asked(await desk(0).token(), 'pair', { note: 'quorum' });

      const replies = await Promise.all(
        approverKeys.map((key, index) => desk(index).approve(key, id)),
      );

      const counted = replies.filter(({ status }) => status === 202);
      const won = replies.filter(({ status }) => status === 200);
      assert.equal(counted.length, 1);
      assert.equal(won.length, 1);
      assert.equal(new Set(won[0]?.body.approved_by).size, 2);
      assert.deepEqual(lostTypes(replies), new Set(['approval_request_decided']));
    });

    test('a request that is approved and denied concurrently has one outcome', async () => {
      const token = await desk(0).token();
      for (let round = 0; round < 10; round += 1) {
        const id = await desk(0).asked(token, 'sign', { note: `both ${round}` });

        const [yes, no] = await Promise.all([desk(0).approve(BOB, id), desk(1).deny(CAROL, id)]);

        assert.deepEqual([yes?.status, no?.status].sort(), [200, 409]);
        const status = (await desk(0).read(ALICE, id)).body.status;
        assert.equal(status, yes?.status === 200 ? 'approved' : 'denied');
      }
    });

    test('concurrent calls for the same approval make one request', async () => {
      const token = await desk(0).token();

      const ids = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          desk(index).asked(token, 'sign', { note: 'asked at once' }),
        ),
      );

      assert.equal(new Set(ids).size, 1);
    });

    test('invoke() has as many effects as a grant has uses when many race for it', {
      timeout: 120_000,
    }, async () => {
      const token = await desk(0).token({ session_id: 'race' });
      const parameters = { note: 'seven' };
      const id = await desk(0).asked(token, 'sign', parameters);
      const grant = await desk(0).granted(id, BOB, {
        grant_type: 'session_bound',
        session_id: 'race',
        max_uses: USES,
      });
      const runs = () => desks.reduce((sum, { world }) => sum + world.runs('sign').length, 0);
      const before = runs();

      const replies = await Promise.all(
        Array.from({ length: CONTINUATIONS }, (_, index) =>
          insisting(() => desk(index).resume(token, 'sign', grant, parameters)),
        ),
      );

      assert.equal(replies.filter(({ status }) => status === 200).length, USES);
      assert.equal(runs(), before + USES);
      assert.deepEqual(lostTypes(replies), new Set(['approval_grant_invalid']));
    });
  });
}

/** A busy machine may make the store turn a call away; then nothing happened, and it is sent again. */
async function insisting(call: () => Promise<Reply>): Promise<Reply> {
  let reply = await call();
  for (let tries = 0; reply.status === 503 && reply.body.failure.retry && tries < 20; tries += 1) {
    reply = await call();
  }
  return reply;
}

function lostTypes(replies: readonly Reply[]): Set<string> {
  return new Set(
    replies.filter(({ status }) => status >= 300).map(({ body }) => body.failure.type),
  );
}
