/**
 * The examples, each as a process of its own. The first service: a read, a paid write and an approval. Those
 * of mounting: the app's own route, its own sign-in, and a governed capability under the prefix.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, test } from 'vitest';
import { freePort } from '../support/free-ports.ts';

const ROOT = process.cwd();
const COOKIE = 'session=session-of-ann';

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

for (const name of ['hono', 'express']) {
  test(`examples/${name} keeps its routes, and its users delegate to agents`, async () => {
    const { url, child, line } = await started(name);

    assert.equal(line, `The shop is at ${url}\n`);
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

test('examples/first fits on a screen', () => {
  const lines = readFileSync(join(ROOT, 'examples/first/main.ts'), 'utf8').trimEnd().split('\n');

  assert.ok(lines.length <= 25, `it has ${lines.length} lines`);
});

test('examples/first reads, charges and asks a person', async () => {
  const { url, child } = await started('first');
  const ann = { authorization: 'Bearer demo-ann-key' };
  const budget = { currency: 'USD', max_amount: 10 };
  const issue = { scope: ['shop.read', 'shop.ship', 'shop.refund'], budget };
  const { token } = await asked(`${url}/svc/tokens`, issue, ann);
  const agent = { authorization: `Bearer ${token}` };
  const invoke = (capability: string, parameters: object, more = {}) =>
    asked(`${url}/svc/invoke/${capability}`, { parameters, ...more }, agent);

  const order = { order_id: '7' };
  assert.deepEqual((await invoke('look_up_order', order)).result, { order_id: '7', state: 'paid' });
  const shipped = await invoke('ship_order', order);
  assert.deepEqual(shipped.result, { parcel_id: 'P-7' });
  assert.equal(shipped.budget_context.budget_remaining, 0.5);
  assert.equal((await invoke('ship_order', order)).failure.type, 'budget_exceeded');
  const wrong = await invoke('refund_order', { ...order, amount: -5 });
  assert.equal(wrong.failure.type, 'invalid_parameters');
  const refund = { ...order, amount: 5 };
  const { failure } = await invoke('refund_order', refund);
  assert.equal(failure.type, 'approval_required');
  const { approval_request_id } = failure;
  const approval = { approval_request_id, grant_type: 'one_time' };
  const bob = { authorization: 'Bearer demo-bob-key' };
  const { grant_id } = await asked(`${url}/svc/approval_grants`, approval, bob);
  const paid = await invoke('refund_order', refund, { approval_grant: grant_id });
  assert.deepEqual(paid.result, { order_id: '7', refunded: 5 });
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.equal((await ended)[0], 0);
});

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

/** Runs a compiled example, on a free port and in a folder of its own. */
async function started(name: string): Promise<{ url: string; child: ChildProcess; line: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-example-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const port = await freePort();
  const child = spawn(process.execPath, [join(ROOT, 'dist/examples', name, 'main.js')], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  undo.unshift(() => void child.kill('SIGKILL'));
  const [line] = await once(child.stdout, 'data');
  return { url: `http://127.0.0.1:${port}`, child, line: String(line) };
}
