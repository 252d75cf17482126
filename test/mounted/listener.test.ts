/**
 * A mounted service as a listener of node:http: beside the routes of an express app, of a plain server and of
 * another mounted service, and with bodies that the app has read.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type RequestListener } from 'node:http';
import { connect, createServer as createHttp2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import express from 'express';
import { fastify } from 'fastify';
import { describe, test } from 'vitest';
import { createService, defineCapability } from '../../src/index.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE } from '../support/world.ts';
import { listened, type MountedDesk, mountDesk, requestOf, type Told, toldBy } from './desk.ts';

async function opened(...options: Parameters<typeof mountDesk>): Promise<MountedDesk> {
  const desk = await mountDesk(...options);
  atEnd(desk.close);
  return desk;
}

/** Asks an app over a socket. */
async function asking(app: RequestListener) {
  const { url, end } = await listened(app);
  atEnd(end);
  return async (method: string, path: string, asked?: Parameters<typeof requestOf>[2]) =>
    toldBy(await fetch(requestOf(method, `${url}${path}`, asked)));
}

const HANDSHAKE = { body: { capabilities: {} } };

describe('routes', () => {
  test('an express app keeps its own routes, whether or not it strips the prefix', async () => {
    const desk = await opened();
    const whole = express().use(desk.listener);
    const stripped = express().use('/desk', desk.listener);
    for (const app of [whole, stripped]) {
      app.get('/own', (_request, response) => void response.send('own'));
      app.get('/.well-known/svc', (_request, response) => void response.send('own'));
      app.get('/deskside', (_request, response) => void response.send('own'));
      const ask = await asking(app);

      for (const path of ['/own', '/.well-known/svc', '/deskside']) {
        assert.equal((await ask('GET', path)).body, 'own', path);
      }
      assert.equal((await ask('GET', '/desk/svc/manifest')).status, 200);
      assert.equal((await ask('GET', '/desk?a=b')).status, 200);
      assert.equal((await ask('POST', '/desk/svc/handshake', HANDSHAKE)).body.compatible, true);
      const unknown = await ask('GET', '/desk/nowhere');
      assert.equal(unknown.body.failure.type, 'not_found');
      assert.match(String(unknown.headers.get('x-request-id')), /^[0-9a-f]{16}$/);
    }
  });

  test('with `root` the listener answers the well-known documents of the app too', async () => {
    const desk = await opened({ root: true });
    const ask = await asking(express().use(desk.listener));

    const { body } = await ask('GET', '/.well-known/svc');
    assert.equal(body.svc_discovery.endpoints.manifest, '/desk/svc/manifest');
    assert.equal((await ask('GET', '/.well-known/jwks.json')).body.keys.length > 0, true);
  });

  test('a plain server gets 404 for a path outside, and the well-known documents', async () => {
    const desk = await opened();
    const ask = await asking(desk.listener);

    for (const path of ['/', '/svc/manifest', '/deskside', '/healthz']) {
      const { status, body } = await ask('GET', path);
      assert.equal(status, 404, path);
      assert.match(body.failure.detail, /mounted at "\/desk"/);
    }
    for (const path of ['/.well-known/svc', '/.well-known/jwks.json', '/desk/healthz']) {
      assert.equal((await ask('GET', path)).status, 200, path);
    }
  });

  test('a fastify app mounts it in a hook, before its own body parsers', async () => {
    const desk = await opened();
    const app = fastify();
    app.addHook('onRequest', (request, reply, next) => {
      desk.listener(request.raw, reply.raw, next);
    });
    app.get('/own', async () => 'own');
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    atEnd(() => app.close());

    assert.equal(await (await fetch(`${url}/own`)).text(), 'own');
    const asked = requestOf('POST', `${url}/desk/svc/handshake`, HANDSHAKE);
    assert.equal((await toldBy(await fetch(asked))).body.compatible, true);
  });

  test('without a public address another Host is refused over a socket', async () => {
    const desk = await opened({ settings: { public_url: undefined, identities: [] } });
    const { url, end } = await listened(desk.listener);
    atEnd(end);
    const sending = httpRequest(`${url}/desk/svc/manifest`, { headers: { host: 'shop.example' } });
    sending.end();
    const [response] = (await once(sending, 'response')) as [IncomingMessage];
    response.resume();

    assert.equal(response.statusCode, 400);
    assert.equal((await fetch(`${url}/desk/svc/manifest`)).status, 200);
  });

  test('two services with their own stores live in one app', async () => {
    const other = createService({
      id: 'other',
      capabilities: [
        defineCapability({
          name: 'echo',
          description: 'Returns its text',
          inputs: [{ name: 'text', type: 'string' }],
          output: { type: 'text', fields: ['text'] },
          side_effect: 'read',
          minimum_scope: ['travel.echo'],
          handler: ({ text }) => ({ text }),
        }),
      ],
    });
    const desk = await opened({ root: true });
    const public_url = 'http://127.0.0.1:3000/other';
    const second = await opened({ prefix: '/other', root: true, settings: { public_url } }, other);
    const ask = await asking(express().use(desk.listener).use(second.listener));
    const tokenOf = async (path: string) => {
      const body = { scope: ['travel.echo', 'travel.search'] };
      return (await ask('POST', `${path}/svc/tokens`, { bearer: ALICE, body })).body.token;
    };
    const [one, two] = [await tokenOf('/desk'), await tokenOf('/other')];

    const call = { body: { parameters: { text: 'hello' } } };
    const heard = await ask('POST', '/other/svc/invoke/echo', { ...call, bearer: two });
    assert.equal(heard.body.result.text, 'hello');
    const wrong = await ask('POST', '/other/svc/invoke/echo', { ...call, bearer: one });
    assert.equal(wrong.body.failure.type, 'invalid_token');
    // The first one in the app has the documents at the root.
    const { body } = await ask('GET', '/.well-known/svc');
    assert.equal(body.svc_discovery.service_id, 'travel-desk');
    await second.close();
    assert.equal((await ask('GET', '/other/svc/manifest')).status, 503);
    assert.equal((await ask('GET', '/desk/svc/manifest')).status, 200);
  });
});

