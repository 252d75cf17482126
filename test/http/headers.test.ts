/**
 * What stands in headers: media types, encodings and credentials, right and wrong.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { ALICE, type AskOptions, testService } from '../support/world.ts';
import { assertRefused } from './refused.ts';

const service = await testService();
const token = (await service.issue(ALICE, { scope: ['travel.search', 'travel.read'] })).token;

describe('media types', () => {
  const accepted = [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
  ];
  for (const type of accepted) {
    test(`${type} is read`, async () => {
      const reply = await service.ask('POST', '/svc/handshake', typed(type));

      assert.equal(reply.status, 200);
    });
  }

  const refused = [
    'text/plain',
    'text/json',
    'application/jsonp',
    'application/json-seq',
    'application/problem+json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/json; charset=utf-16',
    'application/json; charset=iso-8859-1',
    'application/json, text/plain',
    'text/plain; application/json',
    'x application/json',
    '*/*',
    ';',
    '',
  ];
  for (const type of refused) {
    test(`"${type}" is 415`, async () => {
      const reply = await service.ask('POST', '/svc/handshake', typed(type));

      assertRefused(reply, 415, 'unsupported_media_type');
    });
  }

  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, identity', 'x', 'GZIP']) {
    test(`Content-Encoding ${encoding} is 415`, async () => {
      const headers = { 'content-encoding': encoding };
      const reply = await service.ask('POST', '/svc/handshake', { body: {}, headers });

      assertRefused(reply, 415, 'unsupported_media_type');
    });
  }

  test('Content-Encoding identity is ignored', async () => {
    const headers = { 'content-encoding': 'identity' };

    assert.equal((await service.ask('POST', '/svc/handshake', { body: {}, headers })).status, 200);
  });

  function typed(type: string): AskOptions {
    return { body: '{}', headers: { 'content-type': type } };
  }
});

describe('credentials', () => {
  const presented: [name: string, header: string | undefined][] = [
    ['nothing', undefined],
    ['an empty header', ''],
    ['Basic', `Basic ${Buffer.from(`alice:${ALICE}`).toString('base64')}`],
    ['the scheme alone', 'Bearer'],
    ['two spaces', `Bearer  ${ALICE}`],
    ['a tab', `Bearer\t${ALICE}`],
    ['two credentials', `Bearer ${ALICE} ${ALICE}`],
    ['a list', `Bearer ${ALICE}, Bearer ${ALICE}`],
    ['no scheme', ALICE],
    ['another scheme', `Token ${ALICE}`],
    ['characters beyond ASCII', 'Bearer d\u00e9mo'],
    ['a nearly right key', `Bearer ${ALICE}x`],
    ['a key in other case', `Bearer ${ALICE.toUpperCase()}`],
  ];
  const protectedPaths = ['/svc/tokens', '/svc/audit', '/svc/tokens/revoke'];
  for (const [name, authorization] of presented) {
    test(`${name} is 401 authentication_required`, async () => {
      for (const path of protectedPaths) {
        const headers: Record<string, string> =
          authorization === undefined ? {} : { authorization };
        const reply = await service.ask('POST', path, {
          body: { scope: ['travel.read'] },
          headers,
        });
        assertRefused(reply, 401, 'authentication_required');
        assert.match(String(reply.headers['www-authenticate']), /^Bearer scope=/);
        assert.doesNotMatch(JSON.stringify(reply.body), new RegExp(ALICE, 'i'));
      }
    });
  }

  test('the scheme is accepted in any letter case, as HTTP requires', async () => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer']) {
      const headers = { authorization: `${scheme} ${token}` };
      assert.equal((await service.ask('POST', '/svc/permissions', { headers })).status, 200);
    }
  });

  test('a credential in the query, a cookie or the body is ignored', async () => {
    const query = `?access_token=${ALICE}&authorization=Bearer%20${ALICE}&bearer=${ALICE}`;
    const reply = await service.ask('POST', `/svc/audit${query}`, {
      body: { access_token: ALICE, authorization: `Bearer ${ALICE}` },
      headers: { cookie: `token=${ALICE}`, 'x-api-key': ALICE },
    });

    assertRefused(reply, 401, 'authentication_required');
  });

  test('invoke and permissions answer a bootstrap credential with invalid_token', async () => {
    for (const path of ['/svc/permissions', '/svc/invoke/search_flights']) {
      const reply = await service.ask('POST', path, { bearer: ALICE, body: { parameters: {} } });
      assertRefused(reply, 401, 'invalid_token');
      assert.match(String(reply.headers['www-authenticate']), /^Bearer error="invalid_token",/);
    }
  });
});

test('none of the requests above is logged as a defect', async () => {
  const lines = service.log.filter((line) => /defect|"level":"(?:error|fatal)"/.test(line));

  assert.deepEqual(lines, []);
});
