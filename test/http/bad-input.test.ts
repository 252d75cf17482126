/**
 * Everything a client can get wrong in one well-framed request: each is a structured failure with
 * its decided status, says nothing of the inside, and is never a defect of ours.
 *
 * @module
 */

import assert from 'node:assert/strict';
import inject from 'light-my-request';
import { describe, test, vi } from 'vitest';
import { BODY_LIMITS } from '../../src/domain/wire/json.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE, type Reply, testService } from '../support/world.ts';
import { assertRefused } from './refused.ts';

const service = await testService();
const token = (await service.issue(ALICE, { scope: ['travel.search', 'travel.read'] })).token;

describe('routes', () => {
  const absent = [
    ['GET', '/svc'],
    ['GET', '/svc/'],
    ['GET', '/svc/manifest/'],
    ['GET', '//svc/manifest'],
    ['GET', '/SVC/manifest'],
    ['GET', '/svc/manifest/extra'],
    ['POST', '/svc/invoke'],
    ['DELETE', '/nowhere'],
    ['GET', '/svc%2Fmanifest'],
    ['GET', '/__proto__'],
  ] as const;
  for (const [method, path] of absent) {
    test(`${method} ${path} is 404 not_found`, async () => {
      assertRefused(await service.ask(method, path), 404, 'not_found');
    });
  }

  const wrong = [
    ['POST', '/.well-known/svc', 'GET, HEAD'],
    ['POST', '/svc/manifest', 'GET, HEAD'],
    ['PUT', '/svc/manifest', 'GET, HEAD'],
    ['DELETE', '/svc/manifest', 'GET, HEAD'],
    ['OPTIONS', '/svc/manifest', 'GET, HEAD'],
    ['GET', '/svc/tokens', 'POST'],
    ['HEAD', '/svc/tokens', 'POST'],
    ['OPTIONS', '/svc/tokens', 'POST'],
    ['PUT', '/svc/tokens', 'POST'],
    ['PATCH', '/svc/tokens', 'POST'],
    ['GET', '/svc/invoke/search_flights', 'POST'],
    ['OPTIONS', '/svc/invoke/search_flights', 'POST'],
    ['GET', '/svc/audit', 'POST'],
    ['GET', '/svc/permissions?a=b', 'POST'],
    ['POST', '/', 'GET, HEAD'],
    ['POST', '/healthz', 'GET, HEAD'],
    ['POST', '/metrics', 'GET, HEAD'],
  ] as const;
  for (const [method, path, allow] of wrong) {
    test(`${method} ${path} is 405 and allows ${allow}`, async () => {
      const reply = await service.ask(method, path);

      assert.equal(reply.headers.allow, allow);
      if (method === 'HEAD') assert.equal(reply.status, 405);
      else assertRefused(reply, 405, 'method_not_allowed');
    });
  }

  test('a path that serves one method below a name and another as a name allows both', async () => {
    const reply = await service.ask('PUT', '/svc/tokens/revoke');

    assertRefused(reply, 405, 'method_not_allowed');
    assert.equal(reply.headers.allow, 'GET, HEAD, POST');
  });

  test('an unknown route is reported before the body is read', async () => {
    const body = { body: 'x'.repeat(BODY_LIMITS.bytes + 1) };

    assertRefused(await service.ask('POST', '/nowhere', body), 404, 'not_found');
    assertRefused(await service.ask('PUT', '/svc/tokens', body), 405, 'method_not_allowed');
    const text = { body: 'a', headers: { 'content-type': 'text/plain' } };
    assertRefused(await service.ask('PUT', '/svc/tokens', text), 405, 'method_not_allowed');
  });

  for (const path of ['/svc/graph/%', '/svc/graph/%zz', '/svc/graph/%ff', '/svc/graph/%ed%a0%80']) {
    test(`GET ${path} is 400: the path cannot be decoded`, async () => {
      assertRefused(await service.ask('GET', path), 400, 'invalid_parameters');
    });
  }

  test('a path parameter longer than any name is 400 or 404, at every length', async () => {
    for (const length of [257, 512, 513, 4_000]) {
      const reply = await service.ask('GET', `/svc/graph/${'a'.repeat(length)}`);
      assertRefused(reply, 400, 'invalid_parameters');
    }
    const longest = await service.ask('GET', `/svc/graph/${'a'.repeat(256)}`);
    assertRefused(longest, 404, 'unknown_capability');
  });

  const altered: [method: string, path: string][] = [
    ['GET', '/svc/graph/%00'],
    ['GET', '/svc/tokens/tok_%00'],
    ['POST', '/svc/invoke/search%00flights'],
    ['POST', '/svc/audit?client_reference_id=a%00b'],
    ['POST', '/svc/audit?task_id=%ED%A0%80'],
    ['POST', '/svc/audit?task_id=%ff'],
    ['POST', '/svc/audit?task_id=%'],
  ];
  for (const [method, path] of altered) {
    test(`${method} ${path} is 400: no store can hold that text`, async () => {
      const body = path.includes('invoke') ? { body: { parameters: {} } } : {};
      const reply = await service.ask(method, path, { bearer: token, ...body });

      assertRefused(reply, 400, 'invalid_parameters');
    });
  }

  test('a query with a repeated field is 400, and neither value is used', async () => {
    const reply = await service.ask('POST', '/svc/audit?limit=1&limit=2', { bearer: token });

    assertRefused(reply, 400, 'invalid_parameters');
  });
});

