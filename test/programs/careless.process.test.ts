/**
 * Handlers that leave promises alone, or throw where no call can be blamed: the process tells it, takes no
 * more work, finishes what runs, and ends so that a supervisor starts it again.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { type Launched, launch, seen } from '../support/launch.ts';

/** Only to end a test that hangs. */
const PATIENT = { timeout: 120_000 };

const INDEX = pathToFileURL(join(process.cwd(), 'dist/src/index.js')).href;

/** A service whose handlers are careless, over the transport that the first argument names. */
const PROGRAM = `
import { setTimeout as pause } from 'node:timers/promises';
import { createService, defineCapability, serve, serveStdio } from '${INDEX}';

const plain = (name, handler) =>
  defineCapability({ name, description: name, side_effect: 'write', minimum_scope: ['w'], handler });
const secret = () => new Error('connect postgres://app:hunter2@db failed ' + 'x'.repeat(100000));
const definition = createService({
  id: 'careless',
  capabilities: [
    plain('slow', async () => {
      await pause(1500);
      return { finished: true };
    }),
    plain('reject', () => {
      for (let i = 0; i < 50; i++) setTimeout(() => void Promise.reject(secret()), i * 10);
      return {};
    }),
    plain('throw', () => {
      setTimeout(() => {
        throw secret();
      }, 10);
      return {};
    }),
    plain('proxy', () => {
      const refuse = () => {
        throw null;
      };
      void Promise.reject(new Proxy({}, { get: refuse, getPrototypeOf: refuse, has: refuse }));
      return {};
    }),
  ],
});
const settings = {
  store: 'memory:',
  keys: './keys',
  port: 0,
  stop_grace_seconds: 20,
  identities: [{ principal: 'human:alice', key: 'alice-key', scopes: ['w'], subjects: [] }],
};
if (process.argv[2] === 'stdio') await serveStdio(definition, { settings });
else {
  const running = await serve(definition, { settings });
  if (!running.isWorker) console.log('at ' + running.url);
}
`;

function start(...args: string[]): Launched {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'program.mjs'), PROGRAM);
  return launch(['program.mjs', ...args], folder);
}

async function post(url: string, path: string, bearer: string, body: object) {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return JSON.parse(await response.text());
}

/** What a log may say of such a defect. */
function assertTold(log: string, event: string): void {
  const lines = log.split('\n').filter((line) => line.includes(`"msg":"${event}"`));
  assert.ok(lines.length > 0, log);
  assert.ok(lines.length <= 16);
  for (const line of lines) assert.ok(line.length < 10_000, `${line.length}`);
  assert.equal(log.includes('hunter2'), false);
}

const CARELESS = [
  ['reject', 'unhandledRejection'],
  ['throw', 'uncaughtException'],
  ['proxy', 'unhandledRejection'],
] as const;
for (const [capability, event] of CARELESS) {
  test(
    `a handler that leaves "${capability}" behind ends the process after running calls finish`,
    PATIENT,
    async () => {
      const program = start();
      const { output, ended } = program;
      const url = await seen(program, /at (http:\S+)/);
      const { token } = await post(url, '/svc/tokens', 'alice-key', { scope: ['w'] });

      const slow = post(url, '/svc/invoke/slow', token, { parameters: {} });
      const careless = await post(url, `/svc/invoke/${capability}`, token, { parameters: {} });

      assert.equal(careless.success, true);
      assert.deepEqual((await slow).result, { finished: true });
      assert.equal(await ended, 1);
      assertTold(output.err, event);
      await assert.rejects(fetch(`${url}/healthz`));
    },
  );
}

test('a service over stdio ends in the same way', PATIENT, async () => {
  const program = start('stdio');
  const { child, output, ended } = program;
  const ask = async (id: number, method: string, params: object) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return JSON.parse(await seen(program, new RegExp(`^(\\{.*"id":${id}[,}].*)$`, 'm')));
  };
  const issued = await ask(1, 'svc.tokens.issue', { auth: { bearer: 'alice-key' }, scope: ['w'] });
  const auth = { bearer: issued.result.token };

  const slow = ask(2, 'svc.invoke', { auth, capability: 'slow', parameters: {} });
  await ask(3, 'svc.invoke', { auth, capability: 'reject', parameters: {} });

  assert.deepEqual((await slow).result.result, { finished: true });
  assert.equal(await ended, 1);
  assertTold(output.err, 'unhandledRejection');
});
