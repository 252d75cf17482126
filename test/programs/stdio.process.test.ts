/**
 * The travel desk as a child on real pipes: what stands on its standard output, and how it ends.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, test } from 'vitest';

const DESK = [join(process.cwd(), 'dist/examples/travel/main.js'), '--stdio'];

/** In kilobytes, on standard error as the last thing a process says. */
const TELL_MEMORY =
  'data:text/javascript,process.on("exit",()=>process.stderr.write("\\nmaxRSS "+process.resourceUsage().maxRSS))';

/** A service whose handler writes where it should not. */
const TALKATIVE = `
import { createService, defineCapability, serveStdio } from 'writ';
const talk = defineCapability({
  name: 'talk', description: 'Talks', side_effect: 'read', minimum_scope: ['a.b'],
  handler() { console.log('canary log'); process.stdout.write('canary write'); return {}; },
});
const identities = [{ key: 'k-talkative', principal: 'human:a', scopes: ['a.b'] }];
await serveStdio(createService({ id: 'talkative', capabilities: [talk] }), {
  settings: { identities }, folder: process.env.FOLDER,
});
console.log('canary start');
`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'writ-stdio-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Child {
  readonly process: ChildProcessWithoutNullStreams;
  /** Every line of standard output so far; each must be JSON-RPC. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  next(): Promise<any>;
  errors(): string;
  exit(): Promise<number | null>;
}

function start(args: string[], cwd = folder): Child {
  const env = { PATH: process.env.PATH, WRIT_STORE: 'memory:', WRIT_LOG_LEVEL: 'warn' };
  const child = spawn(process.execPath, args, { cwd, env: { ...env, FOLDER: folder } });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = '';
  child.stderr.on('data', (piece) => {
    errors += piece;
  });
  // A child that ends early is seen by its exit, not by a write that fails.
  child.stdin.on('error', () => undefined);
  return {
    process: child,
    errors: () => errors,
    async next() {
      const { value, done } = await lines.next();
      if (done) throw new Error(`Cannot read on: the service ended and said ${errors}`);
      const message = JSON.parse(value);
      assert.equal(message.jsonrpc, '2.0');
      return message;
    },
    async exit() {
      const [code] = await ended;
      return code;
    },
  };
}

function say({ process: { stdin } }: Child, id: number, method: string, params: object = {}): void {
  stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
}

test('serveStdio() answers over pipes and ends with its input', async () => {
  const desk = start(DESK);
  say(desk, 1, 'svc.tokens.issue', { auth: { bearer: 'demo-human-key' }, scope: ['travel.read'] });
  const { result } = await desk.next();
  const params = {
    auth: { bearer: result.token },
    capability: 'export_report',
    parameters: { months: 2 },
  };
  say(desk, 2, 'svc.invoke', params);
  desk.process.stdin.end();

  assert.equal((await desk.next()).result.success, true);
  assert.equal(await desk.exit(), 0);
  assert.equal(desk.errors(), '');
});

test('serveStdio() announces no path, since there is no address', async () => {
  const desk = start(DESK);
  say(desk, 1, 'svc.discovery');
  const { svc_discovery: discovery } = (await desk.next()).result;
  desk.process.stdin.end();

  assert.equal(discovery.service_id, 'travel-desk');
  assert.equal(discovery.surfaces, undefined);
  assert.equal(await desk.exit(), 0);
});

test('serveStdio() writes only protocol messages to standard output', async () => {
  const service = start(['--input-type=module', '--eval', TALKATIVE], process.cwd());
  say(service, 1, 'svc.tokens.issue', { auth: { bearer: 'k-talkative' }, scope: ['a.b'] });
  const { result } = await service.next();
  say(service, 2, 'svc.invoke', {
    auth: { bearer: result.token },
    capability: 'talk',
    parameters: {},
  });
  assert.equal((await service.next()).result.success, true);
  service.process.stdin.end();

  assert.equal(await service.exit(), 0);
  await assert.rejects(service.next(), /the service ended/);
  for (const canary of ['canary start', 'canary log', 'canary write']) {
    assert.ok(service.errors().includes(canary), canary);
  }
});

test('serveStdio() does not buffer a line that is too long', async () => {
  const memoryAfter = async (megabytes: number) => {
    const desk = start(['--import', TELL_MEMORY, ...DESK]);
    const piece = Buffer.alloc(1024 * 1024, 0x61);
    for (let sent = 0; sent < megabytes; sent += 1) {
      if (!desk.process.stdin.write(piece)) await once(desk.process.stdin, 'drain');
    }
    desk.process.stdin.write('\n');
    say(desk, 1, 'svc.jwks');
    assert.equal((await desk.next()).error.code, -32_700);
    assert.ok((await desk.next()).result.keys);
    desk.process.stdin.end();
    assert.equal(await desk.exit(), 0);
    return Number(/maxRSS (\d+)/.exec(desk.errors())?.[1]) / 1024;
  };

  const [little, much] = [await memoryAfter(1), await memoryAfter(500)];

  assert.ok(much - little < 250, `${Math.round(little)} MB, then ${Math.round(much)} MB`);
});

test('serveStdio() ends cleanly when its client stops reading', async () => {
  const desk = start(DESK);
  say(desk, 1, 'svc.jwks');
  await desk.next();
  desk.process.stdout.destroy();
  // Its input stays open: only what it says back tells it that nobody listens.
  say(desk, 2, 'svc.jwks');

  assert.equal(await desk.exit(), 0);
});

test('serveStdio() finishes running calls when it is stopped', async () => {
  const desk = start(DESK);
  say(desk, 1, 'svc.tokens.issue', { auth: { bearer: 'demo-human-key' }, scope: ['travel.read'] });
  const { result } = await desk.next();
  const params = {
    auth: { bearer: result.token },
    capability: 'export_report',
    parameters: { months: 3 },
  };
  say(desk, 2, 'svc.invoke', { ...params, stream: true });
  assert.equal((await desk.next()).params.event, 'started');
  desk.process.kill('SIGTERM');

  let message = await desk.next();
  while (message.id === undefined) message = await desk.next();
  assert.equal(message.result.success, true);
  assert.equal(await desk.exit(), 0);
});
