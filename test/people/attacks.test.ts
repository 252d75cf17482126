/**
 * Attacks on invitations and on sign-in with passkeys: links and codes of others, replays, races, weaker proofs, other hosts,
 * planted cookies, edited rows.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { PRESENT, softwareKey } from '../../src/testing/authenticator.ts';
import { SQL_PLACES } from '../support/sql-places.ts';
import type { Reply } from '../support/world.ts';
import { ANN, BASE, BOB, browserAt, HOUR, openDesk } from './desk.ts';

const [{ open: openFile }] = SQL_PLACES as [(typeof SQL_PLACES)[number]];

const other = (code: string) => code.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10));

function challengeIn({ text = '' }: Reply): string {
  const [, challenge = ''] = /name="challenge" value="([^"]+)"/.exec(text) ?? [];
  return challenge;
}

/** What the page says to the person. */
function saidBy({ text = '' }: Reply): string {
  const [, said = ''] = /role="alert">(.*?)<\/p>/.exec(text) ?? [];
  return said.replaceAll(/<[^>]*>/g, '');
}

test('a link without its code is worth nothing: five wrong codes end it', async () => {
  const { service, invite } = await openDesk(await openFile());
  const { link, code } = await invite(ANN, 'travel.*');
  const stranger = browserAt(service);

  const replies = [];
  for (let guess = 0; guess < 5; guess++) {
    replies.push(await stranger.type({ link, code: other(code) }));
  }
  const right = await browserAt(service).type({ link, code });

  assert.deepEqual(
    [...replies, right].map(({ status }) => status),
    [401, 401, 401, 401, 401, 401],
  );
  const refused = await service.entriesBy({ entryType: 'session' });
  assert.deepEqual(
    refused.map(({ state, detail }) => [state, detail?.verb, detail?.how]),
    [['refused', 'refused', 'invitation']],
  );
});

test('no answer tells an unknown link from a known one, a wrong code or an ended invitation', async () => {
  const { service, invite } = await openDesk(await openFile());
  const { link, code } = await invite(ANN, 'travel.*');
  const used = await invite(BOB, 'travel.*');
  await browserAt(service).enrol(used, softwareKey());
  const links = [
    { link: softwareKey().credentialId, code },
    { link: 'short', code },
    { link, code: other(code) },
    { link, code: '' },
    { link, code: used.code === code ? other(code) : used.code },
    used,
  ];

  const said = [];
  for (const each of links) said.push(await browserAt(service).type(each));

  assert.deepEqual(new Set(said.map(({ status }) => status)), new Set([401]));
  assert.equal(new Set(said.map(saidBy)).size, 1);
  assert.match(saidBy(said[0] as Reply), /^Cannot go on: the link and the code do not belong/);
});

test('a used, an expired and a replaced invitation enrol nobody', async () => {
  const { service, invite } = await openDesk(await openFile());
  const first = await invite(ANN, 'travel.*');
  const opened = browserAt(service);
  const page = await opened.type(first);
  const second = await invite(ANN, 'travel.*');

  assert.equal((await opened.make(page, softwareKey())).status, 401);
  assert.equal((await browserAt(service).enrol(second, softwareKey())).status, 303);
  assert.equal((await browserAt(service).type(second)).status, 401);
  const late = await invite(BOB, 'travel.*');
  const waiting = browserAt(service);
  const latePage = await waiting.type(late);
  service.advance(24 * HOUR);

  assert.equal((await browserAt(service).type(late)).status, 401);
  assert.equal((await waiting.make(latePage, softwareKey())).status, 400, 'the challenge is old');
});

