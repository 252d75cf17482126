/**
 * A passkey signs in for the identity that it was enrolled for, and for no later one of the same name: removals of people, and
 * passkeys that somebody adds beside them. An open invitation stays visible among many.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, test } from 'vitest';
import type { InvitedPerson } from '../../src/protocol/console/people.ts';
import { softwareKey } from '../../src/testing/authenticator.ts';
import type { ConsolePerson } from '../console/person.ts';
import { SQL_PLACES } from '../support/sql-places.ts';
import { ANN, BASE, BOB, browserAt, CAROL, HOUR, openDesk, type PeopleDesk } from './desk.ts';

const [{ open: openFile }] = SQL_PLACES as [(typeof SQL_PLACES)[number]];

const OPERATOR = { key: 'operator-key', principal: 'human:olga', subjects: ['human:*'] };
const settings = {
  identities: [
    { key: 'agent-key', principal: 'agent:payer', scopes: ['travel.*'], subjects: ['agent:*'] },
    { ...OPERATOR, scopes: ['operator:*', 'travel.*'] },
  ],
};

const COLUMNS = `invitation_id, secret_hash, code_hash, principal, identity_id, scopes, subjects, caller_class,
      caller_classes, invited_by, created_at, expires_at, mac, wrong, ended_at, outcome`;

const given = ({ link, ...rest }: InvitedPerson) => ({ ...rest, link: link.split('#')[1] ?? '' });

/** Adds a passkey in a session, as the page does. */
async function addedAt(at: ConsolePerson, origin = BASE) {
  const key = softwareKey();
  const { challenge, rp_id: rpId } = await at.answer('passkeys.begin');
  const asked = { challenge: Buffer.from(challenge, 'base64url'), rpId, origin };
  const made = { label: 'Second', challenge, ...key.register(asked) };
  return { key, reply: await at.reply('passkeys.add', made) };
}

async function operatorAt(desk: PeopleDesk): Promise<ConsolePerson> {
  return (await desk.newcomer(CAROL, 'operator:*', 'travel.*')).browser.console();
}

for (const { name, open } of SQL_PLACES) {
  describe(name, () => {
    test('a passkey that is added beside the removal of its person signs in for nobody', async () => {
      const desk = await openDesk(await open());
      const operator = await operatorAt(desk);
      const ann = await desk.newcomer(ANN, 'travel.*');
      const at = await ann.browser.console();
      const keys = [ann.key];
      let isOver = false;
      const adding = async () => {
        while (!isOver) {
          const added = await addedAt(at).catch(() => undefined);
          if (added?.reply.status !== 200) return;
          keys.push(added.key);
        }
      };
      const running = [adding(), adding()];

      const { removed } = await operator.answer('people.remove', { principal: ANN });
      isOver = true;
      await Promise.all(running);
      await browserAt(desk.service).enrol(await desk.invite(ANN, 'approver:*'), softwareKey());
      desk.service.advance(25 * HOUR);

      assert.equal(removed, true);
      for (const key of keys) assert.equal((await browserAt(desk.service).use(key)).status, 401);
    });

    test('an identity that is a person is removed as a person alone', async () => {
      const desk = await openDesk(await open(), { settings });
      const { key } = await desk.newcomer(BOB, 'approver:*');
      const [kept] = await desk.service.store.identitiesOf(BOB, 9);
      const body = { identity_id: kept?.identity_id };

      const refused = await desk.service.ask('POST', '/svc/operator/identities/remove', {
        bearer: OPERATOR.key,
        body,
      });

      assert.equal(refused.status, 400);
      assert.match(refused.body.failure.detail, /is the person human:bob.*"writ people remove"/);
      assert.equal((await browserAt(desk.service).use(key)).status, 303);
    });

    test('removal of somebody only invited ends the invitation', async () => {
      const desk = await openDesk(await open());
      const operator = await operatorAt(desk);
      const invited = await operator.answer('people.invite', { principal: ANN });

      assert.equal((await operator.answer('people.remove', { principal: ANN })).removed, true);

      assert.equal((await browserAt(desk.service).type(given(invited))).status, 401);
      assert.equal((await operator.answer('people.remove', { principal: ANN })).removed, false);
    });

    test('an enrolment that crosses the next invitation makes one identity', async () => {
      const desk = await openDesk(await open());
      const operator = await operatorAt(desk);

      for (let round = 0; round < 8; round++) {
        const principal = `human:r${round}@example.com`;
        const first = await operator.answer('people.invite', { principal, scopes: ['travel.*'] });
        const browser = browserAt(desk.service);
        const page = await browser.type(given(first));
        const [, next] = await Promise.all([
          browser.make(page, softwareKey()),
          operator.reply('people.invite', { principal, scopes: ['operator:*'] }),
        ]);
        if (next.status === 200) {
          const other = browserAt(desk.service);
          const typed = await other.type(given(next.body));
          if (typed.status === 200) await other.make(typed, softwareKey());
        }
        const kept = await desk.service.store.identitiesOf(principal, 9);
        assert.equal(kept.length, 1, 'one invitation was used');
      }
    });
  });
}

