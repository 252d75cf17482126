/**
 * `writ mcp` over pipes: what a client gets, and what becomes of lines that are no messages.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { BODY_LIMITS } from '../../src/domain/wire/json.ts';
import { openDesk, TRIP } from '../client/desk.ts';
import { ALICE } from '../support/world.ts';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 'first',
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'pipe', version: '1' },
  },
};
const LIST = { jsonrpc: '2.0', id: 'list', method: 'tools/list' };

const desk = await openDesk();
const asked = { scope: ['travel.search'], subject: 'agent:planner' };
const { token } = await desk.service.issue(ALICE, asked);

/** Runs the command until its input ends; resolves with every message, and what it said beside. */
async function conversed(
  lines: readonly string[],
  answers: number,
  env: object = {},
  options: readonly string[] = [],
) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let told = '';
  let said = '';
  const hear = (text: string) => {
    said += text;
  };
  const enough = new Promise<void>((resolve) => {
    if (answers === 0) resolve();
    output.on('data', (chunk) => {
      told += chunk;
      if (told.split('\n').length > answers) resolve();
    });
  });
  const ended = main(['mcp', '--service', desk.url, ...options], {
    out: hear,
    err: hear,
    env: { WRIT_CLIENT_CREDENTIAL: token, ...env },
    pipes: { input, output },
  });
  for (const line of lines) input.write(line);
  await Promise.race([enough, ended]);
  input.end();
  const code = await ended;
  const messages = told.split('\n').filter(Boolean);
  return { code, said, messages: messages.map((line) => JSON.parse(line)) };
}

test('writ mcp lists the capabilities that the token may use, until its input ends', async () => {
  const lines = [INITIALIZE, LIST].map((message) => `${JSON.stringify(message)}\n`);

  const { code, messages } = await conversed(lines, 2);

  const listed = messages.find(({ id }) => id === 'list');
  assert.deepEqual(
    listed.result.tools.map(({ name }: { name: string }) => name),
    ['search_flights'],
  );
  assert.equal(code, 0);
});

test('writ mcp --tools search lists the pair, searches, and calls what is found', async () => {
  const tool = (id: string, name: string, args: object) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: args },
  });
  const messages = [
    INITIALIZE,
    LIST,
    tool('search', 'search_capabilities', { query: 'flights' }),
    tool('call', 'call_capability', { name: 'search_flights', arguments: TRIP }),
    tool('none', 'call_capability', { arguments: TRIP }),
    tool('own', 'search_flights', TRIP),
  ];
  const lines = messages.map((message) => `${JSON.stringify(message)}\n`);

  const told = await conversed(lines, messages.length, {}, ['--tools', 'search']);

  const result = (wanted: string) => told.messages.find(({ id }) => id === wanted).result;
  assert.deepEqual(
    result('list').tools.map(({ name }: { name: string }) => name),
    ['search_capabilities', 'call_capability'],
  );
  const { capabilities, more } = result('search').structuredContent;
  assert.deepEqual([capabilities[0].name, capabilities.length, more], ['search_flights', 1, 0]);
  assert.equal(result('call').structuredContent.success, true);
  assert.equal(result('own').structuredContent.success, true);
  assert.equal(result('none').structuredContent.failure.type, 'unknown_capability');
});

test('writ mcp refuses another list of tools', async () => {
  const { code, said } = await conversed([], 0, {}, ['--tools', 'some']);

  assert.equal(code, 2);
  assert.match(said, /^Cannot run "writ mcp": .*Expected one of all, search.*\n$/);
});

