/**
 * Attacks on the decision of a person: names that imitate our words, rights that no consent gives, and forms
 * that no page of ours makes.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { DEMO_IDENTITIES, travelDesk } from '../../examples/travel/service.ts';
import { person } from '../support/person.ts';
import { ALICE, onEachStore, type Reply, testService } from '../support/world.ts';
import { claimsOf, codeFor, errorOf, get, READS, redeem, refresh, signedIn } from './attacker.ts';
import { asking, delegation, locationOf, REDIRECT } from './browser.ts';

const BOSS = 'test-boss-key';
const IDENTITIES = [
  ...DEMO_IDENTITIES,
  person(BOSS, 'human:boss@example.com', ['travel.*', 'operator:*', 'approver:*']),
];
const SETTINGS = { identities: IDENTITIES, sign_in: { registration: 'on' }, rate_limits: 'off' };

const DAY_MS = 86_400_000;

onEachStore(
  ({ url }) => testService({ store: url, settings: SETTINGS }),
  (service) => {
    const register = (metadata: object): Promise<Reply> =>
      service().ask('POST', '/register', {
        body: { redirect_uris: [REDIRECT], ...metadata },
        headers: { host: 'localhost' },
      });

    describe('the name of a client', () => {
      const names: [what: string, name: string][] = [
        ['HTML', '</q></h1><h1>Writ</h1><form action="https://evil.example">'],
        ['a script', '<script>alert(1)</script>'],
        ['an attribute', '" onmouseover="alert(1)'],
        ['an entity', '&lt;b&gt;&#x202e;'],
        ['a reversal of the text', 'Claude \u202eedoC\u202c'],
        ['hidden characters', 'Cla\u200bu\u2060de\ufeff'],
        ['an isolate that is never closed', 'Claude\u2066'],
        ['two hundred characters', 'N'.repeat(200)],
        ['our own words', 'Registered. An operator of travel-desk entered this client'],
        ['our marks of hidden characters', 'x⟨U+202E⟩y'],
        ['the name of a person', 'human:alice@example.com'],
      ];
      for (const [what, client_name] of names) {
        test(`with ${what} is shown as a claim, and makes no name of ours`, async () => {
          const { status, body, text } = await register({ client_name });
          assert.equal(status, 201, text);
          const { client_id } = body;
          const alice = await signedIn(service());
          const page = await alice.open(asking({ client_id }).path);
          const html = page.text ?? '';
          const given = await delegation(service(), READS, { person: alice, more: { client_id } });
          const agents = (await alice.open('/agents')).text ?? '';

          for (const seen of [html, agents]) {
            assert.doesNotMatch(seen, /<script|<form[^>]*evil|onmouseover="|<h1>Writ<\/h1>/);
            assert.doesNotMatch(seen, /[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff]/);
          }
          assert.match(html, /Not verified/);
          assert.doesNotMatch(html, /class="pill good"/);
          assert.match(html, /A program on this computer, .*127\.0\.0\.1:53187/);
          assert.match(claimsOf(given.access).sub, /^agent:[a-z0-9][a-z0-9-]{0,39}\/[0-9a-f]{8}$/);
        });
      }

      for (const client_name of ['line\nbreak', 'nul\u0000', 'N'.repeat(201), 7, null, '\ud800']) {
        test(`${JSON.stringify(client_name).slice(0, 40)} is refused`, async () => {
          const { status, body } = await register({ client_name });
          assert.deepEqual([status, body.error], [400, 'invalid_client_metadata']);
        });
      }

      test('is never taken from the request, nor is a logo', async () => {
        const alice = await signedIn(service());
        const { path } = asking({ client_name: 'Bank', logo_uri: 'https://evil.example/l.png' });
        const { text = '' } = await alice.open(path);
        assert.doesNotMatch(text, />Bank<|<img|evil\.example\/l\.png/);
        const { body } = await register({
          client_name: 'X',
          logo_uri: 'https://evil.example/l.png',
        });
        const page = await alice.open(asking({ client_id: body.client_id }).path);
        assert.doesNotMatch(page.text ?? '', /<img|l\.png/);
      });

      test('a forged registration is unknown', async () => {
        const { body } = await register({ client_name: 'Honest' });
        const [, facts = '', kid = '', mac = ''] = body.client_id.split('.');
        const other = Buffer.from(
          JSON.stringify({ client_name: 'Bank', redirect_uris: ['https://evil.example/'] }),
        ).toString('base64url');
        const alice = await signedIn(service());
        for (const client_id of [
          `reg.${other}.${kid}.${mac}`,
          `reg.${facts}.${kid}.`,
          `reg.${facts}.x.${mac}`,
          `reg.${facts}=.${kid}.${mac}`,
        ]) {
          assert.equal((await alice.open(asking({ client_id }).path)).status, 400);
        }
      });

      test('registered redirects are held to the same rules', async () => {
        for (const redirect_uris of [
          [],
          ['http://evil.example/'],
          ['javascript:alert(1)'],
          ['https://a.example/*'],
          ['https://u@a.example/'],
          'https://a.example/',
          [{}],
          Array.from({ length: 21 }, (_, n) => `https://a.example/${n}`),
        ]) {
          assert.equal(
            (await register({ redirect_uris })).status,
            400,
            JSON.stringify(redirect_uris),
          );
        }
      });
    });

    describe('a button that ticks boxes', () => {
      const ticked = ({ text = '' }: Reply) =>
        [...text.matchAll(/name="c" value="([^"]+)" checked/g)].map(([, name]) => name);
      for (const answer of ['all', 'reads', 'none', 'kept']) {
        test(`"${answer}" shows what the person filled in again, and gives nothing`, async () => {
          const alice = await signedIn(service());
          const agents = async () =>
            ((await alice.open('/agents')).text ?? '').split('End agent').length;
          const before = await agents();
          const page = await alice.open(asking({ scope: 'travel.search travel.book' }).path);
          const fields = { c: ['book_flight'], limit: '120', for: '"> <b>Offsite', answer };
          const again = await alice.send(page, '/authorize', fields);

          assert.deepEqual([again.status, again.headers.location], [200, undefined]);
          assert.match(again.text ?? '', /name="limit"[^>]*value="120"/);
          assert.match(again.text ?? '', /name="for" value="&quot;&gt; &lt;b&gt;Offsite"/);
          assert.doesNotMatch(again.text ?? '', /role="alert"/);
          const boxes = new Set(ticked(again));
          const expected = {
            all: [...ticked(page), 'book_flight'],
            reads: ticked(page),
            none: [],
            kept: ['book_flight'],
          };
          assert.deepEqual(boxes, new Set(expected[answer as keyof typeof expected]));
          assert.equal(await agents(), before);
          assert.equal((await alice.send(again, '/authorize', { answer })).status, 200);
        });
      }
    });

    describe('rights that no consent gives', () => {
      for (const key of [ALICE, BOSS]) {
        for (const scope of [
          'operator:*',
          'approver:*',
          'operator:freeze',
          'Operator:*',
          '*',
          'travel.*',
        ]) {
          test(`${scope} asked for from ${key} is shown at most, and never given`, async () => {
            const someone = await signedIn(service(), key);
            const coded = await codeFor(someone, READS, { scope: `travel.search ${scope}` });
            const { body } = await redeem(service(), coded);
            assert.deepEqual(body.scope.split(' ').sort(), ['travel.read', 'travel.search']);
            const wider = await refresh(service(), body.refresh_token, { scope });
            assert.equal(wider.body.error, 'invalid_scope');
          });
        }
      }

      test('authorization_details that name scopes or other types are refused', async () => {
        const alice = await signedIn(service(), BOSS);
        for (const authorization_details of [
          '[{"type":"writ_delegation","scope":["operator:*"]}]',
          '[{"type":"operator","actions":["*"]}]',
          '[{"type":"writ_delegation"},{"type":"writ_delegation"}]',
          '[{"type":"writ_delegation","type":"operator"}]',
          '[{"type":"writ_delegation","capabilities":["*"]}]',
          '[{"type":"writ_delegation","capabilities":["operator:*"]}]',
          '[{"type":"writ_delegation","budget":{"currency":"USD","max_amount":1e400}}]',
          '[{"type":"writ_delegation","budget":{"currency":"USD","max_amount":-1}}]',
          '[{"type":"writ_delegation","__proto__":{"x":1}}]',
          '{"type":"writ_delegation"}',
          `${'['.repeat(50)}${']'.repeat(50)}`,
          'x',
        ]) {
          const reply = await alice.open(asking({ authorization_details }).path);
          assert.equal(errorOf(reply), 'invalid_authorization_details', authorization_details);
        }
      });

      test('suggestions fill in nothing: neither money nor time nor what changes something', async () => {
        const alice = await signedIn(service());
        const authorization_details = JSON.stringify([
          {
            type: 'writ_delegation',
            capabilities: ['book_flight', 'search_flights', 'erase_traveler'],
            budget: { currency: 'USD', max_amount: 99_999 },
            ttl_hours: 80_000,
            max_delegation_depth: 9,
          },
        ]);
        const { text = '' } = await alice.open(asking({ authorization_details }).path);
        assert.match(text, /name="limit"[^>]*value="0"/);
        assert.doesNotMatch(text, /value="book_flight" checked|value="erase_traveler" checked/);
        assert.match(text, /<option value="0" selected>/);
      });
    });

    describe('a forged form', () => {
      const good = {
        c: ['search_flights', 'buy_lounge_pass'],
        currency: 'USD',
        limit: '60',
        pass: '0',
      };
      const forged: [name: string, fields: Record<string, string | string[]>][] = [
        ['an unknown capability', { c: ['search_flights', 'operator:*'] }],
        ['only an unknown capability', { c: ['operator:*'] }],
        ['a name of the prototype', { c: ['__proto__'] }],
        ['a scope instead of a capability', { c: ['travel.search'] }],
        ['nothing', { c: [] }],
        ['a limit with an exponent', { limit: '1e3' }],
        ['a negative limit', { limit: '-1' }],
        ['a limit of NaN', { limit: 'NaN' }],
        ['an infinite limit', { limit: 'Infinity' }],
        ['a limit in hexadecimal', { limit: '0x64' }],
        ['a limit with a comma', { limit: '1,000' }],
        ['a limit in other digits', { limit: '６０' }],
        ['a limit of parts of a cent', { limit: '1.001' }],
        ['an uncountable limit', { limit: '9'.repeat(15) }],
        ['no limit for what costs', { limit: '' }],
        ['a limit of 0 for what costs', { limit: '0.00' }],
        ['another currency', { currency: 'EUR' }],
        ['an unknown currency', { currency: 'XXX' }],
        ['an end that is past', { until: new Date(0).toISOString() }],
        ['an end far off', { until: new Date(Date.now() + 4_000 * DAY_MS).toISOString() }],
        ['an end that is none', { until: 'never' }],
        ['an end beyond time', { until: '+275760-09-13T00:00:00.001Z' }],
        ['no end', { until: '' }],
        ['pass=99', { pass: '99' }],
        ['pass=-1', { pass: '-1' }],
        ['pass=1.5', { pass: '1.5' }],
        ['no pass', { pass: '' }],
        ['a purpose of two lines', { for: 'a\nb' }],
        ['a long purpose', { for: 'x'.repeat(201) }],
      ];
      const until = () => new Date(Date.now() + DAY_MS / 2).toISOString();
      for (const [name, fields] of forged) {
        test(`with ${name} gives nothing and is shown again`, async () => {
          const alice = await signedIn(service());
          const page = await alice.open(asking().path);
          const before = (await service().entriesBy({ entryType: 'issuance' })).length;
          const reply = await alice.send(page, '/authorize', {
            answer: 'allow',
            for: 'x',
            until: until(),
            ...good,
            ...fields,
          });

          assert.equal(reply.status, 422, reply.text?.slice(0, 200));
          assert.equal(reply.headers.location, undefined);
          assert.match(reply.text ?? '', /role="alert"/);
          assert.equal((await service().entriesBy({ entryType: 'issuance' })).length, before);
        });
      }

      test('with what the person may not do gives nothing, for an approver as for an operator', async () => {
        for (const key of ['demo-approver-key', BOSS, ALICE]) {
          const someone = await signedIn(service(), key);
          const page = await someone.open(asking().path);
          const ticked = [...(page.text ?? '').matchAll(/name="c" value="([^"]+)"/g)].map(
            ([, name]) => name,
          );
          const all = [...travelDesk.catalog.capabilities.keys()];
          const blocked = all.filter((name) => !ticked.includes(name));
          if (key === 'demo-approver-key') assert.equal(ticked.length, 0);
          for (const c of blocked) {
            const fields = { ...good, c, answer: 'allow', until: until(), for: '', limit: '0' };
            const reply = await someone.send(page, '/authorize', fields);
            assert.equal(reply.status, 422, c);
          }
        }
      });

      test('with another answer than "allow" is a refusal', async () => {
        const alice = await signedIn(service());
        const page = await alice.open(asking().path);
        for (const answer of ['', 'ALLOW', 'yes', 'refuse']) {
          const reply = await alice.send(page, '/authorize', { ...good, until: until(), answer });
          assert.equal(errorOf(reply), 'access_denied');
        }
      });

      test('with a field twice is not read', async () => {
        const alice = await signedIn(service());
        const page = await alice.open(asking().path);
        for (const twice of [
          { limit: ['1', '100'] },
          { answer: ['refuse', 'allow'] },
          { pass: ['0', '2'] },
        ]) {
          const reply = await alice.send(page, '/authorize', {
            ...good,
            until: until(),
            answer: 'allow',
            ...twice,
          });
          assert.equal(reply.status, 403);
        }
      });
    });

    test('what comes out of a consent is what the form says, and never more', async () => {
      const boss = await signedIn(service(), BOSS);
      const coded = await codeFor(boss, {
        chosen: ['search_flights', 'buy_lounge_pass'],
        limit: '49.50',
        pass: '1',
      });
      const { body } = await redeem(service(), coded);
      const { token } = await service().store.load({ tokenId: claimsOf(body.access_token).jti });
      const { token: root } = await service().store.load({
        tokenId: token?.parent_token_id as string,
      });

      assert.deepEqual(root?.scope, ['travel.extras', 'travel.search']);
      assert.deepEqual(root?.budget, { currency: 'USD', max_amount: 49.5 });
      assert.deepEqual(root?.purpose.only_capabilities, ['buy_lounge_pass', 'search_flights']);
      assert.equal(root?.max_delegation_depth, 2);
      assert.equal(root?.root_principal, 'human:boss@example.com');
      assert.match(String(root?.subject), /^agent:/);
    });

    test('an earlier consent is shown and never applied', async () => {
      const alice = await signedIn(service());
      await delegation(
        service(),
        { chosen: ['book_flight'], limit: '500', pass: '2' },
        { person: alice },
      );
      const { text = '' } = await alice.open(asking().path);
      assert.match(text, /Before/);
      assert.doesNotMatch(text, /value="book_flight" checked/);
      assert.match(text, /name="limit"[^>]*value="0"/);
      assert.equal(locationOf(await get(service(), asking().path)).pathname, '/sign-in');
    });
  },
);
