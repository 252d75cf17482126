/**
 * Every failure of an invocation names it, also where the call ends before it is read.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { InvokeFailure } from '../../src/protocol/invocation.ts';
import { StoreUnavailable } from '../../src/storage/port/store.ts';
import { ALICE, patientLoad, testService } from '../support/world.ts';
import { exchanged, listening, replyIn } from './socket.ts';

const PATH = '/svc/invoke/search_flights';
const INVOCATION = /^inv-[0-9a-f]{12}$/;

const JSON_TYPE = 'content-type: application/json\r\n';
const CHUNKED = `transfer-encoding: chunked\r\n${JSON_TYPE}`;

/** Requests as they travel, each of which is refused before a capability is asked. */
const REFUSED: readonly [what: string, status: number, head: string, body?: string][] = [
  ['a body that is too large', 413, `content-length: 300000\r\n${JSON_TYPE}`, 'x'.repeat(300_000)],
  ['a chunked body that is too long for a stranger', 401, CHUNKED, chunk('x'.repeat(30_000))],
  ['another media type', 415, 'content-length: 2\r\ncontent-type: text/plain\r\n', '{}'],
  ['a packed body', 415, `content-length: 2\r\ncontent-encoding: gzip\r\n${JSON_TYPE}`, '{}'],
  [
    'an unknown transfer coding',
    415,
    `transfer-encoding: gzip, chunked\r\n${JSON_TYPE}`,
    chunk('{}'),
  ],
  ['no credential', 401, `content-length: 2\r\n${JSON_TYPE}`, '{}'],
  [
    'two credentials',
    401,
    `authorization: Bearer a\r\nauthorization: Bearer b\r\ncontent-length: 2\r\n${JSON_TYPE}`,
    '{}',
  ],
  ['a forged token', 401, `authorization: Bearer a.b.c\r\ncontent-length: 2\r\n${JSON_TYPE}`, '{}'],
  ['an expectation', 417, `expect: miracle\r\ncontent-length: 2\r\n${JSON_TYPE}`, '{}'],
  ['a second Host', 400, `host: other\r\ncontent-length: 2\r\n${JSON_TYPE}`, '{}'],
  ['a header that is not a header', 400, 'no colon here\r\n'],
  ['headers that are too large', 431, `x-large: ${'x'.repeat(20_000)}\r\n`],
  ['a chunk without a length', 400, CHUNKED, 'zz\r\n'],
];

