/**
 * Keys that were rotated, seen by those who pinned the old ones: over a socket, with nothing but what the
 * service publishes.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { createClient, UntrustedService } from '../../src/client/index.ts';
import type { KeyUse } from '../../src/keyring/wire.ts';
import { calmDesk, machine, seal } from '../log/support.ts';
import { ALICE, OPERATOR, testService } from '../support/world.ts';

const own = machine();
const at = (name: string) => join(own.folder, name);

async function writ(...args: string[]) {
  const said: string[] = [];
  const io = {
    out: (text: string) => void said.push(text),
    err: (text: string) => void said.push(text),
  };
  const env = { WRIT_CLIENT_CREDENTIAL: OPERATOR };
  return { status: await main(args, { ...io, env }), said: said.join('') };
}

async function start() {
  const store = `sqlite:${at('desk.db')}`;
  const service = await testService({ definition: calmDesk, keys: own.keys, store });
  return { service, url: await service.app.listen({ host: '127.0.0.1', port: 0 }) };
}

async function work(): Promise<string> {
  const { token } = await service.issue(ALICE, { scope: ['travel.search'] });
  assert.equal((await seal(service)).status, 200);
  return token;
}

async function publishedKids(): Promise<string[]> {
  const { body } = await service.ask('GET', '/.well-known/jwks.json');
  return body.keys.map(({ kid }: { kid: string }) => kid);
}

let { service, url } = await start();
await work();
const pins = await publishedKids();
await service.close();
for (const use of ['token', 'log'] as const) {
  for (const _ of [1, 2]) await writ('keys', 'rotate', use, '--folder', own.keys, '--at-once');
}
({ service, url } = await start());

test('manifest() of a client with old pins follows the successors, and names the new keys to pin', async () => {
  const client = createClient({ url, pins, serviceId: calmDesk.id });

  const reply = await client.manifest();

  assert.ok(reply.ok);
  assert.deepEqual([...client.pins()].sort(), (await publishedKids()).sort());
  assert.equal(client.pins().length, pins.length + 4);
});

test('writ verify follows the pinned keys of a token, a checkpoint and a whole log', async () => {
  writeFileSync(at('token'), await work());
  await writ('audit', 'export', '--service', url, '--out', at('log'));
  const [tokenPin = '', logPin = ''] = pins;

  const token = await writ('verify', 'token', at('token'), '--service', url, '--pin', tokenPin);
  const checkpoint = await writ('verify', 'checkpoint', '--service', url, '--pin', logPin);
  const log = await writ('verify', 'log', at('log'), '--pin', logPin);
  const crossed = await writ('verify', 'checkpoint', '--service', url, '--pin', tokenPin);

  for (const { status, said } of [token, checkpoint, log]) assert.equal(status, 0, said);
  assert.match(token.said, /^ok +key +"[\w-]+", a successor of the pinned "[\w-]+"$/m);
  assert.equal(crossed.status, 2, crossed.said);
  assert.match(crossed.said, /^not checked +key +"[\w-]+": it came from the service/m);
});

test('writ keys signs and prints a successor of a key of the environment', async () => {
  const keyOf = (use: KeyUse, generation: number) => {
    const file = at(`${use}-${generation}.json`);
    const name = `${use}-000${generation}.json`;
    const { jwk } = JSON.parse(readFileSync(join(own.keys, name), 'utf8'));
    writeFileSync(file, JSON.stringify([jwk]), { mode: 0o600 });
    return file;
  };
  const [from, to] = [keyOf('token', 1), keyOf('token', 2)];

  const printed = await writ('keys', 'successor', 'token', '--from', from, '--to', to);
  const same = await writ('keys', 'successor', 'token', '--from', from, '--to', from);
  const other = await writ('keys', 'successor', 'row', '--from', from, '--to', to);
  const nowhere = await writ('keys', 'rotate', 'log', '--folder', at('none'));

  assert.equal(printed.status, 0, printed.said);
  assert.match(printed.said, /^[\w-]+\.[\w-]+\.[\w-]{86}\n$/);
  assert.deepEqual([same.status, other.status, nowhere.status], [2, 2, 2]);
  assert.match(same.said, /^Cannot change keys: both files have the same key$/m);
  assert.match(other.said, /Allowed choices are token, log/);
  assert.match((await writ('keys', '--help')).said, /^Usage: writ keys/);
});

test('manifest() follows no key that the service withdrew as compromised', async () => {
  const first = createClient({ url, pins });
  await first.manifest();
  const followed = first.pins();
  for (const name of ['token-0001.json', 'log-0001.json']) {
    const file = join(own.keys, name);
    writeFileSync(
      file,
      JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), compromised: true }),
    );
  }
  await service.close();
  ({ service, url } = await start());

  await assert.rejects(createClient({ url, pins }).manifest(), UntrustedService);
  assert.ok((await createClient({ url, pins: followed }).manifest()).ok);
});
