/**
 * A person who may approve is invited again: the person's devices and the other approvers learn of it and can cancel it, and
 * the new passkey cannot approve for a day.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { softwareKey } from '../../src/testing/authenticator.ts';
import type { ConsolePerson } from '../console/person.ts';
import { SQL_PLACES } from '../support/sql-places.ts';
import { ANN, BOB, browserAt, CAROL, HOUR, openDesk, type PeopleDesk } from './desk.ts';

const [{ open: openFile }] = SQL_PLACES as [(typeof SQL_PLACES)[number]];

const heard = async (at: ConsolePerson) => (await at.answer('pulse')).recoveries;

/** Bob may approve and lost no device; somebody got an invitation for him. */
async function recovering(desk: PeopleDesk) {
  const bob = await desk.newcomer(BOB, 'approver:*', 'operator:*');
  const carol = await desk.newcomer(CAROL, 'approver:*');
  const ann = await desk.newcomer(ANN, 'travel.*');
  const invitation = await desk.invite(BOB);
  return {
    invitation,
    own: await bob.browser.console(),
    bob,
    carol: await carol.browser.console(),
    ann: await ann.browser.console(),
  };
}

async function enrolled({ service }: PeopleDesk, invitation: Parameters<typeof enrolAt>[1]) {
  return enrolAt(browserAt(service), invitation);
}

async function enrolAt(
  browser: ReturnType<typeof browserAt>,
  invitation: Awaited<ReturnType<PeopleDesk['invite']>>,
) {
  const key = softwareKey();
  const reply = await browser.enrol(invitation, key);
  assert.equal(reply.status, 303, reply.text);
  return { key, browser, at: await browser.console() };
}

const approve = (at: ConsolePerson, approval_request_id: string) =>
  at.reply('approval_grants.issue', { approval_request_id, grant_type: 'one_time' });

for (const { name, open } of SQL_PLACES) {
  describe(name, () => {
    test('its devices and the other approvers are told at once, and nobody else', async () => {
      const desk = await openDesk(await open());
      const { invitation, own, carol, ann } = await recovering(desk);
      const { invitation_id } = invitation;

      const told = [await heard(own), await heard(carol), await heard(ann)];

      assert.deepEqual(
        told.map((list) => list.map((each) => [each.invitation_id, each.waits_until])),
        [[[invitation_id, null]], [[invitation_id, null]], []],
      );
      await enrolled(desk, invitation);
      const [waiting] = await heard(carol);
      assert.notEqual(waiting?.waits_until, null);
      desk.service.advance(24 * HOUR);
      assert.deepEqual(
        await heard(await (await desk.newcomer('human:dan', 'approver:*')).browser.console()),
        [],
      );
    });

    test('the new passkey signs in, and cannot approve for 24 hours', async () => {
      const desk = await openDesk(await open());
      const { invitation } = await recovering(desk);
      const { at, key } = await enrolled(desk, invitation);
      const id = await desk.asked();

      assert.deepEqual((await at.answer('me')).approves, []);
      assert.equal((await approve(at, id)).status, 404);
      desk.service.advance(24 * HOUR);
      const later = browserAt(desk.service);
      assert.equal((await later.use(key)).status, 303);

      const next = await desk.asked();
      assert.equal((await approve(await later.console(), next)).status, 200);
    });

    test('every approver and every device of the person cancels it, before and after enrolment', async () => {
      const desk = await openDesk(await open());
      const { invitation, own, carol, ann } = await recovering(desk);
      const cancel = (at: ConsolePerson, invitation_id: string) =>
        at.answer('people.cancel', { invitation_id });

      assert.equal((await cancel(ann, invitation.invitation_id)).cancelled, false);
      assert.equal((await cancel(carol, invitation.invitation_id)).cancelled, true);
      assert.equal((await browserAt(desk.service).type(invitation)).status, 401);
      const second = await desk.invite(BOB);
      const thief = await enrolled(desk, second);
      assert.equal((await cancel(own, second.invitation_id)).cancelled, true);

      assert.equal((await thief.browser.open('/console/')).status, 303, 'its session is over');
      assert.equal((await thief.browser.use(thief.key)).status, 401);
      assert.deepEqual(await heard(carol), []);
      const { findings } = await checkStore(desk.service.store);
      assert.deepEqual(findings, []);
    });
  });
}

test('a session of the new passkey locks nobody out: it removes no device and manages no people', async () => {
  const desk = await openDesk(await openFile());
  const { invitation, own, bob } = await recovering(desk);
  const { at, key } = await enrolled(desk, invitation);
  const { credentialId: credential_id } = bob.key;

  const replies = [
    await at.reply('passkeys.remove', { credential_id }),
    await at.reply('people.remove_device', { principal: BOB, credential_id }),
    await at.reply('people.remove_device', { principal: ANN, credential_id }),
    await at.reply('people.remove', { principal: ANN }),
    await at.reply('people.invite', { principal: 'human:eve' }),
    await at.reply('people.cancel', { invitation_id: invitation.invitation_id }),
  ];

  assert.deepEqual(
    replies.map(({ status }) => status),
    [403, 403, 403, 403, 403, 403],
  );
  assert.equal((await own.answer('me')).passkeys.length, 2);
  assert.deepEqual(await at.answer('passkeys.remove', { credential_id: key.credentialId }), {
    removed: true,
  });
});

test('operators at the console remove nothing of a person who may approve', async () => {
  const desk = await openDesk(await openFile());
  const { own, carol } = await recovering(desk);
  const [device] = (await carol.answer('me')).passkeys;

  const replies = [
    await own.reply('people.remove', { principal: CAROL }),
    await own.reply('people.remove_device', {
      principal: CAROL,
      credential_id: device?.credential_id,
    }),
  ];

  assert.deepEqual(
    replies.map(({ status }) => status),
    [403, 403],
  );
});

test('a person who may not approve recovers at once, and removes the lost device', async () => {
  const desk = await openDesk(await openFile());
  const { key } = await desk.newcomer(ANN, 'travel.*');
  const { at } = await enrolled(desk, await desk.invite(ANN));

  const [lost] = (await at.answer('me')).passkeys;
  assert.equal(lost?.credential_id, key.credentialId);
  assert.deepEqual(await at.answer('passkeys.remove', { credential_id: key.credentialId }), {
    removed: true,
  });
  assert.equal((await browserAt(desk.service).use(key)).status, 401);
});

test('a person who is removed and invited again as an approver waits, as a replaced passkey does', async () => {
  const desk = await openDesk(await openFile());
  await desk.newcomer(ANN, 'travel.*');
  const operator = await (await desk.newcomer(BOB, 'operator:*')).browser.console();
  await operator.answer('people.remove', { principal: ANN });

  const { at } = await enrolled(desk, await desk.invite(ANN, 'approver:*'));

  assert.deepEqual((await at.answer('me')).approves, []);
});
