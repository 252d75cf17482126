/**
 * The client against a real service over a network that loses answers.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'vitest';
import { createClient } from '../../src/client/index.ts';
import { failure } from '../../src/domain/failure.ts';
import { operations } from '../../src/protocol/operations.ts';
import { group } from '../support/missing.ts';
import { STORES } from '../support/world.ts';
import { answering, losing, openDesk } from './desk.ts';

const BUDGET = { budget: { currency: 'USD', max_amount: 500 } };
const LOUNGE = { capability: 'buy_lounge_pass', parameters: {} };
const INVOKED = '/svc/invoke/buy_lounge_pass';

for (const { name, open } of STORES) {
  group(name, async () => {
    const { url } = await open();
    const desk = await openDesk({ store: url });

    test('invoke() buys once when the answers to its first calls are lost', async () => {
      const { fetch, sent } = losing((path, count) => path === INVOKED && count <= 2);
      const client = await desk.client(['travel.extras'], { token: BUDGET, fetch });

      const reply = await client.invoke(LOUNGE);

      assert.ok(reply.ok);
      assert.equal(reply.replayed, true);
      assert.equal(reply.answer.budget_context?.budget_spent, reply.answer.cost_actual?.amount);
      assert.equal(sent.filter((path) => path === INVOKED).length, 3);
    });

    test('invoke() reports an unknown outcome when every answer is lost', async () => {
      const lossy = losing((path) => path === INVOKED);
      const client = await desk.client(['travel.extras'], { token: BUDGET, fetch: lossy.fetch });

      const lost = await client.invoke(LOUNGE);

      assert.ok(!lost.ok);
      assert.equal(lost.failure.type, 'outcome_unknown');
      const { idempotencyKey: idempotency_key } = lost;
      assert.match(idempotency_key ?? '', /^[0-9a-f]{32}$/);
    });

    test('invoke() sends a call that has an effect and no key only once', async () => {
      const { fetch, sent } = losing((path) => path === INVOKED);
      const client = await desk.client(['travel.extras'], { token: BUDGET, fetch });

      const lost = await client.invoke({ ...LOUNGE, idempotency_key: null });

      assert.ok(!lost.ok);
      assert.equal(lost.failure.type, 'outcome_unknown');
      assert.equal(sent.filter((path) => path === INVOKED).length, 1);
    });

    test('ask() repeats a revocation whose answer is lost, and does not claim that nothing ran', async () => {
      const { fetch, sent } = losing((path) => path === '/svc/tokens/revoke');
      const client = await desk.client(['travel.search'], { fetch });

      const lost = await client.ask('tokens.revoke', { token_id: `tok_${'0'.repeat(32)}` });

      assert.ok(!lost.ok);
      assert.equal(lost.failure.type, 'outcome_unknown');
      assert.equal(sent.length, 3);
    });

    test('invoke() sends no key with a capability that only reads', async () => {
      const keys: (string | null)[] = [];
      const client = await desk.client(['travel.read', 'travel.extras'], {
        token: BUDGET,
        async fetch(input, init) {
          const { headers, url } = new Request(input, init);
          if (url.includes('/svc/invoke/')) keys.push(headers.get('idempotency-key'));
          return fetch(input, init);
        },
      });

      await client.invoke({ capability: 'get_booking', parameters: { booking_id: 'BK-1000' } });
      await client.invoke(LOUNGE);
      await client.invoke(LOUNGE);

      const [read, first, second] = keys;
      assert.equal(read, null);
      assert.notEqual(first, null);
      assert.notEqual(first, second);
    });

    test('ask() returns a refusal as a value, with its guidance', async () => {
      const client = await desk.client(['travel.search']);

      const reply = await client.ask('tokens.issue', {
        scope: ['travel.admin'],
        subject: 'agent:other',
        parent_token: 'tok_00000000000000000000000000000000',
      });

      assert.ok(!reply.ok);
      assert.equal(reply.failure.resolution.recovery_class, 'redelegation_then_retry');
    });

    test('ask() reaches every operation that the service offers', async () => {
      const client = await desk.client(['travel.search']);
      const known = { capability: 'get_booking', parameters: {} };

      const [discovery, permissions, tested, graph, checkpoints, audit] = await Promise.all([
        client.ask('discovery', {}),
        client.ask('permissions', {}),
        client.ask('test', known),
        client.ask('graph.get', known),
        client.ask('checkpoints.list', { limit: 1 }),
        client.ask('audit.query', { limit: 2, capability: 'a b&c' }),
      ]);

      assert.ok(discovery.ok && permissions.ok && tested.ok && graph.ok && checkpoints.ok);
      assert.equal(discovery.answer.svc_discovery.endpoints.invoke, operations.invoke.path);
      assert.equal(permissions.answer.available[0]?.capability, 'search_flights');
      assert.equal(tested.answer.would_be_admitted, false);
      assert.equal(checkpoints.answer.checkpoints.length, 1);
      assert.ok(audit.ok);
      assert.deepEqual(audit.answer.entries, []);
    });

    test('ask() repeats a call that the service could not accept, and no refusal', async () => {
      let calls = 0;
      const overloaded = { success: false, failure: await unavailable() };
      const fetch = answering((path) => {
        if (path !== '/svc/tokens/revoke') return undefined;
        calls += 1;
        const headers = { 'content-type': 'application/json' };
        return calls <= 2 ? Response.json(overloaded, { status: 503, headers }) : undefined;
      });
      const client = await desk.client(['travel.search'], { fetch });

      const reply = await client.ask('tokens.revoke', { token_id: `tok_${'0'.repeat(32)}` });

      assert.ok(!reply.ok);
      assert.notEqual(reply.failure.type, 'service_unavailable');
      assert.equal(calls, 3);
    });

    /** A failure as the service words it. */
    async function unavailable() {
      const { failure } = await import('../../src/domain/failure.ts');
      return failure('service_unavailable', 'Cannot take more work');
    }
  });
}

