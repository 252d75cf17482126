import assert from 'node:assert/strict';
import { test } from 'vitest';
import { CANARY, calling, failureOf } from '../../../test/guard/calls.ts';
import {
  type Answer,
  bodyOf,
  json,
  older,
  texts,
  withServer,
} from '../../../test/guard/older-server.ts';
import { NoEffect } from '../../service/author/handler.ts';

test('openHttpUpstream() sends the credential, and hides it in results and errors', async () => {
  const repeat: Answer = (asked, request, response) => {
    const text = `you sent ${request.headers.authorization}`;
    json(response, asked, { ...texts(text), isError: asked.params?.name === 'fail' });
  };
  await withServer(older(repeat), async (upstream) => {
    assert.deepEqual(await upstream.call(calling('echo')), texts('you sent [secret]'));
    for (const isRead of [false, true]) {
      const failure = await failureOf(upstream.call(calling('fail', { isRead })));
      assert.match(failure.message, /the tool reports an error: you sent \[secret\]$/);
      assert.equal(NoEffect.is(failure), isRead);
    }
  });
});

test('openHttpUpstream() hides a credential of letters, and one that was decoded or is a number', async () => {
  const [login, letters, digits] = ['user:open sesame', 'opensesameplease', '87654321'];
  const basic = `Basic ${Buffer.from(login).toString('base64')}`;
  const headers = () => ({ Authorization: basic, 'X-Key': letters, 'X-Number': digits });
  const repeat: Answer = (asked, _, response) => {
    const structuredContent = { login, letters, digits: Number(digits), list: [{ [letters]: 1 }] };
    json(response, asked, { content: [], structuredContent });
  };
  await withServer(
    older(repeat),
    async (upstream) => {
      const shown = JSON.stringify(await upstream.call(calling('echo')));
      for (const secret of ['open sesame', letters, digits]) {
        assert.ok(!shown.includes(secret), shown);
      }
    },
    { headers },
  );
});

test('tools() never has the credential, and leaves out a tool that is called by it', async () => {
  const inputSchema = { type: 'object', properties: { a: { description: CANARY } } };
  const tools = [
    { name: 'echo', title: `To ${CANARY}`, description: `You sent Bearer ${CANARY}`, inputSchema },
    { name: `run_${CANARY}`, inputSchema },
  ];
  const listener = older(() => assert.fail());
  await withServer(
    async (request, response) => {
      if (request.method !== 'POST') return listener(request, response);
      const asked = await bodyOf(request);
      if (asked.method === 'tools/list') return json(response, asked, { tools });
      if (asked.id === undefined) return void response.writeHead(202).end();
      json(response, asked, {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'older', version: '1' },
      });
    },
    async (upstream) => {
      const listed = await upstream.tools();
      assert.deepEqual(
        listed.map(({ name, description }) => [name, description]),
        [['echo', 'You sent [secret]']],
      );
      assert.ok(!JSON.stringify(listed).includes(CANARY));
    },
  );
});

test('call() had no effect when the session of a person cannot be opened', async () => {
  const listener = older(() => assert.fail());
  await withServer(
    (request, response) => {
      if (request.headers.authorization === `Bearer ${CANARY}`) return listener(request, response);
      request.socket.destroy();
    },
    async (upstream) => {
      await upstream.tools();
      const failure = await failureOf(
        upstream.call(calling('echo', { accessToken: 'token-of-ann-1' })),
      );
      assert.ok(NoEffect.is(failure), failure.message);
    },
  );
});
