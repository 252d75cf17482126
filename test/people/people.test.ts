/**
 * People without an identity provider: invitation, enrolment, sign-in with a passkey, several devices, recovery, removal.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { softwareKey } from '../../src/testing/authenticator.ts';
import { SQL_PLACES } from '../support/sql-places.ts';
import { ANN, BASE, BOB, browserAt, HOUR, openDesk } from './desk.ts';

const [{ open: openFile }] = SQL_PLACES as [(typeof SQL_PLACES)[number]];
const OPERATES = ['operator:*', 'travel.*'];

for (const { name, open } of SQL_PLACES) {
  describe(name, () => {
    test('an invited person enrols, and signs in with the passkey at every replica', async () => {
      const { service, replica, invite } = await openDesk(await open());
      const browser = browserAt(service);
      const invitation = await invite(ANN, 'travel.*');
      const key = softwareKey();

      const page = await browser.type(invitation);
      assert.match(page.text ?? '', /ann@example\.com[\s\S]*travel\.\*/);
      const made = await browser.make(page, key);

      assert.deepEqual([made.status, made.headers.location], [303, '/console/']);
      const { principal, passkeys } = await (await browser.console()).answer('me');
      assert.deepEqual([principal, passkeys.map(({ label }) => label)], [ANN, ['Phone']]);
      const elsewhere = browserAt(replica);
      const signedIn = await elsewhere.use(key, {}, '/sign-in?return_to=%2Fconsole%2Fagents');
      assert.deepEqual([signedIn.status, signedIn.headers.location], [303, '/console/agents']);
      assert.equal((await (await elsewhere.console()).answer('me')).principal, ANN);
      const { findings } = await checkStore(service.store);
      assert.deepEqual(findings, []);
    });

    test('a removed person and a removed device are signed out at once', async () => {
      const { service, newcomer } = await openDesk(await open());
      const ann = await newcomer(ANN, ...OPERATES);
      const bob = await newcomer(BOB, 'travel.*');
      const operator = await ann.browser.console();
      const { devices } = await operator.answer('people.devices', { principal: BOB });
      const [{ credential_id = '' } = {}] = devices;

      const removed = await operator.answer('people.remove_device', {
        principal: BOB,
        credential_id,
      });

      assert.equal(removed.removed, true);
      assert.equal((await bob.browser.open('/console/')).status, 303);
      assert.equal((await bob.browser.use(bob.key)).status, 401);
      assert.equal((await operator.answer('people.remove', { principal: BOB })).removed, true);
      assert.deepEqual(
        (await operator.answer('people.list')).people.map(({ principal }) => principal),
        [ANN],
      );
      const { findings } = await checkStore(service.store);
      assert.deepEqual(findings, []);
    });
  });
}

test('opening a link changes nothing, however often', async () => {
  const { service, invite } = await openDesk(await openFile());
  const { link, invitation_id } = await invite(ANN, 'travel.*');
  const { size } = await service.store.sequence();
  const before = await service.store.findInvitation(invitation_id);

  for (const path of ['/enrol', `/enrol?link=${link}`]) {
    const page = await browserAt(service).open(path);
    assert.equal(page.status, 200);
    assert.equal((page.text ?? '').includes(link), false);
  }

  assert.deepEqual(await service.store.findInvitation(invitation_id), before);
  assert.equal((await service.store.sequence()).size, size);
});