test('ask() treats a response that is not from a service as no answer', async () => {
  const page = new TextEncoder().encode('<h1>Bad gateway</h1>');
  const client = createClient({
    url: 'http://127.0.0.1:1',
    fetch: async () => new Response(page, { status: 502 }),
    pause: async () => undefined,
  });

  const reply = await client.ask('permissions', {});

  assert.ok(!reply.ok);
  assert.equal(reply.failure.type, 'service_unavailable');
  assert.equal(reply.answer, undefined);
});

test('ask() refuses an answer that lacks a field of its operation', async () => {
  const client = createClient({
    url: 'http://127.0.0.1:1',
    fetch: async () => Response.json({ issued: true, token: 'x' }),
    pause: async () => undefined,
  });

  const reply = await client.ask('tokens.issue', { scope: ['a'] });

  assert.ok(!reply.ok);
  assert.equal(reply.failure.type, 'outcome_unknown');
});

test('ask() names the nearest operation for a name that is none', async () => {
  const client = createClient({ url: 'http://127.0.0.1:1' });
  const asked = (name: string) => client.ask(name as 'permissions', {});

  await assert.rejects(asked('token.issue'), {
    name: 'TypeError',
    message: 'Cannot ask "token.issue": there is no such operation; write "tokens.issue"',
  });
  await assert.rejects(asked('constructor'), /there is no such operation; docs\/operations\.md/);
});

test('ask() is certain that nothing happened where no service listens', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const client = createClient({ url: `http://127.0.0.1:${port}`, pause: async () => undefined });

  const issued = await client.ask('tokens.issue', { scope: ['a'] });
  const revoked = await client.ask('tokens.revoke', { token_id: `tok_${'0'.repeat(32)}` });

  assert.deepEqual(
    [issued, revoked].map((reply) => !reply.ok && reply.failure.type),
    ['service_unavailable', 'service_unavailable'],
  );
});

test('ask() is not certain where no service listens any more and an earlier answer was lost', async () => {
  const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
  const unavailable = { success: false, failure: failure('service_unavailable', 'Cannot stop') };
  const attempts = [
    async () => new Response('half an ans'),
    async () => Response.json(unavailable, { status: 503 }),
    async () => Promise.reject(new TypeError('fetch failed', { cause: refused })),
  ];
  const client = createClient({
    url: 'http://127.0.0.1:1',
    pause: async () => undefined,
    fetch: () => attempts.shift()?.() as Promise<Response>,
  });

  const revoked = await client.ask('tokens.revoke', { token_id: `tok_${'0'.repeat(32)}` });

  assert.equal(attempts.length, 0);
  assert.equal(!revoked.ok && revoked.failure.type, 'outcome_unknown');
});

test('ask() gives up a service that does not answer in time', async () => {
  const server = createServer(() => undefined).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const client = createClient({ url: `http://127.0.0.1:${port}`, timeoutMs: 50, retries: 0 });

  const reply = await client.ask('permissions', {});
  server.closeAllConnections();
  server.close();

  assert.ok(!reply.ok);
  assert.equal(reply.failure.type, 'service_unavailable');
});

test('ask() throws what the caller aborted with', async () => {
  const client = createClient({ url: 'http://127.0.0.1:1' });
  const signal = AbortSignal.abort(new Error('enough'));

  await assert.rejects(client.ask('permissions', {}, { signal }), /enough/);
});

test('ask() sends its credential to no other address', async () => {
  const seen: (string | undefined)[] = [];
  const elsewhere = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('{}');
  }).listen(0, '127.0.0.1');
  const redirecting = createServer((_request, response) => {
    const { port } = elsewhere.address() as AddressInfo;
    response.writeHead(307, { location: `http://127.0.0.1:${port}/` }).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => redirecting.once('listening', resolve));
  const { port } = redirecting.address() as AddressInfo;
  const client = createClient({ url: `http://127.0.0.1:${port}`, credential: 'x', retries: 0 });

  const reply = await client.ask('permissions', {});
  for (const server of [elsewhere, redirecting]) {
    server.closeAllConnections();
    server.close();
  }

  assert.equal(reply.ok, false);
  assert.deepEqual(seen, []);
});

for (const url of ['ftp://desk.example', 'http://user:secret@desk.example', 'desk']) {
  test(`createClient() refuses the address "${url}"`, () => {
    assert.throws(() => createClient({ url }), TypeError);
  });
}
