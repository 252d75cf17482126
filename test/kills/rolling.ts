/**
 * Stops, rotations and upgrades under load: replicas of the compiled travel desk behind a balancer, whose clients
 * must notice nothing.
 *
 * Half of the clients keep their connections, the others make a new one for each call. Every call has a key and is
 * sent once: an answer that does not come is a request that was cut. One exception is that of HTTP: a server may close
 * an idle connection that a client keeps, while the client sends. Such a request is sent again, and it must not have been
 * done before. Needs no test runner.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEMO_IDENTITIES } from '../../examples/travel/service.ts';
import { REREAD_MS, rotateKey } from '../../src/keyring/key-folder.ts';
import { rotateRowKey } from '../../src/keyring/row-keys.ts';
import { openStore } from '../../src/storage/open.ts';
import type { Place } from '../invoke/processes.ts';
import { atEnd, temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, type Launched, launch } from '../support/launch.ts';
import { type Balancer, openBalancer } from './balancer.ts';
import { checkCharged } from './honest.ts';

/** What one call costs, in minor units. */
const PRICE = 2_500n;

const CLIENTS = 8;
const REPLICAS = 2;

/** Answers between two stops, so that every life of a replica does some work. */
const ANSWERS_PER_STOP = 40;

/** In milliseconds. Only to end a run in which no answer comes. */
const ANSWER_MS_MAX = 60_000;

/** In milliseconds. A call that takes longer was lost. */
const CALL_MS_MAX = 30_000;

export interface RollingOptions {
  /** `sqlite:<file>` in a folder of its own when left out. */
  readonly store?: string | undefined;
  readonly say: (line: string) => void;
}

/** What clients found. */
export interface Counts {
  calls: number;
  /** No whole answer came. */
  cut: number;
  /** An answer came, and it was not the result. */
  refused: number;
  /** Sent again, because a kept connection was closed while it was idle. */
  renewed: number;
}

/** Stops one replica after the other, each after it was taken out of the balancer. */
export async function runStops(stops: number, options: RollingOptions): Promise<Counts> {
  return underLoad(options, async (desks, load) => {
    for (let n = 0; n < stops; n++) {
      await load.more(ANSWERS_PER_STOP);
      await desks.replace(n % REPLICAS);
      if (n % 10 === 9) options.say(`${n + 1} of ${stops} stops, ${load.counts.calls} calls`);
    }
  });
}

/** Rotates every kind of key twice, and waits each time until every replica signs with the new ones. */
export async function runRotations(rotations: number, options: RollingOptions): Promise<Counts> {
  return underLoad(options, async ({ place }, load) => {
    for (let n = 0; n < rotations; n++) {
      await load.more(ANSWERS_PER_STOP);
      // Every replica has read the files before any of them signs with the keys.
      const when = { now: new Date(), leadMs: REREAD_MS + 1_500 };
      const { kid } = rotateKey(place.keys, 'token', when);
      rotateKey(place.keys, 'log', when);
      rotateRowKey(place.keys, when);
      await load.signedBy(kid);
      await load.more(ANSWERS_PER_STOP);
      options.say(`${n + 1} of ${rotations} rotations, ${load.counts.calls} calls`);
    }
  });
}

/** Replaces replicas by those of another build and back, so that both serve on one store all the time. */
export async function runVersions(
  older: string,
  rounds: number,
  options: RollingOptions,
): Promise<Counts> {
  return underLoad(options, async (desks, load) => {
    for (let n = 0; n < rounds; n++) {
      for (let replica = 0; replica < REPLICAS; replica++) {
        const program = (n + replica) % 2 === 0 ? older : DESK;
        await desks.replace(replica, program);
        await load.more(2 * ANSWERS_PER_STOP);
      }
      options.say(`${n + 1} of ${rounds} rounds, ${load.counts.calls} calls`);
    }
  });
}

interface Desks {
  readonly place: Place;
  /** Takes a replica out, stops it by SIGTERM and starts another one in its place. */
  replace(index: number, program?: string): Promise<void>;
}

interface Load {
  readonly counts: Counts;
  /** Resolves after so many more answers. */
  more(answers: number): Promise<void>;
  /** Resolves when all of the last tokens were signed by this key. */
  signedBy(kid: string): Promise<void>;
}

async function underLoad(
  { store }: RollingOptions,
  work: (desks: Desks, load: Load) => Promise<void>,
): Promise<Counts> {
  const folder = temporaryFolder();
  const place: Place = {
    store: store ?? `sqlite:${join(folder, 'writ.db')}`,
    keys: join(folder, 'keys'),
    mark: `sqlite:${join(folder, 'elsewhere/mark.db')}`,
    effects: '',
  };
  const balancer = await openBalancer();
  atEnd(() => balancer.close());
  const desks = await openDesks(folder, place, balancer);
  const root = await issueAt(balancer.url, {
    scope: SCOPE,
    budget: { currency: 'USD', max_amount: 100_000_000 },
  });
  const { load, stop } = startLoad(balancer.url, root);
  try {
    await work(desks, load);
  } finally {
    await stop();
  }
  await checkAll(place, root.token_id, load.spent());
  return load.counts;
}

/** What was answered is in the log once, and the money is what the log says. */
async function checkAll(place: Place, tokenId: string, spent: ReadonlySet<string>): Promise<void> {
  const opened = await openStore(place.store);
  try {
    await checkCharged(opened, place, { tokenId, spent, price: PRICE });
  } finally {
    await opened.close();
  }
}

interface Desk {
  readonly launched: Launched;
  readonly url: string;
}

