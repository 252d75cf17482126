/**
 * `writ/client` as a browser gets it: bundled, without anything of Node, and asking by `fetch` alone.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { createContext, runInContext } from 'node:vm';
import { build, defaultClientConditions, type Rollup } from 'vite';
import { afterAll, beforeAll, test } from 'vitest';
import { ALICE } from '../service/harness.ts';
import { type Desk, openDesk, TRIP } from './desk.ts';

const SLOW = 120_000;

/** What every browser has and V8 alone has not. Nothing of Node is among it. */
const BROWSER = {
  crypto: webcrypto,
  TextEncoder,
  TextDecoder,
  AbortController,
  AbortSignal,
  Headers,
  URL,
  URLSearchParams,
  clearTimeout,
  fetch,
  setTimeout,
  atob,
  btoa,
};

const PROGRAM = `(async () => {
  const given = client.createClient({ url, credential, serviceId: 'travel-desk' });
  const manifest = await given.manifest();
  const call = { capability: 'search_flights', parameters: JSON.parse(trip) };
  const found = await given.invoke(call);
  const refused = await client.withRecovery(given, { capability: 'erase_traveler', parameters: {} });
  const events = [];
  for await (const { event } of given.stream(call)) events.push(event);
  return JSON.stringify({
    manifest: manifest.ok,
    found: found.ok,
    refused: refused.stopped,
    first: events[0],
    last: events.at(-1),
  });
})()`;

let desk: Desk;

beforeAll(async () => {
  desk = await openDesk();
});
afterAll(() => desk.service.close());

test(
  'writ/client runs in plain V8 with fetch and WebCrypto, and nothing of Node is in it',
  async () => {
    const code = await bundle();
    assert.doesNotMatch(code, /['"]node:|\brequire\s*\(|vite-browser-external/);
    const scope = ['travel.search', 'travel.admin'];
    const { token } = await desk.service.issue(ALICE, { scope, subject: 'agent:planner' });

    const given = { url: desk.url, credential: token, trip: JSON.stringify(TRIP) };
    const context = createContext({ ...BROWSER, ...given });
    runInContext(code, context);
    const said = JSON.parse(await runInContext(PROGRAM, context));

    assert.deepEqual(said, {
      manifest: true,
      found: true,
      refused: 'terminal',
      first: 'started',
      last: 'completed',
    });
  },
  SLOW,
);

/** One script that leaves what the package exports under the name `client`. */
async function bundle(): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    resolve: { conditions: ['writ-source', 'browser', ...defaultClientConditions] },
    build: {
      write: false,
      minify: false,
      target: 'es2023',
      lib: { entry: 'src/client/index.ts', formats: ['iife'], name: 'client' },
    },
  });
  const [{ output }] = (Array.isArray(built) ? built : [built]) as [Rollup.RollupOutput];
  assert.equal(output.length, 1);
  return output[0].code;
}
