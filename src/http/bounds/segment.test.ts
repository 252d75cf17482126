import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { test } from 'vitest';
import {
  answers,
  bound,
  client,
  get,
  many,
  received,
  until,
} from '../../../test/http/bound-server.ts';

test('few requests of an unknown client are parsed ahead of processing', async () => {
  const { port, asked, parsed } = await bound({ inFlightMax: 4 });

  for (let clients = 1; clients <= 3; clients += 1) {
    (await client(port)).write(many(1_500));
    await until(() => asked.length === 4 * clients);
  }
  await setTimeout(20);

  assert.ok(parsed() <= 3 * 100, `${parsed()} were parsed`);
});

test('a client that sent one request at a time is read in slices once it sends many', async () => {
  let isAnswering = true;
  const { port, asked, parsed } = await bound({ inFlightMax: 4 }, (request, response) => {
    if (isAnswering) response.end(request.url);
  });
  const orderly = await client(port);
  for (let sent = 1; sent <= 20; sent += 1) {
    orderly.write(get(sent));
    await until(() => asked.length === sent);
    await setTimeout(1);
  }
  const [first, second] = [await client(port), await client(port)];
  isAnswering = false;

  first.write(many(1_500));
  await until(() => asked.length === 24);
  await setTimeout(20);
  const before = parsed();
  second.write(many(1_500));
  await until(() => asked.length === 28);
  await setTimeout(20);

  assert.ok(before >= 1_000, `Node parsed a whole segment: ${before}`);
  assert.ok(parsed() - before <= 100, `${parsed() - before} were parsed`);
});

test('bodies, answers and their order are the same in slices', async () => {
  const { port } = await bound({ inFlightMax: 3 }, (request, response) => {
    let length = 0;
    request.on('data', (chunk) => {
      length += chunk.length;
    });
    request.on('end', () => response.end(`${request.url}=${length};${'y'.repeat(20_000)}`));
  });
  const body = 'x'.repeat(5_000);
  const post = (path: number) =>
    `POST /${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const paths = Array.from({ length: 200 }, (_, index) => index);
  const expected = paths.map((path) => `/${path}=${path % 2 === 0 ? body.length : 0};`);

  for (let round = 0; round < 3; round += 1) {
    const socket = await client(port);
    socket.write(paths.map((path) => (path % 2 === 0 ? post(path) : get(path))).join(''));
    let text = '';
    for await (const chunk of socket) {
      text += chunk;
      if (text.endsWith('y') && text.includes('/199=')) break;
    }
    assert.deepEqual(text.match(/\/\d+=\d+;/g), expected);
  }
});

test('answers that are large and read late stop the parser, and it goes on where it stopped', async () => {
  const { port, asked } = await bound({ unreadBytesMax: 4_000_000 }, (request, response) => {
    response.end(`${request.url};${'y'.repeat(100_000)}`);
  });
  const known = await client(port);
  known.write(many(1_500));
  await until(() => asked.length >= 16);
  known.destroy();
  const socket = await client(port);
  socket.pause();
  socket.write(many(300));
  await setTimeout(50);

  const seen: string[] = [];
  for await (const chunk of socket) {
    seen.push(...(String(chunk).match(/\/\d+;/g) ?? []));
    if (seen.length === 300) break;
  }

  assert.deepEqual(
    seen,
    Array.from({ length: 300 }, (_, index) => `/${index};`),
  );
});

test('nothing behind a request for a tunnel is parsed, on its connection or on another', async () => {
  const { port, asked } = await bound({ inFlightMax: 2 }, (request, response) => {
    response.end(request.url);
  });
  const known = await client(port);
  known.write(many(1_500));
  assert.equal((await answers(known, 1_500)).length, 1_500);
  const tunnel = await client(port);

  tunnel.write(`CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${get('x'.repeat(3_000)).repeat(20)}`);

  assert.match(await received(tunnel), /^HTTP\/1\.1 405 /);
  const other = await client(port);
  other.write(get(7));
  assert.deepEqual(await answers(other, 1), ['/7']);
  assert.equal(asked.length, 1_501);
});

/** Both ways of reading: in slices, and by Node itself. */
const READERS: Readonly<Record<string, number>> = { 'a stranger': 0, 'an orderly client': 20 };
for (const [who, requests] of Object.entries(READERS)) {
  async function running() {
    const service = await bound({ inFlightMax: 4 }, (request, response) => {
      if (request.url !== '/slow') response.end(request.url);
    });
    const before = await client(service.port);
    for (let sent = 1; sent <= requests; sent += 1) {
      before.write(get(sent));
      await until(() => service.asked.length === sent);
      await setTimeout(1);
    }
    const socket = await client(service.port);
    socket.write(get('slow'));
    await until(() => service.asked.length === requests + 1);
    const { response } = service.asked.at(-1) as (typeof service.asked)[number];
    return { socket, response, service };
  }

  test(`what is no HTTP behind a running request of ${who} is noticed once, and the request is answered`, async () => {
    const { socket, response, service } = await running();
    const listening = response.listenerCount('close');
    for (let sent = 0; sent < 50; sent += 1) {
      socket.write(Buffer.alloc(20_000, 1));
      await setTimeout(1);
    }
    socket.write(many(20));
    await setTimeout(20);
    assert.ok(response.listenerCount('close') <= listening + 1);
    assert.equal(service.asked.length, requests + 1);

    response.end('/9');

    assert.deepEqual(await answers(socket, 9), ['/9']);
  });

  test(`a tunnel that ${who} asks for behind a running request is not answered in its place`, async () => {
    const { socket, response, service } = await running();
    socket.write(`CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n${many(200)}`);
    await setTimeout(20);

    response.end('/9');

    assert.match(await received(socket), /^HTTP\/1\.1 200 OK\r\n(?:(?!HTTP).)*\/9$/s);
    assert.equal(service.asked.length, requests + 1);
  });
}

test('a request that the service itself keeps waiting is not too late', async () => {
  const answer = ({ url }: IncomingMessage, response: ServerResponse) => {
    void setTimeout(400).then(() => response.end(url));
  };
  const { port } = await bound({ inFlightMax: 4 }, answer, 300);
  const socket = await client(port);
  const padded = (path: number) => get(path).replace('Host: a', `Host: a\r\nX: ${'x'.repeat(700)}`);

  socket.write(Array.from({ length: 30 }, (_, index) => padded(index)).join(''));

  const expected = Array.from({ length: 30 }, (_, index) => `/${index}`);
  assert.deepEqual(await answers(socket, 30), expected);
});

test('a request that its client does not finish is too late, and the requests before it are answered', async () => {
  const { port } = await bound({}, (request, response) => void response.end(request.url), 300);
  const socket = await client(port);

  socket.write(`${get(1)}GET /2 HTTP/1.1\r\nHost:`);

  assert.match(await received(socket), /\/1HTTP\/1\.1 408 .*took too long to arrive/s);
});
