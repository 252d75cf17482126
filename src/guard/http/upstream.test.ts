import assert from 'node:assert/strict';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, test } from 'vitest';
import { json, localApi } from '../../../test/guard/http-api.ts';
import { shopDocument } from '../../../test/guard/openapi-document.ts';
import { system } from '../../platform.ts';
import { HandlerFailure, NoEffect } from '../../service/author/handler.ts';
import { toolDigest, type UpstreamCall, type UpstreamTool } from '../upstream.ts';
import { type OpenApiUpstreamOptions, openApiUpstream } from './upstream.ts';

const CANARY = 'canary-0b7d44aa';
const CREDENTIAL = { header: 'Authorization', value: `Bearer ${CANARY}` };

/** A document in a file of its own. */
async function documentFile(document: unknown = shopDocument(20)): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'writ-openapi-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'api.json');
  await writeFile(file, JSON.stringify(document));
  return file;
}

async function opened(more: Partial<OpenApiUpstreamOptions> = {}) {
  const file = more.file ?? (await documentFile());
  const origin = 'https://shop.example.com';
  const upstream = openApiUpstream({
    origin,
    inside: false,
    headers: [],
    deadlineMs: 5_000,
    platform: system,
    ...more,
    file,
  });
  onTestFinished(() => upstream.close());
  return { file, upstream };
}

function called(tool: UpstreamTool, more: Partial<UpstreamCall> = {}): UpstreamCall {
  const signal = new AbortController().signal;
  return { tool, parameters: {}, invocationId: 'inv-7', isRead: false, signal, ...more };
}

function named(tools: readonly UpstreamTool[], wanted: string): UpstreamTool {
  return tools.find(({ name }) => name === wanted) ?? assert.fail(wanted);
}

test('an upstream of a document calls the reviewed route with the credential', async () => {
  const api = await localApi(json(200, { name: 'Cup' }));
  onTestFinished(() => api.close());
  const { upstream } = await opened({
    origin: `${api.origin}/v1`,
    inside: true,
    credential: CREDENTIAL,
  });
  const tool = named(await upstream.tools(), 'update_record1');

  const result = await upstream.call(called(tool, { parameters: { id: 'a b', name: 'Cup' } }));

  assert.deepEqual(result, { name: 'Cup' });
  const [request] = api.requests;
  assert.equal(
    `${request?.method} ${request?.url} ${request?.body}`,
    'PATCH /v1/record1/a%20b {"name":"Cup"}',
  );
  assert.equal(request?.headers.authorization, CREDENTIAL.value);
  assert.equal(request?.headers['idempotency-key'], 'inv-7');
});

test('an upstream of a document sends the access token of a person instead of the credential', async () => {
  const api = await localApi((request, response) =>
    json(200, { saw: request.headers })(request, response),
  );
  onTestFinished(() => api.close());
  const { upstream } = await opened({ origin: api.origin, inside: true, credential: CREDENTIAL });
  const tool = named(await upstream.tools(), 'list_record0');
  const call = called(tool, { isRead: true, accessToken: 'token-of-ann' });

  const result = await upstream.call(call);

  assert.equal(api.requests[0]?.headers.authorization, 'Bearer token-of-ann');
  assert.doesNotMatch(JSON.stringify(result), /token-of-ann/);
});

test('an upstream of a document never shows its credential in a failure', async () => {
  const echo = await localApi((request, response) =>
    json(400, { message: request.headers.authorization })(request, response),
  );
  onTestFinished(() => echo.close());
  const gone = await localApi(() => undefined);
  await gone.close();
  for (const { origin } of [echo, gone]) {
    const { upstream } = await opened({ origin, inside: true, credential: CREDENTIAL });
    const tool = named(await upstream.tools(), 'remove_record0');
    const thrown = await upstream
      .call(called(tool, { parameters: { id: '1' } }))
      .catch((error) => error);
    assert.ok(NoEffect.is(thrown));
    assert.doesNotMatch(
      `${thrown.message} ${thrown.stack} ${String(thrown.cause)}`,
      new RegExp(CANARY),
    );
  }
});

