/**
 * `writ guard --openapi`: an HTTP API with a document of 20 and of 500 operations.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'vitest';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { guard, invoke, ownerKey, type RunOptions, tokenFor } from './command.ts';
import { shopDocument } from './openapi-document.ts';

const CANARY = 'canary-8d20c1aa';

interface Heard {
  readonly line: string;
  readonly authorization: string | undefined;
}

/** An API that answers everything, and echoes the credential where it is asked to. */
async function api({ isSilent = false } = {}) {
  const heard: Heard[] = [];
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    heard.push({ line: `${method} ${url}`, authorization: headers.authorization });
    if (isSilent) return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: 'a lamp' }));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  atEnd(() => new Promise((resolve) => void server.close(resolve)));
  return { heard, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** A folder with a document of so many operations. */
function shop(count: number) {
  const folder = temporaryFolder();
  const file = join(folder, 'shop.json');
  writeFileSync(file, JSON.stringify(shopDocument(count)));
  return { folder, file, policyFile: join(folder, 'writ-guard.yaml') };
}

const SECRET: RunOptions = { env: { SHOP_TOKEN: CANARY } };
const HEADER = ['--header', 'Authorization: Bearer $SHOP_TOKEN'];

for (const count of [20, 500]) {
  test(`writ guard offers the named ones of ${count} operations, with a credential that appears nowhere`, async () => {
    const { heard, origin } = await api();
    const place = shop(count);
    const words = ['--openapi', place.file, '--origin', origin, '--inside', '--id', 'shop'];
    const offer = ['--offer', 'read_record0,remove_record1'];

    const running = guard(place, [...words, ...HEADER, ...offer], SECRET);
    const url = await running.url();
    const token = await tokenFor(url, ownerKey(place), ['shop.read', 'shop.irreversible']);
    const read = await invoke(url, token, 'read_record0', { id: 'a/b' });
    const removed = await invoke(url, token, 'remove_record1', { id: '1' });
    const other = await invoke(url, token, 'list_record0', {});
    await running.stop();

    assert.equal(read.body.result.name, 'a lamp');
    assert.equal(removed.body.failure.type, 'unknown_capability');
    assert.match(removed.body.failure.detail, /review/);
    assert.equal(other.body.failure.type, 'unknown_capability');
    assert.deepEqual(heard, [{ line: 'GET /record0/a%2Fb', authorization: `Bearer ${CANARY}` }]);
    assert.match(running.printed(), new RegExp(`${count} tools, about [\\d,]+ tokens`));
    assert.ok(!running.printed().includes(CANARY));
    assert.ok(!JSON.stringify([read, removed, other]).includes(CANARY));
    for (const entry of readdirSync(place.folder, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      assert.ok(!readFileSync(join(entry.parentPath, entry.name)).includes(CANARY), entry.name);
    }
  });
}

test('a read that an API never answers had no effect, and the outcome of a write is unknown', async () => {
  const { origin } = await api({ isSilent: true });
  const place = shop(20);
  const upstream = `{ openapi: ./shop.json, origin: "${origin}", inside: true, deadline: 300ms }`;
  const tools = '  read_record0: { effect: read }\n  remove_record1: { effect: write }\n';
  writeFileSync(place.policyFile, `guard: shop\nupstream: ${upstream}\ntools:\n${tools}`);
  await guard(place, ['review'], { answers: ['y', 'y'] }).ended;

  const url = await guard(place, []).url();
  const token = await tokenFor(url, ownerKey(place), ['shop.read', 'shop.write']);
  const read = await invoke(url, token, 'read_record0', { id: '1' });
  const removed = await invoke(url, token, 'remove_record1', { id: '1' });

  assert.deepEqual([read.body.failure.type, read.body.effect], ['service_unavailable', 'none']);
  assert.equal(removed.body.failure.type, 'outcome_unknown');
});

test('a changed policy names what of it waits for the next start', async () => {
  const place = shop(20);
  const upstream = 'upstream: { openapi: ./shop.json, origin: https://shop.example.com }';
  const policy = `guard: shop\n${upstream}\ntools:\n  read_record0: { effect: read`;
  writeFileSync(place.policyFile, `${policy} }\n`);
  const running = guard(place, []);
  await running.url();

  writeFileSync(place.policyFile, `tools_as: search\n${policy}, scope: other.read }\n`);

  await running.until(/"tools_as" takes effect when you start the guard again/);
  await running.until(/scope "other\.read" when you have started the guard again/);
});

test('writ guard --openapi offers nothing by default, and says what to pass', async () => {
  const place = shop(20);

  const running = guard(place, ['--openapi', place.file]);

  assert.equal(await running.ended, 2);
  assert.match(
    running.printed(),
    /The document says that the API is at https:\/\/shop\.example\.com\/v1/,
  );
  assert.match(running.err.join(''), /none of 20 operations is offered by default; .*--offer/);
});

test('writ guard --openapi needs the variable that its credential names', async () => {
  const place = shop(20);

  const running = guard(place, ['--openapi', place.file, ...HEADER, '--offer', 'reads']);

  assert.equal(await running.ended, 2);
  assert.match(running.err.join(''), /needs the variable "SHOP_TOKEN"/);
});

test('a policy with accounts needs the secret of the client, and a call the account of its person', async () => {
  const { heard, origin } = await api();
  const place = shop(5);
  const words = ['--openapi', place.file, '--origin', origin, '--inside', '--id', 'shop'];
  const first = guard(place, [...words, '--offer', 'read_record0']);
  await first.url();
  await first.stop();
  const account =
    '{ authorize: "https://a.example/a", token: "https://a.example/t", client_id: x, client_secret: $SHOP_SECRET }';
  const text = readFileSync(place.policyFile, 'utf8');
  writeFileSync(place.policyFile, text.replace('upstream:', `upstream:\n  account: ${account}`));

  const without = guard(place, []);
  assert.equal(await without.ended, 2);
  const url = await guard(place, [], { env: { SHOP_SECRET: CANARY } }).url();
  const token = await tokenFor(url, ownerKey(place), ['shop.read']);
  const read = await invoke(url, token, 'read_record0', { id: '1' });

  assert.match(without.err.join(''), /needs the variable "SHOP_SECRET"/);
  assert.equal(read.body.failure.type, 'account_required');
  assert.deepEqual(heard, []);
});

const BAD: [what: string, text: string, why: RegExp][] = [
  ['is not JSON or YAML', '{"openapi": ', /shop\.json/],
  ['names no server', JSON.stringify({ ...shopDocument(5), servers: [] }), /--origin/],
  ['is no OpenAPI document', '{"a": 1}', /shop\.json/],
];
for (const [what, text, why] of BAD) {
  test(`writ guard refuses a document that ${what}, in one line`, async () => {
    const place = shop(5);
    writeFileSync(place.file, text);

    const running = guard(place, ['--openapi', place.file, '--offer', 'reads']);

    assert.equal(await running.ended, 2);
    assert.match(running.err.join(''), why);
    assert.match(running.err.join(''), /^Cannot guard: .*\n$/);
  });
}
