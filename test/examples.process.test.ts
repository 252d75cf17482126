/**
 * The examples of mounting, each as a process of its own: the app's own route, its own sign-in, and a governed
 * capability under the prefix.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'vitest';

const ROOT = process.cwd();
const COOKIE = 'session=session-of-ann';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

for (const name of ['hono', 'express']) {
  test(`examples/${name} keeps its routes, and its users delegate to agents`, async () => {
    const { url, child } = await started(name);

    assert.equal(await (await fetch(url)).text(), 'The shop is open');
    const { svc_discovery } = await asked(`${url}/.well-known/svc`);
    assert.equal(svc_discovery.endpoints.tokens, '/desk/svc/tokens');
    const issue = { scope: ['stock.read'], subject: 'agent:helper' };
    const { token } = await asked(`${url}${svc_discovery.endpoints.tokens}`, issue, {
      cookie: COOKIE,
    });
    const call = { parameters: { product: 'lamp' } };
    const bearer = { authorization: `Bearer ${token}` };
    const { result } = await asked(`${url}/desk/svc/invoke/read_stock`, call, bearer);
    assert.deepEqual(result, { product: 'lamp', left: 7 });
    const foreign = { cookie: COOKIE, origin: 'https://evil.example' };
    const refused = await asked(`${url}/desk/svc/tokens`, issue, foreign);
    assert.equal(refused.failure.type, 'authentication_required');
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const [code] = await ended;
    assert.equal(code, 0);
  });
}

async function asked(url: string, body?: object, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
    headers: {
      connection: 'close',
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  return (await response.json()) as any;
}

/** Runs an example from its sources, on a free port and in a folder of its own. */
async function started(name: string): Promise<{ url: string; child: ChildProcess }> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-example-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const main = join(ROOT, 'examples', name, 'main.ts');
  const tsx = join(ROOT, 'node_modules/tsx/dist/esm/index.mjs');
  const child = spawn(process.execPath, ['--conditions=writ-source', '--import', tsx, main], {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  undo.unshift(() => void child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  const url = `http://127.0.0.1:${port}`;
  assert.equal(String(line), `The shop is at ${url}\n`);
  return { url, child };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}
