/**
 * Approvals over a restart with other entitlements: what was approved by those who may no more.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { openStore } from '../../src/storage/open.ts';
import { assertRefused, BOB, SETTINGS, startDesk } from './desk.ts';

test('invoke() refuses a grant whose approver is no longer allowed to approve', async () => {
  const keys = mkdtempSync(join(tmpdir(), 'writ-keys-'));
  const opened = await openStore('memory:');
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
  try {
    assertRefused(
      await resumed(['a.*', 'approver:pay']),
      'approval_grant_invalid',
      /human:bob may not approve it any more/,
    );
    assert.equal((await resumed(['approver:sign'])).status, 200);
  } finally {
    await opened.close();
    rmSync(keys, { recursive: true });
  }
});

test('approval_grants.issue refuses a token whose entitlement was removed', async () => {
  const keys = mkdtempSync(join(tmpdir(), 'writ-keys-'));
  const opened = await openStore('memory:');
  const wrap = () => ({ ...opened, close: async () => undefined });
  const before = await startDesk({ wrap, settings: { keys } });
  const bobs = await before.token({ scope: ['approver:*'], subject: 'human:bob' }, BOB);
  const id = await before.asked(await before.token(), 'sign');
  await before.close();
  const identities = SETTINGS.identities.filter(({ principal }) => principal !== 'human:bob');

  const after = await startDesk({ wrap, settings: { keys, identities } });
  try {
    assertRefused(await after.approve(bobs.token, id), 'not_found');
  } finally {
    await after.close();
    await opened.close();
    rmSync(keys, { recursive: true });
  }
});
