/**
 * The pipe itself: lines that are wrong, requests side by side, and clients that leave.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, test } from 'vitest';
import { canonicalJson } from '../../src/domain/wire/canonical.ts';
import { ALICE, type TestService, testService } from '../support/world.ts';
import { asking, type Message, openPipe, type PipeClient } from './pipe.ts';

let service: TestService;
let pipe: PipeClient;

beforeEach(async () => {
  service = await testService();
  pipe = openPipe(service.runtime);
});
afterEach(async () => {
  await pipe.hangUp();
  await service.close();
});

const auth = { bearer: ALICE };

async function token(scope: string[], fields: object = {}): Promise<string> {
  pipe.say(asking('token', 'svc.tokens.issue', { auth, scope, ...fields }));
  return (await pipe.answerTo('token')).result.token;
}

/** After whatever went before, the next request is answered. */
async function assertGoesOn(): Promise<void> {
  pipe.say(asking('goes on', 'svc.jwks'));
  const { result } = await pipe.answerTo('goes on');
  assert.ok(result.keys.length > 0);
}

test('converse() answers a refusal as a result, and an unknown method as an error', async () => {
  pipe.say(asking(1, 'svc.permissions', { auth: { bearer: 'no-such-key' } }));
  const refused = await pipe.next();
  pipe.say(asking(2, 'svc.nothing'));
  const unknown = await pipe.next();

  assert.equal(refused.id, 1);
  assert.equal(refused.result.success, false);
  assert.equal(refused.result.failure.resolution.recovery_class, 'redelegation_then_retry');
  assert.equal(refused.error, undefined);
  assert.deepEqual(unknown, {
    jsonrpc: '2.0',
    id: 2,
    error: { code: -32_601, message: 'Cannot call "svc.nothing": the service has no such method' },
  });
});

const unknownMethods = [
  'discovery',
  'svc.',
  'svc.toString',
  'svc.__proto__x',
  'SVC.jwks',
  'svc.invoke.progress',
];
for (const method of unknownMethods) {
  test(`converse() refuses the method ${JSON.stringify(method)}`, async () => {
    pipe.say(asking(1, method));

    assert.equal((await pipe.next()).error.code, -32_601);
    await assertGoesOn();
  });
}

const wrongCredentials: object[] = [
  { bearer: 7 },
  { bearer: 'two words' },
  { bearer: '' },
  { bearer: 'x'.repeat(8_193) },
  { bearer: ALICE, also: 'this' },
  { token: ALICE },
  [ALICE],
];
for (const wrong of wrongCredentials) {
  test(`converse() accepts no credential from ${JSON.stringify(wrong).slice(0, 40)}`, async () => {
    pipe.say(asking(1, 'svc.tokens.issue', { auth: wrong, scope: ['travel.search'] }));

    assert.equal((await pipe.next()).result.failure.type, 'authentication_required');
  });
}

test('serveConversation() does nothing for a notification', async () => {
  const bearer = await token(['travel.extras']);
  const params = { auth: { bearer }, capability: 'buy_lounge_pass', parameters: {} };
  pipe.say({ jsonrpc: '2.0', method: 'svc.invoke', params });
  await assertGoesOn();

  pipe.say(asking(1, 'svc.audit.query', { auth }));
  assert.deepEqual((await pipe.answerTo(1)).result.entries, []);
});

test('converse() refuses each broken line and continues', async () => {
  const lines = [
    '{',
    '"x"',
    '[]',
    '\u0000',
    '{"jsonrpc":"2.0","id":1,"method":"svc.jwks"}}',
    'GET / HTTP/1.1',
  ];
  for (const line of lines) pipe.say(line);

  for (const line of lines) {
    const { id, error } = await pipe.next();
    assert.equal(id, null, line);
    assert.ok([-32_700, -32_600].includes(error.code), line);
  }
  await assertGoesOn();
});

test('converse() accepts a line of 256 KiB, refuses a longer one, and continues', async () => {
  const request = (room: number) =>
    JSON.stringify(asking(1, 'svc.jwks', { room: 'x'.repeat(room) }));
  const most = 256 * 1024 - request(0).length;
  pipe.say(request(most));
  assert.equal((await pipe.next()).error, undefined);
  pipe.say(request(most + 1));

  assert.match((await pipe.next()).error.message, /longer than 262144 bytes/);
  await assertGoesOn();
});

