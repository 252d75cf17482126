/**
 * The README, walked word for word: a guard in one command, and a service of its own.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { walk } from './walk.ts';

/** Only to end a test that hangs. */
const SLOW = { timeout: 180_000 };

const README = 'README.md';

test('README.md guards the official server for files as it says', SLOW, () =>
  walk(README, { section: 'Guard the tools you have' }),
);

test('README.md serves the shop, and its refunds stay within the budget', SLOW, () =>
  walk(README, {
    section: 'A service of your own',
    acts: { approve: ({ port }) => approveAll(`http://127.0.0.1:${port}`, 'demo-ann-key') },
  }),
);

/** What the page of the console does when the approver presses the button. */
async function approveAll(url: string, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const pending = await fetch(`${url}/svc/approval_requests?status=pending`, { headers });
  const { approval_requests } = (await pending.json()) as {
    approval_requests: { approval_request_id: string }[];
  };
  assert.equal(approval_requests.length, 1);
  for (const { approval_request_id } of approval_requests) {
    const body = JSON.stringify({ approval_request_id, grant_type: 'one_time' });
    const granted = await fetch(`${url}/svc/approval_grants`, { method: 'POST', headers, body });
    assert.equal(granted.status, 200);
  }
}