test('passkeys of an identity that ended sign in for no later one, and end with its person', async () => {
  const place = await openFile();
  const desk = await openDesk(place);
  const operator = await operatorAt(desk);
  const { key } = await desk.newcomer(ANN, 'travel.*');
  await place.alter(
    `UPDATE identities SET removed_at = created_at, removed_by = 'x' WHERE principal = '${ANN}'`,
  );
  const invitation = await desk.invite(ANN, 'travel.*');
  const back = softwareKey();
  assert.equal((await browserAt(desk.service).enrol(invitation, back)).status, 303);

  assert.equal((await browserAt(desk.service).use(key)).status, 401);
  assert.equal((await browserAt(desk.service).use(back)).status, 303);
  await place.alter(
    `UPDATE identities SET removed_at = created_at, removed_by = 'x' WHERE principal = '${ANN}'`,
  );
  assert.equal((await operator.answer('people.remove', { principal: ANN })).removed, true);
  assert.deepEqual((await operator.answer('people.devices', { principal: ANN })).devices, []);
});

test('a passkey of a session with a key does not sign in once its name is a person', async () => {
  const pages = 'http://localhost';
  const desk = await openDesk(await openFile(), {
    settings: { ...settings, public_url: undefined },
    baseUrl: () => 'http://127.0.0.1',
  });
  const planter = `wk_${randomBytes(32).toString('base64url')}`;
  const added = await desk.service.ask('POST', '/svc/operator/identities', {
    bearer: OPERATOR.key,
    body: { principal: BOB, key_sha256: createHash('sha256').update(planter).digest('hex') },
  });
  assert.equal(added.status, 200, added.text);
  const thief = browserAt(desk.service, pages);
  assert.equal((await thief.signIn(planter)).status, 303);
  const { key, reply } = await addedAt(await thief.console(), pages);
  assert.equal(reply.status, 200, reply.text);

  const bob = softwareKey();
  const invitation = await desk.invite(BOB, 'approver:*');
  assert.equal((await browserAt(desk.service, pages).enrol(invitation, bob)).status, 303);

  assert.equal((await browserAt(desk.service, pages).use(key)).status, 401);
  assert.equal((await browserAt(desk.service, pages).use(bob)).status, 303);
});

test('a replaced invitation leaves no row', async () => {
  const place = await openFile();
  const desk = await openDesk(place);
  await desk.invite(ANN);

  await desk.invite(ANN);

  assert.equal(await place.count('invitations'), 1);
});

test('a thousand invitations that ended hide no open one', async () => {
  const place = await openFile();
  const desk = await openDesk(place);
  const bob = await (await desk.newcomer(BOB, 'approver:*')).browser.console();
  const operator = await operatorAt(desk);
  await operator.answer('people.invite', { principal: ANN });
  await place.alter(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
    INSERT INTO invitations (${COLUMNS}) SELECT invitation_id || i, secret_hash || i, code_hash, 'human:x' || i, identity_id,
      scopes, subjects, caller_class, caller_classes, invited_by, created_at, expires_at - i, mac, 0, created_at,
      'cancelled' FROM invitations, n WHERE principal = '${ANN}'`);

  const invitation = await desk.invite(BOB);

  const told = (await bob.answer('pulse')).recoveries.map(({ invitation_id }) => invitation_id);
  assert.deepEqual(told, [invitation.invitation_id]);
  const { invitations } = await operator.answer('people.list');
  assert.deepEqual(invitations.map(({ principal }) => principal).toSorted(), [ANN, BOB]);
});

test('the service refuses an invitation beside a thousand open ones, and takes one that replaces', async () => {
  const place = await openFile();
  const desk = await openDesk(place);
  const operator = await operatorAt(desk);
  await operator.answer('people.invite', { principal: ANN });
  await place.alter(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
    INSERT INTO invitations (${COLUMNS}) SELECT invitation_id || i, secret_hash || i, code_hash, 'human:x' || i, identity_id,
      scopes, subjects, caller_class, caller_classes, invited_by, created_at, expires_at, mac, 0, NULL, NULL FROM invitations, n WHERE principal = '${ANN}' AND i < 1000`);

  const refused = await operator.reply('people.invite', { principal: 'human:new' });

  assert.equal(refused.status, 403);
  assert.match(refused.body.failure.detail, /1000 invitations are open; cancel one first/);
  assert.equal((await operator.reply('people.invite', { principal: ANN })).status, 200);
});
