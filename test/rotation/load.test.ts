/**
 * Keys that are rotated and withdrawn while clients call two replicas, on both stores.
 *
 * The lead of a rotation is a fraction of a second here: the replicas are told to read the folder, instead of waiting
 * for their next reading.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { DEMO_IDENTITIES } from '../../examples/travel/service.ts';
import { main } from '../../src/cli/main.ts';
import { createClient } from '../../src/client/index.ts';
import { rotateKey } from '../../src/keyring/key-folder.ts';
import { folderKeys } from '../../src/keyring/key-states.ts';
import { rotateRowKey } from '../../src/keyring/row-keys.ts';
import { followKeys, verifyCheckpoint, verifyToken } from '../../src/verify/index.ts';
import { TRIP } from '../client/desk.ts';
import { madeAtStore } from '../identities/desk.ts';
import { calmDesk, seal } from '../log/support.ts';
import { personAt } from '../sign-in/browser.ts';
import { temporaryFolder } from '../support/ends.ts';
import { SQL_PLACES, type SqlPlace } from '../support/sql-places.ts';
import { ALICE, type Reply, type TestService, testService } from '../support/world.ts';

/** In milliseconds: between publishing a key and signing with it. */
const LEAD_MS = 150;

const CALLERS = 4;

interface Pair {
  readonly keys: string;
  readonly place: SqlPlace;
  readonly replicas: readonly [TestService, TestService];
}

async function start(place: SqlPlace, keys: string): Promise<TestService> {
  const settings = { identities: DEMO_IDENTITIES, rate_limits: 'off' };
  return testService({ definition: calmDesk, settings, store: place.url, keys });
}

async function openPair(open: () => Promise<SqlPlace>): Promise<Pair> {
  const [place, keys] = [await open(), temporaryFolder()];
  return { place, keys, replicas: [await start(place, keys), await start(place, keys)] };
}

/** Writes the next key of every use, and waits until both replicas sign with it. */
async function rotateAll({ keys, replicas }: Pair): Promise<void> {
  const when = { now: new Date(), leadMs: LEAD_MS };
  for (const use of ['token', 'log'] as const) rotateKey(keys, use, when);
  rotateRowKey(keys, when);
  for (const each of replicas) each.refreshKeys();
  await pause(LEAD_MS + 10);
}

async function writ(...args: string[]): Promise<string> {
  let said = '';
  const out = (text: string) => {
    said += text;
  };
  assert.equal(await main(args, { out, err: out, env: {} }), 0, said);
  return said;
}

async function compromise({ keys, replicas }: Pair, file: string): Promise<void> {
  await writ('keys', 'compromise', file, '--folder', keys);
  for (const each of replicas) each.refreshKeys();
}

const issue = (service: TestService, bearer = ALICE) =>
  service.ask('POST', '/svc/tokens', { bearer, body: { scope: ['travel.search'] } });

const invoke = (service: TestService, token: string) =>
  service.invoke(token, 'search_flights', TRIP);

/** Calls both replicas until it is stopped: with a token of before, and with a new one of the other replica. */
function load({ replicas: [one, other] }: Pair, token: string) {
  const refused: string[] = [];
  let [calls, isOver] = [0, false];
  const check = (what: string, { status, text }: Reply) => {
    calls += 1;
    if (status !== 200) refused.push(`${what}: ${status} ${text}`);
  };
  const callers = Array.from({ length: CALLERS }, async (_, number) => {
    for (let turn = number; !isOver; turn++) {
      const [near, far] = turn % 2 === 0 ? [one, other] : [other, one];
      check('old token', await invoke(near, token));
      const issued = await issue(near);
      check('issue', issued);
      check('new token', await invoke(far, issued.body.token));
      check('delegation', await issueBelow(far, issued.body));
    }
  });
  const stop = async () => {
    isOver = true;
    await Promise.all(callers);
    return { calls, refused };
  };
  return stop;
}

function issueBelow(service: TestService, { token, token_id }: Reply['body']): Promise<Reply> {
  const body = { parent_token: token_id, subject: 'agent:below', scope: ['travel.search'] };
  return service.ask('POST', '/svc/tokens', { bearer: token, body });
}

