/**
 * Every view and dialog of the console in a real browser: accessible in light and dark, on a phone and on a desktop, and
 * without sideways scrolling on the narrowest phone.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { describe, test } from 'vitest';
import { sealed } from '../log/support.ts';
import { faultsOf } from '../support/accessibility.ts';
import { openBrowser } from '../support/chromium.ts';
import { closedAtEnd } from '../support/ends.ts';
import { ALICE, BOB, eventually } from '../support/world.ts';
import {
  ADMIN,
  ALICE_IS,
  agentOf,
  askedFor,
  openDesk,
  SEARCH,
  SLOW,
  type Visit,
  visit,
} from './views-rig.ts';

const SCHEMES = ['light', 'dark'] as const;
const WIDTHS = [390, 1_280];
const NARROWEST = 320;

const browser = closedAtEnd(await openBrowser());
const desk = await openDesk();
const { service } = desk;

const budget = { currency: 'USD', max_amount: 100 };
const planner = await agentOf(desk, 'agent:planner', {
  scope: ['travel.search', 'travel.extras'],
  budget,
});
const finder = await service.delegate(planner, { subject: 'agent:finder' });
await service.invoke(finder.token, 'search_flights', SEARCH);
const { body: taxi } = await service.invoke(planner.token, 'request_taxi', { pickup: 'Airport' });
await service.invoke(planner.token, 'order_lunch');
await service.invoke(finder.token, 'book_flight', { quote: 'none', passenger: 'Ann Lee' });
await sealed(service);
const pending = await askedFor(desk, 'agent:charterer');
const denied = await askedFor(desk, 'agent:second');
await service.ask('POST', `/svc/approval_requests/${denied}/deny`, {
  bearer: BOB,
  body: { reason: 'Take the train' },
});
const { sequence } = await sealed(service);

interface Shown {
  readonly name: string;
  readonly key: string;
  readonly path: string;
  /** Brings the page into the state that is looked at. */
  ready(page: Page): Promise<void>;
}

const heading = (name: string | RegExp) => (page: Page) =>
  page.getByRole('heading', { name }).first().waitFor();
const text = (words: string | RegExp) => (page: Page) => page.getByText(words).first().waitFor();

/** Opens a dialog and waits until it can be confirmed. */
const dialogBy = (button: string, confirm: string) => async (page: Page) => {
  await page.getByRole('button', { name: button }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: confirm, exact: true }).waitFor();
};

/** Opens a dialog. */
const dialogOf = (button: string | RegExp) => async (page: Page) => {
  await page.getByRole('button', { name: button }).first().click();
  await page.getByRole('dialog').waitFor();
};

