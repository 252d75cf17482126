/**
 * Replicas of two product versions with one schema version serve side by side on one store.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { addressOf, DESK, launch } from '../support/launch.ts';
import { freshDatabase } from '../support/postgres.ts';

/** In milliseconds: two services start on a busy machine. */
const SLOW = 120_000;

/** The same program under another version. */
function otherRelease(folder: string): string {
  const root = process.cwd();
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...manifest, version: '99.0.0' }));
  return join(folder, 'dist/examples/travel/main.js');
}

test('two replicas of different product versions serve on one store of one schema version', {
  timeout: SLOW,
}, async () => {
  const folder = temporaryFolder();
  const { url } = await freshDatabase();
  const environment = {
    WRIT_STORE: url,
    WRIT_KEYS: join(folder, 'keys'),
    WRIT_MARK: join(folder, 'mark.db'),
  };

  const older = launch([DESK], folder, environment);
  const first = await addressOf(older);
  const newer = launch([otherRelease(temporaryFolder())], folder, environment);
  const second = await addressOf(newer);

  for (const [issuer, user] of [
    [first, second],
    [second, first],
  ] as const) {
    const token = await issued(issuer);
    assert.equal((await fetch(`${user}/readyz`)).status, 200);
    assert.equal(await called(user, token), 200);
  }
});

async function issued(address: string): Promise<string> {
  const answer = await post(`${address}/svc/tokens`, 'demo-human-key', {
    scope: ['travel.search'],
  });
  assert.equal(answer.status, 200);
  const { token } = (await answer.json()) as { token: string };
  return token;
}

async function called(address: string, token: string): Promise<number> {
  const parameters = { origin: 'SEA', destination: 'SFO', date: '2030-12-01' };
  const answer = await post(`${address}/svc/invoke/search_flights`, token, { parameters });
  return answer.status;
}

function post(url: string, bearer: string, body: object): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}