describe('an invocation that is refused over a socket names its id:', async () => {
  const service = await testService();
  const port = await listening(service);

  for (const [what, status, head, body = ''] of REFUSED) {
    test(what, async () => {
      const request = `POST ${PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${head}\r\n${body}`;
      const answer = replyIn(await exchanged(port, request));

      assert.equal(answer.status, status, answer.body);
      assertNamed(bodyIn(answer.body));
    });
  }

  for (const target of [
    `http://x${PATH}`,
    `HTTPS://x:8420${PATH}?a=b`,
    '/svc/%69nvoke/search_flights',
    '/%73vc/invok%65/%73earch_flights',
    'http://x/svc/t%65st/search_flights',
  ]) {
    test(`another media type, to ${target}`, async () => {
      const head = 'content-length: 2\r\ncontent-type: text/plain\r\nconnection: close\r\n';
      const request = `POST ${target} HTTP/1.1\r\nhost: x\r\n${head}\r\n{}`;
      const answer = replyIn(await exchanged(port, request));

      assert.equal(answer.status, 415, answer.body);
      assertNamed(bodyIn(answer.body));
    });
  }

  for (const [what, line] of [
    ['an HTTP version that is not spoken', `POST ${PATH} HTTP/1.0\r\ntransfer-encoding: chunked`],
    ['a path that is not a text', 'POST /svc/invoke/%zz HTTP/1.1\r\nhost: x'],
    ['a name that is too long', `POST /svc/invoke/${'x'.repeat(2_000)} HTTP/1.1\r\nhost: x`],
    ['a whole address that is not a text', 'POST http://x/svc/%69nvoke/%zz HTTP/1.1\r\nhost: x'],
    [
      'an expectation of a whole address',
      `POST http://x${PATH} HTTP/1.1\r\nhost: x\r\nexpect: miracle`,
    ],
    ['no name', 'POST /svc/invoke/ HTTP/1.1\r\nhost: x'],
    ['another method', `GET ${PATH} HTTP/1.1\r\nhost: x`],
    ['a dry run without a credential', 'POST /svc/test/search_flights HTTP/1.1\r\nhost: x'],
  ] as const) {
    test(what, async () => {
      const answer = replyIn(await exchanged(port, `${line}\r\nconnection: close\r\n\r\n`));

      assert.ok(answer.status >= 400, answer.body);
      assertNamed(bodyIn(answer.body));
    });
  }

  test('an unknown capability, a body that is no JSON and one that is no object', async () => {
    const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
    const replies = [
      await service.invoke(token, 'fly_to_moon'),
      await service.ask('POST', PATH, { bearer: token, body: '{"parameters":' }),
      await service.ask('POST', PATH, { bearer: token, body: '[]' }),
    ];

    for (const { body } of replies) assertNamed(body);
    assert.deepEqual(
      replies.map(({ status }) => status),
      [404, 400, 400],
    );
  });

  test('refusals of other operations name no invocation', async () => {
    for (const path of [
      '/svc/tokens',
      '/svc/permissions',
      '/svc/invoker/x',
      '/svc/invoke',
      '/svc%2Finvoke/x',
    ]) {
      const { body } = await service.ask('POST', path, { body: '{' });

      assert.equal(body.success, false);
      assert.equal('invocation_id' in body, false, path);
    }
  });
});

test('an invocation that is shed names its id', async () => {
  const service = await testService({
    load: { ...patientLoad(), overload: () => 'a test says so' },
  });
  const { status, body } = await service.ask('POST', PATH, { body: {} });

  assert.equal(status, 503);
  assertNamed(body);
});

test('an invocation of an address over its limit names its id', async () => {
  const service = await testService({ settings: { address_rate: '1/PT1H' } });
  const replies = [];
  for (let i = 0; i < 40; i++) replies.push(await service.ask('POST', PATH, { body: {} }));
  const limited = replies.find(({ status }) => status === 429);

  assertNamed(limited?.body);
});

test('an invocation names its id when the store is unavailable', async () => {
  let isAway = false;
  const service = await testService({
    wrap: (store) => ({
      ...store,
      async load(wanted) {
        if (isAway) throw new StoreUnavailable('away');
        return store.load(wanted);
      },
    }),
  });
  const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
  isAway = true;
  const { status, body } = await service.invoke(token, 'search_flights');

  assert.equal(status, 503);
  assertNamed(body);
});

test('an unknown caller gets the ids of a readable body echoed, and of no other', async () => {
  const service = await testService();
  const ids = { client_reference_id: 'order-7', task_id: 't', upstream_service: 'desk' };
  const read = await service.ask('POST', PATH, { body: { parameters: {}, ...ids } });
  const forged = await service.ask('POST', PATH, { bearer: 'a.b.c', body: { ...ids } });
  const broken = await service.ask('POST', PATH, { body: `{"client_reference_id":"order-7",` });
  const long = await service.ask('POST', PATH, {
    body: { client_reference_id: 'x'.repeat(257) },
  });

  assert.deepEqual({ ...read.body, ...ids }, read.body);
  assert.equal(read.body.failure.type, 'authentication_required');
  assert.deepEqual({ ...forged.body, ...ids }, forged.body);
  for (const { body } of [broken, long]) {
    assertNamed(body);
    assert.equal('client_reference_id' in body, false);
  }
});

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`;
}

/** Also of an answer in chunks. */
function bodyIn(text: string): unknown {
  return JSON.parse(text.slice(text.indexOf('{'), text.lastIndexOf('}') + 1));
}

function assertNamed(body: unknown): void {
  const { invocation_id } = InvokeFailure.parse(body);
  assert.match(invocation_id, INVOCATION);
}
