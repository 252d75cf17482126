/**
 * Attacks on accounts: by other people and sites, by other services, and by an edit of the database.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { system } from '../../src/platform.ts';
import { createService } from '../../src/service/author/definition.ts';
import { serviceStore } from '../../src/service/rows/service-store.ts';
import { cookieLine, get, post } from '../sign-in/attacker.ts';
import type { Person } from '../sign-in/browser.ts';
import { SQL_PLACES } from '../support/sql-places.ts';
import type { Reply } from '../support/world.ts';
import {
  accountEntries,
  BOB,
  back,
  begun,
  connect,
  type Desk,
  leadingTo,
  openDesk,
  signedIn,
  tokenOf,
  use,
} from './desk.ts';
import { openOtherService } from './other-service.ts';

const desk = await openDesk();

async function assertRefused(reply: Reply, of: Desk = desk): Promise<void> {
  assert.ok(reply.status >= 400, `${reply.status} ${reply.headers.location}`);
  assert.deepEqual(await accountEntries(of), []);
}

/** A person on the way back from the other service. */
async function returning(name = 'tracker', key?: string): Promise<{ person: Person; to: URL }> {
  const person = await signedIn(desk, key);
  return { person, to: desk.other.agree(await begun(person, name)) };
}

describe('the callback', () => {
  test('refuses the session of another person, even with the cookie of the login', async () => {
    const { person, to } = await returning();
    const bob = await signedIn(desk, BOB);
    const [login] = [...person.cookies].filter(([name]) => name.includes('account'));

    await assertRefused(await back(bob, to));
    bob.cookies.set(...(login as [string, string]));
    await assertRefused(await back(bob, to));
  });

  test('refuses another session of the same person', async () => {
    const { person, to } = await returning();
    const again = await signedIn(desk);
    for (const [name, value] of person.cookies) {
      if (name.includes('account')) again.cookies.set(name, value);
    }

    await assertRefused(await back(again, to));
  });

  test('refuses the state of another account', async () => {
    const { person, to } = await returning('second');
    to.pathname = '/accounts/tracker/callback';

    await assertRefused(await back(person, to));
  });

  test('refuses an answer without its login, state or code, and one that has them twice', async () => {
    for (const change of [
      (to: URL) => to.searchParams.set('state', 'other'),
      (to: URL) => to.searchParams.delete('state'),
      (to: URL) => to.searchParams.append('state', to.searchParams.get('state') ?? ''),
      (to: URL) => to.searchParams.delete('code'),
      (to: URL) => to.searchParams.append('code', 'x'),
    ]) {
      const { person, to } = await returning();
      change(to);
      await assertRefused(await back(person, to));
    }
    const { person, to } = await returning();
    for (const name of [...person.cookies.keys()]) {
      if (name.includes('account')) person.cookies.delete(name);
    }
    await assertRefused(await back(person, to));
  });

  test('refuses a code of another login: its verifier does not fit', async () => {
    const [ann, bob] = [await returning(), await returning('tracker', BOB)];
    bob.to.searchParams.set('code', ann.to.searchParams.get('code') ?? '');

    const reply = await back(bob.person, bob.to);

    assert.match(reply.text ?? '', /refused the code/);
    await assertRefused(reply);
  });

  test('refuses a login that took longer than ten minutes', async () => {
    const own = await openDesk();
    const person = await signedIn(own);
    const to = own.other.agree(await begun(person));
    own.service.advance(601_000);

    await assertRefused(await back(person, to), own);
  });

  test('takes a state once, even with the cookie again and where the exchange failed', async () => {
    const own = await openDesk();
    const person = await signedIn(own);
    const to = own.other.agree(await begun(person));
    const cookie = cookieLine(person);
    const path = `${to.pathname}${to.search}`;
    own.other.behave = (response) => void response.writeHead(500).end();

    assert.equal((await back(person, to)).status, 503);
    own.other.behave = undefined;
    const asked = own.other.asked.length;
    await assertRefused(await get(own.service, path, { cookie }), own);
    assert.equal(own.other.asked.length, asked);
  });

  test('refuses a login that another one has overtaken, by the store', async () => {
    const own = await openDesk();
    const [first, second] = [await signedIn(own), await signedIn(own)];
    const to = own.other.agree(await begun(first));
    await connect(own, second);
    const asked = own.other.asked.length;

    assert.equal((await back(first, to)).status, 400);
    assert.equal(own.other.asked.length, asked);
    assert.equal((await accountEntries(own)).length, 1);
  });

  test('refuses an answer of another issuer, or of none, where one is declared', async () => {
    const issuer = 'https://tracker.example.com';
    const own = await openDesk({ other: await openOtherService({ issuer }) });
    for (const iss of [undefined, 'https://evil.example', issuer]) {
      const person = await signedIn(own);
      const to = own.other.agree(await begun(person));
      if (iss !== undefined) to.searchParams.set('iss', iss);
      const reply = await back(person, to);
      if (iss === issuer) assert.equal(reply.status, 303);
      else await assertRefused(reply, own);
    }
  });

  test('without a session leads to sign in, and passes nothing of the answer on', async () => {
    const { person, to } = await returning();
    person.cookies.clear();

    const { status, headers } = await back(person, to);

    assert.deepEqual([status, headers.location], [303, '/sign-in?return_to=%2Faccounts']);
  });
});

