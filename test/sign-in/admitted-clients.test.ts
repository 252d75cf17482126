import assert from 'node:assert/strict';
import { test } from 'vitest';
import { temporaryFolder } from '../support/ends.ts';
import { STORES, testService } from '../support/world.ts';
import { askToken, delegation } from './browser.ts';

const CLIENT = {
  client_id: 'planner',
  name: 'Planner',
  redirect_uris: ['http://127.0.0.1/callback'],
};
const READS = { chosen: ['search_flights'] };

test('a client that the configuration no longer names renews nothing', async () => {
  const [keys, { url, drop }] = [temporaryFolder(), await (STORES[1] as (typeof STORES)[1]).open()];
  const before = await testService({
    store: url,
    keys,
    settings: { sign_in: { clients: [CLIENT] } },
  });
  const { refresh } = await delegation(before, READS, { more: { client_id: 'planner' } });
  await before.close();
  const after = await testService({ store: url, keys });
  const renewed = await askToken(after, {
    grant_type: 'refresh_token',
    refresh_token: refresh,
    client_id: 'planner',
  });

  assert.equal(renewed.body.error, 'invalid_grant');
  assert.match(renewed.body.error_description, /no longer admitted/);
  await after.close();
  await drop();
});

test('a client that refreshes faster than its person may call is told to wait, and keeps its token', async () => {
  const service = await testService({ settings: { principal_rate: { limit: 8, window: 'PT1H' } } });
  const { refresh } = await delegation(service, READS);
  let token = refresh;
  let answer = { status: 200 } as Awaited<ReturnType<typeof askToken>>;
  for (let tries = 0; answer.status === 200 && tries < 20; tries++) {
    answer = await askToken(service, { grant_type: 'refresh_token', refresh_token: token });
    if (answer.status === 200) token = answer.body.refresh_token;
  }

  assert.equal(answer.status, 503);
  assert.equal(answer.body.error, 'temporarily_unavailable');
});