test('converse() refuses a line of 100 MB when it ends, and continues', async () => {
  const piece = Buffer.alloc(1024 * 1024, 0x20);
  pipe.input.write('{"jsonrpc":"2.0","id":1,"method":"svc.jwks","params":{"room":"');
  for (let sent = 0; sent < 100; sent += 1) {
    if (!pipe.input.write(piece)) await turn();
  }
  pipe.say('"}}');

  const { id, error } = await pipe.next();
  assert.equal(id, 1);
  assert.equal(error.code, -32_700);
  assert.equal(error.data, undefined);
  await assertGoesOn();
});

const LONG = { room: 'x'.repeat(256 * 1024) };
const unasked: { name: string; line: object | string; id: unknown; isInvocation: boolean }[] = [
  { name: 'params by position', line: asking(1, 'svc.invoke', []), id: 1, isInvocation: true },
  { name: 'params of a dry run', line: asking(1, 'svc.test', []), id: 1, isInvocation: true },
  { name: 'params of a document', line: asking(1, 'svc.jwks', []), id: 1, isInvocation: false },
  { name: 'a long call', line: asking('a', 'svc.invoke', LONG), id: 'a', isInvocation: true },
  { name: 'a long question', line: asking(1, 'svc.permissions', LONG), id: 1, isInvocation: false },
  { name: 'no JSON', line: '{', id: null, isInvocation: true },
  {
    name: 'a long line with its params first',
    line: { params: { id: 1, method: 'svc.jwks', ...LONG }, ...asking(2, 'svc.jwks') },
    id: null,
    isInvocation: true,
  },
  {
    name: 'a long line with two ids',
    line: `{"id":1,"id":2,"method":"svc.jwks","params":${JSON.stringify(LONG)}}`,
    id: null,
    isInvocation: true,
  },
];
for (const { name, line, id, isInvocation } of unasked) {
  test(`converse() names an invocation id in its error only for a possible invocation: ${name}`, async () => {
    pipe.say(line as object);

    const answer = await pipe.next();
    assert.equal(answer.id, id);
    assert.equal(/^inv-[0-9a-f]{12}$/.test(answer.error.data?.invocation_id), isInvocation);
  });
}

test('converse() answers no error under the id of a running request', async () => {
  const bearer = await token(['travel.read']);
  const params = { auth: { bearer }, capability: 'export_report', parameters: { months: 2 } };
  pipe.say(asking(7, 'svc.invoke', params));
  pipe.say(asking(7, 'svc.invoke', []));

  assert.equal((await pipe.next()).id, null);
  assert.equal((await pipe.next()).result.success, true);
});

test('converse() runs requests concurrently and answers each when it ends', async () => {
  const bearer = await token(['travel.read', 'travel.search']);
  const invoke = (capability: string, parameters: object) => ({
    auth: { bearer },
    capability,
    parameters,
  });
  pipe.say(asking('slow', 'svc.invoke', invoke('export_report', { months: 3 })));
  pipe.say(asking('quick', 'svc.jwks'));

  assert.equal((await pipe.next()).id, 'quick');
  assert.equal((await pipe.next()).id, 'slow');
});

test('converse() refuses a second request with the id of a running one', async () => {
  const bearer = await token(['travel.read']);
  const params = { auth: { bearer }, capability: 'export_report', parameters: { months: 2 } };
  pipe.say(asking(7, 'svc.invoke', params));
  pipe.say(asking(7, 'svc.jwks'));

  const refused = await pipe.next();
  assert.equal(refused.id, null);
  assert.match(refused.error.message, /7: the first still runs/);
  assert.equal((await pipe.next()).result.success, true);
  // Ended, so the id is free.
  pipe.say(asking(7, 'svc.jwks'));
  assert.ok((await pipe.next()).result.keys);
});

test('converse() sends stream events as notifications, then the result', async () => {
  const bearer = await token(['travel.read']);
  const params = {
    auth: { bearer },
    capability: 'export_report',
    parameters: { months: 2 },
    stream: true,
  };
  pipe.say(asking('report', 'svc.invoke', params));
  const messages: Message[] = [];
  do messages.push(await pipe.next());
  while (messages.at(-1).id === undefined);

  const { result } = messages.pop();
  assert.deepEqual(
    messages.map(({ method, params: told }) => [
      method,
      told.request_id,
      told.event,
      told.data.progress,
    ]),
    [
      ['svc.invoke.progress', 'report', 'started', undefined],
      ['svc.invoke.progress', 'report', 'progress', { month: 1, of: 2 }],
      ['svc.invoke.progress', 'report', 'progress', { month: 2, of: 2 }],
    ],
  );
  assert.equal(result.success, true);
  assert.deepEqual(
    [result.stream_summary.events_emitted, result.stream_summary.events_delivered],
    [4, 4],
  );
});