describe('bodies', () => {
  /** What the strict reader must refuse, and a word of why. */
  const faults: [name: string, body: string | Buffer, detail: RegExp][] = [
    ['broken JSON', '{"scope":["a"', /position 13/],
    ['text after the value', '{} {}', /position 3/],
    ['a trailing comma', '{"a":1,}', /position 7/],
    ['single quotes', "{'a':1}", /position 1/],
    ['a comment', '{} // x', /position 3/],
    ['a duplicate key', '{"scope":["a"],"scope":["b"]}', /"scope" appears twice/],
    ['a duplicate key in disguise', '{"scope":[],"sc\\u006fpe":[]}', /"scope" appears twice/],
    ['__proto__', '{"__proto__":{"admin":true}}', /__proto__/],
    ['__proto__ inside', '{"parameters":{"a":[{"__proto__":1}]}}', /__proto__/],
    ['__proto__ in disguise', '{"\\u005f_proto__":1}', /__proto__/],
    ['a lone surrogate', '{"a":"\\ud800"}', /surrogate/],
    ['a surrogate pair backwards', '{"a":"\\udc00\\ud800"}', /surrogate/],
    ['U+0000', '{"a":"\\u0000"}', /U\+0000/],
    ['NaN', '{"a":NaN}', /position 5/],
    ['Infinity', '{"a":Infinity}', /position 5/],
    ['a number too large', '{"a":1e999}', /too large/],
    ['an unsafe integer', '{"a":9007199254740993}', /2\^53/],
    ['bad UTF-8', Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]), /byte 2/],
    ['an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), /byte 1/],
    ['UTF-16', Buffer.from('\ufeff{}', 'utf16le'), /not UTF-8/],
    ['a byte order mark', '\ufeff{}', /byte order mark/],
    ['a control character', '{"a":"\n"}', /control character/],
    ['33 levels', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, /32 levels/],
    ['10,001 keys', `{${Array.from({ length: 10_001 }, (_, i) => `"k${i}":1`)}}`, /10000 keys/],
    ['an array', '[{"parameters":{}}]', /JSON object/],
    ['a string', '"parameters"', /JSON object/],
    ['null', 'null', /JSON object/],
    ['only spaces', '   ', /position 3/],
  ];
  const places = [
    ['POST', '/svc/handshake'],
    ['POST', '/svc/tokens'],
    ['POST', '/svc/invoke/search_flights'],
  ] as const;
  for (const [name, body, detail] of faults) {
    test(`${name} is 400 everywhere, and names the position`, async () => {
      for (const [method, path] of places) {
        const reply = await send(method, path, body);
        assertRefused(reply, 400, 'invalid_parameters');
        assert.match(reply.body.failure.detail, detail, path);
      }
    });
  }

  async function send(method: string, path: string, payload: string | Buffer): Promise<Reply> {
    const bearer = path === '/svc/tokens' ? ALICE : token;
    const response = await inject(service.app.listener as never, {
      method: method as 'POST',
      url: path,
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      payload,
    });
    const { statusCode: status, headers } = response;
    return { status, headers, body: JSON.parse(response.payload) };
  }

  test('an unknown caller learns nothing from the form of a body: 401 comes first', async () => {
    for (const [name, body] of faults) {
      const payload = { body: String(body), bearer: 'nobody' };
      const reply = await service.ask('POST', '/svc/tokens', payload);
      assert.equal(reply.status, 401, name);
      assert.equal(reply.body.failure.type, 'authentication_required', name);
    }
  });

  test('200 KB nested 100,000 deep are refused by the scan, and JSON.parse never sees them', async () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const parse = vi.spyOn(JSON, 'parse');
    atEnd(() => parse.mockRestore());
    const reply = await service.ask('POST', '/svc/handshake', { bearer: token, body: deep });

    assertRefused(reply, 400, 'invalid_parameters');
    assert.match(reply.body.failure.detail, /position 32: nested deeper than 32 levels/);
    assert.deepEqual(
      parse.mock.calls.filter(([text]) => String(text).startsWith('[[')),
      [],
    );
    // The spy itself works: a body that passes the scan is parsed.
    await service.ask('POST', '/svc/handshake', { body: '{"capabilities":{}}' });
    assert.ok(parse.mock.calls.some(([text]) => text === '{"capabilities":{}}'));
  });

  test('256 KiB are read and one byte more is 413', async () => {
    const padded = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`;

    const bearer = token;
    const most = await service.ask('POST', '/svc/handshake', {
      bearer,
      body: padded(BODY_LIMITS.bytes),
    });
    assert.equal(most.status, 200);
    const more = await service.ask('POST', '/svc/handshake', {
      bearer,
      body: padded(BODY_LIMITS.bytes + 1),
    });
    assertRefused(more, 413, 'request_too_large');
  });

  test('no body equals an empty object when no field is required', async () => {
    for (const path of ['/svc/permissions', '/svc/audit']) {
      assert.equal((await service.ask('POST', path, { bearer: token })).status, 200, path);
      const reply = await service.ask('POST', path, { bearer: token, body: '' });
      assert.equal(reply.status, 200, path);
    }
  });

  test('no body is 400 when a field is required, and names it', async () => {
    for (const body of [undefined, '', '{}']) {
      const issue = await service.ask('POST', '/svc/tokens', { bearer: ALICE, body });
      assertRefused(issue, 400, 'invalid_parameters');
      assert.match(issue.body.failure.detail, /scope/);
      const invoke = await service.ask('POST', '/svc/invoke/search_flights', {
        bearer: token,
        body,
      });
      assertRefused(invoke, 400, 'invalid_parameters');
      assert.match(invoke.body.failure.detail, /parameters/);
    }
  });

  test('a failure of an invocation has its id, also when the body cannot be read', async () => {
    const path = '/svc/invoke/search_flights';

    for (const body of ['{', '[]', '{"parameters":{}}']) {
      const reply = await service.ask('POST', path, { bearer: token, body });
      assert.match(reply.body.invocation_id, /^inv-[0-9a-f]{12}$/, body);
    }
  });
});

test('none of the requests above is logged as a defect', async () => {
  const lines = service.log.filter((line) => /defect|"level":"(?:error|fatal)"/.test(line));

  assert.deepEqual(lines, []);
});