const UNREADABLE: [what: string, line: string, code: number][] = [
  ['broken JSON', '{"jsonrpc"', -32_700],
  ['a key that appears twice', '{"id":1,"id":2}', -32_700],
  ['what is not a message', '{"a":1}', -32_600],
  ['a message without its version', '{"id":1,"method":"tools/list"}', -32_600],
  [
    'a _meta that is not an object',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","_meta":[]}}',
    -32_600,
  ],
  ['several messages in one line', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32_600],
  ['a line above the limit', 'x'.repeat(3 * BODY_LIMITS.bytes), -32_600],
];
for (const [what, line, code] of UNREADABLE) {
  test(`writ mcp answers ${what} with an error, and continues`, async () => {
    const good = `${JSON.stringify(INITIALIZE)}\n`;

    const { messages } = await conversed([`${line}\n`, '\n', good], 2);

    assert.equal(messages[0].error.code, code);
    assert.equal(messages[1].id, 'first');
    assert.equal(messages[1].result.serverInfo.name, 'travel-desk');
  });
}

test('writ mcp answers every request before the end of its input, even without a last line end', async () => {
  const asked = { scope: ['travel.extras'], subject: 'agent:planner' };
  const { token: own } = await desk.service.issue(ALICE, asked);
  const params = { name: 'buy_lounge_pass', arguments: {} };
  const calls = [1, 2, 3].map((id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params }));
  const lines = [INITIALIZE, ...calls].map((message) => JSON.stringify(message)).join('\n');

  // Nothing is waited for: the input ends as soon as it is written.
  const { code, messages } = await conversed([lines], 0, { WRIT_CLIENT_CREDENTIAL: own });

  assert.equal(code, 0);
  assert.deepEqual(messages.map(({ id }) => id).sort(), [1, 2, 3, 'first']);
  for (const { id, result } of messages)
    assert.equal(result.isError, id === 'first' ? undefined : false);
});

test('writ mcp refuses a second request with the id of a running one, and answers the first', async () => {
  const params = { name: 'search_flights', arguments: {} };
  const call = { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
  const lines = [INITIALIZE, call, call].map((message) => `${JSON.stringify(message)}\n`);

  const { messages } = await conversed([lines.join('')], 3);

  assert.deepEqual(messages.map(({ id }) => String(id)).sort(), ['7', 'first', 'null']);
  const refused = messages.find(({ id }) => id === null);
  assert.equal(refused.error.code, -32_600);
  assert.match(refused.error.message, /second request 7/);
});

const UNSENDABLE: [what: string, params: object, type: string][] = [
  ...['__proto__', 'constructor', '..', '.', ''].map((name): [string, object, string] => {
    return [`a tool named "${name}"`, { name, arguments: {} }, 'unknown_capability'];
  }),
  ...[7, 'a€b', 'a\nb'].map((svc_idempotency_key): [string, object, string] => {
    const params = { name: 'search_flights', arguments: { ...TRIP, svc_idempotency_key } };
    return [`the key ${JSON.stringify(svc_idempotency_key)}`, params, 'invalid_parameters'];
  }),
];
for (const [what, params, type] of UNSENDABLE) {
  test(`writ mcp answers ${what} with a tool's error`, async () => {
    const call = { jsonrpc: '2.0', id: 'call', method: 'tools/call', params };
    const lines = [INITIALIZE, call].map((message) => `${JSON.stringify(message)}\n`);

    const { messages } = await conversed(lines, 2);

    const { result } = messages.find(({ id }) => id === 'call');
    assert.equal(result.isError, true);
    assert.equal(result.structuredContent.failure.type, type);
    assert.match(result.structuredContent.invocation_id, /^inv-[0-9a-f]{12}$/);
  });
}

const UNUSABLE: [what: string, env: object, said: RegExp][] = [
  ['no token', { WRIT_CLIENT_CREDENTIAL: undefined }, /^Cannot serve MCP: there is no credential/],
  ['a token of nobody', { WRIT_CLIENT_CREDENTIAL: 'x' }, /^Cannot use the token/],
];
for (const [what, env, expected] of UNUSABLE) {
  test(`writ mcp does not start with ${what}`, async () => {
    const { code, said, messages } = await conversed([], 1, env);

    assert.equal(code, 4);
    assert.match(said, expected);
    assert.deepEqual(messages, []);
  });
}
