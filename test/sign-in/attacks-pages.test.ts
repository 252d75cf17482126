/**
 * Attacks on the pages: frames, the way back after sign-in, requests that no browser sends, and sessions that
 * should be over.
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { PASSKEY_SCRIPT } from '../../src/http/sign-in/passkey-page.ts';
import { ALICE, BOB, onEachStore, testService } from '../support/world.ts';
import { codeFor, cookieLine, get, post, READS, signedIn } from './attacker.ts';
import { asking, delegation, locationOf, PAGES, type Person, personAt } from './browser.ts';

onEachStore(
  ({ url }) => testService({ store: url, settings: { rate_limits: 'off' } }),
  (service) => {
    describe('clickjacking', () => {
      test('no page and no error page stands in a frame, is cached or runs a script but its own', async () => {
        const alice = await signedIn(service());
        await delegation(service(), READS, { person: alice });
        const agent = /con_[0-9a-f]{32}/.exec((await alice.open('/agents')).text ?? '')?.[0];
        const cookie = cookieLine(alice);
        const pages = [
          await get(service(), '/sign-in'),
          await alice.open(asking().path),
          await alice.open('/agents'),
          await alice.open(`/agents/end?agent=${agent}`),
          await alice.open('/agents/stop'),
          await alice.open('/agents/end?agent=con_none'),
          await alice.open('/authorize'),
          await alice.open(asking({ redirect_uri: 'https://evil.example' }).path),
          await alice.open(asking({ client_id: '<script>alert(1)</script>' }).path),
          await get(service(), '/sign-in/callback?error=%3Cscript%3E'),
          await get(service(), '/sign-in/start?provider=%3Cscript%3E'),
          await post(service(), '/sign-in', { key: '<script>' }),
          await post(service(), '/authorize', {}, { cookie }),
          await post(service(), '/agents/stop', {}, { cookie }),
          await post(service(), '/agents/stop', '%ff', { cookie }),
        ];
        for (const { headers, text = '', status } of pages) {
          assert.match(text, /^<!doctype html>/, `${status}`);
          const policy = String(headers['content-security-policy']);
          assert.match(policy, /frame-ancestors 'none'/);
          assert.match(policy, /default-src 'none'/);
          assert.doesNotMatch(policy, /unsafe|script-src (?!'sha256-[\w+/]+=';)/);
          assert.equal(headers['x-frame-options'], 'DENY');
          assert.equal(headers['x-content-type-options'], 'nosniff');
          assert.equal(headers['cache-control'], 'no-store');
          assert.doesNotMatch(text.replace(`<script>${PASSKEY_SCRIPT}</script>`, ''), /<script/i);
        }
      });

      test('what is no page is no HTML either', async () => {
        const alice = await signedIn(service());
        const cookie = cookieLine(alice);
        const others = [
          await service().ask('DELETE', '/agents', { headers: { host: 'localhost', cookie } }),
          await service().ask('POST', '/agents/stop', {
            body: '{}',
            headers: { host: 'localhost', cookie },
          }),
          await post(service(), '/token', 'x'),
          await post(service(), '/revoke', ''),
        ];
        for (const { headers, status } of others) {
          assert.ok(status >= 400 && status < 500, `${status}`);
          assert.match(String(headers['content-type']), /^application\/json/);
        }
      });
    });

    describe('the way back after sign-in', () => {
      for (const returnTo of [
        'https://evil.example',
        '//evil.example',
        '/\\evil.example',
        '\\\\evil.example',
        '/%2f/evil.example',
        ' //evil.example',
        '/authorize@evil.example',
        '/authorize?x\r\nLocation: https://evil.example',
        '/authorize?x\nSet-Cookie: a=b',
        '/authorize?x\t',
        '/authorizeevil',
        '/agentsevil',
        '/agents/é',
        'javascript:alert(1)',
        '/sign-out',
        '/svc/tokens',
        '',
      ]) {
        test(`is never ${JSON.stringify(returnTo)}`, async () => {
          const query = `return_to=${encodeURIComponent(returnTo)}`;
          const person = personAt(service());
          const page = await person.open(`/sign-in?${query}`);
          const shown = await person.send(page, '/sign-in', { key: ALICE });
          assert.equal(shown.headers.location, '/agents');
          const signed = await person.open(`/sign-in?${query}`);
          assert.equal(signed.headers.location, '/agents');
          const other = personAt(service());
          const sent = await other.send(await other.open('/sign-in'), '/sign-in', {
            key: ALICE,
            return_to: returnTo,
          });
          assert.equal(sent.headers.location, '/agents');
        });
      }

      test('stays on this service, whatever dots and slashes it has', async () => {
        for (const returnTo of [
          '/agents/..//evil.example',
          '/agents/\\evil.example',
          '/agents//evil.example/..',
          '/agents?//evil',
          '/authorize?return_to=https://evil.example',
        ]) {
          const person = personAt(service());
          const page = await person.open(`/sign-in?return_to=${encodeURIComponent(returnTo)}`);
          const sent = await person.send(page, '/sign-in', { key: ALICE });
          assert.equal(locationOf(sent).origin, PAGES, returnTo);
        }
      });
    });

    describe('requests that no browser sends', () => {
      const paths = [
        '/sign-in',
        '/sign-in/start',
        '/sign-in/callback',
        '/sign-out',
        '/authorize',
        '/agents',
        '/agents/end',
        '/agents/stop',
        '/token',
        '/revoke',
        '/sign-in/logout',
      ];
      for (const path of paths) {
        test(`${path} answers other methods and malformed bodies with a failure`, async () => {
          const alice = await signedIn(service());
          const headers = { host: 'localhost', cookie: cookieLine(alice) };
          for (const method of ['OPTIONS', 'PUT', 'DELETE', 'PATCH']) {
            const { status } = await service().ask(method, path, { headers });
            assert.equal(status, 405, method);
          }
          const bodies = [
            '%',
            '%ff=%ff',
            'a',
            '=a',
            'csrf=a&csrf=b',
            `a=${'x'.repeat(70_000)}`,
            'a=b&'.repeat(2_000),
            'a=%00',
            '__proto__=x&constructor=y',
          ];
          for (const body of bodies) {
            const { status } = await post(service(), path, body, headers);
            // Signing out without a session, or with paths of GET only, has its own answer.
            assert.ok(status >= 400 && status < 500, `${status} ${body.slice(0, 20)}`);
          }
          assert.equal(service().log.filter((line) => line.includes('"defect"')).length, 0);
          assert.equal((await alice.open('/agents')).status, 200);
        });
      }

      test('a body of 10 MB is not read', async () => {
        for (const path of ['/sign-in', '/token', '/authorize']) {
          const { status } = await post(service(), path, `a=${'x'.repeat(10_000_000)}`);
          assert.equal(status, 413, path);
        }
      });

      test('a browser that uses another name of this machine is led to the right one', async () => {
        const { status, headers } = await service().ask('GET', '/agents?x=//evil', {
          headers: { host: '127.0.0.1' },
        });
        assert.deepEqual([status, headers.location], [303, `${PAGES}/agents?x=//evil`]);
        for (const target of ['//evil.example/agents', '/agents/../..//evil.example']) {
          const reply = await service().ask('GET', target, { headers: { host: '127.0.0.1' } });
          const location = String(reply.headers.location ?? PAGES);
          assert.equal(new URL(location, PAGES).origin, PAGES, target);
        }
      });
    });

    describe('sessions', () => {
      test('an idle session is over, and one that is used lives to its absolute end', async () => {
        const idle = await signedIn(service());
        const used = await signedIn(service());
        for (let minutes = 0; minutes < 12 * 60; minutes += 50) {
          assert.equal((await used.open('/agents')).status, 200, `${minutes}`);
          service().advance(50 * 60_000);
          if (minutes === 0) assert.equal((await idle.open('/agents')).status, 200);
        }
        assert.equal((await idle.open('/agents')).status, 303);
        assert.equal((await used.open('/agents')).status, 303);
      });

      test('idle means an hour, at every page', async () => {
        const person = await signedIn(service());
        service().advance(61 * 60_000);
        for (const path of ['/agents', asking().path, '/agents/stop']) {
          assert.equal((await person.open(path)).status, 303);
          assert.match(String((await person.open(path)).headers.location), /^\/sign-in\?/);
        }
      });

      test('the twenty-first session of a person ends the oldest', async () => {
        const people: Person[] = [];
        for (let count = 0; count < 21; count++) {
          people.push(await signedIn(service(), BOB));
          service().advance(10);
        }
        assert.equal((await (people[0] as Person).open('/agents')).status, 303);
        for (const person of people.slice(1)) {
          assert.equal((await person.open('/agents')).status, 200);
        }
      });

      test('a session does not outlive a sign-out, even in a form that was open', async () => {
        const alice = await signedIn(service());
        const page = await alice.open(asking().path);
        const kept = new Map(alice.cookies);
        await alice.send(await alice.open('/agents'), '/sign-out');
        for (const [name, value] of kept) alice.cookies.set(name, value);

        const sent = await alice.send(page, '/authorize', { answer: 'allow', c: 'search_flights' });
        assert.match(String(sent.headers.location), /^\/sign-in\?/);
        await assert.rejects(codeFor(alice));
      });
    });
  },
);
