import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { test } from 'vitest';
import { json, localApi, type ReceivedRequest } from '../../../test/guard/http-api.ts';
import { HandlerFailure, NoEffect } from '../author/handler.ts';
import { callHttp, credentialFault, type HttpCall, readApi } from './http-call.ts';

const CANARY = 'canary-7f3a91c2';
const CREDENTIAL = { header: 'Authorization', value: `Bearer ${CANARY}` };

type Answer = (request: ReceivedRequest, response: ServerResponse) => void;

/** Calls an API of this machine that answers as given. */
async function called(answer: Answer, call: Partial<HttpCall> = {}) {
  const api = await localApi(answer);
  const given = callOf(call);
  const outcome = await callHttp(apiAt(api.origin), given)
    .then(
      (result) => ({ result }),
      (thrown: unknown) => ({ thrown }),
    )
    .finally(() => api.close());
  return { ...outcome, requests: api.requests };
}

function callOf(call: Partial<HttpCall> = {}): HttpCall {
  return {
    route: { method: 'GET', path: '/pets/{id}' },
    parameters: { id: 'rex' },
    invocationId: 'inv-1',
    isRead: true,
    signal: new AbortController().signal,
    ...call,
  };
}

function apiAt(origin: string) {
  const read = readApi(origin, true);
  return 'api' in read ? read.api : assert.fail(read.fault);
}

const WRITE: Partial<HttpCall> = {
  route: { method: 'POST', path: '/pets', body: 'rest' },
  isRead: false,
};

/** The class, type and detail of what was thrown. */
function failed(outcome: object) {
  const { thrown } = outcome as { thrown?: unknown };
  assert.ok(NoEffect.is(thrown) || HandlerFailure.is(thrown), String(thrown));
  return {
    kind: thrown.name,
    type: thrown.type,
    detail: thrown.message,
    wait: thrown.advice.estimated_availability,
  };
}

test('callHttp() returns the object that the API answers', async () => {
  const { result, requests } = (await called(json(200, { name: 'Rex' }))) as never as {
    result: object;
    requests: ReceivedRequest[];
  };

  assert.deepEqual(result, { name: 'Rex' });
  assert.equal(requests[0]?.url, '/pets/rex');
  assert.equal(requests[0]?.headers['idempotency-key'], undefined);
});

const CONTENTS: [what: string, answer: Answer, result: unknown][] = [
  ['a list', json(200, [1, 2]), { result: [1, 2] }],
  ['nothing', (_, response) => response.writeHead(204).end(), {}],
  [
    'text',
    (_, response) => response.writeHead(200, { 'content-type': 'text/plain' }).end('hi'),
    { text: 'hi' },
  ],
  ['a type of JSON', json(200, { a: 1 }, { 'content-type': 'application/hal+json' }), { a: 1 }],
];
for (const [what, answer, result] of CONTENTS) {
  test(`callHttp() makes an object of ${what}`, async () => {
    assert.deepEqual(await called(answer).then((each) => 'result' in each && each.result), result);
  });
}

test('callHttp() sends the body, the credential and the id of the invocation with a write', async () => {
  const { requests } = await called(json(201, {}), {
    ...WRITE,
    parameters: { name: 'Rex' },
    credential: CREDENTIAL,
  });

  const { method, headers, body } = requests[0] as ReceivedRequest;
  assert.equal(`${method} ${body}`, 'POST {"name":"Rex"}');
  assert.equal(headers['idempotency-key'], 'inv-1');
  assert.equal(headers.authorization, CREDENTIAL.value);
});

test('callHttp() puts a credential into the query', async () => {
  const { requests } = await called(json(200, {}), { credential: { query: 'key', value: CANARY } });
  assert.equal(requests[0]?.url, `/pets/rex?key=${CANARY}`);
});