for (const { name, open } of SQL_PLACES) {
  describe(name, () => {
    test('two rotations of every key under load refuse no call, and what was signed before still verifies', async () => {
      const pair = await openPair(open);
      const [one, other] = pair.replicas;
      const url = await one.app.listen({ host: '127.0.0.1', port: 0 });
      const { body: first } = await one.ask('GET', '/.well-known/jwks.json');
      const pins: string[] = first.keys.map(({ kid }: { kid: string }) => kid);
      const { body: issued } = await issue(one);
      const sealed = [(await seal(one)).body.checkpoint];
      const alice = personAt(one);
      assert.equal((await alice.signIn(ALICE)).status, 303);
      const stored = await madeAtStore(one, { scopes: ['travel.search'] });

      const stop = load(pair, issued.token);
      for (const _ of [1, 2]) {
        await rotateAll(pair);
        sealed.push((await seal(other)).body.checkpoint);
      }
      const { calls, refused } = await stop();

      assert.deepEqual(refused, []);
      assert.ok(calls >= CALLERS * 4, `${calls} calls`);
      const states = folderKeys(pair.keys, new Date()).map(({ use, state }) => `${use} ${state}`);
      assert.deepEqual(
        states,
        ['token', 'log', 'row'].flatMap((use) => [`${use} old`, `${use} old`, `${use} current`]),
      );
      const { body: jwks } = await other.ask('GET', '/.well-known/jwks.json');
      const keys = await followKeys({ jwks, pinned: pins });
      assert.ok(!('fault' in keys));
      const ground = { keys, serviceId: calmDesk.id, now: new Date() };
      for (const { token } of [issued, (await issue(other)).body]) {
        const report = await verifyToken(token, ground);
        assert.equal(report.verdict, 'verified', JSON.stringify(report));
      }
      for (const checkpoint of sealed) {
        const { body } = await one.ask('GET', `/svc/checkpoints/${checkpoint.checkpoint_id}`);
        const report = await verifyCheckpoint(body, ground);
        assert.equal(report.verdict, 'verified', JSON.stringify(report));
      }
      const client = createClient({ url, pins, serviceId: calmDesk.id });
      assert.ok((await client.manifest()).ok);
      assert.equal(client.pins().length, 6);
      assert.equal((await alice.open('/agents')).status, 200);
      assert.equal((await issue(other, stored.key)).status, 200);
    });

    test('a compromised token key ends its tokens, and everything else goes on', async () => {
      const pair = await openPair(open);
      const [one, other] = pair.replicas;
      const { body: old } = await issue(one);
      const alice = personAt(one);
      await alice.signIn(ALICE);
      await writ('keys', 'rotate', 'token', '--at-once', '--folder', pair.keys);
      for (const each of pair.replicas) each.refreshKeys();
      const { body: fresh } = await issue(one);
      const stop = load(pair, fresh.token);

      await compromise(pair, 'token-0001.json');

      for (const each of pair.replicas) {
        const { status, body } = await invoke(each, old.token);
        assert.deepEqual([status, body.failure?.type], [401, 'invalid_token']);
      }
      const { refused } = await stop();
      assert.deepEqual(refused, []);
      assert.equal((await alice.open('/agents')).status, 200);
      assert.equal((await seal(other)).status, 200);
    });

    test('a compromised row key ends the sessions, tokens and identities that it vouched for', async () => {
      const pair = await openPair(open);
      const [one] = pair.replicas;
      const { body: old } = await issue(one);
      const [before, after] = [personAt(one), personAt(one)];
      await before.signIn(ALICE);
      const stored = await madeAtStore(one, { scopes: ['travel.search'] });
      await writ('keys', 'rotate', 'row', '--at-once', '--folder', pair.keys);
      for (const each of pair.replicas) each.refreshKeys();
      await after.signIn(ALICE);
      const { body: fresh } = await issue(one);
      const again = await madeAtStore(one, { scopes: ['travel.search'] });

      await compromise(pair, 'row-0001.json');

      assert.equal((await before.open('/agents')).status, 303);
      assert.equal((await after.open('/agents')).status, 200);
      for (const each of pair.replicas) {
        assert.equal((await invoke(each, old.token)).status, 401);
        assert.equal((await invoke(each, fresh.token)).status, 200);
        assert.equal((await issue(each, stored.key)).status, 401);
        assert.equal((await issue(each, again.key)).status, 200);
      }
    });
  });
}
