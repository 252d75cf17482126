/**
 * The console in a real Chromium: how long its first view and a decision take until a person can act, beside a page
 * of the same service without a script, and with few and many requests waiting.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, Page } from 'playwright-core';
import { DEMO_IDENTITIES, travelDesk } from '../examples/travel/service.ts';
import { serve } from '../src/http/serve.ts';
import { openBrowser } from '../test/support/chromium.ts';
import { median } from './measure.ts';

/** Loads of each page; they take turns. */
const TURNS = 9;

/** Calls at once while requests are made. */
const AT_ONCE = 32;

export async function inBrowser(sizes: readonly number[]): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'writ-bench-console-'));
  const service = await serve(travelDesk, {
    settings: { identities: DEMO_IDENTITIES, rate_limits: 'off' },
    environment: { PORT: '0', WRIT_DATA: data, WRIT_LOG_LEVEL: 'silent' },
    signals: false,
  });
  const browser = await openBrowser();
  try {
    const context = await browser.newContext();
    await signIn(context, service.pagesUrl);
    const ask = await requester(service.url);
    let made = 0;
    let newest = '';
    for (const size of sizes) {
      while (made < size) {
        const many = Math.min(AT_ONCE, size - made);
        const ids = await Promise.all(Array.from({ length: many }, (_, at) => ask(made + at)));
        newest = ids.at(-1) ?? newest;
        made += many;
      }
      await report(context, service.pagesUrl, { waiting: made, newest });
    }
  } finally {
    await browser.close();
    await service.close();
    rmSync(data, { recursive: true, force: true });
  }
}

async function report(
  context: BrowserContext,
  url: string,
  { waiting, newest }: { readonly waiting: number; readonly newest: string },
): Promise<void> {
  const pages = [
    { name: 'My agents, a page without a script', path: '/agents', shown: 'h1' },
    { name: 'first view: approvals', path: '/console/approvals', shown: 'main a[href*="/apr_"]' },
    { name: 'a decision', path: `/console/approvals/${newest}`, shown: '.decide button.act' },
  ];
  const times = pages.map((): number[] => []);
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const [at, { path, shown }] of pages.entries()) {
      times[at]?.push(await loadMs(await context.newPage(), `${url}${path}`, shown));
    }
  }
  console.log(
    `\n${waiting} requests wait; milliseconds until a person can act, median of ${TURNS}`,
  );
  const [base = 1] = times.map(median);
  for (const [at, { name }] of pages.entries()) {
    const ms = median(times[at] ?? []);
    const ratio = `${(ms / base).toFixed(2)} of the page without a script`;
    console.log(`${name.padEnd(40)}${ms.toFixed(0).padStart(8)}  ${at === 0 ? '' : ratio}`);
  }
}

/** From the start of the navigation until the element is there, by the clock of the page. */
async function loadMs(page: Page, address: string, shown: string): Promise<number> {
  try {
    await page.goto(address);
    await page.waitForSelector(shown);
    return await page.evaluate('performance.now()');
  } finally {
    await page.close();
  }
}

async function signIn(context: BrowserContext, url: string): Promise<void> {
  const page = await context.newPage();
  await page.goto(`${url}/sign-in`);
  await page.fill('input[name="key"]', 'demo-approver-key');
  await page.click('main button');
  await page.close();
}

/** Asks for approval of one more refund, and resolves with the id of the request. */
async function requester(url: string): Promise<(place: number) => Promise<string>> {
  const scope = ['travel.refund'];
  const budget = { currency: 'USD', max_amount: 1_000_000 };
  const issued = await post(url, '/svc/tokens', 'demo-human-key', { scope, budget });
  return async (place) => {
    const parameters = { booking_id: 'BK-1000', amount: 250, reason: `case ${place}` };
    const path = '/svc/invoke/issue_refund';
    const answer = await post(url, path, String(issued.token), { parameters });
    const { approval_request_id: id } = answer.failure as { approval_request_id?: string };
    if (id === undefined) throw new Error(`Cannot measure: ${JSON.stringify(answer)}`);
    return id;
  };
}

async function post(
  url: string,
  path: string,
  bearer: string,
  body: object,
): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}