for (const { name, open } of SQL_PLACES) {
  describe(name, () => {
    test('of two browsers that know link and code, one enrols', async () => {
      const { service, replica, invite } = await openDesk(await open());
      const invitation = await invite(ANN, 'travel.*');
      const browsers = [browserAt(service), browserAt(replica)] as const;
      const pages = [await browsers[0].type(invitation), await browsers[1].type(invitation)];

      const made = await Promise.all(
        browsers.map((browser, index) => browser.make(pages[index] as Reply, softwareKey())),
      );

      assert.deepEqual(made.map(({ status }) => status).toSorted(), [303, 401]);
      assert.equal((await service.store.listPasskeys(ANN, 9)).length, 1);
      assert.equal((await service.store.identitiesOf(ANN, 9)).length, 1);
    });

    test('an answer of a passkey begins one session, at any replica', async () => {
      const { service, replica, newcomer } = await openDesk(await open());
      const { key } = await newcomer(ANN, 'travel.*');
      const browser = browserAt(service);
      const page = await browser.open('/sign-in');
      const thief = browserAt(replica);
      for (const [each, value] of browser.cookies) thief.cookies.set(each, value);
      const answer = browser.answer(page, key);

      const first = await browser.send(page, '/sign-in/passkey', answer);
      const again = await thief.send(page, '/sign-in/passkey', answer);

      assert.deepEqual([first.status, again.status], [303, 401]);
      assert.match(saidBy(again), /^Cannot sign in: this proof was used before/);
    });
  });
}

test('a challenge of one browser is worth nothing in another', async () => {
  const { service, newcomer, invite } = await openDesk(await openFile());
  const { key } = await newcomer(ANN, 'travel.*');
  const [mine, victim] = [browserAt(service), browserAt(service)];
  const ownPage = await mine.open('/sign-in');
  const page = await victim.open('/sign-in');

  const challenge = challengeIn(ownPage);
  const mixed = await victim.send(page, '/sign-in/passkey', {
    ...mine.answer(ownPage, key),
    challenge,
  });
  const invitation = await invite(BOB, 'travel.*');
  const opened = await mine.type(invitation);
  const form = await victim.type(invitation);
  const theirs = challengeIn(opened);
  const made = softwareKey().register({
    challenge: Buffer.from(theirs, 'base64url'),
    rpId: 'desk.example.com',
    origin: BASE,
  });
  const moved = await victim.send(form, '/enrol/passkey', {
    ...made,
    challenge: theirs,
    label: 'Phone',
  });

  assert.equal(mixed.status, 401);
  assert.match(saidBy(mixed), /was opened in another browser/);
  assert.equal(moved.status, 400);
  assert.match(saidBy(moved), /began in another session/);
});

test('a form of another site, and one without the proof of its page, signs nobody in', async () => {
  const { service, newcomer, invite } = await openDesk(await openFile());
  const { key } = await newcomer(ANN, 'travel.*');
  const browser = browserAt(service);
  const page = await browser.open('/sign-in');
  const answer = browser.answer(page, key);
  const invitation = await invite(BOB, 'travel.*');
  const link = await browser.open('/enrol');

  const replies = [
    await browser.send(page, '/sign-in/passkey', answer, { origin: 'https://evil.example' }),
    await browser.send(page, '/sign-in/passkey', { ...answer, csrf: 'x' }),
    await browser.send(link, '/enrol', { ...invitation, csrf: 'x' }),
    await browser.send(link, '/enrol', { ...invitation }, { origin: 'https://evil.example' }),
  ];

  assert.deepEqual(
    replies.map(({ status }) => status),
    [403, 403, 403, 403],
  );
  const { wrong = -1 } = (await service.store.findInvitation(invitation.invitation_id)) ?? {};
  assert.equal(wrong, 0);
});

test('a passkey of another host, of another page or without a verified person proves nobody', async () => {
  const { service, newcomer, invite } = await openDesk(await openFile());
  const { key } = await newcomer(ANN, 'travel.*');
  const odd = [
    { rpId: 'evil.example' },
    { rpId: 'example.com' },
    { origin: 'https://evil.example' },
    { origin: 'https://desk.example.com:8443' },
    { flags: PRESENT },
    { flags: 0 },
    { type: 'webauthn.create' },
    { client: { crossOrigin: true } },
    { client: { challenge: 'AAAA' } },
  ];

  for (const each of odd) {
    const what = JSON.stringify(each);
    assert.equal((await browserAt(service).use(key, each)).status, 401, what);
    const type = each.type && 'webauthn.get';
    const browser = browserAt(service);
    const page = await browser.type(await invite(BOB, 'travel.*'));
    const made = await browser.make(page, softwareKey(), { ...each, ...(type && { type }) });
    assert.equal(made.status, 400, what);
  }

  assert.equal((await service.store.listPasskeys(BOB, 9)).length, 0);
});