const STATUSES: [status: number, read: string, write: string][] = [
  [301, 'NoEffect upstream_failed', 'HandlerFailure outcome_unknown'],
  [303, 'NoEffect upstream_failed', 'HandlerFailure outcome_unknown'],
  [400, 'NoEffect invalid_parameters', 'NoEffect invalid_parameters'],
  [401, 'NoEffect upstream_failed', 'NoEffect upstream_failed'],
  [403, 'NoEffect upstream_failed', 'NoEffect upstream_failed'],
  [404, 'NoEffect not_found', 'NoEffect not_found'],
  [408, 'NoEffect service_unavailable', 'HandlerFailure outcome_unknown'],
  [409, 'NoEffect upstream_failed', 'NoEffect upstream_failed'],
  [410, 'NoEffect not_found', 'NoEffect not_found'],
  [413, 'NoEffect invalid_parameters', 'NoEffect invalid_parameters'],
  [422, 'NoEffect invalid_parameters', 'NoEffect invalid_parameters'],
  [429, 'NoEffect rate_limited', 'NoEffect rate_limited'],
  [500, 'NoEffect service_unavailable', 'HandlerFailure outcome_unknown'],
  [503, 'NoEffect service_unavailable', 'HandlerFailure outcome_unknown'],
];
for (const [status, read, write] of STATUSES) {
  test(`callHttp() fails on ${status} with "${read}" for a read and "${write}" for a write`, async () => {
    const answer = json(status, { secret_row: 'raw' }, { location: '/other' });
    const kinds = await Promise.all(
      [{}, WRITE].map(async (call) => failed(await called(answer, call))),
    );

    assert.deepEqual(
      kinds.map(({ kind, type }) => `${kind} ${type}`),
      [read, write],
    );
    for (const { detail } of kinds) {
      assert.match(detail, new RegExp(String(status)));
      assert.doesNotMatch(detail, /raw|other/);
    }
  });
}

test('callHttp() follows no redirect', async () => {
  const { requests } = await called(json(302, {}, { location: '/elsewhere' }));
  assert.equal(requests.length, 1);
});

const MESSAGES: [body: unknown, detail: string][] = [
  [{ message: 'the name is taken' }, ' (422). The API writes: "the name is taken"'],
  [{ error: { message: 'no "such" tag' } }, ' (422). The API writes: "no \\"such\\" tag"'],
  [{ title: 'hid\u202eden' }, ' (422). The API writes: "hid⟨U+202E⟩den"'],
  [{ detail: 'yes '.repeat(1_500) }, ` (422). The API writes: "${'yes '.repeat(75)}..."`],
  [{ message: { a: 1 } }, ' (422)'],
  [[{ message: 'a' }], ' (422)'],
  ['<html>', ' (422)'],
];
for (const [body, detail] of MESSAGES) {
  test(`callHttp() quotes a short message of the API: ${JSON.stringify(body).slice(0, 40)}`, async () => {
    const found = failed(await called(json(422, body)));
    assert.equal(found.detail, `Cannot complete the call: the API refuses the parameters${detail}`);
  });
}

test('callHttp() passes on a bounded time to wait', async () => {
  const waits = ['7', '999999', '-1', 'Wed, 21 Oct 2015 07:28:00 GMT'].map(async (after) => {
    return failed(await called(json(429, {}, { 'retry-after': after }))).wait;
  });
  assert.deepEqual(await Promise.all(waits), ['PT7S', 'PT3600S', undefined, undefined]);
});

test('callHttp() tries a read once more when a gateway fails, and a write never', async () => {
  let count = 0;
  const second = await called((request, response) => {
    count += 1;
    json(count === 1 ? 503 : 200, { count })(request, response);
  });
  assert.deepEqual('result' in second && second.result, { count: 2 });

  assert.equal((await called(json(502, {}))).requests.length, 2);
  assert.equal((await called(json(500, {}))).requests.length, 1);
  assert.equal((await called(json(502, {}), WRITE)).requests.length, 1);
  const search = { ...WRITE, isRead: true };
  assert.equal((await called(json(502, {}), search)).requests.length, 1);
});

test('callHttp() says what a lost connection means for a read and for a write', async () => {
  const drop: Answer = (_, response) => response.socket?.destroy();
  const read = await called(drop);
  assert.equal(failed(read).type, 'service_unavailable');
  assert.equal(read.requests.length, 2);

  const write = await called(drop, WRITE);
  assert.equal(failed(write).type, 'outcome_unknown');
  assert.equal(write.requests.length, 1);
});

test('callHttp() reports that nothing happened when the API cannot be reached', async () => {
  const free = await localApi(() => undefined);
  await free.close();
  const thrown = await callHttp(apiAt(free.origin), callOf(WRITE)).catch((error) => error);

  const { kind, type, detail } = failed({ thrown });
  assert.deepEqual([kind, type], ['NoEffect', 'service_unavailable']);
  assert.match(detail, /cannot be reached \(ECONNREFUSED\)\. Nothing happened$/);
});

