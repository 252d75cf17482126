/**
 * Approvals over a restart with other entitlements: what was approved by those who may no more.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { openStore } from '../../src/storage/open.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { assertRefused, BOB, createWorld, SETTINGS, startDesk } from './desk.ts';

test('invoke() refuses a grant whose approver is no longer allowed to approve', async () => {
  const keys = temporaryFolder();
  const opened = closedAtEnd(await openStore('memory:'));
  const wrap = () => ({ ...opened, close: async () => undefined });
  const bobMay = (scopes: string[]) =>
    SETTINGS.identities.map((each) =>
      each.principal === 'human:bob' ? { ...each, scopes } : each,
    );
  /** Continues in a service that was started again with other entitlements. */
  const resumed = async (scopes: string[]) => {
    const after = await startDesk({ wrap, settings: { keys, identities: bobMay(scopes) } });
    const reply = await after.resume(await after.token(), 'sign', grant);
    await after.close();
    return reply;
  };
  const before = await startDesk({ wrap, settings: { keys } });
  const grant = await before.granted(await before.asked(await before.token(), 'sign'));
  await before.close();
  assertRefused(
    await resumed(['a.*', 'approver:pay']),
    'approval_grant_invalid',
    /human:bob may not approve it any more/,
  );
  assert.equal((await resumed(['approver:sign'])).status, 200);
});

test('approval_grants.issue refuses a token whose entitlement was removed', async () => {
  const keys = temporaryFolder();
  const opened = closedAtEnd(await openStore('memory:'));
  const wrap = () => ({ ...opened, close: async () => undefined });
  const before = await startDesk({ wrap, settings: { keys } });
  const bobs = await before.token({ scope: ['approver:*'], subject: 'human:bob' }, BOB);
  const id = await before.asked(await before.token(), 'sign');
  await before.close();
  const identities = SETTINGS.identities.filter(({ principal }) => principal !== 'human:bob');

  const after = await startDesk({ wrap, settings: { keys, identities } });
  assertRefused(await after.approve(bobs.token, id), 'not_found');
});

test('invoke() refuses a grant whose declaration was changed without a new version', async () => {
  const keys = temporaryFolder();
  const opened = closedAtEnd(await openStore('memory:'));
  const wrap = () => ({ ...opened, close: async () => undefined });
  const settings = { keys };
  const before = await startDesk({ wrap, settings });
  const token = await before.token();
  const asked = await before.asked(token, 'sign');
  const grant = await before.granted(asked);
  const pending = await before.asked(token, 'sign', { note: 'later' });
  await before.close();

  const world = createWorld({ described: 'Changes' });
  const after = await startDesk({ wrap, settings, world });
  const refused = await after.resume(token, 'sign', grant);
  assertRefused(refused, 'approval_grant_invalid', /declaration of "sign" has changed/);
  // A new call asks anew: a grant of the pending request would be of no use.
  assert.notEqual(await after.asked(token, 'sign', { note: 'later' }), pending);
  const late = await after.granted(pending);
  const again = await after.resume(token, 'sign', late, { note: 'later' });
  assertRefused(again, 'approval_grant_invalid', /declaration of "sign" has changed/);
  const fresh = await after.granted(await after.asked(token, 'sign'));
  assert.equal((await after.resume(token, 'sign', fresh)).status, 200);
});