async function openDesks(folder: string, place: Place, balancer: Balancer): Promise<Desks> {
  const environment = {
    WRIT_STORE: place.store,
    WRIT_KEYS: place.keys,
    WRIT_MARK: (place.mark ?? '').replace(/^sqlite:/, ''),
    WRIT_RATE_LIMITS: 'off',
    WRIT_LOG_LEVEL: 'warn',
  };
  const open = async (program = DESK): Promise<Desk> => {
    const launched = launch([program], folder, environment);
    const url = await addressOf(launched);
    await balancer.add(url);
    return { launched, url };
  };
  const desks: Desk[] = [];
  for (let n = 0; n < REPLICAS; n++) desks.push(await open());
  return {
    place,
    async replace(index, program) {
      const { launched, url } = desks[index] as Desk;
      await balancer.takeOut(url);
      launched.child.kill('SIGTERM');
      const code = await launched.ended;
      balancer.forget(url);
      assert.equal(code, 0, `a replica ended with ${code}: ${launched.output.err}`);
      assert.doesNotMatch(launched.output.err, /"level":"(?:error|fatal)"/);
      desks[index] = await open(program);
    },
  };
}

interface Issued {
  readonly token: string;
  readonly token_id: string;
}

const SCOPE = ['travel.search', 'travel.extras'];
const HUMAN = DEMO_IDENTITIES[0]?.key ?? '';

async function issueAt(url: string, body: object): Promise<Issued> {
  const { status, text } = await call(url, '/svc/tokens', { bearer: HUMAN, body });
  assert.equal(status, 200, text);
  return JSON.parse(text);
}

interface Call {
  readonly bearer: string;
  readonly body: object;
  readonly key?: string;
  readonly agent?: Agent;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  /** The call was done before, under the same key. */
  readonly isReplayed: boolean;
}

/** A kept connection was closed before anything of the answer came. */
class Renewable extends Error {}

/** One request. Rejects unless the whole answer came. */
function call(base: string, path: string, { bearer, body, key, agent }: Call): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${bearer}`,
      'content-type': 'application/json',
      ...(key && { 'idempotency-key': key }),
    };
    const options = { method: 'POST', headers, agent: agent ?? false, timeout: CALL_MS_MAX };
    const sent = request(`${base}${path}`, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      const isReplayed = response.headers['idempotent-replayed'] === 'true';
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, isReplayed }));
      response.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer came in time')));
    sent.on('error', (error: NodeJS.ErrnoException) => {
      const isRenewable = sent.reusedSocket && error.code === 'ECONNRESET';
      reject(isRenewable ? new Renewable(error.message, { cause: error }) : error);
    });
    sent.end(JSON.stringify(body));
  });
}

interface RunningLoad extends Load {
  /** The calls that were answered with a result. */
  spent(): ReadonlySet<string>;
}

function startLoad(url: string, root: Issued): { load: RunningLoad; stop(): Promise<void> } {
  const counts: Counts = { calls: 0, cut: 0, refused: 0, renewed: 0 };
  const [spent, kids, faults] = [new Set<string>(), [] as string[], [] as string[]];
  let isOver = false;
  const asked = async (path: string, one: Call) => {
    counts.calls += 1;
    try {
      const { status, text } = await call(url, path, one).catch(async (error) => {
        if (!(error instanceof Renewable)) throw error;
        counts.renewed += 1;
        const again = await call(url, path, one);
        if (again.isReplayed) throw new Error('the call was done, and its answer was cut');
        return again;
      });
      if (status === 200) return JSON.parse(text);
      counts.refused += 1;
      faults.push(`${path} was refused: ${status} ${text}`);
    } catch (error) {
      counts.cut += 1;
      faults.push(`${path} was cut: ${String(error)}`);
    }
    return undefined;
  };
  /** Issues a token, and uses it and the one of the beginning, at whichever replicas get the calls. */
  const client = async (n: number) => {
    const agent = n % 2 === 0 ? { agent: new Agent({ keepAlive: true, maxSockets: 1 }) } : {};
    for (let turn = 0; !isOver; turn++) {
      const issue = {
        bearer: root.token,
        body: { parent_token: root.token_id, subject: `agent:${n}`, scope: SCOPE },
      };
      const child = await asked('/svc/tokens', { ...issue, ...agent });
      if (child) kids.push(kidOf(child.token));
      for (const bearer of [child?.token, root.token].filter(Boolean)) {
        const paid = {
          bearer,
          body: { parameters: {} },
          key: `${n}-${turn}-${bearer === root.token}`,
        };
        const done = await asked('/svc/invoke/buy_lounge_pass', { ...paid, ...agent });
        if (done) spent.add(done.invocation_id);
      }
    }
    agent.agent?.destroy();
  };
  const clients = Array.from({ length: CLIENTS }, (_, n) => client(n));
  const until = async (isSo: () => boolean) => {
    const end = performance.now() + ANSWER_MS_MAX;
    while (!isSo()) {
      assert.deepEqual(faults, []);
      assert.ok(performance.now() < end, `${counts.calls} calls, and no more came`);
      await sleep(10);
    }
  };
  const load: RunningLoad = {
    counts,
    spent: () => spent,
    more(answers) {
      const enough = counts.calls + answers;
      return until(() => counts.calls >= enough);
    },
    signedBy: (kid) =>
      until(() => kids.length >= CLIENTS && kids.slice(-CLIENTS).every((each) => each === kid)),
  };
  const stop = async () => {
    isOver = true;
    await Promise.all(clients);
    assert.deepEqual(faults, []);
  };
  return { load, stop };
}

function kidOf(token: string): string {
  const [header = ''] = token.split('.');
  return String(JSON.parse(Buffer.from(header, 'base64url').toString('utf8')).kid);
}
