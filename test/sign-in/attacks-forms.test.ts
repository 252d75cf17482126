/**
 * Attacks through the browser of a person: planted sessions, forms of other sites, frames, and forms that no
 * page of ours makes.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { issuerOf } from '../oidc/desk.ts';
import { falseProvider } from '../oidc/false-provider.ts';
import { atEnd } from '../support/ends.ts';
import { ALICE, BOB, onEachStore, type Reply, testService } from '../support/world.ts';
import { cookieLine, csrfIn, get, isAlive, post, READS, signedIn } from './attacker.ts';
import { asking, delegation, locationOf, PAGES, type Person, personAt } from './browser.ts';

/** Requests to the token endpoint of the provider. */
const redeemed: string[] = [];
const provider = await falseProvider({
  discovery: {
    authorization_endpoint: 'http://127.0.0.1:9/auth',
    get token_endpoint() {
      return `${provider.issuer}/token`;
    },
  },
  instead(path, response) {
    if (path !== '/token') return false;
    redeemed.push(path);
    response
      .writeHead(400, { 'content-type': 'application/json' })
      .end('{"error":"invalid_grant"}');
    return true;
  },
});
atEnd(() => provider.close());
const OIDC = [{ ...issuerOf(provider.issuer), name: 'idp', sign_in: { client_id: 'desk' } }];
const SETTINGS = { oidc: OIDC, rate_limits: 'off' };

const sessionName = ({ cookies }: Person) =>
  [...cookies.keys()].find((name) => name.includes('session')) as string;
const setCookies = ({ headers }: Reply) => [headers['set-cookie'] ?? []].flat() as string[];
const evil = { origin: 'https://evil.example' };

