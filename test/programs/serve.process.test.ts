/**
 * The compiled travel desk as a process of its own: what it prints, how it stops under load, and how
 * its keys change under load.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { decodeProtectedHeader } from 'jose';
import { beforeEach, test } from 'vitest';
import { DEMO_IDENTITIES } from '../../examples/travel/service.ts';
import { REREAD_MS, rotateKey } from '../../src/keyring/key-folder.ts';
import { temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, launch } from '../support/launch.ts';

/** Only to end a test that hangs: several processes start and stop in each. */
const PATIENT = { timeout: 120_000 };

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

async function startDesk(environment: Record<string, string> = {}) {
  const desk = launch([DESK], folder, { WRIT_STORE: 'memory:', ...environment });
  return { ...desk, url: await addressOf(desk) };
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** One request. Rejects unless the whole answer came. */
async function ask(
  agent: Agent,
  url: string,
  { bearer, body }: { bearer?: string; body?: object } = {},
): Promise<Answer> {
  const sent = request(url, {
    agent,
    method: body ? 'POST' : 'GET',
    headers: {
      ...(bearer && { authorization: `Bearer ${bearer}` }),
      ...(body && { 'content-type': 'application/json' }),
    },
  });
  sent.end(body && JSON.stringify(body));
  const [response] = await once(sent, 'response');
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response) text += chunk;
  assert.ok(response.complete, 'the answer broke off');
  return { status: response.statusCode, text };
}

const SEARCH = { parameters: { origin: 'SEA', destination: 'SFO', date: '2030-01-31' } };
const SCOPE = ['travel.search', 'travel.read'];

async function issue(agent: Agent, url: string): Promise<string> {
  const body = { scope: SCOPE };
  const { status, text } = await ask(agent, `${url}/svc/tokens`, {
    bearer: 'demo-human-key',
    body,
  });
  assert.equal(status, 200, text);
  return JSON.parse(text).token;
}

test('the travel desk prints its address, its credentials and a working command', async () => {
  const { url, output, child, ended } = await startDesk({ WRIT_LOG_LEVEL: 'silent' });

  assert.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
  for (const { key, principal } of DEMO_IDENTITIES) {
    assert.match(output.out, new RegExp(`${key} +${principal} \\(`));
  }
  const commands = [...output.out.matchAll(/curl -\S+ (\S+)/g)].map(([, address]) => address);
  assert.deepEqual(commands, [`${url}/.well-known/svc`, `${url}/svc/manifest`]);
  for (const address of commands) assert.equal((await fetch(`${address}`)).status, 200);
  child.kill('SIGINT');
  assert.equal(await ended, 0);
  assert.equal(output.err, '');
});

test('the travel desk reports why it cannot start, in one message without a stack, and exits with 1', async () => {
  const { output, ended } = launch([DESK], folder, {
    WRIT_STOER: 'memory:',
    PORT: 'x',
    HOST: '0.0.0.0',
  });

  assert.equal(await ended, 1);
  assert.equal(output.out, '');
  const [first, ...faults] = output.err.trim().split('\n');
  assert.equal(first, 'Cannot start with this configuration:');
  assert.equal(faults.length, 3, output.err);
  assert.match(faults[0] ?? '', /WRIT_STOER/);
  assert.match(faults[1] ?? '', /"port"/);
  assert.match(faults[2] ?? '', /demo credentials/);
});

test(
  'SIGTERM ends readiness at once, and the port is open for the configured time',
  PATIENT,
  async () => {
    const desk = await startDesk({ WRIT_LOG_LEVEL: 'info', WRIT_STOP_DELAY_SECONDS: '2' });
    const agent = new Agent();
    const token = await issue(agent, desk.url);
    desk.child.kill('SIGTERM');
    while (!desk.output.err.includes('"msg":"stopping"')) await setTimeout(1);

    const ready = await ask(agent, `${desk.url}/readyz`);
    const search = { bearer: token, body: SEARCH };
    const found = await ask(agent, `${desk.url}/svc/invoke/search_flights`, search);

    assert.equal(ready.status, 503, ready.text);
    assert.equal(found.status, 200, found.text);
    assert.equal(await desk.ended, 0, desk.output.err);
  },
);

/** Four stops (`npm run rolling` makes many), a few processes at a time so that they do not starve each other. */
const ROUNDS = 1;
const DESKS = 4;
const CLIENTS = 4;

