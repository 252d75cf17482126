import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { answers, bound, client, get, many, until } from '../../../test/http/bound-server.ts';
import { isOwed } from './connection.ts';

describe('requests in flight', () => {
  test('processes at most the bound at once, and answers all requests of one segment in order', async () => {
    let most = 0;
    let working = 0;
    const { port } = await bound({ inFlightMax: 16 }, (request, response) => {
      working += 1;
      most = Math.max(most, working);
      // Longer than it takes to begin as many as may be.
      void setTimeout(10).then(() => {
        working -= 1;
        response.end(request.url);
      });
    });
    const socket = await client(port);

    socket.write(many(1_500));

    const expected = Array.from({ length: 1_500 }, (_, index) => `/${index}`);
    assert.deepEqual(await answers(socket, 1_500), expected);
    assert.equal(most, 16);
  });

  test('does not process requests beyond the bound, and stops reading', async () => {
    const { port, asked } = await bound({ inFlightMax: 4 });
    const socket = await client(port);
    const megabytes = get('x'.repeat(100)).repeat(100_000);

    socket.write(megabytes);
    await until(() => asked.length === 4);
    await setTimeout(50);

    assert.equal(asked.length, 4);
    const [first] = asked;
    assert.ok((first?.request.socket.bytesRead ?? 0) <= 256 * 1_024);
  });

  test('reads the body of a running request while the bound is reached', async () => {
    const { port } = await bound({ inFlightMax: 1 }, (request, response) => {
      request.resume();
      request.once('end', () => response.end(request.url));
    });
    const socket = await client(port);

    socket.write('POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab');
    await setTimeout(20);
    socket.write(`cd${get(2)}`);

    assert.deepEqual(await answers(socket, 2), ['/1', '/2']);
  });

  test('a request whose body came while it waited gets it whole', async () => {
    const bodies: string[] = [];
    const { port, asked } = await bound({ inFlightMax: 1 }, (request, response) => {
      if (request.method === 'GET') return;
      let body = '';
      request.on('data', (chunk) => {
        body += chunk;
      });
      request.on('end', () => {
        bodies.push(body);
        response.end(request.url);
      });
    });
    const socket = await client(port);
    const body = 'x'.repeat(200_000);
    socket.write(get(1));
    await until(() => asked.length === 1);
    socket.write(`POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await setTimeout(20);

    asked[0]?.response.end('/1');

    assert.deepEqual(await answers(socket, 2), ['/1', '/2']);
    assert.deepEqual(bodies, [body]);
  });

  test('ends a connection when too many requests wait', async () => {
    const { port, ended, asked } = await bound({ inFlightMax: 2, waitingMax: 20 });
    const [patient, greedy] = [await client(port), await client(port)];
    patient.write(many(50));
    await until(() => asked.length === 2);

    greedy.write(many(500));
    await once(greedy, 'close');

    assert.deepEqual(ended, ['pipeline']);
    assert.equal(patient.destroyed, false);
  });

  test('closes a connection after its last allowed request, and ignores later ones', async () => {
    const { port, asked } = await bound({ requestsMax: 3 }, (request, response) => {
      response.end(request.url);
    });
    const socket = await client(port);

    socket.write(many(50));

    assert.deepEqual(await answers(socket, 50), ['/0', '/1', '/2']);
    assert.equal(asked.length, 3);
  });
});

describe('answers that are not read', () => {
  const LARGE = Buffer.alloc(4 * 1_048_576, 'x');

  test('stops processing while too much is unread, and continues once it is read', async () => {
    const { port, asked } = await bound({ unreadBytesMax: 1_000 }, (request, response) => {
      response.end(request.url === '/0' ? LARGE : request.url);
    });
    const socket = await client(port);
    socket.pause();
    for (const path of [0, 1, 2, 3]) {
      socket.write(get(path));
      await setTimeout(20);
    }
    assert.equal(asked.length, 1);

    assert.deepEqual(await answers(socket, 3), ['/1', '/2', '/3']);
  });

  test('ends a client that reads nothing in time, and closes its responses', async () => {
    const closed: string[] = [];
    const bounds = { stallMs: 50, unreadBytesMax: Number.POSITIVE_INFINITY };
    const { port, ended } = await bound(bounds, (request, response) => {
      response.on('close', () => closed.push(request.url ?? ''));
      if (request.url === '/0') for (let i = 0; i < 8; i += 1) response.write(LARGE);
    });
    const socket = await client(port);
    socket.pause();

    socket.write(many(3));
    await until(() => closed.length === 3);

    assert.deepEqual(ended, ['stalled']);
  });

  test('does not end a slow reader during one long write', async () => {
    const { port, ended } = await bound({ stallMs: 2_000 }, (_request, response) => {
      response.end(Buffer.concat([LARGE, LARGE, LARGE, LARGE]));
    });
    const socket = await client(port);
    socket.pause();
    socket.write(get(1));

    let read = 0;
    while (read < 16 * 1_048_576 && !socket.readableEnded) {
      const chunk = socket.read() as Buffer | null;
      read += chunk?.length ?? 0;
      await setTimeout(chunk === null ? 1 : 20);
    }

    assert.ok(read >= 16 * 1_048_576);
    assert.deepEqual(ended, []);
  });

  test('does not count a slow handler as a client that does not read', async () => {
    const { port, ended, asked } = await bound({ stallMs: 30 }, (request, response) => {
      if (request.url === '/1') response.end('/1');
    });
    const socket = await client(port);
    socket.write(many(2));
    await until(() => asked.length === 2);
    await setTimeout(100);

    asked[0]?.response.end('/0');

    assert.deepEqual(await answers(socket, 2), ['/0', '/1']);
    assert.deepEqual(ended, []);
  });

  test('ends the largest connections when all together hold too much', async () => {
    const { port, ended } = await bound({ heldBytesMax: 30 * 1_048_576 }, (request, response) => {
      const pieces = request.url === '/9' ? 16 : 4;
      for (let i = 0; i < pieces; i += 1) response.write(LARGE);
    });
    const [modest, greedy] = [await client(port), await client(port)];
    modest.pause();
    greedy.pause();
    modest.write(get(1));
    greedy.write(get(9));

    await until(() => ended.length > 0);

    assert.deepEqual(ended, ['memory']);
    greedy.resume();
    await once(greedy, 'close');
    assert.equal(modest.destroyed, false);
  });
});

describe('lifetime and number', () => {
  test('closes an old connection with its next answer, and later without one', async () => {
    const { port, ended } = await bound({ lifetimeMs: 1_000 }, (request, response) => {
      response.end(request.url);
    });
    const [used, idle] = [await client(port), await client(port)];
    await setTimeout(1_050);

    used.write(get(1));

    assert.deepEqual(await answers(used, 9), ['/1']);
    idle.resume();
    await once(idle, 'close');
    assert.deepEqual(ended, ['lifetime']);
  });

  test('ends connections beyond the bound of an address, until another closes', async () => {
    const { port, ended } = await bound({ perAddressMax: 2 }, (request, response) => {
      response.end(request.url);
    });
    const [first] = [await client(port), await client(port)];
    const refused = await client(port);
    refused.resume();
    await once(refused, 'close');
    assert.deepEqual(ended, ['address']);

    first?.destroy();
    await setTimeout(50);
    const next = await client(port);
    next.write(get(1));

    assert.deepEqual(await answers(next, 1), ['/1']);
  });
});

test('every response of a closing connection emits close once', async () => {
  const closed: string[] = [];
  const { port, asked } = await bound({}, (request, response) => {
    const { socket, url = '' } = request;
    response.on('close', () => closed.push(`${url} ${response.destroyed} ${isOwed(socket)}`));
    if (url === '/0') response.end();
  });
  const socket = await client(port);
  // The first is answered before the others come, as on any connection that is used again.
  socket.write(get(0));
  await until(() => closed.length === 1);
  for (const path of [1, 2, 3]) socket.write(get(path));
  await until(() => asked.length === 4);

  socket.destroy();
  await until(() => closed.length === 4);
  await setTimeout(20);

  assert.deepEqual(closed, ['/0 true false', '/1 true true', '/2 true true', '/3 true false']);
});
