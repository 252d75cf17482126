/**
 * The API page and the front page in a real browser: what they show, what they fetch, and who can use
 * them.
 *
 * @module
 */

import assert from 'node:assert/strict';
import axe from 'axe-core';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, test } from 'vitest';
import { type OperationName, operations } from '../../src/protocol/operations.ts';
import { openDesk } from '../client/desk.ts';
import { openBrowser } from '../support/chromium.ts';
import { closedAtEnd } from '../support/ends.ts';

const NAMES = Object.keys(operations) as OperationName[];

/** Only to end a test that hangs: the rules of contrast look at every text of a long page. */
const SLOW = 180_000;

/** Faults that keep somebody from using the page. */
const GRAVE = ['serious', 'critical'];

const DESKTOP = { width: 1_280, height: 900 };
const VIEWS: Readonly<Record<string, BrowserContextOptions>> = {
  'in light': { colorScheme: 'light', viewport: DESKTOP },
  'in dark': { colorScheme: 'dark', viewport: DESKTOP },
  'on a phone': { colorScheme: 'light', viewport: { width: 375, height: 800 } },
};

/** The looks of the long page differ in colours or in width, and the rules of contrast take most of the time. */
const CONTRAST = 'color-contrast';
const RULES: Readonly<Record<string, object>> = {
  'in dark': { runOnly: [CONTRAST] },
  'on a phone': { rules: { [CONTRAST]: { enabled: false } } },
};

const browser = closedAtEnd(await openBrowser());
const desk = await openDesk();

interface Visit {
  readonly page: Page;
  /** What the page asked of anybody else. It got nothing. */
  readonly foreign: string[];
  /** What the browser complained of: errors, and what the page's policy forbade. */
  readonly complaints: string[];
}

async function visiting(
  options: BrowserContextOptions,
  work: (visit: Visit) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options);
  try {
    const foreign: string[] = [];
    const complaints: string[] = [];
    await context.route('**/*', async (route) => {
      const asked = route.request().url();
      if (new URL(asked).origin === desk.url) return route.continue();
      foreign.push(asked);
      return route.abort();
    });
    const page = await context.newPage();
    page.on('console', (said) => {
      if (['error', 'warning'].includes(said.type())) complaints.push(said.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await work({ page, foreign, complaints });
  } finally {
    await context.close();
  }
}

/** Visits a page of the service. */
function reading(
  options: BrowserContextOptions,
  work: (visit: Visit) => Promise<void>,
  path = '/docs',
): Promise<void> {
  return visiting(options, async (visit) => {
    await visit.page.goto(`${desk.url}${path}`);
    await work(visit);
  });
}

for (const [view, options] of Object.entries(VIEWS)) {
  describe(view, { timeout: SLOW }, () => {
    test('/docs shows every operation, logs no error and contacts no other host', () =>
      reading(options, async ({ page, foreign, complaints }) => {
        const articles = page.getByRole('article');
        for (const name of NAMES) {
          const heading = articles.getByRole('heading', { name, exact: true, level: 3 });
          assert.equal(await heading.isVisible(), true, name);
        }
        await page.evaluate('window.scrollTo(0, document.body.scrollHeight)');
        await page.waitForLoadState('networkidle');

        assert.deepEqual(foreign, []);
        assert.deepEqual(complaints, []);
      }));

    test('/docs is no wider than the screen', () =>
      reading(options, async ({ page }) => {
        const width = await page.evaluate('document.documentElement.scrollWidth');

        assert.equal(width, options.viewport?.width);
      }));

    test('/docs has no grave accessibility fault', () =>
      reading(options, async ({ page }) => {
        assert.deepEqual(await graveFaults(page, RULES[view]), []);
      }));

    test('/ links the API page, fits the screen, contacts no other host and is accessible', () =>
      reading(
        options,
        async ({ page, foreign, complaints }) => {
          const heading = page.getByRole('heading', { name: 'travel-desk', level: 1 });
          assert.equal(await heading.isVisible(), true);
          const width = await page.evaluate('document.documentElement.scrollWidth');
          assert.equal(width, options.viewport?.width);
          const ground = await page.evaluate('getComputedStyle(document.body).backgroundColor');
          assert.notEqual(ground, 'rgba(0, 0, 0, 0)', 'the policy admits the style');
          assert.deepEqual(await graveFaults(page), []);

          await page.getByRole('link', { name: 'Documentation' }).click();
          await page.waitForURL(`${desk.url}/docs`);
          assert.deepEqual(foreign, []);
          assert.deepEqual(complaints, []);
        },
        '/',
      ));
  });
}

test('/docs has one title, landmarks, and headings that skip no level', { timeout: SLOW }, () =>
  reading({}, async ({ page }) => {
    const levels = await page.evaluate<number[]>(
      `[...document.querySelectorAll('main :is(h1, h2, h3, h4)')].map((each) => Number(each.tagName[1]))`,
    );

    assert.equal(await page.getByRole('main').count(), 1);
    assert.equal(await page.getByRole('navigation', { name: 'Operations' }).count(), 1);
    assert.equal(levels[0], 1);
    assert.equal(levels.filter((level) => level === 1).length, 1);
    const skipped = levels.filter((level, at) => level > (levels[at - 1] ?? 0) + 1);
    assert.deepEqual(skipped, []);
  }),
);

test('/docs can be used with a keyboard alone', { timeout: SLOW }, () =>
  reading({}, async ({ page }) => {
    const focused = () =>
      page.evaluate<string>(`document.activeElement.textContent.trim().slice(0, 30)`);
    await page.keyboard.press('Tab');
    const skip = page.getByRole('link', { name: 'Skip to the description' });
    assert.equal(await focused(), 'Skip to the description');
    const box = await skip.boundingBox();
    assert.ok(box && box.x >= 0, 'the link is in sight while it has the focus');

    // The list of operations: the next stop, and each leads to its own.
    await page.keyboard.press('Tab');
    assert.equal(await focused(), NAMES[0]);
    await page.keyboard.press('Enter');
    assert.equal(new URL(page.url()).hash, `#${NAMES[0]}`);

    // Past the list, straight to the description, and open an answer there.
    await skip.focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    assert.equal(await focused(), '/openapi.json');
    await page.keyboard.press('Tab');
    assert.match(await focused(), /^200: /);
    const answer = page.locator('details').first();
    assert.equal(await answer.getAttribute('open'), '');
    await page.keyboard.press('Enter');
    assert.equal(await answer.getAttribute('open'), null);
  }),
);

/** One line for each rule that is broken gravely. */
async function graveFaults(page: Page, rules: object = {}): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(
    `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], ...rules })})`,
  );
  return violations
    .filter(({ impact }) => GRAVE.includes(impact ?? ''))
    .map(({ id, nodes }) => `${id}: ${nodes.length} times, first at ${nodes[0]?.html}`);
}
