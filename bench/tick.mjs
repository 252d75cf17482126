// @ts-check
/**
 * What `src/http/bounds/tick.ts` is worth: the CPU time of a small answer and of a read, with it and without.
 *
 * `node bench/tick.mjs [node…]` compares on each Node that is named, or on this one. The compiled service
 * runs twice, once with `async_hooks` disabled so that no tick is kept, and the two answer by turns.
 *
 * CPU time without it, as a multiple of that with it, on a busy machine (Linux, arm64): median of eight
 * rounds, and the least and the greatest.
 *
 * | Node | small answer | read |
 * |---|---|---|
 * | 20.20 | 1.10 (1.02 to 1.34) | 1.02 (0.87 to 1.10) |
 * | 22.23 | 1.14 (1.04 to 1.20) | 1.03 (0.83 to 1.15) |
 * | 24.22 | 1.01 (0.88 to 1.16) | 1.01 (0.78 to 1.07) |
 *
 * @module
 */

import asyncHooks from 'node:async_hooks';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PAIRS = 2;
const ROUNDS = 4;
const CONNECTIONS = 16;
const WARM_UP = 1_000;
const REQUESTS = 400;
const WITHOUT = 'without';

if (process.send) await serveChild();
else await compareAll(process.argv.slice(2));

async function serveChild() {
  if (process.argv[2] === WITHOUT) {
    const none = { enable: () => none, disable: () => none };
    asyncHooks.createHook = /** @type {never} */ (() => none);
    syncBuiltinESMExports();
  }
  const { serve } = await import('../dist/src/index.js');
  const { DEMO_IDENTITIES, travelDesk } = await import('../dist/examples/travel/service.js');
  const environment = {
    PORT: '0',
    WRIT_STORE: 'memory:',
    WRIT_LOG_LEVEL: 'error',
    WRIT_RATE_LIMITS: 'off',
  };
  const settings = { identities: DEMO_IDENTITIES };
  const folder = mkdtempSync(join(tmpdir(), 'writ-tick-'));
  const service = await serve(travelDesk, { settings, environment, folder });
  process.on('message', async (message) => {
    if (message === 'stop') {
      await service.close();
      rmSync(folder, { recursive: true });
      process.exit();
    }
    if (message === 'collect') {
      // As in a service that waits: nothing is queued, and the collector runs.
      await pause(100);
      for (let times = 0; times < 4; times += 1) globalThis.gc?.();
    }
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.send?.(service.url);
}

/** @param {string[]} nodes */
async function compareAll(nodes) {
  for (const node of nodes.length > 0 ? nodes : [process.execPath]) {
    /** @type {Record<string, number[]>} */
    const ratios = { small: [], read: [] };
    for (let pair = 0; pair < PAIRS; pair += 1) await comparePair(node, ratios);
    for (const [name, values] of Object.entries(ratios)) {
      const shown = values.toSorted((one, other) => one - other).map((ratio) => ratio.toFixed(2));
      console.log(`${node} ${name}: without / with ${shown.join(' ')}`);
    }
  }
}

/**
 * @param {string} node
 * @param {Record<string, number[]>} ratios
 */
async function comparePair(node, ratios) {
  const one = await start(node, 'with');
  const other = await start(node, WITHOUT);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, values] of Object.entries(ratios)) {
      const found = new Map();
      const order = round % 2 === 0 ? [one, other] : [other, one];
      for (const program of order) found.set(program, await program.cpuOf(name));
      values.push(found.get(other) / found.get(one));
    }
  }
  await one.stop();
  await other.stop();
}

/**
 * A service that has answered and then waited.
 *
 * @param {string} node
 * @param {string} variant
 */
async function start(node, variant) {
  const child = fork(fileURLToPath(import.meta.url), [variant], {
    execPath: node,
    execArgv: ['--expose-gc', '--min-semi-space-size=16', '--max-semi-space-size=32'],
  });
  const heard = async () => (await once(child, 'message'))[0];
  const tell = async (/** @type {string} */ message) => {
    child.send(message);
    return Number(await heard());
  };
  const url = String(await heard());
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const issued = ask(agent, `${url}/svc/tokens`, 'demo-human-key', { scope: ['travel.search'] });
  const { token } = JSON.parse(await issued);
  const parameters = { origin: 'SEA', destination: 'SFO', date: '2030-01-01' };
  /** @type {Record<string, () => Promise<string>>} */
  const kinds = {
    small: () => ask(agent, `${url}/healthz`),
    read: () => ask(agent, `${url}/svc/invoke/search_flights`, token, { parameters }),
  };
  for (const kind of Object.values(kinds)) await many(kind, WARM_UP);
  await tell('collect');
  return {
    /** CPU time of so many answers, in microseconds. */
    async cpuOf(/** @type {string} */ name) {
      const before = await tell('cpu');
      await many(/** @type {() => Promise<string>} */ (kinds[name]), REQUESTS);
      return (await tell('cpu')) - before;
    },
    async stop() {
      agent.destroy();
      child.send('stop');
      await once(child, 'exit');
    },
  };
}

/**
 * @param {() => Promise<unknown>} one
 * @param {number} count
 */
async function many(one, count) {
  let left = count;
  const lane = async () => {
    while (left-- > 0) await one();
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, lane));
}

/**
 * @param {Agent} agent
 * @param {string} url
 * @param {string} [bearer]
 * @param {object} [body]
 * @returns {Promise<string>}
 */
function ask(agent, url, bearer, body) {
  const headers = {
    ...(bearer && { authorization: `Bearer ${bearer}` }),
    ...(body && { 'content-type': 'application/json' }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: body ? 'POST' : 'GET', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (piece) => {
        text += piece;
      });
      response.on('end', () => (response.statusCode === 200 ? resolve(text) : reject(text)));
    });
    sent.on('error', reject).end(body && JSON.stringify(body));
  });
}
