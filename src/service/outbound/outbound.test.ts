import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'vitest';
import { system } from '../../platform.ts';
import { callOut, isInside, type OutboundRequest } from './outbound.ts';

const BOUNDS = { timeoutMs: 5_000, bytesMax: 1_000, insideHosts: ['127.0.0.1'] };

/** A server on this machine that answers as given. */
async function serving(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  };
  return { port, close };
}

async function asked(listener: RequestListener, call: Partial<OutboundRequest> = {}) {
  const { port, close } = await serving(listener);
  const url = `http://127.0.0.1:${port}/x`;
  return callOut(system, { ...BOUNDS, url, ...call }).finally(close);
}

test('callOut() returns the status and the whole body', async () => {
  const { status, body } = await asked((_, response) => {
    response.statusCode = 201;
    response.write('a');
    response.end('b');
  });

  assert.equal(status, 201);
  assert.equal(body.toString(), 'ab');
});

test('callOut() sends method, headers and body', async () => {
  const { body } = await asked(
    async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { 'x-kind': kind, 'user-agent': agent } = request.headers;
      response.end(`${request.method} ${kind} ${agent} ${Buffer.concat(chunks)}`);
    },
    { method: 'POST', headers: { 'x-kind': 'test' }, body: 'hello' },
  );

  assert.equal(body.toString(), 'POST test writ hello');
});

test('callOut() accepts a body of exactly the bound and refuses one byte more', async () => {
  const { body } = await asked((_, response) => response.end('x'.repeat(1_000)));

  assert.equal(body.length, 1_000);
  await assert.rejects(
    asked((_, response) => response.end('x'.repeat(1_001))),
    /^Error: Cannot call 127\.0\.0\.1:\d+: it answered with more than 1000 bytes$/,
  );
});

test('callOut() hangs up on a body without end', async () => {
  let hungUp: () => void = () => undefined;
  const gone = new Promise<void>((done) => {
    hungUp = done;
  });
  const { port, close } = await serving((_, response) => {
    const timer = setInterval(() => response.write('x'.repeat(600)), 1);
    response.on('close', () => {
      clearInterval(timer);
      hungUp();
    });
  });

  const call = callOut(system, { ...BOUNDS, url: `http://127.0.0.1:${port}/` });

  await assert.rejects(call, /more than 1000 bytes$/);
  await gone;
  await close();
});

for (const [what, listener] of [
  ['a server that never answers', () => undefined],
  ['a body that never ends', (_, response) => void response.write('x')],
] satisfies [string, RequestListener][]) {
  test(`callOut() times out on ${what}`, async () => {
    await assert.rejects(asked(listener, { timeoutMs: 50 }), /: no answer in 50 ms$/);
  });
}

test('callOut() rejects when the connection breaks before or during the answer', async () => {
  await assert.rejects(
    asked((request) => request.socket.destroy()),
    /^Error: Cannot call 127/,
  );
  await assert.rejects(
    asked((request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('x', () => request.socket.destroy());
    }),
    /^Error: Cannot call 127/,
  );
});

const refused: [url: string, insideHosts: string[], why: RegExp][] = [
  ['http://example.com/', [], /example\.com: expected https$/],
  ['http://127.0.0.1/', [], /expected https$/],
  ['http://10.0.0.7/', ['10.0.0.7'], /expected https$/],
  ['http://203.0.113.7/', ['203.0.113.7'], /expected https$/],
  ['http://login/', ['login'], /expected https$/],
  ['ftp://127.0.0.1/', ['127.0.0.1'], /expected https$/],
  ['file:///etc/hosts', [''], /expected https$/],
  ['data:,x', [''], /expected https$/],
  ['https://127.0.0.1/', [], /inside address$/],
  ['https://2130706433/', [], /inside address$/],
  ['https://0x7f.1/', [], /inside address$/],
  ['https://0/', [], /inside address$/],
  ['https://169.254.169.254/', ['127.0.0.1'], /inside address$/],
  ['https://[::1]/', [], /inside address$/],
  ['https://[::ffff:10.0.0.1]/', [], /inside address$/],
  ['https://[64:ff9b::7f00:1]/', [], /inside address$/],
  ['nonsense', [], /"nonsense": it is not a URL$/],
  ['//example.com', [], /it is not a URL$/],
];
for (const [url, insideHosts, why] of refused) {
  test(`callOut() refuses ${url} where ${JSON.stringify(insideHosts)} may be inside`, async () => {
    const resolve = () => assert.fail('asked for an address');
    await assert.rejects(callOut(system, { ...BOUNDS, url, insideHosts, resolve }), why);
  });
}

test('callOut() refuses a name when one of its addresses is inside', async () => {
  const addresses = [
    { address: '93.184.215.14', family: 4 },
    { address: 'fd00::7', family: 6 },
  ];
  const call = { ...BOUNDS, url: 'https://login.example/', insideHosts: ['other.example'] };

  await assert.rejects(
    callOut(system, { ...call, resolve: (_, __, done) => done(null, addresses) }),
    /^Error: Cannot call login\.example: "login\.example" resolves to an inside address$/,
  );
});

test('callOut() connects to the address it has checked', async () => {
  let lookups = 0;
  const { port, close } = await serving((_, response) => response.end('here'));
  const answer = await callOut(system, {
    ...BOUNDS,
    url: `http://localhost:${port}/`,
    insideHosts: ['localhost'],
    resolve(_, __, done) {
      lookups += 1;
      // A second lookup gets another address, as with DNS rebinding.
      done(null, [{ address: lookups === 1 ? '127.0.0.1' : '192.0.2.1', family: 4 }]);
    },
  });
  await close();

  assert.equal(answer.body.toString(), 'here');
  assert.equal(lookups, 1);
});

test('callOut() rejects when a name has no address', async () => {
  const call = { ...BOUNDS, url: 'https://login.example/' };
  const missing = Object.assign(new Error('getaddrinfo ENOTFOUND login.example'), {
    code: 'ENOTFOUND',
  });

  await assert.rejects(
    callOut(system, { ...call, resolve: (_, __, done) => done(missing, []) }),
    /^Error: Cannot call login\.example: getaddrinfo ENOTFOUND login\.example$/,
  );
  await assert.rejects(callOut(system, { ...call, resolve: (_, __, done) => done(null, []) }));
});

const INSIDE = [
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.168.1.1',
  '192.0.0.1',
  '198.18.0.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::7f00:1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:10.0.0.1',
  '64:ff9b::a00:1',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2001::1',
  'fc00::1',
  'fd12::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  '',
  'localhost',
  'example.com',
  '127.1',
  '1.2.3.4.5',
];
const OUTSIDE = [
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '223.255.255.255',
  '::ffff:1.1.1.1',
  '2606:4700::1111',
  '2a00::1',
];
test('isInside() recognises inside ranges in every spelling', () => {
  for (const address of INSIDE) assert.equal(isInside(address), true, address);
  for (const address of OUTSIDE) assert.equal(isInside(address), false, address);
});