test('converse() carries the signature of the manifest over the exact text of the result', async () => {
  pipe.say(asking(1, 'svc.manifest'));
  const { result, headers } = await pipe.next();
  pipe.say(asking(2, 'svc.jwks'));
  const { result: jwks } = await pipe.next();

  const [header = '', , signature = ''] = headers['x-svc-signature'].split('.');
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString());
  const key = jwks.keys.find((each: { kid: string }) => each.kid === kid);
  const payload = Buffer.from(canonicalJson(result)).toString('base64url');
  const signed = verify(
    'sha256',
    Buffer.from(`${header}.${payload}`),
    { key: createPublicKey({ key, format: 'jwk' }), dsaEncoding: 'ieee-p1363' },
    Buffer.from(signature, 'base64url'),
  );
  assert.ok(signed);
});

test('converse() finishes running calls when the input ends, also a last line without a line end', async () => {
  const bearer = await token(['travel.extras']);
  const params = { auth: { bearer }, capability: 'buy_lounge_pass', parameters: {} };
  pipe.input.write(JSON.stringify(asking('last', 'svc.invoke', params)));

  const left = await pipe.hangUp();

  assert.equal(left.length, 1);
  assert.equal(left[0].result.success, true);
});

test('serveConversation() finishes and records a call whose client has left', async () => {
  const bearer = await token(['travel.read']);
  const params = {
    auth: { bearer },
    capability: 'export_report',
    parameters: { months: 2 },
    stream: true,
  };
  pipe.say(asking(1, 'svc.invoke', params));
  assert.equal((await pipe.next()).params.event, 'started');
  pipe.output.destroy();
  await pipe.ended;

  const { body } = await service.ask('POST', '/svc/audit', { bearer: ALICE });
  assert.equal(body.entries[0].capability, 'export_report');
  assert.equal(body.entries[0].state, 'completed');
  assert.equal(body.entries[0].stream_summary.client_disconnected, true);
});

test('converse() starts no request of a client that has left', async () => {
  const bearer = await token(['travel.extras']);
  const params = { auth: { bearer }, capability: 'buy_lounge_pass', parameters: {} };
  pipe.output.destroy(new Error('EPIPE'));
  pipe.say(asking(1, 'svc.invoke', params));
  await pipe.ended;

  const { body } = await service.ask('POST', '/svc/audit', { bearer: ALICE });
  assert.deepEqual(body.entries, []);
});

test('converse() starts no request that it has read when the client leaves', async () => {
  const bearer = await token(['travel.extras']);
  const params = { auth: { bearer }, capability: 'buy_lounge_pass', parameters: {} };
  // The first one is made in slices; those after it are at hand.
  pipe.say(asking('made', 'svc.manifest'));
  await pipe.answerTo('made');
  pipe.output.pause();
  const manifests = Array.from({ length: 200 }, (_, id) => asking(id, 'svc.manifest'));
  const lines = [...manifests, asking('last', 'svc.invoke', params)];
  // In one piece, so that the last line is at hand while the first answers wait to be read.
  pipe.input.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  while (!pipe.output.writableNeedDrain) await turn();
  pipe.output.destroy();
  await pipe.ended;

  const { body } = await service.ask('POST', '/svc/audit', { bearer: ALICE });
  assert.deepEqual(body.entries, []);
});

test('converse() stops reading while the client does not read', async () => {
  pipe.output.pause();
  const request = `${JSON.stringify(asking('x', 'svc.manifest'))}\n`;
  let sent = 0;
  // Ten thousand manifests are a hundred megabytes: they must not all be made for nobody.
  for (; sent < 10_000; sent += 1) pipe.input.write(request.replace('"x"', `${sent}`));
  for (let turns = 0; turns < 100; turns += 1) await turn();

  assert.ok(pipe.output.readableLength + pipe.output.writableLength < 5 * 1024 * 1024);
  assert.ok(pipe.input.readableLength > 0);
  pipe.output.resume();
  await pipe.answerTo(sent - 1);
});

test('converse() runs requests read before it stopped, and none after', async () => {
  const bearer = await token(['travel.read']);
  const params = { auth: { bearer }, capability: 'export_report', parameters: { months: 2 } };
  pipe.say(asking(1, 'svc.invoke', params));
  await assertStarted();
  pipe.stop(5_000);
  pipe.say(asking(2, 'svc.jwks'));
  await pipe.ended;

  assert.equal((await pipe.next()).id, 1);
  const { body } = await service.ask('POST', '/svc/audit', { bearer: ALICE });
  assert.equal(body.count, 1);
});

/** A request that is answered after another was read: that one has been taken too. */
async function assertStarted(): Promise<void> {
  pipe.say(asking('after', 'svc.jwks'));
  assert.equal((await pipe.next()).id, 'after');
}