onEachStore(
  ({ url }) => testService({ store: url, settings: SETTINGS }),
  (service) => {
    describe('session fixation', () => {
      test('a session that was planted before sign-in is replaced, and stays what it was', async () => {
        const attacker = await signedIn(service(), BOB);
        const victim = personAt(service());
        const name = sessionName(attacker);
        const planted = attacker.cookies.get(name) as string;
        victim.cookies.set(name, planted);
        // The victim sees whose session it is; signing in anew needs a form of this browser.
        victim.cookies.delete(name);
        const page = await victim.open('/sign-in');
        victim.cookies.set(name, planted);
        await victim.send(page, '/sign-in', { key: ALICE });

        assert.notEqual(victim.cookies.get(name), planted);
        assert.match((await victim.open('/agents')).text ?? '', /alice@example\.com/);
        assert.doesNotMatch((await attacker.open('/agents')).text ?? '', /alice@example\.com/);
      });

      test('a secret that the attacker chose never becomes a session', async () => {
        const chosen = 'A'.repeat(43);
        const victim = personAt(service());
        const name = sessionName(await signedIn(service()));
        victim.cookies.set(name, chosen);
        await victim.signIn(ALICE);

        assert.notEqual(victim.cookies.get(name), chosen);
        const { status } = await get(service(), '/agents', { cookie: `${name}=${chosen}` });
        assert.equal(status, 303);
      });

      test('the cookie of the form before sign-in is no session and is dropped with it', async () => {
        const victim = personAt(service());
        const page = await victim.open('/sign-in');
        const [[formName, secret] = []] = [...victim.cookies];
        await victim.send(page, '/sign-in', { key: ALICE });

        assert.equal(victim.cookies.has(formName as string), false);
        assert.notEqual(victim.cookies.get(sessionName(victim)), secret);
        const again = await post(
          service(),
          '/agents/stop',
          { csrf: csrfIn(page) },
          { cookie: cookieLine(victim), origin: PAGES },
        );
        assert.equal(again.status, 403, 'the proof from before sign-in');
      });

      test('two cookies of one name are none', async () => {
        const alice = await signedIn(service());
        const bob = await signedIn(service(), BOB);
        const cookie = `${cookieLine(bob)}; ${cookieLine(alice)}`;
        assert.equal((await get(service(), '/agents', { cookie })).status, 303);
      });

      test('cookies are out of reach of scripts and of other sites', async () => {
        const person = personAt(service());
        const replies = [await person.open('/sign-in'), await person.signIn(ALICE)];
        const login = await get(service(), '/sign-in/start?provider=idp');
        for (const line of [...replies, login].flatMap(setCookies)) {
          assert.match(line, /; HttpOnly(?:;|$)/);
          assert.match(line, /; SameSite=(?:Lax|Strict)(?:;|$)/);
          assert.match(line, /; Path=\/(?:;|$)/);
          assert.doesNotMatch(line, /Domain=/i);
        }
      });
    });

    describe('login CSRF', () => {
      const login = async (fields: Record<string, string>, headers: Record<string, string>) =>
        post(service(), '/sign-in', { key: BOB, ...fields }, headers);

      test('no other site signs a person in', async () => {
        const victim = personAt(service());
        const page = await victim.open('/sign-in');
        const attacker = personAt(service());
        const theirs = csrfIn(await attacker.open('/sign-in'));
        const own = { csrf: csrfIn(page) };
        const cookie = cookieLine(victim);
        const tries: [string, Record<string, string>, Record<string, string>][] = [
          ['without a proof', {}, { cookie }],
          ['with the proof of another browser', { csrf: theirs }, { cookie }],
          ['with an empty proof', { csrf: '' }, { cookie }],
          ['without the cookie', own, {}],
          ['from another origin', own, { cookie, ...evil }],
          ['from nowhere', own, { cookie, origin: 'null' }],
          ['from another site', own, { cookie, 'sec-fetch-site': 'cross-site' }],
          ['from a sibling', own, { cookie, 'sec-fetch-site': 'same-site' }],
        ];
        for (const [name, fields, headers] of tries) {
          const reply = await login(fields, headers);
          assert.equal(reply.status, 403, name);
          assert.ok(!setCookies(reply).some((line) => line.includes('session')), name);
        }
        assert.equal((await login(own, { cookie, origin: PAGES })).status, 303);
      });

      test('the answer of the provider counts only in the browser that asked for it', async () => {
        const begin = async () => {
          const person = personAt(service());
          const url = locationOf(await person.open('/sign-in/start?provider=idp'));
          return { person, state: url.searchParams.get('state') as string };
        };
        const [victim, attacker] = [await begin(), await begin()];
        redeemed.length = 0;
        const callback = (state: string) => `/sign-in/callback/idp?code=stolen&state=${state}`;
        for (const [person, path] of [
          [victim.person, callback(attacker.state)],
          [personAt(service()), callback(attacker.state)],
          [victim.person, '/sign-in/callback/idp?code=stolen'],
          [victim.person, `/sign-in/callback/other?code=stolen&state=${victim.state}`],
          [victim.person, `/sign-in/callback?code=stolen&state=${victim.state}`],
          [victim.person, `${callback(victim.state)}&state=${attacker.state}`],
        ] as const) {
          const reply = await person.open(path);
          assert.equal(reply.status, 401, path);
          assert.equal(person.cookies.has(sessionName(await signedIn(service()))), false);
        }
        const edited = personAt(service());
        for (const [name, value] of victim.person.cookies) edited.cookies.set(name, `${value}A`);
        assert.equal((await edited.open(callback(victim.state))).status, 401);
        assert.deepEqual(redeemed, [], 'no code was sent to the provider');
        await victim.person.open(callback(victim.state));
        assert.equal(redeemed.length, 1, 'the right one is');
      });
    });

    describe('CSRF', () => {
      const agentOf = async (person: Person) => {
        const { text = '' } = await person.open('/agents');
        return /con_[0-9a-f]{32}/.exec(text)?.[0] as string;
      };
      const forms: [path: string, fields: (agent: string) => Record<string, string>][] = [
        [
          '/authorize',
          () => ({
            request: asking().path.split('?')[1] ?? '',
            answer: 'allow',
            c: 'search_flights',
          }),
        ],
        ['/agents/end', (agent) => ({ agent })],
        ['/agents/stop', () => ({})],
        ['/sign-out', () => ({ everywhere: 'yes' })],
      ];
      for (const [path, fields] of forms) {
        test(`no form to ${path} counts without the proof of its session and our origin`, async () => {
          const alice = await signedIn(service());
          const { access } = await delegation(service(), READS, { person: alice });
          const agent = await agentOf(alice);
          const csrf = csrfIn(await alice.open('/agents'));
          const others = csrfIn(await (await signedIn(service())).open('/agents'));
          const cookie = cookieLine(alice);
          const tries: [string, Record<string, string>, Record<string, string>][] = [
            ['missing', {}, { origin: PAGES }],
            ['empty', { csrf: '' }, { origin: PAGES }],
            ["another session's", { csrf: others }, { origin: PAGES }],
            ['cut', { csrf: csrf.slice(1) }, { origin: PAGES }],
            ['another origin', { csrf }, evil],
            ['Origin null', { csrf }, { origin: 'null' }],
            ['cross-site', { csrf }, { origin: PAGES, 'sec-fetch-site': 'cross-site' }],
            ['same-site', { csrf }, { origin: PAGES, 'sec-fetch-site': 'same-site' }],
          ];
          for (const [name, proof, headers] of tries) {
            const reply = await post(
              service(),
              path,
              { ...fields(agent), ...proof },
              { cookie, ...headers },
            );
            assert.equal(reply.status, 403, `${name} ${reply.text?.slice(0, 300)}`);
            assert.deepEqual(setCookies(reply), [], name);
          }
          assert.equal(await isAlive(service(), access), true);
          assert.equal((await alice.open('/agents')).status, 200);
        });
      }

      test('a form of another site, which brings no cookie, does not sign the person out', async () => {
        const reply = await post(
          service(),
          '/sign-out',
          { everywhere: 'yes' },
          { ...evil, 'sec-fetch-site': 'cross-site' },
        );
        assert.deepEqual(setCookies(reply), []);
      });

      test('GET changes nothing', async () => {
        const alice = await signedIn(service());
        const { access } = await delegation(service(), READS, { person: alice });
        const agent = await agentOf(alice);
        const csrf = csrfIn(await alice.open('/agents'));
        for (const path of ['/agents/end', '/agents/stop', '/sign-out', '/authorize']) {
          await alice.open(`${path}?agent=${agent}&csrf=${csrf}&answer=allow&everywhere=yes`);
        }
        assert.equal(await isAlive(service(), access), true);
        assert.equal((await alice.open('/agents')).status, 200);
      });

      test('a name of another host that leads here gets no form taken', async () => {
        const alice = await signedIn(service());
        const csrf = csrfIn(await alice.open('/agents'));
        const headers = {
          cookie: cookieLine(alice),
          host: 'rebound.example',
          origin: 'http://rebound.example',
        };
        assert.equal((await post(service(), '/agents/stop', { csrf }, headers)).status, 403);
      });
    });
  },
);