for (let round = 1; round <= ROUNDS; round += 1) {
  test(`SIGTERM under load cuts no request and exits with 0, round ${round}`, PATIENT, async () => {
    await Promise.all(Array.from({ length: DESKS }, stopUnderLoad));
  });
}

async function stopUnderLoad(): Promise<void> {
  const desk = await startDesk({ WRIT_LOG_LEVEL: 'info' });
  const agent = new Agent({ keepAlive: true });
  const token = await issue(agent, desk.url);
  const counts = { answered: 0, afterSignal: 0 };
  let signalled = false;
  // Two that only hold a connection: one after a request, one that never says a word.
  const idle = new Agent({ keepAlive: true });
  await ask(idle, `${desk.url}/healthz`);
  const silent = connect(Number(new URL(desk.url).port), '127.0.0.1');
  silent.on('error', () => undefined);

  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    // One connection each, kept as long as the desk keeps it.
    const own = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let turn = 0; ; turn += 1) {
      try {
        const reply =
          (turn + client) % 3 === 0
            ? await ask(own, `${desk.url}/svc/manifest`)
            : await ask(own, `${desk.url}/svc/invoke/search_flights`, {
                bearer: token,
                body: SEARCH,
              });
        assert.equal(reply.status, 200, reply.text);
        counts.answered += 1;
        if (signalled) counts.afterSignal += 1;
      } catch (error) {
        // The only end that is allowed: the port is closed, and nothing was sent.
        assert.equal((error as NodeJS.ErrnoException).code, 'ECONNREFUSED', String(error));
        assert.ok(signalled);
        own.destroy();
        return;
      }
    }
  });
  while (counts.answered < 10 * CLIENTS) await setTimeout(1);
  signalled = true;
  desk.child.kill('SIGTERM');

  await Promise.all(clients);
  assert.equal(await desk.ended, 0, desk.output.err);
  assert.match(desk.output.err, /"reason":"SIGTERM","msg":"stopping"/);
  assert.match(desk.output.err, /"msg":"stopped"/);
  // The desk warns at start about a cost that no budget can pay; the stop itself has nothing to warn of.
  const [, stopping = ''] = desk.output.err.split('"msg":"listening"');
  assert.doesNotMatch(stopping, /"level":"(?:warn|error|fatal)"/);
  // Work was under way when the signal came, or nothing was proved.
  assert.ok(counts.afterSignal > 0);
  agent.destroy();
  idle.destroy();
}

test('keys rotate under load on two replicas without a failed request', PATIENT, async () => {
  const keys = join(folder, 'keys');
  const shared = { WRIT_STORE: `sqlite:${join(folder, 'writ.db')}`, WRIT_KEYS: keys };
  // The first makes store and keys; the second finds them.
  const desks = [await startDesk(shared), await startDesk(shared)];
  const agent = new Agent({ keepAlive: true });
  const [one, other] = desks.map(({ url }) => url) as [string, string];
  const early = await issue(agent, one);
  const before = kidOf(early);

  let rotated = false;
  const kids = new Map<string, Set<string>>([
    [one, new Set()],
    [other, new Set()],
  ]);
  // A token of one replica is used at the other at once: its key must be known there before.
  const clients = [
    [one, other],
    [other, one],
  ].map(async ([issuer = '', user = '']) => {
    while (!rotated) {
      const token = await issue(agent, issuer);
      kids.get(issuer)?.add(kidOf(token));
      for (const presented of [token, early]) {
        const reply = await ask(agent, `${user}/svc/invoke/search_flights`, {
          bearer: presented,
          body: SEARCH,
        });
        assert.equal(reply.status, 200, reply.text);
      }
      const jwks = await ask(agent, `${issuer}/.well-known/jwks.json`);
      assert.ok(
        jwks.text.includes(kidOf(token)),
        'a token was signed by a key that nobody can see',
      );
      await setTimeout(25);
    }
  });
  // Long enough that both replicas have read the new file before either signs with it.
  const { kid } = rotateKey(keys, 'token', { now: new Date(), leadMs: REREAD_MS + 1_500 });
  const changed = (async () => {
    while (![...kids.values()].every((seen) => seen.has(kid))) await setTimeout(25);
    rotated = true;
  })();

  await Promise.all([changed, ...clients]);
  for (const seen of kids.values()) assert.deepEqual([...seen], [before, kid]);
  for (const { child } of desks) child.kill('SIGTERM');
  for (const { ended, output } of desks) assert.equal(await ended, 0, output.err);
  agent.destroy();
});

function kidOf(token: string): string {
  return String(decodeProtectedHeader(token).kid);
}
