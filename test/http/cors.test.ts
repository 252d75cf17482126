/**
 * Pages of other origins: none by default, exact ones by configuration, never with cookies.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { ALICE, testService } from '../support/world.ts';

const PAGE = 'https://console.example';
const PREFLIGHT = {
  origin: PAGE,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type',
};

const names = (headers: Record<string, unknown>) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

describe('without the setting', async () => {
  const service = await testService();

  test('no answer has a header of CORS, and a preflight is 405', async () => {
    const plain = await service.ask('GET', '/svc/manifest', { headers: { origin: PAGE } });
    const preflight = await service.ask('OPTIONS', '/svc/tokens', { headers: PREFLIGHT });

    assert.deepEqual(names(plain.headers), []);
    assert.equal(plain.headers.vary, undefined);
    assert.equal(preflight.status, 405);
    assert.deepEqual(names(preflight.headers), []);
  });
});

describe('with one origin', async () => {
  const service = await testService({ settings: { cors_origins: `${PAGE},https://b.example` } });

  test('its pages may read answers and failures, and never send cookies', async () => {
    const headers = { origin: PAGE };
    for (const reply of [
      await service.ask('GET', '/svc/manifest', { headers }),
      await service.ask('POST', '/svc/tokens', { headers, bearer: 'wrong', body: {} }),
      await service.ask('GET', '/nowhere', { headers }),
    ]) {
      assert.equal(reply.headers['access-control-allow-origin'], PAGE);
      assert.equal(reply.headers['access-control-allow-credentials'], undefined);
      const exposed = String(reply.headers['access-control-expose-headers']);
      for (const name of ['x-request-id', 'retry-after', 'etag', 'x-svc-signature']) {
        assert.ok(exposed.split(', ').includes(name), name);
      }
      assert.match(String(reply.headers.vary), /^(?:Accept, )?Origin$/);
    }
  });

  test('a preflight names the methods and headers, and needs no credential', async () => {
    const reply = await service.ask('OPTIONS', '/svc/tokens', { headers: PREFLIGHT });

    assert.equal(reply.status, 204);
    assert.equal(reply.text, '');
    assert.equal(reply.headers['access-control-allow-origin'], PAGE);
    assert.equal(reply.headers['access-control-allow-methods'], 'POST');
    assert.match(String(reply.headers['access-control-allow-headers']), /authorization/);
    assert.equal(reply.headers['access-control-allow-credentials'], undefined);
  });

  test('a preflight of an unknown path is 404', async () => {
    const reply = await service.ask('OPTIONS', '/nowhere', { headers: PREFLIGHT });

    assert.equal(reply.status, 404);
  });

  for (const origin of ['https://evil.example', `${PAGE}.evil.example`, 'null', `${PAGE}:443`]) {
    test(`a page of ${origin} may read nothing, and caches keep the answers apart`, async () => {
      const headers = { ...PREFLIGHT, origin };
      const plain = await service.ask('GET', '/svc/manifest', { headers });
      const preflight = await service.ask('OPTIONS', '/svc/tokens', { headers });

      assert.deepEqual(names(plain.headers), []);
      assert.equal(plain.headers.vary, 'Origin');
      assert.equal(preflight.status, 405);
      assert.deepEqual(names(preflight.headers), []);
    });
  }

  test('the front page varies by what the client accepts as well', async () => {
    const reply = await service.ask('GET', '/', { headers: { origin: PAGE } });

    assert.equal(reply.headers.vary, 'Accept, Origin');
  });

  test('probes and metrics are for no page', async () => {
    for (const path of ['/healthz', '/metrics']) {
      const headers = { ...PREFLIGHT, 'access-control-request-method': 'GET' };
      const plain = await service.ask('GET', path, { headers });
      const preflight = await service.ask('OPTIONS', path, { headers });
      assert.deepEqual(names(plain.headers), [], path);
      assert.equal(preflight.status, 405, path);
    }
  });

  test('an admitted page may speak MCP, and another may not', async () => {
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
    const from = (origin: string) =>
      service.ask('POST', '/mcp', {
        bearer: token,
        body,
        headers: { host: '127.0.0.1', origin, accept: 'application/json, text/event-stream' },
      });

    const admitted = await from(PAGE);
    assert.equal(admitted.status, 200);
    assert.equal(admitted.headers['access-control-allow-origin'], PAGE);
    assert.equal((await from('https://evil.example')).status, 403);
  });
});

test('`*` admits every page, still without cookies', async () => {
  const service = await testService({ settings: { cors_origins: ['*'] } });
  const reply = await service.ask('GET', '/svc/manifest', { headers: { origin: 'null' } });
  await service.close();

  assert.equal(reply.headers['access-control-allow-origin'], '*');
  assert.equal(reply.headers['access-control-allow-credentials'], undefined);
  assert.equal(reply.headers.vary, undefined);
});
