/**
 * A standby takes the place of the database server: one that lags behind is refused, one that does not serves on.
 *
 * Real servers that stream, real service processes. Decision 10.2 of the contract: nothing is appended to a log that
 * does not extend what was signed.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { openLossyWay } from '../faults/lossy.ts';
import { type FaultyServer, startFaultyServer } from '../faults/server.ts';
import { ALICE, OPERATOR } from '../invoke/principals.ts';
import {
  buildProgram,
  issue,
  newSealedPlace,
  type Place,
  post,
  type Running,
  start,
} from '../invoke/processes.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { launch } from '../support/launch.ts';
import { makeDatabase, runSql } from '../support/postgres.ts';
import { checkNow } from './honest.ts';
import type { Heard } from './load.ts';
import { type Standby, startStandby } from './standby.ts';

/** Only to end a test that hangs: two servers and several processes start in each. */
const PATIENT = { timeout: 180_000 };

/** No process of these tests seals or compares at its cadence: what it does, it does for another reason. */
const NO_CADENCE = 'P1D';

const BIN = join(process.cwd(), 'dist/src/cli/bin.js');

await buildProgram();

interface Pair {
  readonly server: FaultyServer;
  readonly standby: Standby;
  /** The database on the first server. */
  readonly url: string;
}

async function startPair(): Promise<Pair> {
  const server = await startFaultyServer();
  atEnd(() => server.stop());
  const { url } = await makeDatabase(server.url);
  return { server, url, standby: await startStandby(server.url) };
}

/** The first server is gone, and the standby serves what it has. */
async function failOver({ server, standby }: Pair): Promise<void> {
  await server.halt();
  await standby.promote();
}

/** Entries with and without a place: what was appended so far. */
async function entriesIn(url: string): Promise<number> {
  const [row] = await runSql<{ count: number }>(
    url,
    `SELECT (coalesce((SELECT sum(count) FROM segments), 0)
      + coalesce((SELECT sum(count) FROM queue), 0))::int AS count`,
  );
  return row?.count ?? -1;
}

interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
  readonly body: any;
}

async function replyOf(response: Response): Promise<Reply> {
  return { status: response.status, body: await response.json() };
}

const ready = async (url: string) => replyOf(await fetch(`${url}/readyz`));

async function untilReady(url: string): Promise<void> {
  while ((await ready(url)).status !== 200) await sleep(100);
}

const ROLLED_BACK =
  /^log: Cannot seal: checkpoint \d+ was signed over \d+ entries, the log has \d+; see docs\/operating\.md, "The log was rolled back"$/;

function assertWithheld({ status, body }: Reply): void {
  assert.deepEqual([status, body.failure?.type], [503, 'service_unavailable']);
}

/** A service of the test's own, whose effects can be counted. */
async function startPlace(store: string): Promise<{ place: Place; running: Running }> {
  const place = newSealedPlace(store);
  return { place, running: await start(place, { cadence: NO_CADENCE }) };
}

const pay = async ({ url }: Running, token: string, key: string) => {
  const body = { parameters: {}, client_reference_id: key };
  const headers = { 'idempotency-key': key };
  return replyOf(await post(`${url}/svc/invoke/pay`, token, body, { headers }));
};

async function seal({ url }: Running): Promise<number> {
  const { status, body } = await replyOf(
    await post(`${url}/svc/operator/checkpoints`, OPERATOR, {}),
  );
  assert.equal(status, 200, JSON.stringify(body));
  return body.checkpoint.sequence;
}

async function revoke({ url }: Running, { token, token_id }: IssueAnswer): Promise<number> {
  return (await post(`${url}/svc/tokens/revoke`, token, { token_id })).status;
}

const effectsOf = ({ effects }: Place) => readFileSync(effects, 'utf8').split('\n').filter(Boolean);

