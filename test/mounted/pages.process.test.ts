/**
 * People of an app in a real Chromium, at the console of the service that is mounted in it: a decision with a passkey,
 * two people one after another in one browser, and a page of another port, which gets the cookie of the app.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { Page } from 'playwright-core';
import { test } from 'vitest';
import { plugIn } from '../console/passkey-device.ts';
import { openBrowser } from '../support/chromium.ts';
import { atEnd, closedAtEnd } from '../support/ends.ts';
import { freePort } from '../support/free-ports.ts';
import { ANN, type App, openApp, requested } from './app.ts';
import { listened } from './desk.ts';

/** Only to end a test that hangs. */
const SLOW = 120_000;

const browser = closedAtEnd(await openBrowser());

interface Shop extends App {
  readonly pages: string;
  readonly page: Page;
  /** The cookies of the requests by POST. */
  readonly cookies: (string | undefined)[];
  /** Signs in to the app, in this browser. */
  signIn(name: string): Promise<void>;
}

async function openShop(): Promise<Shop> {
  const port = await freePort();
  const app = await openApp({ settings: { public_url: `http://127.0.0.1:${port}/desk` } });
  app.people.set('ann', {
    principal: ANN,
    scopes: ['approver:pay'],
    signed_in_at: new Date(),
  });
  const pages = `http://localhost:${port}`;
  const cookies: Shop['cookies'] = [];
  const answer: RequestListener = (request, response) => {
    if (request.method === 'POST') cookies.push(request.headers.cookie);
    const name = /^\/login\/(\w+)$/.exec(request.url ?? '')?.[1];
    if (name === undefined) app.desk.listener(request, response);
    else response.setHeader('set-cookie', `shop=${name}; Path=/; HttpOnly; SameSite=Lax`).end('ok');
  };
  const server = createServer(answer).listen(port, '127.0.0.1');
  atEnd(() => server.close().closeAllConnections());
  const context = closedAtEnd(await browser.newContext());
  const page = await context.newPage();
  return {
    ...app,
    pages,
    page,
    cookies,
    async signIn(name) {
      await (await context.newPage()).goto(`${pages}/login/${name}`);
    },
  };
}

test('a person of the app adds a passkey and approves with it; the console closes with the session of the app', {
  timeout: SLOW,
}, async () => {
  const { page, pages, people, signIn, ...app } = await openShop();
  const id = await requested({ ...app, people });
  await plugIn(page);
  const address = `${pages}/desk/console/approvals/${id}`;

  await page.goto(address);
  await page.getByText(`You are not signed in: sign in to the app at ${pages}`).waitFor();
  await signIn('ann');
  await page.goto(address);
  await page.getByRole('button', { name: 'Add a passkey…' }).click();
  await page.getByLabel('Name', { exact: true }).fill('This laptop');
  await page.getByRole('button', { name: 'Add this passkey' }).click();
  await page.getByRole('button', { name: /^Approve .*…$/ }).waitFor();
  assert.equal(await page.getByRole('link', { name: 'Sign out…' }).count(), 0);
  await page.getByRole('button', { name: /^Approve .*…$/ }).click();
  await page.getByRole('button', { name: /^Sign and / }).click();
  await page
    .locator('.decide')
    .filter({ hasText: /Approved by you/ })
    .waitFor();
  people.delete('ann');
  await page.getByText('Your session is over.').waitFor();
  await page.getByRole('link', { name: 'Sign in again and come back here' }).click();
  await page.getByText('You are not signed in').waitFor();
  assert.equal(page.url(), address);
});

test('the open page of a person asks nothing more when another one signs in to the app', {
  timeout: SLOW,
}, async () => {
  const { page, pages, signIn } = await openShop();
  await signIn('ann');
  await page.goto(`${pages}/desk/console/`);
  await page.getByText('ann@shop.example').first().waitFor();
  await signIn('ben');

  await page.getByText('Your session is over.').waitFor();
  await page.getByRole('link', { name: 'Sign in again and come back here' }).click();
  await page.getByText('ben@shop.example').first().waitFor();
  await page.goBack();
  await page.getByText('ben@shop.example').first().waitFor();
  assert.equal(await page.getByText('ann@shop.example').count(), 0);
});

test('a page of another port has the cookie of the app with its requests, and changes and reads nothing', {
  timeout: SLOW,
}, async () => {
  const { page, pages, signIn, cookies, ...app } = await openShop();
  const id = await requested(app);
  const evil = await listened((_, response) => {
    const frame = `<iframe src="${pages}/desk/console/"></iframe>`;
    response.setHeader('content-type', 'text/html').end(frame);
  });
  atEnd(evil.end);
  await signIn('ann');
  await page.goto(evil.url.replace('127.0.0.1', 'localhost'));
  const attempts = await page.evaluate(tryAll, { api: `${pages}/desk/console/api/`, id });

  assert.ok(cookies.includes('shop=ann'), 'the browser sends the cookie to every port');
  assert.deepEqual(attempts, ['opaque', 'blocked', 'blocked', 'blocked']);
  assert.equal(page.frames()[1]?.url(), 'chrome-error://chromewebdata/');
  await page.goto(`${pages}/desk/console/approvals/${id}`);
  await page.locator('.decide').filter({ hasText: 'The policy requires a passkey' }).waitFor();
});

/** In the browser: what each request of a foreign page came to. */
async function tryAll({ api, id }: { api: string; id: string }): Promise<string[]> {
  const body = JSON.stringify({ approval_request_id: id, decision: 'deny' });
  const deny = `${api}approval_requests.deny`;
  const sent = { method: 'POST', credentials: 'include', body } as const;
  const json = { 'content-type': 'application/json', 'x-writ-csrf': 'x' };
  const tries = [
    () => fetch(deny, { ...sent, mode: 'no-cors' }),
    () => fetch(deny, sent),
    () => fetch(deny, { ...sent, headers: json }),
    () => fetch(api.replace('api/', ''), { credentials: 'include' }),
  ];
  const ends: string[] = [];
  for (const each of tries) {
    ends.push(
      await each().then(
        ({ type }) => type,
        () => 'blocked',
      ),
    );
  }
  return ends;
}