test('the console invites without the right to approve, and no person who has it', async () => {
  const { newcomer, service } = await openDesk(await openFile());
  const operator = await (await newcomer(ANN, ...OPERATES)).browser.console();
  await newcomer(BOB, 'approver:*');
  const invite = (principal: string, ...scopes: string[]) =>
    operator.reply('people.invite', { principal, scopes });

  const replies = [
    await invite('human:dan@example.com', 'approver:pay'),
    await invite('human:dan@example.com', 'other.scope'),
    await invite('service:other'),
    await invite(BOB),
    await invite('agent:dan'),
    await invite(ANN, 'travel.*'),
  ];

  assert.deepEqual(
    replies.map(({ status, body }) => [status, body.failure.detail.split(': ', 2)[1]]),
    [
      [
        403,
        'scope "approver:pay" is given by the configuration or by the command at the store only',
      ],
      [403, `scope "other.scope" is more than ${ANN} is entitled to`],
      [400, '"service:other" is not a person'],
      [403, `${BOB} may approve; only the command at the store invites such a person`],
      [400, '"agent:dan" is not a person'],
      [400, `${ANN} is a person here and keeps what ${ANN} has; name no scope, subject or class`],
    ],
  );
  assert.equal((await invite('human:dan@example.com', 'travel.pay')).status, 200);
  const again = await operator.answer('people.invite', { principal: ANN });
  assert.match(again.link, new RegExp(`^${BASE}/enrol#[\\w-]{43}$`));
  assert.match(again.code, /^\d{6}$/);
  const back = softwareKey();
  const [, link = ''] = again.link.split('#');
  const { status } = await browserAt(service).enrol({ ...again, link }, back);
  assert.equal(status, 303);
});

test('a person adds a second device, and signs in with it once the first confirmed it', async () => {
  const { service, newcomer } = await openDesk(await openFile());
  const { key, browser } = await newcomer(ANN, 'travel.*');
  const at = await browser.console();
  const second = async (isConfirmed: boolean) => {
    const made = softwareKey();
    const options = await at.answer('passkeys.begin');
    const challenge = Buffer.from(options.challenge, 'base64url');
    const asked = { challenge, rpId: options.rp_id, origin: BASE };
    const confirmed_by = isConfirmed ? key.assert(asked) : undefined;
    const label = 'Laptop';
    await at.answer('passkeys.add', {
      ...{ label, challenge: options.challenge, ...made.register(asked) },
      ...(confirmed_by && { confirmed_by }),
    });
    return made;
  };
  const [confirmed, waiting] = [await second(true), await second(false)];

  assert.equal((await browserAt(service).use(confirmed)).status, 303);
  assert.equal((await browserAt(service).use(waiting)).status, 401);
  service.advance(24 * HOUR);
  assert.equal((await browserAt(service).use(waiting)).status, 303);
});

test('sign-in, enrolment, invitation and removal are entries', async () => {
  const { service, newcomer } = await openDesk(await openFile());
  const { browser, key } = await newcomer(ANN, ...OPERATES);
  await browserAt(service).use(key);
  const at = await browser.console();
  await at.answer('people.remove', { principal: ANN });

  const entries = [
    ...(await service.entriesBy({ entryType: 'operator' })),
    ...(await service.entriesBy({ entryType: 'session' })),
  ];
  const verbs = entries.map(({ detail }) => [detail?.verb, detail?.how].filter(Boolean).join(' '));

  assert.deepEqual(verbs.toSorted(), [
    'identity_added',
    'identity_removed',
    'passkey_added',
    'passkey_removed',
    'person_invited',
    'sign_in passkey',
    'sign_in passkey',
  ]);
  const invited = entries.find(({ detail }) => detail?.verb === 'person_invited');
  assert.equal(invited?.root_principal, ANN);
});

test('keys of the store and the configuration do not sign in on an address that others reach', async () => {
  const { service } = await openDesk(await openFile(), {
    settings: { identities: [{ key: 'ann-key', principal: ANN, scopes: ['travel.*'] }] },
  });
  const person = browserAt(service);

  const page = await person.open('/sign-in');
  const text = (page.text ?? '').replaceAll('/sign-in/passkey', '/sign-in');

  assert.equal((page.text ?? '').includes('name="key"'), false);
  assert.match(page.text ?? '', /Use a passkey/);
  assert.equal((await person.send({ ...page, text }, '/sign-in', { key: 'ann-key' })).status, 401);
});
