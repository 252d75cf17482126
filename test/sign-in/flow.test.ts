import assert from 'node:assert/strict';
import { test } from 'vitest';
import { checkStore } from '../../src/storage/fsck/fsck.ts';
import { ALICE, onEachStore, testService } from '../support/world.ts';
import {
  asking,
  askToken,
  BASE,
  CLIENT,
  consent,
  delegation,
  locationOf,
  personAt,
  REDIRECT,
} from './browser.ts';

const READS = { chosen: ['search_flights', 'get_booking'] };
const SPENDS = { chosen: ['search_flights', 'buy_lounge_pass'], limit: '60' };
const SEARCH = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };

onEachStore(
  ({ url }) => testService({ store: url }),
  (service) => {
    test('a client gets a token that does what the person ticked, and nothing else', async () => {
      const { access } = await delegation(service(), READS);

      assert.equal((await service().invoke(access, 'search_flights', SEARCH)).status, 200);
      // The same scope admits it; the person did not tick it.
      const other = await service().invoke(access, 'find_traveler', { traveler: 'bo' });
      assert.equal(other.body.failure.type, 'purpose_mismatch');
      const paid = await service().invoke(access, 'buy_lounge_pass');
      assert.equal(paid.body.failure.type, 'scope_insufficient');
    });

    test('a refresh continues the budget of the consent', async () => {
      const first = await delegation(service(), SPENDS);
      assert.equal((await service().invoke(first.access, 'buy_lounge_pass')).status, 200);
      const { body } = await askToken(service(), {
        grant_type: 'refresh_token',
        refresh_token: first.refresh,
      });
      assert.equal((await service().invoke(body.access_token, 'buy_lounge_pass')).status, 200);

      const third = await service().invoke(body.access_token, 'buy_lounge_pass');
      assert.equal(third.body.failure.type, 'budget_exceeded');
    });

    test('a refresh token that was used before ends the delegation for both holders', async () => {
      const { refresh, access } = await delegation(service(), READS);
      const renew = (token: string) =>
        askToken(service(), { grant_type: 'refresh_token', refresh_token: token });
      const next = await renew(refresh);
      service().advance(31_000);

      assert.equal((await renew(refresh)).body.error, 'invalid_grant');
      assert.equal((await renew(next.body.refresh_token)).body.error, 'invalid_grant');
      for (const token of [access, next.body.access_token]) {
        assert.equal((await service().invoke(token, 'search_flights', SEARCH)).status, 401);
      }
    });

    test('processes of one client that refresh at once all go on', async () => {
      const { refresh } = await delegation(service(), READS);
      const renew = (token: string) =>
        askToken(service(), { grant_type: 'refresh_token', refresh_token: token });
      const all = await Promise.all([1, 2, 3, 4].map(() => renew(refresh)));

      assert.deepEqual(
        all.map(({ status }) => status),
        [200, 200, 200, 200],
      );
      const tokens = new Set(all.map(({ body }) => body.refresh_token));
      assert.equal(tokens.size, 1);
      assert.equal((await renew([...tokens][0] as string)).status, 200);
    });

    test('a code that is used twice ends what the first use gave', async () => {
      const { access, refresh, code, verifier } = await delegation(service(), READS);
      const again = await askToken(service(), {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: REDIRECT,
      });

      assert.equal(again.body.error, 'invalid_grant');
      assert.equal((await service().invoke(access, 'search_flights', SEARCH)).status, 401);
      const renewed = await askToken(service(), {
        grant_type: 'refresh_token',
        refresh_token: refresh,
      });
      assert.equal(renewed.body.error, 'invalid_grant');
    });

    for (const [name, wrong] of [
      ['another verifier', { code_verifier: 'v'.repeat(43) }],
      ['no verifier', { code_verifier: undefined }],
      ['another redirect', { redirect_uri: 'http://127.0.0.1:53188/callback' }],
      ['another client', { client_id: 'other' }],
    ] as const) {
      test(`a code with ${name} gives nothing and stays good for its client`, async () => {
        const person = personAt(service());
        await person.signIn(ALICE);
        const { path, verifier } = asking();
        const url = locationOf(await consent(person, path, READS));
        const right = {
          grant_type: 'authorization_code',
          code: url.searchParams.get('code') ?? '',
          code_verifier: verifier,
          redirect_uri: REDIRECT,
        };

        assert.equal((await askToken(service(), { ...right, ...wrong })).status, 400);
        assert.equal((await askToken(service(), right)).status, 200);
      });
    }

    test('a code is over after a minute', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const { path, verifier } = asking();
      const url = locationOf(await consent(person, path, READS));
      service().advance(60_001);
      const late = await askToken(service(), {
        grant_type: 'authorization_code',
        code: url.searchParams.get('code') ?? '',
        code_verifier: verifier,
        redirect_uri: REDIRECT,
      });

      assert.equal(late.body.error, 'invalid_grant');
    });

    test('the answer names the state of the client and the issuer', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const url = locationOf(await consent(person, asking().path, READS));

      assert.equal(`${url.origin}${url.pathname}`, REDIRECT);
      assert.equal(url.searchParams.get('state'), 'the state');
      assert.equal(url.searchParams.get('iss'), BASE);
    });

    test('the log says which client got a delegation, and what for', async () => {
      await delegation(service(), READS);
      const issued = await service().entriesBy({ entryType: 'issuance' });
      const { detail, actor_key } = issued.at(-2) as (typeof issued)[number];

      assert.equal(actor_key, 'human:alice@example.com');
      const { consent_id, ...consent } = (detail?.consent ?? {}) as Record<string, unknown>;
      assert.match(String(consent_id), /^con_/);
      const only_capabilities = ['get_booking', 'search_flights'];
      const purpose = { for: 'March offsite', only_capabilities };
      assert.deepEqual(consent, { client_id: CLIENT, purpose });
    });

    test('fsck finds the store as the log describes it', async () => {
      const { refresh } = await delegation(service(), SPENDS);
      await askToken(service(), { grant_type: 'refresh_token', refresh_token: refresh });
      await service().store.sequence();
      const { findings } = await checkStore(service().store);

      assert.deepEqual(findings, []);
    });

    test('a refusal goes back to the client and leaves an entry', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const page = await person.open(asking().path);
      const url = locationOf(await person.send(page, '/authorize', { answer: 'refuse' }));

      assert.equal(url.searchParams.get('error'), 'access_denied');
      assert.equal(url.searchParams.get('code'), null);
      const entries = await service().entriesBy({ entryType: 'session' });
      assert.equal(entries.at(-1)?.state, 'refused');
    });

    test('revoking the refresh token ends the delegation', async () => {
      const { access, refresh } = await delegation(service(), READS);
      const other = await askToken(service(), { token: refresh, client_id: 'other' }, '/revoke');
      assert.equal(other.status, 400);
      assert.equal((await askToken(service(), { token: refresh }, '/revoke')).status, 200);

      assert.equal((await service().invoke(access, 'search_flights', SEARCH)).status, 401);
      assert.equal((await askToken(service(), { token: 'unknown' }, '/revoke')).status, 200);
    });

    test('two installations of one client have names of their own', async () => {
      const [one, other] = [await delegation(service(), READS), await delegation(service(), READS)];
      const subjects = await Promise.all(
        [one, other].map(async ({ access }) => {
          const { sub } = JSON.parse(
            Buffer.from(access.split('.')[1] as string, 'base64url').toString(),
          );
          return sub as string;
        }),
      );

      assert.notEqual(subjects[0], subjects[1]);
      for (const subject of subjects) assert.match(subject, /^agent:writ-login\/[0-9a-f]{8}$/);
    });

    test('a person sees an agent, ends it, and its next call is refused', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const { access, refresh } = await delegation(service(), SPENDS, { person });
      await service().invoke(access, 'buy_lounge_pass');
      const page = await person.open('/agents');
      assert.match(page.text ?? '', /writ login/);
      const [, end = ''] =
        /href="(\/agents\/end\?agent=con_[0-9a-f]{32})"/.exec(page.text ?? '') ?? [];
      const asked = await person.open(end);
      assert.equal(asked.status, 200);
      assert.equal((await person.send(asked, '/agents/end')).status, 303);

      assert.equal((await service().invoke(access, 'search_flights', SEARCH)).status, 401);
      const renewed = await askToken(service(), {
        grant_type: 'refresh_token',
        refresh_token: refresh,
      });
      assert.equal(renewed.body.error, 'invalid_grant');
    });

    test('no person sees or ends an agent of another', async () => {
      const alice = personAt(service());
      await alice.signIn(ALICE);
      await delegation(service(), READS, { person: alice });
      const page = await alice.open('/agents');
      const [, end = ''] =
        /href="(\/agents\/end\?agent=con_[0-9a-f]{32})"/.exec(page.text ?? '') ?? [];
      const bob = personAt(service());
      await bob.signIn('demo-approver-key');

      assert.equal((await bob.open(end)).status, 404);
      assert.doesNotMatch((await bob.open('/agents')).text ?? '', /con_/);
    });

    test('signing in and out leaves entries, and ends the session at once', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const kept = new Map(person.cookies);
      const page = await person.open('/agents');
      assert.equal((await person.send(page, '/sign-out')).status, 303);
      for (const [name, value] of kept) person.cookies.set(name, value);

      assert.equal((await person.open('/agents')).status, 303);
      const verbs = (await service().entriesBy({ entryType: 'session' })).slice(-2);
      assert.deepEqual(
        verbs.map(({ actor_key, success }) => [actor_key, success]),
        [
          ['human:alice@example.com', true],
          ['human:alice@example.com', true],
        ],
      );
    });

    test('signing in again ends the session that the browser had', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      const first = new Map(person.cookies);
      const page = await personAt(service()).open('/sign-in');
      const again = personAt(service());
      for (const [name, value] of first) again.cookies.set(name, value);
      for (const line of [page.headers['set-cookie']].flat() as string[]) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        again.cookies.set(name, value);
      }
      await again.send(page, '/sign-in', { key: ALICE });

      assert.equal((await again.open('/agents')).status, 200);
      assert.equal((await person.open('/agents')).status, 303);
    });

    test('signing out everywhere ends every session of the person', async () => {
      const [here, there] = [personAt(service()), personAt(service())];
      await here.signIn(ALICE);
      await there.signIn(ALICE);
      await here.send(await here.open('/agents'), '/sign-out', { everywhere: 'yes' });

      assert.equal((await there.open('/agents')).status, 303);
    });

    test('a client document at an address inside is not read', async () => {
      const person = personAt(service());
      await person.signIn(ALICE);
      for (const client_id of [
        'https://localhost/c.json',
        'https://10.0.0.1/c.json',
        'http://a.example/c',
      ]) {
        const page = await person.open(asking({ client_id }).path);
        assert.equal(page.status, 400, client_id);
        assert.equal(page.headers.location, undefined);
      }
    });

    test(`${CLIENT} cannot ask for the rights of operators`, async () => {
      const person = personAt(service());
      await person.signIn('demo-operator-key');
      assert.equal((await person.open('/agents')).status, 303, 'only people sign in');
    });
  },
);
