/**
 * An HTTP API of 20 and of 500 operations behind `writ guard --openapi`, used by the official client.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { call, connectAgent, VERSIONS } from '../mcp/agent.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { CANARY, textsIn } from './calls.ts';
import { ask, guard, ownerKey, tokenFor } from './command.ts';
import { localApi } from './http-api.ts';
import { shopDocument } from './openapi-document.ts';

/** A shop that repeats the credential in each answer, as careless services do, and what names it to the guard. */
async function shop(operations: number) {
  const folder = temporaryFolder();
  const file = join(folder, 'shop.json');
  writeFileSync(file, JSON.stringify(shopDocument(operations)));
  const api = closedAtEnd(
    await localApi(({ method, url, headers }, response) => {
      const isRefused = url.includes('refused');
      response.writeHead(isRefused ? 422 : 200, { 'content-type': 'application/json' });
      const seen = `${method} ${url} ${headers.authorization}`;
      response.end(JSON.stringify(isRefused ? { detail: seen } : { name: seen }));
    }),
  );
  const credential = ['--header', 'Authorization: Bearer $SHOP_TOKEN'];
  const place = ['--openapi', file, '--origin', `${api.origin}/v1`, '--inside', '--id', 'shop'];
  const at = { folder, policyFile: join(folder, 'writ-guard.yaml') };
  const start = (words: readonly string[]) =>
    guard(at, [...place, ...credential, ...words], { env: { SHOP_TOKEN: CANARY } });
  return { ...at, api, start };
}

test('writ guard --openapi offers none of 20 operations unless a person names some', async () => {
  const { start, api, policyFile } = await shop(20);

  const running = start([]);

  assert.equal(await running.ended, 2);
  assert.match(running.printed(), /none of 20 operations is offered by default/);
  assert.throws(() => statSync(policyFile));
  assert.deepEqual(api.requests, []);
});

test('writ guard --openapi passes reads of 20 operations on, keeps drafted writes off, and never shows the credential', async () => {
  const { start, api, folder, policyFile } = await shop(20);
  const offer = 'read_record0,list_record1,remove_record1';

  const running = start(['--offer', offer]);
  const url = await running.url();
  const key = ownerKey({ folder });
  const token = await tokenFor(url, key, ['shop.read', 'shop.irreversible']);
  const agent = closedAtEnd(await connectAgent({ version: VERSIONS[1], url, token }));
  const { tools } = await agent.listTools();
  const read = await call(agent, 'read_record0', { id: 'a/b?c' });
  const refused = await call(agent, 'read_record0', { id: 'refused' });
  const removed = await call(agent, 'remove_record1', { id: 'a' });
  const { body: audit } = await ask(url, '/svc/audit?limit=200', key, {});
  await running.stop();

  assert.deepEqual(tools.map(({ name }) => name).sort(), ['list_record1', 'read_record0']);
  assert.equal(read.answer.success, true, read.text);
  assert.equal(refused.answer.failure.type, 'invalid_parameters', refused.text);
  assert.match(removed.text, /line \d+ of the policy still has "review"/);
  assert.deepEqual(
    api.requests.map(({ method, url: path, headers }) => [method, path, headers.authorization]),
    [
      ['GET', '/v1/record0/a%2Fb%3Fc', `Bearer ${CANARY}`],
      ['GET', '/v1/record0/refused', `Bearer ${CANARY}`],
    ],
  );
  assert.match(readFileSync(policyFile, 'utf8'), /Bearer \$SHOP_TOKEN/);
  const kept = textsIn(folder);
  assert.ok(kept.length >= 6, 'document, policy, lock, store, its keys and the key of the owner');
  const answers = JSON.stringify([read, refused, removed, audit]);
  const shown = [running.printed(), answers, ...kept];
  assert.ok(shown.every((each) => !each.includes(CANARY)));
});

test('writ guard --tools search offers 500 operations as two tools that find and call one', async () => {
  const { start, api, folder, policyFile } = await shop(500);
  const running = start(['--tools', 'search', '--offer', 'all']);
  const url = await running.url();

  const drafted = readFileSync(policyFile, 'utf8');
  const checked = drafted.replaceAll(', approval: always', '').replaceAll(', review: yes', '');
  writeFileSync(policyFile, checked);
  await running.until('The changed policy is in force');
  const scope = ['shop.read', 'shop.write', 'shop.irreversible'];
  const token = await tokenFor(url, ownerKey({ folder }), scope);
  const agent = closedAtEnd(await connectAgent({ version: VERSIONS[1], url, token }));
  const { tools } = await agent.listTools();
  const found = await agent.callTool({
    name: 'search_capabilities',
    arguments: { query: 'update record77' },
  });
  const given = { name: 'update_record77', arguments: { id: 'a b', name: 'lamp' } };
  const updated = await call(agent, 'call_capability', given);

  assert.match(running.printed(), /shop offers 200 tools/);
  assert.match(running.printed(), /500 tools, about [\d,]+ tokens.*2 tools, about [\d,]+/);
  assert.deepEqual(tools.map(({ name }) => name).sort(), [
    'call_capability',
    'search_capabilities',
  ]);
  assert.match(JSON.stringify(found.structuredContent), /"name":"update_record77"/);
  assert.equal(updated.answer.success, true, updated.text);
  assert.deepEqual(
    api.requests.map(({ method, url: path, body }) => [method, path, JSON.parse(body)]),
    [['PATCH', '/v1/record77/a%20b', { name: 'lamp' }]],
  );
});
