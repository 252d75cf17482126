/**
 * The guide for an app with people of its own, walked as it is written. Its person is a client that keeps the cookie of
 * the app and asks what the page asks.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type Reader, walk } from './walk.ts';

/** Only to end a test that hangs. */
const SLOW = 240_000;

/** Ann at her browser, which has no cookie but that of the app. */
function annAt({ port }: Reader) {
  const pages = `http://localhost:${port}`;
  let cookie = '';
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, pages), {
      redirect: 'manual',
      ...init,
      headers: { accept: 'text/html', cookie, origin: pages, ...init.headers },
    });
  return {
    open: ask,
    async post(path: string) {
      const { headers, status } = await ask(path, { method: 'POST' });
      const [set] = headers.getSetCookie();
      if (set) cookie = set.split(';')[0] ?? '';
      return { status, location: headers.get('location') ?? '' };
    },
    async act(method: string, input: object) {
      const html = await (await ask('/desk/console/')).text();
      const [, csrf = ''] = /name="writ-csrf" content="([^"]+)"/.exec(html) ?? [];
      const headers = { 'content-type': 'application/json', 'x-writ-csrf': csrf };
      const body = JSON.stringify(input);
      const path = `/desk/console/api/${method}`;
      const response = await ask(path, { method: 'POST', headers, body });
      // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back.
      return (await response.json()) as any;
    },
  };
}

test('docs/guides/add-to-an-app.md leads to a console by the session of the app, on Hono and Express', {
  timeout: SLOW,
}, async () => {
  let ann: ReturnType<typeof annAt> | undefined;

  await walk('docs/guides/add-to-an-app.md', {
    acts: {
      async approve(reader) {
        const address = /decide it at (http:\S+)/.exec(reader.output())?.[1] ?? '';
        ann = annAt(reader);
        const stranger = await ann.open(address);
        const words = `You are not signed in: sign in to the app at http://localhost:${reader.port}`;
        assert.equal(stranger.status, 401);
        assert.ok((await stranger.text()).includes(words));
        const { location } = await ann.post('/login/ann');
        assert.equal((await ann.open(location)).status, 200);
        assert.equal((await ann.open(address)).status, 200);
        const approval_request_id = address.split('/').at(-1);
        const grant = { approval_request_id, grant_type: 'one_time' };
        const granted = await ann.act('approval_grants.issue', grant);
        assert.ok(granted.grant_id, JSON.stringify(granted));
      },
      async 'sign-out'() {
        assert.equal((await ann?.post('/logout'))?.status, 303);
        assert.equal((await ann?.open('/desk/console/'))?.status, 401);
      },
      async console(reader) {
        const other = annAt(reader);
        assert.equal((await other.open('/desk/console/')).status, 401);
        const { location } = await other.post('/login/ann');
        assert.equal((await other.open(location)).status, 200);
        const { principal, approves } = await other.act('me', {});
        assert.deepEqual([principal, approves], ['human:ann@shop.example', ['refund_order']]);
        await other.post('/logout');
        assert.equal((await other.open('/desk/console/')).status, 401);
      },
    },
  });
});
