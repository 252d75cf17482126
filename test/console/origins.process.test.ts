/**
 * Pages of other origins in the browser of a person who is signed in: they can neither read nor drive the console, nor
 * show it in a frame, nor reach its window.
 *
 * The other origin has the name of the console and another port. Browsers call that the same site, so they send the
 * cookie of the session along.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import type { Page } from 'playwright-core';
import { describe, test } from 'vitest';
import { openBrowser } from '../support/chromium.ts';
import { closedAtEnd } from '../support/ends.ts';
import { ALICE, eventually } from '../support/world.ts';
import { agentOf, openDesk, openServer, SEARCH, SLOW, visit } from './views-rig.ts';

const browser = closedAtEnd(await openBrowser());

let html = '';
const stranger = await openServer((_, response) => {
  response.setHeader('content-type', 'text/html');
  response.end(html);
});
/** Admitted by `cors_origins`, for programs in browsers that have a token. */
const admitted = await openServer((_, response) => {
  response.setHeader('content-type', 'text/html');
  response.end(html);
});
const desk = await openDesk({ cors_origins: [admitted] });
const { service } = desk;

/** What reached the service at the API of the console. */
const arrived: { url: string; headers: IncomingHttpHeaders; status: () => number }[] = [];
service.app.server.prependListener('request', (asked, answer) => {
  const { url = '', headers, method } = asked;
  if (url.startsWith('/console/api') && method === 'POST') {
    arrived.push({ url, headers, status: () => answer.statusCode });
  }
});

async function isLiving(token: string): Promise<boolean> {
  return (await service.invoke(token, 'search_flights', SEARCH)).status === 200;
}

/** A page of another origin, in the browser of a person who is signed in. */
async function lured(origin: string, text = '<title>Other</title>'): Promise<Page> {
  const { page } = await visit(browser, desk, ALICE, { path: '/console/agents' });
  await page.goto('about:blank');
  arrived.length = 0;
  html = text;
  await page.goto(`${origin}/`);
  return page;
}

/** Each way to ask from a script; `read` is what the script could read of the answer. */
const asking = (tokenId: string) => `
  const url = ${JSON.stringify(`${desk.pages}/console/api/`)};
  const body = JSON.stringify({ token_id: ${JSON.stringify(tokenId)} });
  const json = { 'content-type': 'application/json' };
  const ways = {
    simple: { method: 'POST', body },
    untyped: { method: 'POST', body: new Blob([body]) },
    json: { method: 'POST', body, headers: json },
    proof: { method: 'POST', body, headers: { ...json, 'x-writ-csrf': 'A'.repeat(43) } },
    blind: { method: 'POST', body, mode: 'no-cors' },
    get: { method: 'GET' },
  };
  const read = {};
  for (const [name, way] of Object.entries(ways)) {
    for (const method of ['me', 'tokens.revoke']) {
      read[name + ' ' + method] = await fetch(url + method, { credentials: 'include', ...way })
        .then((answer) => answer.text(), () => '');
    }
  }
  read.page = await fetch(${JSON.stringify(`${desk.pages}/console/agents`)}, { credentials: 'include' })
    .then((answer) => answer.text(), () => '');
  return read;`;

function assertNothingRead(read: Record<string, string>): void {
  assert.equal(Object.keys(read).length, 13);
  for (const [way, text] of Object.entries(read)) assert.equal(text, '', way);
}

/** For its origin, or as a body that is no JSON. */
const REFUSED = [403, 415];

function assertAllRefused(): void {
  for (const { url, status } of arrived) assert.ok(REFUSED.includes(status()), url);
}