test('callHttp() reports that nothing happened when the certificate cannot be trusted', async () => {
  const plain = createServer((socket) => socket.end('no TLS here'));
  await new Promise<void>((ready) => plain.listen(0, '127.0.0.1', ready));
  const { port } = plain.address() as { port: number };
  const api = apiAt(`https://127.0.0.1:${port}`);
  const thrown = await callHttp(api, callOf(WRITE)).catch((error) => error);
  plain.close();

  assert.deepEqual(failed({ thrown }).type, 'service_unavailable');
});

const ENDLESS: [what: string, answer: Answer][] = [
  ['50 MB', (_, response) => response.writeHead(200).end(Buffer.alloc(50_000_000, 'x'))],
  [
    'a stream without an end',
    (_, response) => {
      const timer = setInterval(() => response.write('x'.repeat(100_000)), 1);
      response.on('close', () => clearInterval(timer));
    },
  ],
];
for (const [what, answer] of ENDLESS) {
  test(`callHttp() cuts off ${what}`, async () => {
    const read = failed(await called(answer));
    assert.deepEqual([read.kind, read.type], ['NoEffect', 'upstream_failed']);
    assert.match(read.detail, /longer than 1048576 bytes$/);

    const write = failed(await called(answer, WRITE));
    assert.deepEqual([write.kind, write.type], ['HandlerFailure', 'upstream_failed']);
    assert.match(write.detail, /status 200\), so it has had its effect: do not repeat it$/);
  });
}

test('callHttp() judges a refusal by its status, however long its body is', async () => {
  const answer: Answer = (_, response) => response.writeHead(404).end(Buffer.alloc(5_000_000, 'x'));
  assert.equal(failed(await called(answer)).type, 'not_found');
});

const SLOW: [what: string, answer: Answer][] = [
  ['an API that never answers', () => undefined],
  ['an answer that never ends', (_, response) => void response.writeHead(200).write('{')],
];
for (const [what, answer] of SLOW) {
  test(`callHttp() ends ${what} at the deadline, and closes the connection`, async () => {
    let closed: () => void = () => undefined;
    const isClosed = new Promise<void>((done) => {
      closed = done;
    });
    const late = new AbortController();
    const outcome = await called(
      (request, response) => {
        response.on('close', closed);
        answer(request, response);
        setTimeout(() => late.abort(), 20);
      },
      { ...WRITE, signal: late.signal },
    );

    await isClosed;
    assert.equal(failed(outcome).type, 'outcome_unknown');
  });
}

const GARBAGE: [what: string, answer: Answer][] = [
  ['no JSON', (_, response) => response.writeHead(200).end('{"a":')],
  ['a key twice', (_, response) => response.writeHead(200).end('{"a":1,"a":2}')],
  ['deep JSON', (_, response) => response.writeHead(200).end('['.repeat(40) + ']'.repeat(40))],
  ['an image', json(200, {}, { 'content-type': 'image/png' })],
  ['a pressed answer', json(200, {}, { 'content-type': 'application/gzip' })],
];
for (const [what, answer] of GARBAGE) {
  test(`callHttp() refuses an answer with ${what}`, async () => {
    assert.deepEqual(failed(await called(answer)).type, 'upstream_failed');
    assert.equal(failed(await called(answer, WRITE)).kind, 'HandlerFailure');
  });
}

test('callHttp() refuses an answer that is no HTTP', async () => {
  const server = createServer((socket) => socket.end('garbage\r\n\r\n'));
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as { port: number };
  const api = apiAt(`http://127.0.0.1:${port}`);
  const thrown = await callHttp(api, callOf()).catch((error) => error);
  server.close();

  assert.equal(failed({ thrown }).type, 'service_unavailable');
});