test('an unknown passkey, a wrong signature and answers of other forms sign nobody in', async () => {
  const { service, newcomer } = await openDesk(await openFile());
  const { key } = await newcomer(ANN, 'travel.*');
  const stranger = softwareKey();
  const fields: ((answer: Record<string, string>) => Record<string, string>)[] = [
    ({ credential_id: _, ...rest }) => rest,
    (answer) => ({ ...answer, credential_id: stranger.credentialId }),
    (answer) => ({ ...answer, signature: 'AAAA' }),
    (answer) => ({ ...answer, signature: 'x'.repeat(5_000) }),
    (answer) => ({ ...answer, client_data: '{}' }),
    (answer) => ({ ...answer, authenticator_data: '' }),
    (answer) => ({ ...answer, challenge: 'AAAA' }),
    (answer) => ({ ...answer, challenge: '' }),
  ];

  for (const change of fields) {
    const browser = browserAt(service);
    const page = await browser.open('/sign-in');
    const reply = await browser.send(page, '/sign-in/passkey', change(browser.answer(page, key)));
    assert.equal(reply.status, 401, change.toString());
  }
  assert.equal((await browserAt(service).use(stranger)).status, 401);
});

test('a session that somebody planted ends, and the person gets a new one', async () => {
  const { service, newcomer } = await openDesk(await openFile());
  const victim = await newcomer(ANN, 'travel.*');
  const mallory = await newcomer(BOB, 'travel.*');
  const browser = browserAt(service);
  for (const [name, value] of mallory.browser.cookies) browser.cookies.set(name, value);

  const signedIn = await browser.use(victim.key, {}, '/sign-in?again=yes');

  assert.equal(signedIn.status, 303);
  const planted = [...mallory.browser.cookies.values()];
  assert.ok([...browser.cookies.values()].every((value) => !planted.includes(value)));
  assert.equal((await mallory.browser.open('/console/')).status, 303, 'the planted one is over');
  assert.equal((await (await browser.console()).answer('me')).principal, ANN);
});

test('a passkey that signs decisions of a configured person does not sign in', async () => {
  const human = { key: 'dan-key', principal: 'human:dan', scopes: ['approver:*'] };
  const { service } = await openDesk(await openFile(), {
    settings: { identities: [human], public_url: undefined },
    baseUrl: () => 'http://127.0.0.1',
  });
  const pages = 'http://localhost';
  const dan = browserAt(service, pages);
  await dan.signIn('dan-key');
  const at = await dan.console();
  const key = softwareKey();
  const { challenge } = await at.answer('passkeys.begin');
  const asked = {
    challenge: Buffer.from(challenge, 'base64url'),
    rpId: 'localhost',
    origin: pages,
  };
  await at.answer('passkeys.add', { label: 'Phone', challenge, ...key.register(asked) });

  const reply = await browserAt(service, pages).use(key);

  assert.equal(reply.status, 401);
  assert.match(saidBy(reply), /no person signs in here with this passkey/);
});

test('an edited invitation has no right code, and one that is opened again enrols nobody', async () => {
  const place = await openFile();
  const { service, invite } = await openDesk(place);
  const widened = await invite(ANN, 'travel.*');
  await place.alter(`UPDATE invitations SET scopes = '["operator:*"]'`);

  assert.equal((await browserAt(service).type(widened)).status, 401);

  const used = await invite(BOB, 'travel.*');
  assert.equal((await browserAt(service).enrol(used, softwareKey())).status, 303);
  await place.alter(
    `UPDATE invitations SET ended_at = NULL, outcome = NULL WHERE principal = '${BOB}'`,
  );
  const again = browserAt(service);
  assert.equal((await again.make(await again.type(used), softwareKey())).status, 401);
});