const VIEWS: readonly Shown[] = [
  { name: 'inbox', key: BOB, path: 'approvals', ready: text(/charter/i) },
  { name: 'decision', key: BOB, path: `approvals/${pending}`, ready: text('SEA-SFO') },
  {
    name: 'approve dialog',
    key: BOB,
    path: `approvals/${pending}`,
    ready: dialogOf(/^Approve .*…$/),
  },
  { name: 'deny dialog', key: BOB, path: `approvals/${pending}`, ready: dialogOf('Deny…') },
  { name: 'decided', key: BOB, path: `approvals/${denied}`, ready: text('Take the train') },
  { name: 'no such request', key: BOB, path: 'approvals/apr_none', ready: heading(/./) },
  { name: 'passkeys', key: BOB, path: 'passkeys', ready: heading(/passkeys/i) },
  { name: 'agents', key: ALICE, path: 'agents', ready: heading(/^finder/) },
  {
    name: 'stop dialog of an agent',
    key: ALICE,
    path: 'agents',
    ready: dialogBy('Stop…', 'End agent'),
  },
  {
    name: 'stop dialog of all',
    key: ALICE,
    path: 'agents',
    ready: dialogBy('Stop all', 'End all of them'),
  },
  {
    name: 'pause dialog',
    key: ADMIN,
    path: `agents?root_principal=${encodeURIComponent(ALICE_IS)}`,
    ready: dialogBy('Stop all', 'Pause all agents'),
  },
  {
    name: 'agent',
    key: ALICE,
    path: `agents/${planner.token_id}`,
    ready: text('See what it did'),
  },
  { name: 'ended agents', key: ALICE, path: 'agents?ended=', ready: text('No agent has ended.') },
  { name: 'no agents', key: BOB, path: 'agents', ready: text('No agent acts now.') },
  { name: 'activity', key: ALICE, path: 'activity', ready: text('Refused today') },
  {
    name: 'all fields of an entry',
    key: ALICE,
    path: 'activity',
    async ready(page) {
      await page.getByText('log entries').first().click();
      await page
        .getByRole('button', { name: /^Entry \d/ })
        .first()
        .click();
    },
  },
  {
    name: 'no entries',
    key: ALICE,
    path: 'activity?capability=none',
    ready: text('No entry matches this search.'),
  },
  {
    name: 'invocation',
    key: ALICE,
    path: `activity/${taxi.invocation_id}`,
    ready: heading('Through whose hands'),
  },
  { name: 'capabilities', key: ALICE, path: 'capabilities', ready: text('request_taxi') },
  {
    name: 'relations of capabilities',
    key: ALICE,
    path: 'capabilities',
    async ready(page) {
      await page.getByText('How they relate').click();
      await page.locator('svg.graph').waitFor();
    },
  },
  {
    name: 'no capability',
    key: ALICE,
    path: 'capabilities?name=none&only=money',
    ready: text('No capability matches.'),
  },
  {
    name: 'capability',
    key: ALICE,
    path: 'capabilities/request_taxi',
    async ready(page) {
      await page.getByText('Related capabilities').click();
      await page.getByLabel('pickup', { exact: true }).fill('Airport');
      await page.getByRole('button', { name: 'Check this call' }).click();
      await page.locator('.notice').first().waitFor();
    },
  },
  {
    name: 'trust after a verification',
    key: ALICE,
    path: `trust?entry=${taxi.invocation_id}`,
    async ready(page) {
      await page.getByRole('heading', { name: /^Entry \d/ }).waitFor();
      await page.getByRole('button', { name: `Verify ${sequence - 1} → ${sequence}` }).click();
      await page.getByText('Verified here').waitFor();
    },
  },
  { name: 'operations', key: ADMIN, path: 'operations', ready: text('Order lunch') },
  {
    name: 'operations, everything open',
    key: ADMIN,
    path: 'operations',
    async ready(page) {
      await page.getByText('This one').waitFor({ state: 'attached' });
      for (const summary of await page.locator('details > summary').all()) await summary.click();
    },
  },
  { name: 'tools', key: ADMIN, path: 'tools', ready: text('write-file') },
  {
    name: 'accept dialog',
    key: ADMIN,
    path: 'tools',
    ready: dialogBy('Accept the new text…', 'Accept this tool'),
  },
  {
    name: 'reconcile dialog',
    key: ADMIN,
    path: 'operations',
    ready: dialogBy('It happened…', 'Record that it happened'),
  },
  {
    name: 'freeze dialog',
    key: ADMIN,
    path: 'operations',
    ready: dialogBy('Freeze…', 'Freeze the person'),
  },
  {
    name: 'end of a session dialog',
    key: ADMIN,
    path: 'operations',
    async ready(page) {
      await page.getByText('Sessions', { exact: true }).click();
      await dialogBy('End session…', 'End session')(page);
    },
  },
  { name: 'not for this person', key: ALICE, path: 'operations', ready: text('for operators') },
];

