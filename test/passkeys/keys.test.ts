/**
 * A person's passkeys, over HTTP: the first, further ones, replacements, and their entries.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { softwareKey } from '../../src/testing/authenticator.ts';
import { type Approver, BOB, CAROL, openDesk, RP } from './desk.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

function waitMs({ created_at, usable_from }: { created_at: string; usable_from: string }): number {
  return Date.parse(usable_from) - Date.parse(created_at);
}

test('the first passkey counts at once from a fresh session, and later from an older one', async () => {
  const desk = await openDesk();
  desk.holdClock(true);
  const [bob, carol] = [await desk.at(BOB), await desk.at(CAROL)];

  desk.advance(15 * MINUTE);
  const { counts } = await bob.answer('passkeys.begin');
  const fresh = await bob.enrol();
  desk.advance(1);
  const { counts: countsLater } = await carol.answer('passkeys.begin');
  const late = await carol.enrol();

  assert.deepEqual([counts, countsLater], ['at_once', 'later']);
  assert.deepEqual([waitMs(fresh.passkey), waitMs(late.passkey)], [0, DAY]);
});

test('a further passkey counts at once when one that counts confirms it, and else a day later', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const first = await bob.enrol();

  const confirmed = await bob.enrol('EdDSA', first.key);
  const alone = await bob.enrol('RS256');

  assert.deepEqual([waitMs(confirmed.passkey), waitMs(alone.passkey)], [0, DAY]);
  const { passkeys } = await bob.answer('passkeys.list');
  const used = passkeys.filter(({ last_used_at }) => last_used_at !== null);
  assert.deepEqual(
    [passkeys.length, used.map(({ credential_id }) => credential_id)],
    [3, [first.passkey.credential_id]],
  );
});

test('a person who removed every passkey waits for the next one', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  const { passkey } = await bob.enrol();

  await bob.answer('passkeys.remove', { credential_id: passkey.credential_id });
  const { counts } = await bob.answer('passkeys.begin');
  const next = await bob.enrol();

  assert.equal(counts, 'later');
  assert.equal(waitMs(next.passkey), DAY);
});

test('a confirmation by a passkey that waits, of another person, or for another challenge is refused', async () => {
  const desk = await openDesk();
  const [bob, carol] = [await desk.at(BOB), await desk.at(CAROL)];
  await bob.enrol();
  const waiting = await bob.enrol();
  const others = await carol.enrol();

  for (const by of [waiting.key, others.key]) {
    const reply = await add(bob, (asked) => ({ confirmed_by: by.assert(asked) }));
    assert.match(reply.body.failure?.detail, /does not count/, reply.text);
  }
});

test('passkeys.add refuses a challenge of another session, an old one, another page and a known key', async () => {
  const desk = await openDesk();
  desk.holdClock(true);
  const [bob, carol] = [await desk.at(BOB), await desk.at(CAROL)];
  const { challenge: ofCarol } = await carol.answer('passkeys.begin');
  const { key } = await carol.enrol();

  const another = await add(bob, () => ({ challenge: ofCarol }));
  const page = await add(bob, () => ({}), { origin: 'http://evil.example' });
  const known = await add(bob, (asked) => key.register(asked));
  const old = await add(bob, () => {
    desk.advance(10 * MINUTE + 1);
    return {};
  });

  assert.match(another.body.failure?.detail, /another session/);
  assert.match(page.body.failure?.detail, /another origin/);
  assert.match(known.body.failure?.detail, /known already/);
  assert.match(old.body.failure?.detail, /took too long/);
  assert.deepEqual((await bob.answer('passkeys.list')).passkeys, []);
});

test('a person has at most twenty passkeys', async () => {
  const desk = await openDesk();
  const bob = await desk.at(BOB);
  for (let count = 0; count < 20; count++) await bob.enrol();

  const { body } = await bob.reply('passkeys.begin');

  assert.match(body.failure?.detail, /you have 20/);
});

test('a person removes only their own, once, and each change is an entry', async () => {
  const desk = await openDesk();
  const [bob, carol] = [await desk.at(BOB), await desk.at(CAROL)];
  const { passkey, key } = await bob.enrol();
  const { credential_id } = passkey;

  const { removed: byCarol } = await carol.answer('passkeys.remove', { credential_id });
  const { removed } = await bob.answer('passkeys.remove', { credential_id });
  const { removed: again } = await bob.answer('passkeys.remove', { credential_id });

  assert.deepEqual([byCarol, removed, again], [false, true, false]);
  const entries = await desk.entriesBy({ entryType: 'session' });
  const ofPasskeys = entries.filter(({ detail }) => detail?.credential_id === credential_id);
  assert.deepEqual(
    ofPasskeys.map(({ root_principal, detail }) => [root_principal, detail?.verb]),
    [
      ['human:bob', 'passkey_added'],
      ['human:bob', 'passkey_removed'],
    ],
  );
  assert.deepEqual(ofPasskeys[0]?.detail?.public_key, key.jwk);
});

/** Begins, makes a key, and adds it with the changes. */
async function add(
  at: Approver,
  change: (asked: Parameters<ReturnType<typeof softwareKey>['register']>[0]) => object,
  page: object = {},
) {
  const { challenge } = await at.answer('passkeys.begin');
  const asked = { ...RP, challenge: Buffer.from(challenge, 'base64url'), ...page };
  const made = softwareKey().register(asked);
  return at.reply('passkeys.add', { label: 'x', challenge, ...made, ...change(asked) });
}
