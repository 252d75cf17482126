/**
 * serve() in this process: what it says when it cannot start, what it leaves behind, how it stops.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { beforeEach, describe, test, vi } from 'vitest';
import { DEMO_IDENTITIES, travelDesk } from '../../examples/travel/service.ts';
import type { GivenSettings } from '../../src/config/config.ts';
import { type RunningService, type ServedService, serve } from '../../src/http/serve.ts';
import { createLog } from '../../src/log.ts';
import { system } from '../../src/platform.ts';
import { defineCapability } from '../../src/service/author/define.ts';
import { createService, type Service } from '../../src/service/author/definition.ts';
import { atEnd, closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { keyFilesIn } from '../support/key-files.ts';
import { connected, receivedBy, replyIn } from './socket.ts';

let folder: string;
let lines: string[];
beforeEach(() => {
  folder = temporaryFolder();
  lines = [];
});

async function start(
  settings: GivenSettings = {},
  environment: Record<string, string> = {},
  definition: Service = travelDesk,
): Promise<ServedService> {
  const service = await serve(definition, {
    settings: { store: 'memory:', port: 0, identities: DEMO_IDENTITIES, ...settings },
    environment,
    folder,
    signals: false,
    log: createLog('info', { write: (line) => void lines.push(line) }),
  });
  return closedAtEnd(service);
}

function portOf({ url }: RunningService): number {
  return Number(new URL(url).port);
}

describe('start', () => {
  test('serve() listens on a free port, and the manifest names that address', async () => {
    const service = await start();

    const manifest = (await (await fetch(`${service.url}/svc/manifest`)).json()) as {
      service_identity: { jwks_uri: string };
    };

    assert.notEqual(portOf(service), 0);
    assert.equal(manifest.service_identity.jwks_uri, `${service.url}/.well-known/jwks.json`);
    assert.equal((await fetch(manifest.service_identity.jwks_uri)).status, 200);
  });

  test('serve() uses the public address when one is configured', async () => {
    const service = await start({ public_url: 'https://desk.example.com/', identities: [] });

    const manifest = await (await fetch(`${service.url}/svc/manifest`)).text();

    assert.match(manifest, /"https:\/\/desk\.example\.com\/\.well-known\/jwks\.json"/);
  });

  test('serve() starts beside variables of Kubernetes, and warns of all of them in one line', async () => {
    await start({}, { WRIT_PORT: 'tcp://10.0.0.7:80', WRIT_SERVICE_HOST: '10.0.0.7', WRIT_X: 'y' });

    const warned = lines
      .filter((line) => line.includes('"level":"warn"'))
      .map((line) => JSON.parse(line));
    const [line] = warned.filter(({ variables }) => variables !== undefined);
    assert.deepEqual(line?.variables, ['WRIT_PORT', 'WRIT_SERVICE_HOST', 'WRIT_X']);
    assert.match(line.advice, /enableServiceLinks: false/);
    assert.ok(!lines.some((text) => text.includes('10.0.0.7')), 'a value may be a secret');
  });

  test('serve() makes keys that only this user can read', async () => {
    await start();

    const keys = join(folder, '.writ/keys');
    assert.equal(statSync(keys).mode & 0o777, 0o700);
    assert.deepEqual(keyFilesIn(keys), ['log-0001.json', 'row-0001.json', 'token-0001.json']);
    for (const name of readdirSync(keys)) {
      assert.equal(statSync(join(keys, name)).mode & 0o777, 0o600);
    }
  });

  test('serve() starts again on the same keys', async () => {
    const first = await start();
    const before = await (await fetch(`${first.url}/.well-known/jwks.json`)).text();
    await first.close();

    const second = await start();

    assert.equal(await (await fetch(`${second.url}/.well-known/jwks.json`)).text(), before);
  });

  test('serve() refuses a key file that others can read, and names the remedy', async () => {
    await (await start()).close();
    const file = join(folder, '.writ/keys/token-0001.json');
    chmodSync(file, 0o644);

    await assert.rejects(start(), (error: Error) => {
      assert.match(error.message, /others have access to it \(mode 0644\)/);
      assert.ok(error.message.includes(`chmod 600 "${file}"`));
      return true;
    });
  });

  test('serve() prints neither a store address nor keys that it cannot use', async () => {
    const secret = 'hunter2-canary';
    const store = `postgres://writ:${secret}@127.0.0.1:1/writ`;
    for (const settings of [
      { store },
      { token_keys: secret, log_keys: secret, row_keys: secret },
      { token_keys: `[{"kty":"EC","d":"${secret}"}]`, log_keys: secret, row_keys: secret },
      { token_keys: `-----BEGIN PRIVATE KEY-----\n${secret}`, log_keys: secret, row_keys: secret },
    ]) {
      await assert.rejects(start(settings), (error: Error) => {
        assert.match(error.message, /^Cannot /);
        assert.doesNotMatch(`${error.message}${error.stack}`, new RegExp(secret));
        return true;
      });
    }
    assert.doesNotMatch(lines.join(''), new RegExp(secret));
  });

  test('serve() names the reason when it cannot listen, and leaves nothing running', async () => {
    const port = portOf(await start());

    const made = vi.spyOn(system, 'every');
    const cleared = vi.spyOn(system, 'cancel');
    atEnd(() => cleared.mockRestore());
    atEnd(() => made.mockRestore());
    await assert.rejects(start({ port, data: 'other' }), {
      message: `Cannot listen on 127.0.0.1:${port}: another program listens there; stop it, or set PORT to another port (0 takes a free one)`,
    });

    const ended = cleared.mock.calls.map(([timer]) => timer);
    const timers = made.mock.results.map(({ value }) => value);
    assert.ok(timers.length > 0);
    assert.deepEqual(
      timers.filter((timer) => !ended.includes(timer)),
      [],
    );
  });

  test('serve() stops before it writes to disk when the configuration is wrong', async () => {
    await assert.rejects(start({}, { WRIT_STOER: 'memory:' }), /WRIT_STOER/);

    assert.equal(existsSync(join(folder, '.writ')), false);
  });

  test('serve() refuses demo credentials on an address that others reach', async () => {
    await assert.rejects(start({}, { HOST: '0.0.0.0' }), /demo credentials/);
  });
});

describe('stop', () => {
  test('close() ends at once without connections, and can be called again', async () => {
    const service = await start();

    await Promise.all([service.close(), service.close()]);

    await service.close();
    assert.ok(lines.some((line) => line.includes('"msg":"stopped"')));
    await assert.rejects(fetch(`${service.url}/healthz`));
  });

  test('leave() ends readiness at once, and the port still takes requests', async () => {
    const service = await start({ stop_delay_seconds: 1 });
    const agent = new Agent({ keepAlive: true });
    atEnd(() => agent.destroy());
    const asked = async (path: string) => {
      const [response] = await once(request(`${service.url}${path}`, { agent }).end(), 'response');
      return { response, body: JSON.parse(String(await response.toArray())) };
    };
    assert.equal((await asked('/readyz')).response.statusCode, 200);

    const left = service.leave?.();
    const ready = await asked('/readyz');
    const found = await asked('/svc/manifest');

    assert.equal(ready.response.statusCode, 503);
    assert.deepEqual(ready.body.reasons, ['stop: the service was asked to stop']);
    assert.equal(found.response.statusCode, 200);
    assert.equal(found.response.headers.connection, 'close');
    await left;
    await connected(portOf(service));
    await service.close();
    await assert.rejects(connected(portOf(service)), { code: 'ECONNREFUSED' });
  });

  test('close() writes how often an error was left out of the log', async () => {
    const service = await start();
    for (let call = 0; call < 7; call++) service.log.error({ err: new Error('full') }, 'defect');
    assert.equal(lines.filter((line) => line.includes('"msg":"defect"')).length, 5);

    await service.close();

    assert.ok(lines.some((line) => /"repeated":2,.*"msg":"defect"/.test(line)));
  });

  test('close() does not wait for clients that keep an idle connection, used or not', async () => {
    const service = await start({ stop_grace_seconds: 3_600 });
    const agent = new Agent({ keepAlive: true });
    atEnd(() => agent.destroy());
    const answer = request(`${service.url}/healthz`, { agent }).end();
    const [response] = await once(answer, 'response');
    response.resume();
    await once(response, 'end');
    const silent = await connected(portOf(service));

    // Both would last longer than this test may take.
    await service.close();

    silent.destroy();
  });

  test('close() lets a running request finish, and closes its connection', async () => {
    let started = () => {};
    let finish = () => {};
    const begun = new Promise<void>((resolve) => {
      started = resolve;
    });
    const gate = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const service = await start({}, {}, slowService(started, gate));
    const { token } = (await (
      await post(`${service.url}/svc/tokens`, 'demo-human-key', { scope: ['travel.wait'] })
    ).json()) as { token: string };
    const answer = post(`${service.url}/svc/invoke/wait`, token, { parameters: {} });
    await begun;

    const closed = service.close();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await assert.rejects(connected(portOf(service)), { code: 'ECONNREFUSED' });
    finish();

    const response = await answer;
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('connection'), 'close');
    assert.equal(((await response.json()) as { success: boolean }).success, true);
    await closed;
  });

  test('close() still answers a request that is already in flight on an idle connection', async () => {
    const service = await start();
    const socket = await connected(portOf(service));
    const received = receivedBy(socket);
    socket.write('GET /healthz HTTP/1.1\r\nHost: desk\r\n\r\n');
    await once(socket, 'data');

    const closed = service.close();
    socket.write('GET /svc/graph HTTP/1.1\r\nHost: desk\r\n\r\n');

    const [, second = ''] = (await received).split(/(?=HTTP\/1\.1 )/);
    assert.equal(replyIn(second).status, 200);
    assert.equal(replyIn(second).headers.get('connection'), 'close');
    await closed;
  });

  test('close() aborts what does not end within the grace period', async () => {
    const never = new Promise<void>(() => {});
    let started = () => {};
    const begun = new Promise<void>((resolve) => {
      started = resolve;
    });
    const service = await start({ stop_grace_seconds: 0 }, {}, slowService(started, never));
    const { token } = (await (
      await post(`${service.url}/svc/tokens`, 'demo-human-key', { scope: ['travel.wait'] })
    ).json()) as { token: string };
    const answer = post(`${service.url}/svc/invoke/wait`, token, { parameters: {} });
    const cut = assert.rejects(answer);
    await begun;

    await service.close();

    await cut;
  });

  function post(url: string, bearer: string, body: object): Promise<Response> {
    return fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  function slowService(started: () => void, gate: Promise<void>) {
    const wait = defineCapability({
      name: 'wait',
      description: 'Ends when the test says so',
      side_effect: 'read',
      minimum_scope: ['travel.wait'],
      async handler() {
        started();
        await gate;
        return {};
      },
    });
    return createService({ id: 'slow', capabilities: [wait] });
  }
});