for (const [name, origin] of Object.entries({ stranger, admitted })) {
  describe(`a page of the origin "${name}"`, { timeout: SLOW }, () => {
    test('reads no answer and causes no act by a script', async () => {
      const agent = await agentOf(desk, 'agent:target');
      const page = await lured(origin);

      const read = await page.evaluate<Record<string, string>>(
        `(async () => {${asking(agent.token_id)}})()`,
      );

      assertNothingRead(read);
      // The simple ones arrive, with the cookie of the person, and are refused.
      assert.ok(arrived.some(({ headers }) => headers.cookie !== undefined));
      assertAllRefused();
      assert.equal(await isLiving(agent.token), true);
    });

    test('causes no act by a form', async () => {
      const agent = await agentOf(desk, 'agent:target');
      const body = JSON.stringify({ token_id: agent.token_id, x: '' }).slice(0, -2);
      const page = await lured(
        origin,
        `<form method="post" enctype="text/plain" action="${desk.pages}/console/api/tokens.revoke">
         <input name='${body}' value='"}'><button>Win</button></form>`,
      );

      await page.getByRole('button').click();
      await page.waitForURL(/tokens\.revoke/);

      assert.equal(arrived.length, 1);
      assert.ok(arrived[0]?.headers.cookie !== undefined);
      assertAllRefused();
      assert.doesNotMatch(await page.content(), /revoked/);
      assert.equal(await isLiving(agent.token), true);
    });

    test('shows neither the console nor the sign-in in a frame', async () => {
      const sources = ['/console/agents', '/sign-in', '/agents'];
      const frames = sources.map((path) => `<iframe src="${desk.pages}${path}"></iframe>`);
      const page = await lured(origin, frames.join(''));

      assert.equal(page.frames().length, 1 + sources.length);
      for (const frame of page.frames().slice(1)) {
        // What Chromium shows instead of a page that may not be framed.
        assert.equal(frame.url(), 'chrome-error://chromewebdata/');
      }
    });

    test('has no hold on a window of the console that it opens', async () => {
      const page = await lured(origin, `<button>Win</button>`);
      await page.evaluate(
        `document.querySelector('button').onclick = () => {
           globalThis.opened = window.open(${JSON.stringify(`${desk.pages}/console/agents`)});
         }`,
      );

      const opening = page.context().waitForEvent('page');
      await page.getByRole('button').click();
      const opened = await opening;
      await opened.getByRole('heading', { name: 'Agents', exact: true }).waitFor();

      await eventually(() => page.evaluate<boolean>('globalThis.opened.closed'));
      assert.equal(await page.evaluate('globalThis.opened.length'), 0);
      assert.equal(await opened.evaluate('window.opener'), null);
    });

    test('gets nothing from the API or the page as a script', async () => {
      const sources = ['/console/api/me', '/console/', '/console/agents'];
      const page = await lured(origin);

      const loaded = await page.evaluate<string[]>(
        `Promise.all(${JSON.stringify(sources.map((path) => desk.pages + path))}.map((src) =>
           new Promise((resolve) => {
             const script = document.createElement('script');
             script.onload = () => resolve('loaded');
             script.onerror = () => resolve('refused');
             script.src = src;
             document.head.append(script);
           })))`,
      );

      assert.deepEqual(loaded, ['refused', 'refused', 'refused']);
    });
  });
}

test('a frame without an origin reads no answer and causes no act', { timeout: SLOW }, async () => {
  const agent = await agentOf(desk, 'agent:target');
  const script = `(async () => {${asking(agent.token_id)}})()
    .then((read) => parent.postMessage(read, '*'));`;
  const inner = `<script>${script}</script>`.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
  const page = await lured(
    stranger,
    `<script>addEventListener('message', ({ data, origin }) => { globalThis.read = { data, origin } })</script>
     <iframe sandbox="allow-scripts allow-forms" srcdoc="${inner}"></iframe>`,
  );

  await eventually(() => page.evaluate<boolean>('globalThis.read !== undefined'));
  const { data, origin } = await page.evaluate<{ data: Record<string, string>; origin: string }>(
    'globalThis.read',
  );

  assert.equal(origin, 'null');
  assertNothingRead(data);
  assert.ok(arrived.length > 0);
  assertAllRefused();
  assert.equal(await isLiving(agent.token), true);
});
