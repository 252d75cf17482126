/**
 * Requests of this service to others, live against peers that misbehave: each ends within its bounds, leaves no
 * connection behind, and reaches no address that it may not reach.
 *
 * What each user of these requests makes of a fault is tested with the user: `test/oidc/hostile-issuer`,
 * `test/approvals/webhooks`, `test/log/witness`, `src/service/author/http-call`, `test/sign-in/attacks-clients`,
 * `test/accounts/attacks`, `src/guard/mcp/http`.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'vitest';
import { createFetch } from '../../src/guard/mcp/fetch.ts';
import { system } from '../../src/platform.ts';
import { callHttp, readApi } from '../../src/service/http-api/http-call.ts';
import { callOut } from '../../src/service/outbound/outbound.ts';
import { closedAtEnd } from '../support/ends.ts';
import { eventually } from '../support/world.ts';
import { PACKED, PEERS, type RunningPeer, startPeer } from './peers.ts';

/** In milliseconds. Only a peer that would never end reaches it. */
const TIMEOUT_MS = 1_000;
const BYTES_MAX = 65_536;

/** Every way in which this service asks another one over HTTP. Each rejects where there is no usable answer. */
const WAYS: readonly { name: string; ask(peer: RunningPeer): Promise<unknown> }[] = [
  {
    name: 'callOut()',
    ask: ({ port }) =>
      callOut(system, {
        url: `http://127.0.0.1:${port}/x`,
        timeoutMs: TIMEOUT_MS,
        bytesMax: BYTES_MAX,
        insideHosts: ['127.0.0.1'],
      }),
  },
  {
    name: 'callHttp()',
    ask({ port }) {
      const read = readApi(`http://127.0.0.1:${port}`, true);
      if (!('api' in read)) return assert.fail(read.fault);
      return callHttp(read.api, {
        route: { method: 'POST', path: '/x', body: 'rest' },
        parameters: {},
        invocationId: 'inv-1',
        isRead: false,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
    },
  },
  {
    name: 'fetch() of a guard',
    async ask({ port }) {
      const fetch = createFetch({
        platform: system,
        inside: true,
        deadlineMs: TIMEOUT_MS,
        headers: () => ({}),
      });
      const answer = await fetch(`http://127.0.0.1:${port}/x`, { method: 'POST', body: '{}' });
      return answer.json();
    },
  },
];

for (const { name, ask } of WAYS) {
  test(`${name} ends with a fault, and hangs up, whatever a peer does instead of answering`, async () => {
    const faults = await Promise.all(
      PEERS.map(async (peer) => {
        const running = closedAtEnd(await startPeer(peer));
        const given = await ask(running).then(
          (answer) => `${peer.what}: gave ${JSON.stringify(answer)}`,
          () => undefined,
        );
        if (running.asked() === 0) return `${peer.what}: was not asked`;
        await eventually(() => running.open() === 0);
        return given;
      }),
    );

    assert.deepEqual(
      faults.filter((fault) => fault !== undefined),
      [],
    );
  });

  test(`${name} follows no redirect`, async () => {
    const inside = closedAtEnd(await startPeer({ answer: (socket) => void socket.end() }));
    for (const status of [300, 301, 302, 303, 305, 307, 308, 399]) {
      const redirect =
        `HTTP/1.1 ${status} Elsewhere\r\nContent-Length: 2\r\n` +
        `Location: http://127.0.0.1:${inside.port}/\r\nRefresh: 0; url=/\r\n\r\n{}`;
      const answer = (socket: Socket) => void socket.end(redirect);
      const running = closedAtEnd(await startPeer({ answer }));

      await ask(running).catch(() => undefined);

      assert.equal(running.asked(), 1);
    }
    assert.equal(inside.asked(), 0);
  });

  test(`${name} unpacks nothing: a peer ${PACKED.what}`, async () => {
    const running = closedAtEnd(await startPeer(PACKED));

    const answered = await ask(running).then(
      (answer) => (answer as { body: Buffer }).body.length,
      () => 0,
    );

    // The bytes as they came, for users that want bytes; the others cannot read them as JSON.
    assert.ok(answered <= BYTES_MAX);
  });
}

/** Addresses of this machine and of its network, in every notation that a reader of URLs knows. */
const INSIDE = [
  '127.0.0.1',
  '127.1',
  '127.0.1',
  '2130706433',
  '0x7f000001',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '017700000001',
  '0x7f.1',
  '127.0.0.1.',
  '0',
  '0.0.0.0',
  '00000.0',
  '127.000.000.001',
  '%31%32%37.0.0.1',
  '１２７.0.0.1',
  '①②⑦.0.0.①',
  '127。0。0。1',
  '127.0.0\t.1',
  '[::1]',
  '[::]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::127.0.0.1]',
  '[64:ff9b:1::7f00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[fe80::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[ff02::1]',
  '[fec0::1]',
  '10.0.0.1',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.0.1',
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '0251.0376.0251.0376',
  '100.64.0.1',
  '198.18.0.1',
  '192.0.0.192',
  '224.0.0.1',
  '255.255.255.255',
  'example.com@127.0.0.1',
  'example.com:443@10.0.0.1',
];
for (const scheme of ['https://', 'https:', 'https:\\\\', 'https:/']) {
  test(`callOut() asks no resolver and no inside address written behind "${scheme}"`, async () => {
    for (const host of INSIDE) {
      const asked = callOut(system, {
        url: `${scheme}${host}/latest/meta-data`,
        timeoutMs: TIMEOUT_MS,
        bytesMax: BYTES_MAX,
        insideHosts: ['example.com'],
        resolve: (name) => assert.fail(`asked for "${name}" of "${host}"`),
      });

      await assert.rejects(
        asked,
        /^Error: Cannot call .*: (?:it is an inside address|it is not a URL)$/,
        host,
      );
    }
  });
}

/** Names that every machine, or a resolver of the attacker, leads inside. */
const NAMES = ['localhost', 'LOCALHOST.', 'localtest.me', '127.0.0.1.nip.io', 'metadata.internal'];

test('callOut() refuses a name at the moment when it leads inside, whatever it led to before', async () => {
  const running = closedAtEnd(await startPeer({ answer: (socket) => void socket.end() }));
  for (const name of NAMES) {
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', '10.0.0.1']) {
      const asked = callOut(system, {
        url: `https://${name}:${running.port}/`,
        timeoutMs: TIMEOUT_MS,
        bytesMax: BYTES_MAX,
        insideHosts: [],
        // A good address first: one bad address is enough.
        resolve: (_, __, done) =>
          done(null, [
            { address: '203.0.113.7', family: 4 },
            { address, family: address.includes(':') ? 6 : 4 },
          ]),
      });

      await assert.rejects(asked, /resolves to an inside address$/, `${name} ${address}`);
    }
  }
  assert.equal(running.asked(), 0);
});
