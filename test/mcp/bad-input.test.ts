/**
 * What no well-behaved client sends to `/mcp`, and clients that leave: a clear answer, and service goes on.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { BODY_LIMITS } from '../../src/domain/wire/json.ts';
import { openDesk } from '../client/desk.ts';
import { connected } from '../http/socket.ts';
import { ALICE } from '../support/world.ts';

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} };
const ACCEPT = { accept: 'application/json, text/event-stream' };

const desk = await openDesk();
const asked = { scope: ['travel.read'], subject: 'agent:planner' };
const { token } = await desk.service.issue(ALICE, asked);

interface Sent {
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly bearer?: string | undefined;
}

function post({ headers = {}, body = JSON.stringify(LIST), bearer = token }: Sent = {}) {
  return desk.service.ask('POST', '/mcp', { bearer, body, headers: { ...ACCEPT, ...headers } });
}

test('/mcp answers a plain request of the older protocol', async () => {
  const { status, text } = await post();

  assert.equal(status, 200);
  assert.match(text ?? '', /"name":"get_booking"/);
});

const REFUSED: [what: string, sent: Sent, status: number, said: RegExp][] = [
  ['broken JSON', { body: '{"jsonrpc"' }, 400, /"code":-32700/],
  ['no message at all', { body: '' }, 400, /"code":-32700/],
  ['a key that appears twice', { body: '{"id":1,"id":2}' }, 400, /"code":-32700/],
  ['no message of the protocol', { body: '{"a":1}' }, 400, /"code":-32\d00/],
  ['several messages at once', { body: JSON.stringify([LIST, LIST]) }, 400, /several messages/],
  ['a body above the limit', { body: 'x'.repeat(BODY_LIMITS.bytes + 1) }, 413, /request_too_large/],
  [
    'another media type',
    { headers: { 'content-type': 'text/xml' } },
    415,
    /unsupported_media_type/,
  ],
  ['a bootstrap credential', { bearer: ALICE }, 401, /invalid_token/],
  ['a foreign Host', { headers: { host: 'evil.example' } }, 403, /Host \\"evil.example\\"/],
  ['a page of another site', { headers: { origin: 'https://evil.example' } }, 403, /Origin/],
  ['an opaque origin', { headers: { origin: 'null' } }, 403, /Origin/],
];
for (const [what, sent, expected, said] of REFUSED) {
  test(`/mcp refuses ${what}`, async () => {
    const { status, text } = await post(sent);

    assert.equal(status, expected);
    assert.match(text ?? '', said);
  });
}

test('/mcp challenges a caller that presents nothing', async () => {
  const { status, body, headers } = await desk.service.ask('POST', '/mcp', { body: LIST });

  assert.equal(status, 401);
  assert.equal(body.failure.type, 'authentication_required');
  assert.match(String(headers['www-authenticate']), /^Bearer scope=.*resource_metadata=/);
});

for (const method of ['GET', 'DELETE']) {
  test(`/mcp refuses ${method}: it has no sessions`, async () => {
    const { status, headers } = await desk.service.ask(method, '/mcp', { bearer: token });

    assert.equal(status, 405);
    assert.equal(headers.allow, 'POST');
  });
}

test('/mcp accepts requests from a page on this machine', async () => {
  const { status } = await post({ headers: { origin: 'http://localhost:3000' } });

  assert.equal(status, 200);
});

/** Each is answered as a result with a failure, or with an error of the protocol. */
const META: [what: string, meta: string, said: RegExp][] = [
  ['a number', '5', /"code":-32600,"message":.*_meta.* is not an object/],
  ['a list', '[1]', /"code":-32600,"message":.*_meta.* is not an object/],
  ['a text', '"svc/task_id"', /"code":-32600,"message":.*_meta.* is not an object/],
  ['nothing', 'null', /"code":-32600,"message":.*_meta.* is not an object/],
  ['an id that is none', '{"svc/task_id": {"a": [1]}}', blamed('svc/task_id')],
  ['a name of ours that is none', '{"svc/": 1}', blamed('svc/')],
  ['a name that objects have', '{"svc/constructor": 1}', blamed('svc/constructor')],
  ['the name of a field of a call', '{"svc/approval_grant": "x"}', blamed('svc/approval_grant')],
  ['more ids than a call has', metaOf(300), /invalid_parameters/],
];
for (const [what, meta, said] of META) {
  test(`/mcp answers ${what} in _meta with an error, and continues`, async () => {
    const params = `{"name":"get_booking","arguments":{"booking_id":"x"},"_meta":${meta}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`;
    const { text = '' } = await post({ body });

    assert.match(text, said);
    assert.equal((await post()).status, 200);
  });
}

/** Once in the words and once in the structure: what is wrong, and where it stands. */
function blamed(name: string): RegExp {
  const quoted = `\\\\"${name}\\\\"`;
  return new RegExp(
    `invalid_parameters: Cannot use ${quoted} of \\\\"_meta.*What to do: correct ${quoted} in \\\\"_meta.*the arguments can stay.*"detail":"Cannot use ${quoted}`,
  );
}

function metaOf(count: number): string {
  return JSON.stringify(
    Object.fromEntries(Array.from({ length: count }, (_, each) => [`svc/n${each}`, each])),
  );
}

test('/mcp finishes the call of a client that disconnects, and serves the next', async () => {
  const task = {
    scope: ['travel.read'],
    subject: 'agent:gone',
    purpose_parameters: { task_id: 'gone' },
  };
  const { token: own } = await desk.service.issue(ALICE, task);
  const params = { name: 'export_report', arguments: { months: 15 }, _meta: { progressToken: 1 } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const socket = await connected(Number(new URL(desk.url).port));
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${own}\r\n` +
      `Accept: ${ACCEPT.accept}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk) => String(chunk).includes('notifications/progress') && resolve());
  });

  socket.destroy();

  const entry = await settled('gone');
  assert.equal(entry.success, true);
  assert.equal(entry.stream_summary.client_disconnected, true);
  assert.equal((await post()).status, 200);
});

/** The entry of a task's one invocation, once there is one. */
async function settled(task: string) {
  for (let turn = 0; turn < 100; turn += 1) {
    const { body } = await desk.service.ask('POST', `/svc/audit?task_id=${task}`, {
      bearer: ALICE,
    });
    if (body.entries[0]) return body.entries[0];
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('Cannot find the entry');
}