test('callHttp() removes the credential from all that the API writes', async () => {
  const echo: Answer = (request, response) =>
    json(request.url.includes('bad') ? 400 : 200, {
      message: `no: ${request.headers.authorization ?? request.url}`,
      [CANARY]: { list: [`https://a/?key=${CANARY}`] },
    })(request, response);
  const basic = Buffer.from(`user:${CANARY}`).toString('base64');
  const decoded: Answer = json(200, { password: CANARY, header: basic });

  const outcomes = [
    await called(echo, { credential: CREDENTIAL }),
    await called(echo, { credential: CREDENTIAL, parameters: { id: 'bad' } }),
    await called(echo, { credential: { query: 'key', value: CANARY } }),
    await called(decoded, { credential: { header: 'Authorization', value: `Basic ${basic}` } }),
  ];

  for (const { requests: _, ...outcome } of outcomes) {
    const shown = 'thrown' in outcome ? failed(outcome).detail : JSON.stringify(outcome);
    assert.match(shown, /\[secret\]/);
    assert.doesNotMatch(shown, new RegExp(`${CANARY}|${basic}`));
  }
});

test('callHttp() removes a credential of the query as it stood in the address', async () => {
  const value = `${CANARY} (it's ~me!)`;
  const echo: Answer = (request, response) => json(200, { path: request.url })(request, response);

  const { requests: _, ...outcome } = await called(echo, { credential: { query: 'key', value } });

  assert.deepEqual(outcome, { result: { path: '/pets/rex?key=[secret]' } });
});

test('callHttp() refuses a name that leads inside, unless the operator named it', async () => {
  const read = readApi('https://api.example.com', false);
  if ('fault' in read) return assert.fail(read.fault);
  const resolve = (_: string, __: object, done: (error: null, found: object[]) => void) =>
    done(null, [{ address: '10.0.0.7', family: 4 }]);
  const api = { ...read.api, resolve: resolve as never };
  const thrown = await callHttp(api, callOf(WRITE)).catch((error) => error);

  const { kind, type, detail } = failed({ thrown });
  assert.deepEqual([kind, type], ['NoEffect', 'upstream_failed']);
  assert.match(detail, /leads to an address that is not allowed$/);
});

test('callHttp() refuses plain HTTP to a name that leads outside', async () => {
  const { base } = apiAt('http://api.internal');
  const resolve = (_: string, __: object, done: (error: null, found: object[]) => void) =>
    done(null, [{ address: '93.184.215.14', family: 4 }]);
  const api = { base, isNamedInside: true, resolve: resolve as never };
  const thrown = await callHttp(api, callOf()).catch((error) => error);

  assert.equal(failed({ thrown }).type, 'upstream_failed');
});

test('callHttp() lets 32 requests to an origin run at once and 256 wait', async () => {
  let running = 0;
  let most = 0;
  const waiting: (() => void)[] = [];
  const api = await localApi((request, response) => {
    running += 1;
    most = Math.max(most, running);
    waiting.push(() => {
      running -= 1;
      json(200, {})(request, response);
    });
    if (waiting.length >= 32 || api.requests.length > 256) for (const go of waiting.splice(0)) go();
  });
  const calls = Array.from({ length: 289 }, () => callHttp(apiAt(api.origin), callOf()));
  const outcomes = await Promise.allSettled(calls);
  await api.close();

  assert.equal(most, 32);
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 288);
  assert.match(
    failed({ thrown: (outcomes[288] as PromiseRejectedResult).reason }).detail,
    /too many/,
  );
});

test('readApi() refuses plain HTTP and inside addresses that are not named', () => {
  for (const origin of ['http://a.example', 'https://127.0.0.1', 'https://[::1]', 'nonsense']) {
    assert.ok('fault' in readApi(origin, false), origin);
  }
  assert.ok('fault' in readApi('http://93.184.215.14', true));
  for (const origin of ['http://10.0.0.7', 'http://localhost:1', 'https://a.example/v1']) {
    assert.ok('api' in readApi(origin, true), origin);
  }
});

test('credentialFault() names what is wrong without the value', () => {
  const faults = [
    credentialFault({ header: 'Authorization', value: `${CANARY}\n` }),
    credentialFault({ header: 'Authorization', value: '' }),
    credentialFault({ header: 'Host', value: CANARY }),
    credentialFault({ header: 'a b', value: CANARY }),
    credentialFault(
      { header: 'X-Key', value: CANARY },
      { method: 'GET', path: '/', headers: { 'x-key': 'a' } },
    ),
    credentialFault(
      { query: 'key', value: CANARY },
      { method: 'GET', path: '/', query: { key: 'a' } },
    ),
  ];
  for (const each of faults) assert.doesNotMatch(each ?? assert.fail(), new RegExp(CANARY));
  assert.equal(credentialFault(CREDENTIAL), undefined);
});