describe('bodies that the app has read', () => {
  const BODY = { body: '{"capabilities":{},"capabilities":{}}' };

  /** The answer of a service that stands behind a parser of express. */
  async function behind(parser: express.RequestHandler, asked = BODY): Promise<Told> {
    const desk = await opened();
    const ask = await asking(express().use(parser).use(desk.listener));
    return ask('POST', '/desk/svc/handshake', asked);
  }

  for (const [name, parser] of [
    ['express.json', express.json()],
    ['express.text', express.text({ type: '*/*' })],
  ] as const) {
    test(`what ${name} parsed is refused, and the failure says what to do`, async () => {
      const { status, body } = await behind(parser);

      assert.equal(status, 500);
      assert.equal(body.failure.type, 'internal_error');
      assert.match(body.failure.detail, /mount the service before the body parser/);
    });
  }

  test('bytes in body are read as they came, by the strict reader', async () => {
    const twice = await behind(express.raw({ type: '*/*' }));
    const once = await behind(express.raw({ type: '*/*' }), { body: '{"capabilities":{}}' });

    assert.match(twice.body.failure.detail, /"capabilities" appears twice/);
    assert.equal(once.body.compatible, true);
  });

  test('bytes in rawBody are read even when the app parsed the body as well', async () => {
    const parser = express.json({
      verify: (request, _response, bytes) => void Object.assign(request, { rawBody: bytes }),
    });
    const twice = await behind(parser);

    assert.match(twice.body.failure.detail, /"capabilities" appears twice/);
  });

  test('bytes beyond the limit are 413', async () => {
    const body = JSON.stringify({ a: 'x'.repeat(300_000) });
    const { status } = await behind(express.raw({ type: '*/*', limit: '1mb' }), { body });

    assert.equal(status, 413);
  });

  test('a parser that left the body unread does not matter', async () => {
    const desk = await opened();
    const empty: express.RequestHandler = (request, _response, next) => {
      request.body = {};
      next();
    };
    const ask = await asking(express().use(empty, express.urlencoded()).use(desk.listener));

    assert.equal((await ask('POST', '/desk/svc/handshake', HANDSHAKE)).body.compatible, true);
    assert.equal((await ask('POST', '/desk/svc/audit', { bearer: ALICE })).status, 200);
  });
});

test('a client that leaves before its body came holds no place', async () => {
  const desk = await opened();
  const { url, end } = await listened(desk.listener);
  atEnd(end);
  const leaving = httpRequest(`${url}/desk/svc/handshake`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': '100' },
  });
  leaving.on('error', () => undefined);
  leaving.write('{');
  await new Promise((resolve) => setTimeout(resolve, 50));
  leaving.destroy();

  assert.equal((await fetch(`${url}/desk/svc/manifest`)).status, 200);
  await desk.close();
  assert.deepEqual(
    desk.lines.filter((line) => /defect|"level":"(?:error|fatal)"/.test(line)),
    [],
  );
});

test('a request over HTTP/2 is refused in words, and runs nothing', async () => {
  const desk = await opened();
  const server = createHttp2Server((asked, answered) =>
    desk.listener(asked as never, answered as never),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  atEnd(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const client = connect(`http://127.0.0.1:${port}`);
  atEnd(() => client.close());

  const stream = client.request({ ':method': 'POST', ':path': '/desk/svc/tokens' });
  stream.end('{"scope":["desk.look"]}');
  const [[headers], body] = await Promise.all([once(stream, 'response'), text(stream)]);

  assert.equal(headers[':status'], 400);
  assert.match(JSON.parse(body).failure.detail, /expected HTTP\/1\.1/);
});
