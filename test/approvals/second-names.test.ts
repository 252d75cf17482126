/**
 * Identities that operators add, and approvals: no person decides on what it requests under a second name.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'vitest';
import { person as anyone } from '../support/person.ts';
import { assertRefused, BOB, type Desk, SETTINGS, startDesk } from './desk.ts';

const BOSS = 'boss-key';
const BOSS_DECIDES = 'boss-second-key';
const CLERK = 'key-of-another-operator';

async function desk(): Promise<Desk> {
  const operates = ['operator:*', 'a.*'];
  const identities = [
    ...SETTINGS.identities,
    anyone(BOSS, 'human:boss', operates),
    anyone(BOSS_DECIDES, 'human:boss', ['approver:*']),
    anyone(CLERK, 'service:desk', operates),
  ];
  return startDesk({ settings: { identities } });
}

async function add({ ask }: Desk, bearer: string, principal: string, scopes = ['a.use']) {
  const key = `wk_${randomBytes(32).toString('base64url')}`;
  const key_sha256 = createHash('sha256').update(key).digest('hex');
  const body = { principal, key_sha256, scopes };
  return { key, reply: await ask('POST', '/svc/operator/identities', { bearer, body }) };
}

test('who may approve, by any credential, adds no second name to request with', async () => {
  const at = await desk();
  const { reply } = await add(at, BOSS, 'agent:puppet');
  assertRefused(reply, 'not_entitled', /human:boss may approve.* requests as agent:puppet/);

  const own = await add(at, BOSS, 'human:boss');
  assert.equal(own.reply.status, 200, JSON.stringify(own.reply.body));
  const id = await at.asked(await at.token({ subject: 'human:boss' }, own.key), 'apart');
  assertRefused(await at.approve(BOSS_DECIDES, id), 'approver_not_authorized', /may not approve/);
});

test('an operator gives no credential to the name of an approver', async () => {
  const at = await desk();
  const { reply } = await add(at, CLERK, 'human:bob', []);
  assertRefused(reply, 'not_entitled', /human:bob may approve/);

  const bot = await add(at, CLERK, 'agent:bot');
  assert.equal(bot.reply.status, 200, JSON.stringify(bot.reply.body));
  const id = await at.asked(await at.token({ subject: 'agent:bot' }, bot.key), 'apart');
  assert.equal((await at.approve(BOB, id)).status, 200);
});
