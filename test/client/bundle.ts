/**
 * `writ/client` bundled as a browser gets it, and a program that uses every part of it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { build, defaultClientConditions, type Rollup } from 'vite';

/** Needs `client`, `url`, `credential` and `trip`, the last as JSON. Resolves with what it found, as JSON. */
export const PROGRAM = `(async () => {
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

/** What the program finds with a token for `travel.search` and `travel.admin`. */
export const FOUND = {
  manifest: true,
  found: true,
  refused: 'terminal',
  first: 'started',
  last: 'completed',
};

/** One script that leaves what the package exports under the name `client`. */
export async function bundleClient(): Promise<string> {
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
