import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { test } from 'vitest';
import { isOwed, oweAnswer } from './client-error.ts';

test('oweAnswer() has every response of a connection that closes told so, once', async () => {
  const asked: string[] = [];
  const closed: string[] = [];
  const server = createServer((request, response) => {
    const { socket, url = '' } = request;
    oweAnswer(socket, response);
    asked.push(url);
    response.on('close', () => closed.push(`${url} ${response.destroyed} ${isOwed(socket)}`));
    if (url === '/0') response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  // The first is answered before the others come, as on any connection that is used again.
  client.write('GET /0 HTTP/1.1\r\nHost: a\r\n\r\n');
  while (closed.length < 1) await setTimeout(5);
  for (const path of [1, 2, 3]) client.write(`GET /${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  while (asked.length < 4) await setTimeout(5);

  client.destroy();
  while (closed.length < 4) await setTimeout(5);
  await setTimeout(20);

  assert.deepEqual(closed, ['/0 true false', '/1 true true', '/2 true true', '/3 true false']);
  server.close();
});
