/**
 * `writ/client` as a browser gets it: bundled, without anything of Node, and asking by `fetch` alone.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { webcrypto } from 'node:crypto';
import { createContext, runInContext } from 'node:vm';
import { test } from 'vitest';
import { ALICE } from '../support/world.ts';
import { bundleClient, FOUND, PROGRAM } from './bundle.ts';
import { openDesk, TRIP } from './desk.ts';

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

const desk = await openDesk();

test(
  'writ/client runs in plain V8 with fetch and WebCrypto, and nothing of Node is in it',
  async () => {
    const code = await bundleClient();
    assert.doesNotMatch(code, /['"]node:|\brequire\s*\(|vite-browser-external/);
    const scope = ['travel.search', 'travel.admin'];
    const { token } = await desk.service.issue(ALICE, { scope, subject: 'agent:planner' });

    const given = { url: desk.url, credential: token, trip: JSON.stringify(TRIP) };
    const context = createContext({ ...BROWSER, ...given });
    runInContext(code, context);
    const said = JSON.parse(await runInContext(PROGRAM, context));

    assert.deepEqual(said, FOUND);
  },
  SLOW,
);