test('an upstream of a document reports an unknown outcome when a write is cut off', async () => {
  const api = await localApi((_, response) => response.socket?.destroy());
  onTestFinished(() => api.close());
  const { upstream } = await opened({ origin: api.origin, inside: true });
  const tool = named(await upstream.tools(), 'remove_record0');

  const thrown = await upstream
    .call(called(tool, { parameters: { id: '1' } }))
    .catch((error) => error);

  assert.ok(HandlerFailure.is(thrown));
  assert.equal(thrown.type, 'outcome_unknown');
});

test('tools() reads a changed document again, and other tools keep their digests', async () => {
  const { file, upstream } = await opened();
  const before = await upstream.tools();
  assert.equal(await upstream.tools(), before);
  const changed = shopDocument(20);
  const operation = changed.paths['/record0/{id}']?.get as { summary: string };
  operation.summary = 'read a record and more';
  await writeFile(file, JSON.stringify(changed));

  const now = await upstream.tools();

  const different = now.filter((tool) => toolDigest(tool) !== toolDigest(named(before, tool.name)));
  assert.deepEqual(
    different.map(({ name }) => name),
    ['read_record0'],
  );
});

test('tools() rejects with one line when the document cannot be read', async () => {
  const { file, upstream } = await opened();
  const fault = async () => String(await upstream.tools().catch((error) => error.message));

  await writeFile(file, '{"swagger": "2.0"}');
  assert.match(await fault(), /^Cannot use ".*api\.json": its version is "2\.0"; expected/);
  await truncate(file, 9_000_000);
  assert.match(await fault(), /^Cannot read ".*": it is larger than 8388608 bytes$/);
  await rm(file);
  assert.match(await fault(), /^Cannot read ".*": ENOENT$/);
  const folder = await opened({ file: tmpdir() });
  await assert.rejects(folder.upstream.tools(), /it is no file$/);
});

test('watch() reports a changed document', async () => {
  let look: () => void = () => undefined;
  const every = (_: number, run: () => void) => {
    look = run;
    return { unref: () => undefined };
  };
  const { file, upstream } = await opened({
    platform: { after: system.after, every, cancel: () => undefined },
  });
  let reports = 0;
  upstream.watch(() => {
    reports += 1;
  });
  // A look waits for the disk, so the document changes until a look has seen two states of it.
  for (let size = 0; reports === 0; size++) {
    await writeFile(file, ' '.repeat(size));
    look();
    await new Promise((done) => setTimeout(done, 5));
  }
  await rm(file);
  for (const before = reports; reports === before; ) {
    look();
    await new Promise((done) => setTimeout(done, 5));
  }
});

test('openApiUpstream() refuses an origin and a credential that cannot be used, without its value', async () => {
  const open = (more: Partial<OpenApiUpstreamOptions>) => opened({ file: 'none', ...more });
  await assert.rejects(open({ origin: 'http://shop.example.com' }), /expected https/);
  await assert.rejects(open({ origin: 'https://127.0.0.1' }), /inside address; name it/);
  await assert.rejects(open({ origin: 'shop' }), /expected an origin/);
  const credential = { header: 'Authorization', value: `${CANARY}\n` };
  await assert.rejects(open({ credential }), (error: Error) => !error.message.includes(CANARY));
});

test('call() refuses a route that was not made here, or a header that the policy no longer lists', async () => {
  const { upstream } = await opened();
  const [tool] = await upstream.tools();
  const routes = [
    undefined,
    { method: 'GET', path: '/a', headers: { 'X-Tenant': 'tenant' } },
    { method: 'GET', path: '/../a' },
    { method: 'CONNECT', path: '/a' },
    { method: 'GET', path: '/a', origin: 'https://evil.example' },
  ];
  for (const route of routes) {
    const thrown = await upstream
      .call(called({ ...(tool as UpstreamTool), route }))
      .catch((error) => error);
    assert.ok(NoEffect.is(thrown), JSON.stringify(route));
    assert.equal(thrown.type, 'upstream_failed');
  }
});