describe('connecting', () => {
  test('needs the form of our page: neither a GET nor a form of another site begins a login', async () => {
    const person = await signedIn(desk);
    const cookie = cookieLine(person);
    const path = '/accounts/tracker/connect';

    assert.equal((await get(desk.service, path, { cookie })).status, 405);
    for (const headers of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'http://localhost' },
    ]) {
      const { status, headers: answered } = await post(
        desk.service,
        path,
        {},
        { cookie, ...headers },
      );
      assert.deepEqual([status, answered.location], [403, undefined]);
    }
    const ended = await post(desk.service, '/accounts/tracker/disconnect', {}, { cookie });
    assert.equal(ended.status, 403);
  });

  test('leads nowhere but to the declared address, whatever the request says', async () => {
    const person = await signedIn(desk);
    const page = await person.open('/accounts/tracker');
    const evil = { redirect_uri: 'https://evil.example', return_to: '//evil.example' };

    const reply = await person.send(page, '/accounts/tracker/connect', evil);

    assert.ok(leadingTo(reply).startsWith(`${desk.other.url}/authorize?`));
    assert.ok(!leadingTo(reply).includes('evil') && !reply.text?.includes('evil'));
    for (const name of ['none', 'tracker%2fx', '__proto__']) {
      const { status } = await person.open(`/accounts/${name}`);
      assert.ok(status === 404 || status === 400, `${name}: ${status}`);
    }
  });

  test('a person who connects again and again has one row', async () => {
    const own = await openDesk();
    const person = await signedIn(own);
    for (let times = 0; times < 5; times++) await connect(own, person);

    assert.equal((await own.service.store.listConnected(10)).length, 1);
  });
});

/** What a token endpoint may do instead of an answer. */
const HOSTILE: Readonly<Record<string, (other: Desk['other']) => void>> = {
  redirects: (other) => {
    other.behave = (response) =>
      void response.writeHead(307, { location: `${other.url}/token` }).end();
  },
  'answers 50 MB': (other) => {
    other.behave = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.on('error', () => undefined);
      response.end(Buffer.alloc(50 * 1024 * 1024, 0x20));
    };
  },
  'answers no JSON': (other) => {
    other.behave = (response) => void response.writeHead(200).end('<html>');
  },
  'ends the connection': (other) => {
    other.behave = (response) => void response.destroy();
  },
  'gives no Bearer token': (other) => {
    other.extra = { token_type: 'mac' };
  },
  'gives no type': (other) => {
    other.extra = { token_type: undefined };
  },
  'gives an access token with a line break': (other) => {
    other.extra = { access_token: 'abcdefghij\r\nX-Evil: 1' };
  },
  'gives an empty access token': (other) => {
    other.extra = { access_token: '' };
  },
  'gives a refresh token that is an object': (other) => {
    other.extra = { refresh_token: {} };
  },
  'gives a negative life': (other) => {
    other.extra = { expires_in: -5 };
  },
  'gives a life in words': (other) => {
    other.extra = { expires_in: 'soon' };
  },
};

describe('a token endpoint that', () => {
  for (const [what, behave] of Object.entries(HOSTILE)) {
    test(`${what} connects nothing`, async () => {
      const own = await openDesk();
      const person = await signedIn(own);
      const to = own.other.agree(await begun(person));
      behave(own.other);

      const reply = await back(person, to);

      assert.equal(reply.status, 503);
      await assertRefused(reply, own);
    });
  }

  test('hangs connects nothing, and is waited for within a bound', async () => {
    // Waits that are longer than a second pass at once.
    const after: typeof system.after = (ms, run) => system.after(ms > 1_000 ? 100 : ms, run);
    const own = await openDesk({ platform: { ...system, after } });
    const person = await signedIn(own);
    const to = own.other.agree(await begun(person));
    own.other.behave = () => undefined;

    const reply = await back(person, to);

    assert.equal(reply.status, 503);
    await assertRefused(reply, own);
  });

  test('gives a huge life is asked again after a year at the latest', async () => {
    const own = await openDesk();
    own.other.extra = { expires_in: 9_007_199_254_740_991 };
    await connect(own, await signedIn(own));

    const [row] = await own.service.store.listConnected(1);

    const lifeMs = (row?.expires_at?.getTime() ?? 0) - (row?.connected_at.getTime() ?? 0);
    assert.equal(lifeMs, 31_536_000_000);
  });
});