/** What is wrong with the page, in every look. */
async function wrongWith(page: Page): Promise<string[]> {
  const wrong: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of SCHEMES) {
      // The schemes differ in colours alone, and those do not follow the width.
      if (colorScheme === 'dark' && width !== WIDTHS[0]) continue;
      await page.emulateMedia({ colorScheme });
      const faults = await faultsOf(page, colorScheme === 'dark' ? ['color-contrast'] : undefined);
      wrong.push(...faults.map((fault) => `${colorScheme} ${width}: ${fault}`));
    }
  }
  for (const width of [NARROWEST, ...WIDTHS]) {
    await page.setViewportSize({ width, height: 600 });
    const needed = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (needed > width) wrong.push(`${needed} px wide at ${width}`);
  }
  return wrong;
}

/** The page of each person, signed in once: a page of its own for each view costs a process and a window. */
const people = new Map(
  await Promise.all(
    [ALICE, BOB, ADMIN].map(async (key): Promise<[string, Visit]> => {
      return [key, await visit(browser, desk, key, { path: '/console/agents' })];
    }),
  ),
);

/** Loads the view anew, as it looks before `wrongWith()` changes the look. */
async function opened(key: string, path: string): Promise<Visit> {
  const { page, complaints } = people.get(key) as Visit;
  await page.setViewportSize({ width: 1_280, height: 720 });
  await page.emulateMedia({ colorScheme: null });
  complaints.length = 0;
  await page.goto(`${desk.pages}/console/${path}`);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  return { page, complaints };
}

describe('every view is accessible in every look and fits', { timeout: SLOW }, () => {
  for (const { name, key, path, ready } of VIEWS) {
    test(name, async () => {
      const { page, complaints } = await opened(key, path);
      await ready(page);

      assert.deepEqual(await wrongWith(page), []);
      // Chromium names an answer of 404; the page has said what it means.
      assert.deepEqual(
        complaints.filter((each) => !each.includes('404 (Not Found)')),
        [],
      );
    });
  }

  test('sign-in', async () => {
    const page = closedAtEnd(await browser.newPage());
    await page.goto(`${desk.pages}/console/`);
    await page.locator('input[name=key]').waitFor();

    assert.deepEqual(await wrongWith(page), []);
  });

  for (const [name, path, words] of [
    ['the start page', '/', 'Connect an agent'],
    ['the API page', '/docs', 'Governed capabilities for agents'],
    ['a page that is not there', `/console/aprovals/${'apr_'.repeat(50)}`, 'There is no page here'],
    ['an address for programs', '/svc/approval_requests/apr_1', 'This address is for programs'],
  ] as const) {
    test(name, async () => {
      const page = closedAtEnd(await browser.newPage());
      await page.goto(`${desk.pages}${path}`);
      await page.getByRole('heading', { name: words }).waitFor();
      for (const fold of await page.locator('main > details > summary').all()) await fold.click();

      assert.deepEqual(await wrongWith(page), []);
    });
  }

  test('a part that does not load', async () => {
    const { page } = await visit(browser, desk, ALICE, { path: '/console/capabilities' });
    await page.route('**/console/api/agents', (route) => route.abort());
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByText('The list of agents did not load').waitFor();

    assert.deepEqual(await wrongWith(page), []);
  });

  test('a service that does not answer, and a session that is over', async () => {
    const { page } = await visit(browser, desk, ALICE, { path: '/console/agents' });
    await page.route('**/console/api/**', (route) => route.abort());
    await page.getByText('Reconnecting.').waitFor();
    const whileAway = await wrongWith(page);
    await page.unroute('**/console/api/**');
    await page.context().clearCookies();
    await page.getByText('Your session is over.').waitFor();

    assert.deepEqual(whileAway, []);
    assert.deepEqual(await wrongWith(page), []);
  });

  test('verify.html', async () => {
    const page = closedAtEnd(await browser.newPage());
    const file = new URL('../../dist/src/console-page/verify.html', import.meta.url);
    await page.goto(file.href);
    await eventually(async () => (await page.getByRole('heading').count()) > 1);

    assert.deepEqual(await wrongWith(page), []);
  });
});
