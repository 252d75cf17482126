/**
 * What a passkey that does not count yet cannot do, and invitations whose giver or receiver is no stranger to authority.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { softwareKey } from '../../src/testing/authenticator.ts';
import type { ConsolePerson } from '../console/person.ts';
import { ANN, BASE, BOB, browserAt, CAROL, HOUR, type Invitation, openDesk } from './desk.ts';

const EVE = 'human:eve@example.com';
const STORE = { url: 'memory:' };

const operate = (at: ConsolePerson, target: string) =>
  at.reply('operator.freeze', { what: 'root_principal', target, reason: 'test' });

async function enrolled(desk: Awaited<ReturnType<typeof openDesk>>, invitation: Invitation) {
  const [browser, key] = [browserAt(desk.service), softwareKey()];
  const { status, text } = await browser.enrol(invitation, key);
  assert.equal(status, 303, text);
  return { browser, key, at: await browser.console() };
}

test('a session of the new passkey of an approver adds no other passkey, and operates nothing', async () => {
  const desk = await openDesk(STORE);
  await desk.newcomer(BOB, 'approver:*', 'operator:*');
  const { at } = await enrolled(desk, await desk.invite(BOB));
  const asked = { challenge: new Uint8Array(32), rpId: new URL(BASE).hostname, origin: BASE };
  const made = { label: 'Second', challenge: 'x', ...softwareKey().register(asked) };

  const replies = [
    await at.reply('passkeys.begin'),
    await at.reply('passkeys.add', made),
    await operate(at, CAROL),
    await at.reply('operations.sessions', {}),
  ];

  assert.deepEqual(
    replies.map(({ status }) => status),
    [403, 403, 403, 403],
  );
});

for (const end of ['frozen', 'removed'] as const) {
  test(`an invitation of somebody who is ${end} enrols nobody`, async () => {
    const desk = await openDesk(STORE);
    const root = await (await desk.newcomer(BOB, 'operator:*', 'travel.*')).browser.console();
    const operator = await (await desk.newcomer(CAROL, 'operator:*')).browser.console();
    const made = await operator.answer('people.invite', { principal: EVE });
    const invitation = { ...made, link: made.link.split('#')[1] ?? '' };
    const [browser, key] = [browserAt(desk.service), softwareKey()];
    const page = await browser.type(invitation);
    assert.equal(page.status, 200, page.text);
    if (end === 'frozen') assert.equal((await operate(root, CAROL)).status, 200);
    else await root.answer('people.remove', { principal: CAROL });

    assert.equal((await browser.make(page, key)).status, 401);
    assert.equal((await browser.use(key)).status, 401);
  });
}

test('the first passkey of somebody who approves by a rule waits, and the others are told', async () => {
  const rule = { principals: [EVE], scopes: ['approver:*'], subjects: ['agent:*'] };
  const desk = await openDesk(STORE, { settings: { entitlements: [rule] } });
  const carol = await (await desk.newcomer(CAROL, 'approver:*')).browser.console();
  const invitation = await desk.invite(EVE, 'travel.*');
  const open = (await carol.answer('pulse')).recoveries;
  const { at } = await enrolled(desk, invitation);

  assert.deepEqual(
    open.map((each) => each.invitation_id),
    [invitation.invitation_id],
  );
  assert.notEqual((await carol.answer('pulse')).recoveries[0]?.waits_until, null);
  assert.deepEqual((await at.answer('me')).approves, []);
  const { invitation_id } = invitation;
  assert.deepEqual(await carol.answer('people.cancel', { invitation_id }), { cancelled: true });
  assert.equal((await at.reply('me')).status, 401);
  desk.service.advance(24 * HOUR);
});

test('an operator who may not approve cancels and replaces no invitation of an approver', async () => {
  const desk = await openDesk(STORE);
  const operator = await (await desk.newcomer(ANN, 'operator:*')).browser.console();
  const { invitation_id } = await desk.invite(BOB, 'approver:*');

  assert.deepEqual(await operator.answer('people.cancel', { invitation_id }), { cancelled: false });
  assert.equal((await operator.reply('people.invite', { principal: BOB })).status, 403);
});

test('a passkey is enrolled under a visible name', async () => {
  const desk = await openDesk(STORE);
  const browser = browserAt(desk.service);
  const page = await browser.type(await desk.invite(ANN, 'travel.*'));
  const sent = (label: string) => browser.send(page, '/enrol/passkey', { label });

  for (const label of ['', 'a\u202eb', 'a\nb', 'x'.repeat(65)]) {
    assert.equal((await sent(label)).status, 400, JSON.stringify(label));
  }
});