for (const { name, open } of SQL_PLACES) {
  describe(`a row in ${name}`, () => {
    test('that was moved to another person, or edited, counts as absent, and a new login replaces it', async () => {
      const place = await open();
      const own = await openDesk({ store: place.url });
      const [ann, bob] = [await tokenOf(own), await tokenOf(own, BOB)];
      await connect(own, await signedIn(own));
      for (const edit of [
        "UPDATE connected_accounts SET principal = 'human:bob@example.com'",
        "UPDATE connected_accounts SET principal = 'human:ann@example.com', account = 'second'",
        "UPDATE connected_accounts SET account = 'tracker', expires_at = NULL",
      ]) {
        await place.alter(edit);
        for (const token of [ann, bob]) {
          assert.equal((await use(own, token)).body.failure?.type, 'account_required', edit);
        }
      }
      assert.ok(own.service.log.some((line) => line.includes('row_altered')));

      await connect(own, await signedIn(own));

      assert.equal((await use(own, ann)).status, 200);
      assert.equal(await place.count('connected_accounts'), 1);
    });

    test('is renewed by one of two replicas, and the other reads it again', async () => {
      const place = await open();
      const other = await openOtherService();
      const one = await openDesk({ store: place.url, other });
      const { keys } = one.service.runtime.config;
      const two = await openDesk({ store: place.url, other, settings: { keys } });
      const token = await tokenOf(one);
      await connect(one, await signedIn(one));
      for (const { service } of [one, two]) service.advance(700_000);

      const answers = await Promise.all([one, two, one, two].map((each) => use(each, token)));

      for (const { body } of answers) assert.deepEqual(body.result, { isValid: true });
      const renewals = other.asked.filter((form) => form.get('grant_type') === 'refresh_token');
      assert.equal(renewals.length, 1);
    });
  });
}

test('tokens of one client are not sent to another that has taken its name in the definition', async () => {
  const place = await (SQL_PLACES[0] as (typeof SQL_PLACES)[number]).open();
  const one = await openDesk({ store: place.url });
  const token = await tokenOf(one);
  await connect(one, await signedIn(one));
  const { keys } = one.service.runtime.config;
  const other = await openOtherService();
  const two = await openDesk({ store: place.url, other, settings: { keys } });

  const { body } = await use(two, token);

  assert.equal(body.failure.type, 'account_required');
  assert.equal(other.asked.length, 0);
});

test('a row of a log that an operator ended counts as absent, though its MAC matches', async () => {
  const own = await openDesk();
  await connect(own, await signedIn(own));
  const { store, rows } = own.service;
  const [row] = await store.listConnected(1);
  const raised: string[] = [];
  const alarms = { raise: (alarm: string) => void raised.push(alarm), watch: () => undefined };
  const under = (current: string, older: string[]) =>
    serviceStore(store, {
      rows,
      alarms,
      logs: { current: () => current, older: () => older, look: async () => undefined },
    });
  const place = { principal: 'human:ann@example.com', account: 'tracker' };

  assert.deepEqual(await under('', []).findConnected(place), row);
  assert.equal(await under('the next log', ['']).findConnected(place), undefined);
  assert.deepEqual(raised, []);
});

test('createService() refuses an account that would send secrets in the clear, and shows none', () => {
  const sound = desk.other.account;
  const faulty: [string, object][] = [
    ['authorize', { authorize: 'http://tracker.example.com/authorize' }],
    ['token', { token: 'http://127.0.0.1:1/token', inside: false }],
    ['token', { token: 'https://user:pass@tracker.example.com/token' }],
    ['revoke', { revoke: 'javascript:alert(1)' }],
    ['client_id', { client_id: '' }],
    ['client_secret', { client_secret: '' }],
    ['client_authentication', { client_authentication: 'jwt' }],
    ['scopes', { scopes: ['a b'] }],
    ['scopes', { scopes: 'a' }],
    ['resource', { resource: 'no address' }],
    ['title', { title: '' }],
    ['inside', { inside: 'yes' }],
  ];
  for (const [field, change] of faulty) {
    const accounts = { tracker: { ...sound, ...change } as typeof sound };
    assert.throws(
      () => createService({ id: 'desk', capabilities: [], accounts }),
      (error: Error) => {
        assert.match(error.message, new RegExp(`accounts\\.tracker\\.${field} is refused`));
        assert.ok(!error.message.includes('pass@') && !error.message.includes(desk.other.canary));
        return true;
      },
    );
  }
  const named = () => createService({ id: 'desk', capabilities: [], accounts: { '../x': sound } });
  assert.throws(named, /expected a name|a name in small letters/);
});
