/**
 * What the app says about a person: which answers of `identify()` the pages take, and what they give the person.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { PersonOfApp } from '../../src/index.ts';
import { ANN, asker, assertRefused, BEN, openApp, PAGES, requested, UP_TO_50 } from './app.ts';

describe('what the app says about a person', () => {
  const secret = 'secret-of-the-session';
  const throwing = {
    principal: ANN,
    get scopes(): string[] {
      throw new Error(secret);
    },
  };
  const rubbish: [what: string, answer: unknown][] = [
    ['an agent', 'agent:helper'],
    ['a service', { principal: 'service:shop', scopes: [] }],
    ['a principal of a provider', 'oidc:ann'],
    ['no principal', secret],
    ['a number', 7],
    ['a list', [ANN]],
    ['a session', { user: ANN, secret }],
    ['scopes that are no texts', { principal: ANN, scopes: ['shop.pay', 7] }],
    ['one scope as a text', { principal: ANN, scopes: 'shop.pay' }],
    ['no scopes', { principal: ANN }],
    ['a scope beyond the rules', { principal: BEN, scopes: ['approver:pay'] }],
    ['a pattern beyond the rules', { principal: BEN, scopes: ['operator:*'] }],
    ['a scope that is none', { principal: ANN, scopes: ['shop.*.*'] }],
    ['too many scopes', { principal: ANN, scopes: Array(1_001).fill('shop.pay') }],
    ['conditions that are none', { principal: ANN, scopes: [], conditions: secret }],
    [
      'a misspelt operator',
      { principal: ANN, scopes: [], conditions: { pay: { amount: { [secret]: 5 } } } },
    ],
    [
      'conditions on no input',
      { principal: ANN, scopes: [], conditions: { pay: { [secret]: 5 } } },
    ],
    [
      'conditions on no capability',
      { principal: ANN, scopes: [], conditions: { [secret]: { a: 5 } } },
    ],
    [
      'conditions beyond the rules',
      { principal: BEN, scopes: [], conditions: { pay: { amount: 51 } } },
    ],
    ['no time', { principal: ANN, scopes: [], signed_in_at: 'yesterday' }],
    ['a time as a text', { principal: ANN, scopes: [], signed_in_at: '2026-11-19 06:00' }],
    ['an object that throws', throwing],
    ['a Proxy that throws', new Proxy({}, { get: () => assert.fail(secret) })],
    ['an endless object', Object.assign({ principal: ANN, scopes: [] }, { more: [] as unknown[] })],
    ['a rejection', Promise.reject(new Error(secret))],
  ];
  const endless = rubbish.find(([what]) => what === 'an endless object')?.[1] as {
    more: unknown[];
  };
  endless.more.push(endless);
  for (const [, answer] of rubbish) if (answer instanceof Promise) answer.catch(() => undefined);

  for (const [what, answer] of rubbish) {
    test(`${what} is refused, on the page in words and without the value`, async () => {
      const app = await openApp();
      const api = await asker(app, 'ann');
      app.people.set('ann', answer as PersonOfApp);
      const [page, asked] = [await app.open('/console/', 'ann'), await api('me')];
      const issued = await app.ask('POST', '/svc/tokens', {
        body: { scope: ['shop.pay'], subject: 'agent:a' },
        headers: { cookie: 'shop=ann' },
      });

      assert.equal(page.status, 503);
      assert.match(String(page.headers['content-type']), /^text\/html/);
      assert.match(page.text ?? '', /Cannot identify the (?:person|caller)/);
      assertRefused(asked, 503, 'service_unavailable');
      assertRefused(issued, 503, 'service_unavailable');
      const all = [page.text, asked.text, issued.text, ...app.desk.lines].join('\n');
      assert.doesNotMatch(all, new RegExp(`${secret}|internal_error`));
    });
  }

  test('a value that is a promise only when it is asked a second time is refused', async () => {
    let asked = 0;
    const get = (_: object, name: string | symbol) => {
      if (name !== 'then') return undefined;
      asked += 1;
      return asked === 1 ? undefined : assert.fail(secret);
    };
    const answer = new Proxy({}, { get });
    const app = await openApp({ identify: () => answer as PersonOfApp });
    const page = await app.open('/console/', 'ann');

    assert.equal(page.status, 503);
    assert.doesNotMatch([page.text, ...app.desk.lines].join('\n'), new RegExp(secret));
  });

  test('a name with a credential or a passkey of its own here is refused', async () => {
    const key = { principal: ANN, key: 'key-of-ann', demo: true };
    const operator = {
      principal: 'service:ops',
      key: 'key-of-ops',
      scopes: ['operator:*'],
      demo: true,
      subjects: ['human:*'],
    };
    const configured = await openApp({ settings: { identities: [key] } });
    const stored = await openApp({ settings: { identities: [operator] } });
    const added = await stored.ask('POST', '/svc/operator/identities', {
      body: { principal: BEN, key_sha256: 'a'.repeat(64) },
      headers: { authorization: 'Bearer key-of-ops' },
    });

    assert.equal(added.status, 200, added.text);
    for (const page of [
      await configured.open('/console/', 'ann'),
      await stored.open('/console/', 'ben'),
    ]) {
      assert.equal(page.status, 503);
      assert.match(page.text ?? '', /has a credential or a passkey of its own here/);
    }
    assert.equal((await stored.open('/console/', 'ann')).status, 200);
  });

  test('nothing is nobody', async () => {
    const app = await openApp();
    for (const answer of [null, undefined]) {
      app.people.set('ann', answer);
      assert.equal((await app.open('/console/', 'ann')).status, 401);
    }
  });

  test('an answer that never comes ends with a failure', { timeout: 40_000 }, async () => {
    const app = await openApp({ identify: () => new Promise<never>(() => undefined) });
    const headers = { origin: PAGES, 'x-writ-csrf': 'x', cookie: 'shop=ann' };
    const [page, asked] = await Promise.all([
      app.open('/console/', 'ann'),
      app.ask('POST', '/console/api/me', { body: {}, headers }),
    ]);

    assert.equal(page.status, 503);
    assert.match(page.text ?? '', /could not be checked/);
    assertRefused(asked, 503, 'service_unavailable');
  });

  test('scopes are what the person has, within the rules', async () => {
    const app = await openApp();
    app.people.set('ann', { principal: ANN, scopes: ['shop.pay', 'operator:read'] });
    const me = await (await asker(app, 'ann'))('me');
    const issued = (scope: string) =>
      app.ask('POST', '/svc/tokens', { body: { scope: [scope] }, headers: { cookie: 'shop=ann' } });

    assert.deepEqual([me.body.approves, me.body.operates], [[], ['read']]);
    assert.equal((await issued('shop.pay')).status, 200);
    assertRefused(await issued('shop.other'), 403, 'not_entitled');
  });

  test('conditions are those of the rule and those that the app adds', async () => {
    const app = await openApp();
    const issued = async (conditions?: Record<string, object>) => {
      const scopes = ['shop.pay'];
      app.people.set('ben', { principal: BEN, scopes, ...(conditions && { conditions }) });
      const body = { scope: scopes };
      return (await app.ask('POST', '/svc/tokens', { body, headers: { cookie: 'shop=ben' } })).body;
    };

    assert.deepEqual((await issued()).conditions, { pay: UP_TO_50 });
    assert.deepEqual((await issued({ pay: { amount: 5 } })).conditions, {
      pay: { amount: { is: 5 } },
    });
  });

  test('a person without rights sees the console and decides nothing', async () => {
    const app = await openApp();
    app.people.set('eve', 'human:eve@shop.example');
    const eve = await app.console('eve');
    const id = await requested(app);
    const me = await eve.answer('me');

    assert.deepEqual([me.approves, me.operates], [[], []]);
    assert.equal((await eve.reply('decision', { approval_request_id: id })).status, 404);
    const grant = { approval_request_id: id, grant_type: 'one_time' };
    assert.notEqual((await eve.reply('approval_grants.issue', grant)).status, 200);
    assert.equal((await eve.reply('operations')).body.failure.type, 'scope_insufficient');
  });
});
