/**
 * Long bodies: read only of senders whose credential is good, and held within bounds from the first byte.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, test, vi } from 'vitest';
import { atEnd } from '../support/ends.ts';
import { ALICE, eventually, testService } from '../support/world.ts';
import { assertRefused } from './refused.ts';
import { connected, listening } from './socket.ts';

const INVOKE = '/svc/invoke/search_flights';
const KIB_16 = 16 * 1_024;

/** A request of exactly so many bytes. */
function bodyOf(bytes: number): string {
  const [before, after] = ['{"client_reference_id":"ref-1","parameters":{"note":"', '"}}'];
  return `${before}${'x'.repeat(bytes - before.length - after.length)}${after}`;
}

/** The long texts that were parsed as JSON. */
function watchParse(): () => string[] {
  const parse = vi.spyOn(JSON, 'parse');
  atEnd(() => parse.mockRestore());
  return () =>
    parse.mock.calls.map(([text]) => String(text)).filter((text) => text.length > KIB_16);
}

/** The same token with another signature. */
function forged(token: string): string {
  const [header, payload, signature = ''] = token.split('.');
  return [header, payload, [...signature].reverse().join('')].join('.');
}

describe('a long body of a sender that is not known', () => {
  test('is refused by the credential, is not parsed, and asks the store nothing', async () => {
    let loads = 0;
    const service = await testService({
      wrap: (store) => ({
        ...store,
        load(...asked) {
          loads += 1;
          return store.load(...asked);
        },
      }),
    });
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const body = bodyOf(250_000);
    const parsed = watchParse();
    const before = loads;

    const invoked = await service.ask('POST', INVOKE, { bearer: forged(token), body });
    const others = [
      await service.ask('POST', '/svc/test/search_flights', { body }),
      await service.ask('POST', '/svc/permissions', { bearer: 'a.b.c', body }),
      await service.ask('POST', '/svc/tokens', { bearer: 'unknown', body }),
      await service.ask('POST', '/svc/tokens', { headers: { authorization: 'Basic a' }, body }),
      await service.ask('POST', '/mcp', { bearer: forged(token), body }),
    ];

    assertRefused(invoked, 401, 'invalid_token');
    assert.match(invoked.body.invocation_id, /^inv-/);
    assert.equal(invoked.body.client_reference_id, undefined);
    for (const { status, headers } of others) {
      assert.equal(status, 401);
      assert.match(String(headers['www-authenticate']), /^Bearer/);
    }
    assert.deepEqual(parsed(), []);
    assert.equal(loads, before);
  });

  test('is read where the credential is good', async () => {
    const service = await testService();
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const parsed = watchParse();
    const body = bodyOf(250_000);

    const reply = await service.ask('POST', '/svc/invoke/nowhere', { bearer: token, body });
    const issued = await service.ask('POST', '/svc/tokens', { bearer: ALICE, body });

    assert.deepEqual([reply.status, reply.body.client_reference_id], [404, 'ref-1']);
    assertRefused(issued, 400, 'invalid_parameters');
    assert.equal(parsed().length, 2);
  });

  test('echoes the reference of a refused call from 16 KiB, and from no more', async () => {
    const service = await testService();
    const asked = async (bytes: number) => {
      const { status, body } = await service.ask('POST', INVOKE, { body: bodyOf(bytes) });
      return [status, body.client_reference_id];
    };

    assert.deepEqual(await asked(KIB_16), [401, 'ref-1']);
    assert.deepEqual(await asked(KIB_16 + 1), [401, undefined]);
  });

  test('is refused with what is allowed where no credential is asked for', async () => {
    const settings = { sign_in: { registration: 'on' } };
    const service = await testService({ settings });
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const parsed = watchParse();
    const long = { body: bodyOf(KIB_16 + 1) };

    for (const path of ['/svc/handshake', '/register', '/token', '/sign-in']) {
      const reply = await service.ask('POST', path, { ...long, headers: { host: 'localhost' } });
      assertRefused(reply, 413, 'request_too_large');
      assert.match(reply.body.failure.detail, /16 KiB/);
    }
    assert.deepEqual(parsed(), []);
    const known = await service.ask('POST', '/svc/handshake', { bearer: token, ...long });
    assert.equal(known.status, 200);
  });
});

/** Sends a beginning, and gives what came back so far. */
async function began(port: number, text: string): Promise<{ socket: Socket; got(): string }> {
  const socket = await connected(port);
  atEnd(() => socket.destroy());
  let got = '';
  socket.on('data', (chunk) => {
    got += chunk;
  });
  socket.write(text);
  return { socket, got: () => got };
}

/** Resolves when the connection is closed, in whatever way. */
const closing = (socket: Socket) =>
  new Promise<void>((resolve) => void socket.once('close', () => resolve()));

const head = (more: string) =>
  `POST ${INVOKE} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n${more}\r\n`;

describe('over a socket', () => {
  test('a stranger is answered before its long body is sent, and its next request after it', async () => {
    const service = await testService();
    const port = await listening(service);
    const { socket, got } = await began(port, head('content-length: 200000\r\n'));
    await eventually(() => /^HTTP\/1\.1 401 /.test(got()));

    socket.write('x'.repeat(200_000));
    socket.write('GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n');

    await eventually(() => /"status":"ok"/.test(got()));
  });

  test('a chunked body of a stranger is refused beyond 16 KiB, and cut beyond the limit', async () => {
    const service = await testService();
    const port = await listening(service);
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    const { socket, got } = await began(port, head('transfer-encoding: chunked\r\n') + chunk);
    socket.write(chunk);
    await eventually(() => /^HTTP\/1\.1 401 /.test(got()));

    const closed = closing(socket);
    for (let i = 0; i < 16; i += 1) socket.write(chunk);
    await closed;
  });

  test('strangers whose unfinished bodies exceed their bound make room, the oldest first', async () => {
    const service = await testService({ bounds: { strangerBytesMax: 40_000, sweepMs: 60_000 } });
    const port = await listening(service);
    const unfinished = async () => {
      const text = `${head('content-length: 15000\r\n')}${'x'.repeat(12_000)}`;
      const { socket } = await began(port, text);
      return socket;
    };
    const oldest = await unfinished();
    const closed = closing(oldest);
    const others = [await unfinished(), await unfinished(), await unfinished()];
    await closed;

    assert.deepEqual(
      others.map(({ destroyed }) => destroyed),
      [false, false, false],
    );
    const { body } = await service.ask('GET', '/metrics');
    assert.match(body, /writ_http_connections_ended_total\{reason="memory"\} 1/);
  });

  test('unfinished bodies of callers count from their first byte, between two sweeps too', async () => {
    const bounds = { heldBytesMax: 600_000, sweepMs: 60_000 };
    const service = await testService({ bounds });
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const port = await listening(service);
    const unfinished = async (bytes: number) => {
      const more = `authorization: Bearer ${token}\r\ncontent-length: 250000\r\n`;
      const { socket } = await began(port, head(more) + 'x'.repeat(bytes));
      return socket;
    };
    const small = await unfinished(20_000);
    const large = await Promise.all([unfinished(240_000), unfinished(240_000)]);
    const closed = Promise.race(large.map((socket) => closing(socket)));
    large.push(await unfinished(240_000));
    await closed;

    assert.equal(small.destroyed, false);
    const { status } = await service.ask('POST', INVOKE, { bearer: token, body: bodyOf(250_000) });
    assert.equal(status, 400);
  });
});