test(
  'a running service appends nothing to a standby that lags behind what was signed, until an operator has decided',
  PATIENT,
  async () => {
    const pair = await startPair();
    const way = await openLossyWay(pair.url);
    atEnd(() => way.close());
    const { place, running } = await startPlace(way.url);
    const { token } = await issue(running.url, ALICE, {});
    const revoked = await issue(running.url, ALICE, {});
    assert.equal((await pay(running, token, 'before')).status, 200);
    const kept = await seal(running);
    await pair.standby.caughtUp();
    await pair.standby.cutOff();
    // None of this is on the standby: there the second token is alive, and its money is not spent.
    assert.equal((await pay(running, revoked.token, 'lost')).status, 200);
    assert.equal(await revoke(running, revoked), 200);
    const lost = await seal(running);
    const effects = effectsOf(place);

    await failOver(pair);
    const url = pair.standby.urlOf(pair.url);
    const before = await entriesIn(url);
    way.turnTo(url);
    const replies = await Promise.all([
      ...Array.from({ length: 8 }, (_, n) => pay(running, token, `after-${n}`)),
      ...Array.from({ length: 8 }, (_, n) => pay(running, revoked.token, `revived-${n}`)),
    ]);

    for (const reply of replies) assertWithheld(reply);
    assert.deepEqual(effectsOf(place), effects, 'no handler ran');
    const { status, body } = await ready(running.url);
    assert.equal(status, 503);
    assert.match(body.reasons.join('\n'), ROLLED_BACK);
    assert.match(body.reasons.join(), new RegExp(`checkpoint ${lost} was signed`));
    assertWithheld(await pay(running, token, 'later'));
    assert.equal(await entriesIn(url), before, 'nothing was appended');

    // One that starts now is not ready either, and says the same.
    const late = await start({ ...place, store: url }, { cadence: NO_CADENCE });
    const refused = await ready(late.url);
    assert.equal(refused.status, 503);
    assert.match(refused.body.reasons.join('\n'), ROLLED_BACK);
    assertWithheld(await pay(late, token, 'late'));
    assert.equal(await entriesIn(url), before, 'nothing was appended');
    await recoverFrom(commandsOn(url, place), running, { old: token, kept, lost });
  },
);

/** Settings of the commands of an operator; credentials are in the environment. */
const CONFIG = `identities:
  - { principal: 'service:operator', key: ${OPERATOR}, scopes: ['operator:*'] }
`;

/** Runs a command of `writ` beside the services, on the store at this address. */
function commandsOn(store: string, { keys, mark = '' }: Place) {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'writ.config.yaml'), CONFIG);
  const environment = {
    WRIT_STORE: store,
    WRIT_KEYS: keys,
    WRIT_MARK: mark.replace(/^sqlite:/, ''),
    WRIT_CLIENT_CREDENTIAL: OPERATOR,
  };
  return async (...args: string[]) => {
    const { ended, output } = launch([BIN, ...args], folder, environment);
    return { code: await ended, text: output.out + output.err };
  };
}

/** What docs/operating.md says: a command of an operator, and services that run go on by themselves. */
async function recoverFrom(
  writ: ReturnType<typeof commandsOn>,
  running: Running,
  { old, kept, lost }: { old: string; kept: number; lost: number },
): Promise<void> {
  assert.equal((await writ('fsck')).code, 1);
  const recovered = await writ('recover', '--accept-loss');
  assert.equal(recovered.code, 0, recovered.text);
  assert.match(recovered.text, /A new log begins/);
  await untilReady(running.url);

  assert.equal((await pay(running, old, 'void')).status, 401, 'the old is void');
  const { token } = await issue(running.url, ALICE, {});
  assert.equal((await pay(running, token, 'new')).status, 200);
  assert.ok((await seal(running)) > 2 ** 40, 'no number is used twice');
  const { body } = await replyOf(await fetch(`${running.url}/svc/checkpoints`));
  const numbers = body.checkpoints.map(({ sequence }: { sequence: number }) => sequence);
  assert.ok(numbers.includes(kept), 'what was signed before and survived stays');
  assert.ok(!numbers.includes(lost));
  const sound = await writ('fsck');
  assert.equal(sound.code, 0, sound.text);
}

test(
  'a running service goes on with a standby that has everything, and loses nothing',
  PATIENT,
  async () => {
    const pair = await startPair();
    const way = await openLossyWay(pair.url);
    atEnd(() => way.close());
    const { place, running } = await startPlace(way.url);
    const root = await issue(running.url, ALICE, {});
    const heard: Heard['heard'] = [];
    const payAll = async (name: string) => {
      for (let n = 0; n < 5; n++) {
        const key = `${name}-${n}`;
        let { status, body } = await pay(running, root.token, key);
        while (status === 503 && body.failure.retry) {
          await sleep(50);
          ({ status, body } = await pay(running, root.token, key));
        }
        assert.equal(status, 200, JSON.stringify(body));
        heard.push({ key, status, text: JSON.stringify(body) });
      }
    };
    await payAll('before');
    const first = await seal(running);
    await payAll('unsealed');
    await pair.standby.caughtUp();

    await failOver(pair);
    const url = pair.standby.urlOf(pair.url);
    way.turnTo(url);
    await payAll('after');

    assert.equal((await ready(running.url)).status, 200);
    assert.ok((await seal(running)) > first);
    assert.equal(effectsOf(place).length, 15);
    const known = { root, covered: 100, heard, revoked: [], outlived: [] };
    await checkNow({ ...place, store: url }, known);
  },
);
