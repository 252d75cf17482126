/**
 * Bounds on open approval requests, over HTTP: what one agent can leave to its approvers, and what it cannot take
 * from others.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { onEachStore as onStores } from '../support/world.ts';
import { assertRefused, BOB, CAROL, type Desk, startDesk } from './desk.ts';
import { SECRET } from './receiver.ts';

const pager = { name: 'pager', url: 'http://127.0.0.1:9/', secret: SECRET, allow_inside: true };
const BOUNDS = {
  max_open_approvals: 6,
  max_open_approvals_per_chain: 3,
  max_open_approval_bytes: 1_048_576,
  webhooks: [pager],
};

onStores(
  ({ url }) => startDesk({ store: url, settings: BOUNDS }),
  (desk) => {
    /** A desk that has no open request: those of the test before are denied. */
    async function cleared(): Promise<Desk> {
      const { requests } = await desk().store.listApprovals({ now: new Date(), limit: 100 });
      for (const { approval_request_id: id, status } of requests) {
        if (status === 'pending') assert.equal((await desk().deny(CAROL, id)).status, 200);
      }
      return desk();
    }

    const below = (parent: IssueAnswer, subject: string) =>
      desk().issue(parent.token, { scope: ['a.use'], parent_token: parent.token_id, subject });
    const ask = ({ token }: IssueAnswer, note: string) => desk().invoke(token, 'sign', { note });

    test('invoke() refuses one more request of a delegation, whatever the names below it', async () => {
      await cleared();
      const agent = await desk().token();
      const [first, second] = [await below(agent, 'agent:x'), await below(agent, 'agent:z')];
      const deep = await below(first, 'agent:y');
      const renewed = await desk().token();
      for (const [index, token] of [agent, first, second].entries()) {
        await desk().asked(token, 'sign', { note: `open ${index}` });
      }
      const requests = (await desk().entries('approval_request')).length;
      const notices = (await desk().store.listDeliveries(100)).length;

      for (const token of [agent, deep, second, renewed]) {
        const reply = await ask(token, 'one more');
        assertRefused(reply, 'rate_limited', /: 3 requests of this delegation .* at most 3 /);
        assert.deepEqual([reply.status, reply.headers['retry-after']], [429, '60']);
        assert.equal(reply.body.failure?.resolution.action, 'wait_and_retry');
      }

      assert.equal((await desk().entries('approval_request')).length, requests);
      assert.equal((await desk().store.listDeliveries(100)).length, notices);
      const refused = (await desk().entries('invocation')).at(-1);
      assert.equal(refused?.failure_type, 'rate_limited');
      assert.equal((await ask(agent, 'open 0')).body.failure?.type, 'approval_required');
    });

    test('invoke() leaves room for the other delegations of the root, and for other roots', async () => {
      await cleared();
      const agent = await desk().token();
      for (const note of ['a1', 'a2', 'a3']) await desk().asked(agent, 'sign', { note });
      assertRefused(await ask(agent, 'a4'), 'rate_limited');

      const sibling = await desk().token({ subject: 'agent:b' });
      const honest = await desk().asked(sibling, 'sign', { note: 'honest' });
      const inbox = await desk().ask('GET', '/svc/approval_requests?status=pending&limit=10', {
        bearer: BOB,
      });
      for (const note of ['b2', 'b3']) await desk().asked(sibling, 'sign', { note });

      const listed = inbox.body.approval_requests as { approval_request_id: string }[];
      assert.ok(listed.some(({ approval_request_id: id }) => id === honest));
      const third = await desk().token({ subject: 'agent:c' });
      assertRefused(
        await ask(third, 'c1'),
        'rate_limited',
        /: 6 requests of root principal "human:alice" wait/,
      );
      await desk().asked(await desk().token({}, BOB), 'sign', { note: 'of bob' });
    });

    test('invoke() asks again when a request was decided', async () => {
      await cleared();
      const agent = await desk().token();
      const [id = ''] = await Promise.all(
        ['1', '2', '3'].map((note) => desk().asked(agent, 'sign', { note })),
      );
      assertRefused(await ask(agent, '4'), 'rate_limited');

      await desk().granted(id);

      await desk().asked(agent, 'sign', { note: '4' });
      assertRefused(await ask(agent, '5'), 'rate_limited');
    });

    test('invoke() bounds the bytes that open requests keep, preview included', async () => {
      await cleared();
      const agent = await desk().token();
      const long = (name: string, length: number) => ({ data: { text: name.repeat(length) } });
      await desk().asked(agent, 'pay', long('a', 200_000));
      await desk().asked(agent, 'pay', long('b', 200_000));

      const reply = await desk().invoke(agent.token, 'pay', long('c', 200_000));

      assertRefused(
        reply,
        'rate_limited',
        /: 2 requests of this delegation .* at most 524288 bytes/,
      );
      await desk().asked(agent, 'pay', long('d', 50_000));
    });

    test('invoke() lets exactly as many racing calls ask as may be open', async () => {
      await cleared();
      const agents = await Promise.all(
        ['a', 'b', 'c', 'd'].map((name) => desk().token({ subject: `agent:${name}` })),
      );

      const calls = agents.flatMap((agent) => ['1', '2', '3', '4', '5'].map((n) => ask(agent, n)));
      const types = (await Promise.all(calls)).map(({ body }) => body.failure?.type);

      assert.equal(types.filter((type) => type === 'approval_required').length, 6);
      assert.equal(types.filter((type) => type === 'rate_limited').length, 14);
    });
  },
);
