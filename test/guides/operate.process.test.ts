/**
 * The guides for operators, walked word for word: guard what exists, verify the log, operate a service, scale out.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'vitest';
import { freshDatabase } from '../postgres.ts';
import { missingTool, type WalkOptions, walk } from './walk.ts';

/** Only to end a walk that hangs. */
const timeout = 240_000;

type Act = NonNullable<WalkOptions['acts']>[string];

test('docs/guides/guard-what-exists.md goes as it says', { timeout }, async () => {
  await walk('docs/guides/guard-what-exists.md', {
    acts: { 'see-the-policy-in-force': seePolicyInForce, approve },
  });
});

const seePolicyInForce: Act = async ({ output }) => {
  while (!output().includes('The changed policy is in force')) await pause(50);
};

/** What the page of the request sends when its button is pressed. */
const approve: Act = async ({ folder, port, output }) => {
  const key = readFileSync(join(folder, '.writ/guard-owner.key'), 'utf8').trim();
  const [id] = /apr_[0-9a-f]{32}/.exec(output()) ?? [];

  const answer = await fetch(`http://127.0.0.1:${port}/svc/approval_grants`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ approval_request_id: id, grant_type: 'one_time' }),
  });

  assert.equal(answer.status, 200, await answer.text());
};

test('docs/guides/verify-the-log.md goes as it says', { timeout }, async () => {
  await walk('docs/guides/verify-the-log.md');
});

const missing = missingTool('curl');
const operating = 'docs/guides/operate-a-service.md goes as it says';
test.skipIf(missing)(
  missing ? `${operating} (not run: ${missing} is not installed)` : operating,
  { timeout },
  async () => {
    await walk('docs/guides/operate-a-service.md');
  },
);

test('docs/guides/scale-out-on-postgresql.md goes as it says', { timeout }, async () => {
  const { url } = await freshDatabase();

  await walk('docs/guides/scale-out-on-postgresql.md', { env: { DATABASE_URL: url } });
});
