/**
 * What a client can do to the connection itself: bad framing, smuggling, several credentials,
 * oversized heads, slow and vanishing clients.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { BODY_LIMITS } from '../../src/domain/wire/json.ts';
import { Failure } from '../../src/protocol/failure.ts';
import { ALICE, eventually, patientLoad, testService } from '../support/world.ts';
import { connected, exchanged, listening, receivedBy, replyIn } from './socket.ts';

const load = patientLoad();
const service = await testService({ load });
const port = await listening(service);

const HOST = 'Host: desk\r\n';
const CLOSE = 'Connection: close\r\n';
const JSON_TYPE = 'Content-Type: application/json\r\n';

async function assertRefused(request: string, status: number, type: string): Promise<string> {
  const received = await exchanged(port, request);
  const reply = replyIn(received);
  assert.equal(reply.status, status, received);
  assert.equal(reply.headers.get('content-type'), 'application/json; charset=utf-8');
  // What the parser cannot read may have been an invocation, and has an id in case it was.
  const { success, failure, invocation_id: _, ...more } = JSON.parse(reply.body);
  assert.equal(success, false);
  assert.equal(Failure.parse(failure).type, type);
  assert.deepEqual(more, {});
  return received;
}

describe('smuggling', () => {
  const smuggled = 'GET /metrics HTTP/1.1\r\nHost: desk\r\n\r\n';
  const post = `POST /svc/handshake HTTP/1.1\r\n${HOST}${JSON_TYPE}`;
  const heads: [name: string, request: string][] = [
    [
      'length and transfer coding together',
      `${post}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    [
      'transfer coding, then length',
      `${post}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n${smuggled}`,
    ],
    ['two lengths', `${post}Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}${smuggled}`],
    ['two equal lengths', `${post}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}${smuggled}`],
    ['a list of lengths', `${post}Content-Length: 2, 2\r\n\r\n{}${smuggled}`],
    ['a length with a sign', `${post}Content-Length: +2\r\n\r\n{}${smuggled}`],
    ['a length in hex', `${post}Content-Length: 0x2\r\n\r\n{}${smuggled}`],
    ['a negative length', `${post}Content-Length: -1\r\n\r\n{}${smuggled}`],
    ['bare line feeds', `GET /svc/manifest HTTP/1.1\nHost: desk\n\n${smuggled}`],
    [
      'a bare line feed in the head',
      `GET /healthz HTTP/1.1\r\nHost: desk\nA: b\r\n\r\n${smuggled}`,
    ],
    ['a bare carriage return', `GET /healthz HTTP/1.1\r\nHost: desk\rA: b\r\n\r\n${smuggled}`],
    ['space before the colon', `${post}Content-Length : 2\r\n\r\n{}${smuggled}`],
    ['a folded header', `${post}A: b\r\n c: d\r\nContent-Length: 2\r\n\r\n{}${smuggled}`],
    [
      'an unknown coding',
      `${post}Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}${smuggled}`,
    ],
    ['chunked not last', `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`],
    ['a chunk of bad size', `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n${smuggled}`],
    ['a null in a header', `GET /healthz HTTP/1.1\r\nHost: desk\r\nA: \0\r\n\r\n${smuggled}`],
    ['a method nobody knows', `FETCH /healthz HTTP/1.1\r\n${HOST}\r\n${smuggled}`],
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['the greeting of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n'],
    ['another version', `GET /healthz HTTP/9.9\r\n${HOST}\r\n`],
    ...['1.0', '0.9', '2.0'].flatMap((version): [string, string][] => {
      const old = `POST /svc/handshake HTTP/${version}\r\n${HOST}${JSON_TYPE}Connection: keep-alive\r\n`;
      const te = 'Transfer-Encoding: ';
      const body = `2\r\n{}\r\n0\r\n\r\n${smuggled}`;
      return [
        [`a transfer coding in HTTP/${version}`, `${old}${te}chunked\r\n\r\n${body}`],
        [`another case of it in HTTP/${version}`, `${old}${te}Chunked\r\n\r\n${body}`],
        [`a list of codings in HTTP/${version}`, `${old}${te}gzip, chunked\r\n\r\n${body}`],
        [`an empty coding in HTTP/${version}`, `${old}${te}\r\n\r\n${smuggled}`],
        [`no coding at all in HTTP/${version}`, `${old}${te}identity\r\n\r\n${smuggled}`],
        [`two codings in HTTP/${version}`, `${old}${te}chunked\r\n${te}chunked\r\n\r\n${body}`],
        [
          `a coding and a length in HTTP/${version}`,
          `${old}Content-Length: 2\r\n${te}chunked\r\n\r\n${body}`,
        ],
        [
          `a coding for a path that cannot be read in HTTP/${version}`,
          `${old.replace('/svc/handshake', '/svc/graph/%')}${te}chunked\r\n\r\n${body}`,
        ],
      ];
    }),
    ['HTTP/2 in words', `GET /healthz HTTP/2.0\r\n${HOST}\r\n${smuggled}`],
    ['HTTP/0.9 in words', `GET /healthz HTTP/0.9\r\n${HOST}\r\n${smuggled}`],
    ['chunked twice', `${post}Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n${smuggled}`],
    [
      'chunked in two headers',
      `${post}${'Transfer-Encoding: chunked\r\n'.repeat(2)}\r\n0\r\n\r\n${smuggled}`,
    ],
  ];
  for (const [name, request] of heads) {
    test(`${name} is 400, the connection closes, and later bytes are not read`, async () => {
      const received = await exchanged(port, request);

      const reply = replyIn(received);
      assert.equal(reply.status, 400, received);
      assert.equal(reply.headers.get('connection'), 'close');
      const { success, failure } = JSON.parse(reply.body);
      assert.equal(success, false);
      assert.equal(Failure.parse(failure).type, 'invalid_parameters');
      assert.doesNotMatch(received, /writ_http_requests_total/);
    });
  }

  test('HTTP/1.0 with a length keeps its connection when it asks to', async () => {
    const old = `POST /svc/handshake HTTP/1.0\r\n${HOST}${JSON_TYPE}Content-Length: 2\r\n`;
    const last = `GET /healthz HTTP/1.0\r\n${HOST}\r\n`;

    const received = await exchanged(port, `${old}Connection: keep-alive\r\n\r\n{}${last}`);

    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => code);
    assert.deepEqual(statuses, ['200', '200']);
  });

  test('a request without a Host is a structured 400', async () => {
    await assertRefused(
      'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n',
      400,
      'invalid_parameters',
    );
  });

  test('several Hosts are a structured 400', async () => {
    const request = `GET /healthz HTTP/1.1\r\n${HOST}host: other\r\n${CLOSE}\r\n`;

    await assertRefused(request, 400, 'invalid_parameters');
  });

  test('an absolute request target means the same as a relative one, as HTTP requires', async () => {
    const line = `GET http://elsewhere.example/healthz?a=b HTTP/1.1\r\n`;

    assert.equal(replyIn(await exchanged(port, `${line}${HOST}${CLOSE}\r\n`)).status, 200);
  });

  test('a path with ".." is not resolved', async () => {
    const line = 'GET /svc/../svc/manifest HTTP/1.1\r\n';

    await assertRefused(`${line}${HOST}${CLOSE}\r\n`, 404, 'not_found');
  });

  test('a broken request after a good one does not take the answer of the good one', async () => {
    const good = `GET /svc/graph HTTP/1.1\r\n${HOST}\r\n`;

    const received = await exchanged(port, `${good}BROKEN\r\n\r\n`);

    const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => code);
    assert.deepEqual(statuses, ['200']);
    assert.match(received, /"nodes":/);
  });
});

describe('credentials on the wire', () => {
  const asked = `POST /svc/audit HTTP/1.1\r\n${HOST}${CLOSE}`;

  test('two Authorization headers are 401, even when both are good', async () => {
    const twice = `Authorization: Bearer ${ALICE}\r\n`.repeat(2);

    const received = await assertRefused(`${asked}${twice}\r\n`, 401, 'authentication_required');

    assert.match(received, /2 Authorization headers/);
    assert.doesNotMatch(received, new RegExp(ALICE));
  });

  test('two Authorization headers in different case still count as two', async () => {
    const twice = `Authorization: Bearer nobody\r\nAUTHORIZATION: Bearer ${ALICE}\r\n`;

    await assertRefused(`${asked}${twice}\r\n`, 401, 'authentication_required');
  });

  test('one Authorization header is enough', async () => {
    const received = await exchanged(port, `${asked}Authorization: Bearer ${ALICE}\r\n\r\n`);

    assert.equal(replyIn(received).status, 200);
  });
});

describe('sizes', () => {
  test('headers of more than 8 KiB are a structured 431', async () => {
    for (const head of [`A: ${'x'.repeat(9_000)}\r\n`, 'A: 0123456789\r\n'.repeat(1_000)]) {
      const request = `GET /healthz HTTP/1.1\r\n${HOST}${head}\r\n`;
      const received = await assertRefused(request, 431, 'request_too_large');
      assert.match(received, /8 KiB/);
    }
  });

  test('an address of more than 8 KiB is a structured 431', async () => {
    const request = `GET /${'x'.repeat(9_000)} HTTP/1.1\r\n${HOST}\r\n`;

    await assertRefused(request, 431, 'request_too_large');
  });

  test('a declared length beyond the limit is 413 before the body is sent', async () => {
    const length = `Content-Length: ${BODY_LIMITS.bytes + 1}\r\n`;
    const request = `POST /svc/handshake HTTP/1.1\r\n${HOST}${CLOSE}${JSON_TYPE}${length}\r\n`;

    await assertRefused(request, 413, 'request_too_large');
  });

  test('a chunked body beyond the limit is 413 without a declared length', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const chunked = 'Transfer-Encoding: chunked\r\n';
    const request = `POST /svc/handshake HTTP/1.1\r\n${HOST}${CLOSE}${JSON_TYPE}${chunked}\r\n`;

    await assertRefused(`${request}${chunk.repeat(5)}`, 413, 'request_too_large');
  });
});

describe('slow and vanishing clients', () => {
  const begun = `POST /svc/handshake HTTP/1.1\r\n${HOST}${JSON_TYPE}Content-Length: 2\r\n\r\n`;

  test('a hundred bodies that never arrive delay no other request', async () => {
    const slow = await Promise.all(Array.from({ length: 100 }, () => connected(port)));
    for (const socket of slow) socket.write(`${begun}{`);
    await eventually(() => load.inWork() >= 100);

    const reply = await exchanged(port, `GET /svc/graph HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);

    assert.equal(replyIn(reply).status, 200);
    // They were alive all the time: the rest of a body is enough for an answer.
    const [first, ...others] = slow;
    const received = first ? receivedBy(first) : '';
    first?.end('}');
    assert.equal(replyIn(await received).status, 200);
    for (const socket of others) socket.destroy();
  });

  test('a client that leaves gives its place back, whatever it was in the middle of', async () => {
    await eventually(() => load.inWork() === 0);
    const leaving = await Promise.all(Array.from({ length: 50 }, () => connected(port)));
    for (const [index, socket] of leaving.entries()) {
      // Half a body, or a whole request whose answer nobody reads.
      socket.write(index % 2 === 0 ? `${begun}{` : `${begun}{}`);
    }
    await eventually(() => load.inWork() >= 25);

    for (const socket of leaving) socket.resetAndDestroy();

    await eventually(() => load.inWork() === 0);
  });

  test('a client that disconnects is not logged as a defect', () => {
    assert.deepEqual(
      service.log.filter((line) => /"level":"(?:error|fatal)"/.test(line)),
      [],
    );
  });

  test('requests in a row on one connection are answered in order', async () => {
    const socket = await connected(port);
    const received = receivedBy(socket);
    socket.write(`GET /healthz HTTP/1.1\r\n${HOST}\r\nGET /nowhere HTTP/1.1\r\n${HOST}\r\n`);
    socket.write(`GET /healthz HTTP/1.1\r\n${HOST}${CLOSE}\r\n`);

    const statuses = [...(await received).matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, code]) => code);

    assert.deepEqual(statuses, ['200', '404', '200']);
  });
});

test('CONNECT is refused like every other method, and the connection ends', async () => {
  const received = await assertRefused(
    `CONNECT desk:443 HTTP/1.1\r\n${HOST}\r\n`,
    405,
    'method_not_allowed',
  );
  assert.match(received, /connection: close/i);
});

test('a client that disconnects with several pending requests frees all their slots', async () => {
  const { token } = await service.issue(ALICE, { scope: ['travel.read'] });
  const body = '{"parameters":{"months":2}}';
  const post =
    `POST /svc/invoke/export_report HTTP/1.1\r\n${HOST}${JSON_TYPE}` +
    `Authorization: Bearer ${token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const socket = await connected(port);
  socket.write(post.repeat(5));
  while (load.inWork() < 5) await setTimeout(5);

  socket.destroy();

  while (load.inWork() > 0) await setTimeout(5);
  assert.equal(load.inWork(), 0);
});
