/**
 * The sign-in pages in a real browser: who can use them, what hostile texts do to them, and where their forms
 * lead.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, test } from 'vitest';
import type { HttpAsk } from '../../src/http/exchange.ts';
import { readForm } from '../../src/http/sign-in/forms.ts';
import { signInHeaders } from '../../src/http/sign-in/frame.ts';
import { formTargetOf } from '../../src/http/sign-in/headers.ts';
import { faultsOf } from '../support/accessibility.ts';
import { openBrowser } from '../support/chromium.ts';
import { atEnd, closedAtEnd } from '../support/ends.ts';
import { eventually } from '../support/world.ts';
import { openSite, routeAt } from './site.ts';
import { hostilePages, USUAL } from './views.ts';

/** Only to end a test that hangs. */
const SLOW = 180_000;

const HOSTILE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  script: hostilePages(
    `</title></style><script>document.title='taken'</script><img src=x onerror=1>`,
  ),
  quotes: hostilePages(`"'> autofocus onfocus="document.title='taken'" x="`),
  bidi: hostilePages('\u202eedoC edualC\u202c \u2066a\u2069 \u200b\u0430pple \u27e8U+0041\u27e9'),
  long: hostilePages('W'.repeat(10_000)),
};

const browser = closedAtEnd(await openBrowser());

/** Where a client waits for its answer. */
const client = await openClient('127.0.0.1');

let shownHtml = '';
let allowed: readonly string[] = [];
let answerTo = '';
let received: { ask: HttpAsk; ticked: readonly string[]; fields: Record<string, unknown> };

const site = await openSite([
  routeAt('GET', '/shown', ({ headers }) => ({
    status: 200,
    headers: Object.assign(headers, signInHeaders(allowed)),
    body: shownHtml,
  })),
  routeAt('POST', '/authorize', ({ ask, body, headers }) => {
    const reading = readForm(body, ['c']);
    assert.ok('form' in reading);
    const { form } = reading;
    const names = ['csrf', 'request', 'limit', 'currency', 'until', 'for', 'pass', 'answer'];
    const fields = Object.fromEntries(names.map((name) => [name, form.one(name)]));
    received = { ask, ticked: form.all('c'), fields };
    return { status: 303, headers: { ...headers, location: answerTo }, body: undefined };
  }),
]);

interface Shown {
  readonly options?: BrowserContextOptions;
  readonly formTargets?: readonly string[];
}

interface Visit {
  readonly page: Page;
  /** What the browser complained of. */
  readonly complaints: string[];
  show(html: string): Promise<void>;
}

/** A browser that is shown pages as the service shows them. */
async function visiting(
  { options = {}, formTargets = [] }: Shown,
  work: (visit: Visit) => Promise<void>,
): Promise<void> {
  allowed = formTargets;
  const context = await browser.newContext(options);
  try {
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (said) => void complaints.push(said.text()));
    page.on('pageerror', (error) => void complaints.push(error.message));
    const show = async (html: string) => {
      shownHtml = html;
      await page.goto(`${site.url}/shown`);
    };
    await work({ page, complaints, show });
  } finally {
    await context.close();
  }
}

/** The same for one page. */
function showing(html: string, shown: Shown, work: (visit: Visit) => Promise<void>): Promise<void> {
  return visiting(shown, async (visit) => {
    await visit.show(html);
    await work(visit);
  });
}

for (const colorScheme of ['light', 'dark'] as const) {
  for (const width of [390, 1_280]) {
    const where = `in ${colorScheme}, ${width} px wide`;
    test(`every page ${where} is accessible, fits and breaks no policy`, { timeout: SLOW }, () => {
      const options = { colorScheme, viewport: { width, height: 900 } };
      return visiting({ options }, async ({ page, complaints, show }) => {
        for (const [name, html] of Object.entries(USUAL)) {
          await show(html);
          // The schemes differ in colours alone.
          const rules = colorScheme === 'dark' ? ['color-contrast'] : undefined;
          assert.deepEqual(await faultsOf(page, rules), [], name);
          assert.equal(await widthOf(page), width, name);
        }
        assert.deepEqual(complaints, []);
      });
    });
  }
}

for (const [kind, pages] of Object.entries({ usual: USUAL, ...HOSTILE })) {
  test(`no page with ${kind} texts scrolls sideways at 320 px`, { timeout: SLOW }, () =>
    visiting({ options: { viewport: { width: 320, height: 600 } } }, async ({ page, show }) => {
      for (const [name, html] of Object.entries(pages)) {
        await show(html);
        assert.equal(await widthOf(page), 320, name);
      }
    }),
  );
}

describe('hostile texts', { timeout: SLOW }, () => {
  for (const [kind, pages] of Object.entries(HOSTILE)) {
    test(`"${kind}" stay texts on every page`, () =>
      visiting({}, async ({ page, complaints, show }) => {
        for (const [name, html] of Object.entries(pages)) {
          await show(html);
          const foreign = await page.evaluate<string[]>(
            `[...document.querySelectorAll('*')]
              .filter((each) => each.matches('script, img, iframe, object, embed, base, link:not([rel=icon]), [style], [autofocus]')
                || [...each.attributes].some(({ name }) => name.startsWith('on')))
              .map((each) => each.outerHTML.slice(0, 80))`,
          );
          assert.deepEqual(foreign, [], name);
          assert.notEqual(await page.title(), 'taken', name);
          assert.deepEqual(await faultsOf(page), [], name);
        }
        assert.deepEqual(complaints, []);
      }));
  }

  test('marks of direction in texts of clients and agents are seen and have no effect', () =>
    showing(HOSTILE.bidi?.agents ?? '', {}, async ({ page }) => {
      const texts = await page.locator('.list').allInnerTexts();

      assert.doesNotMatch(texts.join(), /[\u200b\u202a-\u202e\u2066-\u2069]/);
      assert.match(texts.join(), /\u27e8U\+202E\u27e9/);
      // The brackets of a mark cannot be imitated.
      assert.match(texts.join(), /\u27e8U\+27E8\u27e9U\+0041/);
    }));

  test('a name of 10,000 characters is cut and counted', () =>
    showing(
      HOSTILE.long?.consent ?? '',
      { options: { viewport: { width: 1_280, height: 900 } } },
      async ({ page }) => {
        const heading = await page.getByRole('heading', { level: 1 }).innerText();

        assert.match(heading, /^Let .?W{60} … of 10000 characters/);
      },
    ));
});

describe('the consent form, without JavaScript', { timeout: SLOW }, () => {
  const html = USUAL.consent ?? '';
  const options = { javaScriptEnabled: false };

  test('sends what the person chose, from its own origin, and leads to the client', async () => {
    answerTo = `${client.url}/callback?code=1`;
    await showing(html, { options, formTargets: [formTargetOf(answerTo)] }, async ({ page }) => {
      await page.getByLabel('Search flights').uncheck();
      await page.getByLabel('Hold a seat').check();
      await page.getByLabel('Spend at most, in total').fill('120.50');
      await page.getByLabel('For', { exact: true }).fill('Café & “more”');
      await page.getByLabel('May it pass this on?').selectOption('1');
      await page.getByRole('button', { name: 'Let it act' }).click();
      await page.waitForURL(answerTo);

      const { ask, ticked, fields } = received;
      assert.deepEqual(ticked, ['get_booking', 'hold_seat']);
      assert.deepEqual(fields, {
        csrf: 'token-of-the-page',
        request: 'sealed-request',
        limit: '120.50',
        currency: 'USD',
        until: '4d',
        for: 'Café & “more”',
        pass: '1',
        answer: 'allow',
      });
      assert.equal(ask.headers.origin, site.url);
      assert.equal(ask.headers['sec-fetch-site'], 'same-origin');
      assert.equal(client.referers.at(-1), undefined);
    });
  });

  test('sends a refusal whatever the fields contain', async () => {
    answerTo = `${client.url}/callback?error=access_denied`;
    await showing(html, { options, formTargets: [formTargetOf(answerTo)] }, async ({ page }) => {
      await page.getByLabel('Spend at most, in total').fill('');
      await page.getByRole('button', { name: 'Refuse' }).click();
      await page.waitForURL(answerTo);

      assert.equal(received.fields.answer, 'refuse');
    });
  });

  test('asks for a limit as soon as something ticked costs money', () =>
    showing(html, { options }, async ({ page }) => {
      const needs = page.getByText('What you ticked costs money');
      assert.equal(await needs.isVisible(), false);
      await page.getByLabel('Hold a seat').check();
      assert.equal(await needs.isVisible(), true);
      await page.getByLabel('Spend at most, in total').fill('300');
      assert.equal(await needs.isVisible(), false);
      await page.getByLabel('Spend at most, in total').fill('0.00');
      assert.equal(await needs.isVisible(), true);
    }));
});

describe('a form that is answered with a redirect', { timeout: SLOW }, () => {
  /** Whether the browser follows the redirect. */
  async function isFollowed(location: string, formTargets: readonly string[]): Promise<boolean> {
    answerTo = location;
    const asked: string[] = [];
    const isJudged = () => asked.some((url) => url === location || url.startsWith('failed '));
    await showing(USUAL.consent ?? '', { formTargets }, async ({ page }) => {
      page.on('requestfinished', (request) => void asked.push(request.url()));
      page.on('requestfailed', (request) => {
        // No program here opens the scheme of an app, so that request fails after it was made.
        asked.push(request.url() === location ? location : `failed ${request.url()}`);
      });
      await page.getByRole('button', { name: 'Let it act' }).click({ noWaitAfter: true });
      await eventually(isJudged);
    });
    return asked.includes(location);
  }

  test('reaches the client that the page names, and no other', async () => {
    const location = `${client.url}/callback`;

    assert.equal(await isFollowed(location, [formTargetOf(location)]), true);
    assert.equal(await isFollowed(location, ['https://client.example']), false);
  });

  test('reaches a client on the loopback address of IPv6', async () => {
    const { url } = await openClient('::1');
    const location = `${url}/callback`;

    assert.equal(await isFollowed(location, [formTargetOf(location)]), true);
  });

  test('reaches the app of a private scheme that the page names, and no other', async () => {
    const location = 'cursor://anysphere.cursor-mcp/callback';

    assert.equal(await isFollowed(location, [formTargetOf(location)]), true);
    assert.equal(await isFollowed(location, ['vscode:']), false);
  });
});

test('a page of another site cannot show the consent in a frame', { timeout: SLOW }, async () => {
  shownHtml = USUAL.consent ?? '';
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${client.url}/frame?${new URLSearchParams({ src: `${site.url}/shown` })}`);
  const framed = page.frames()[1];

  assert.ok(framed);
  assert.equal(await framed.getByText('act for you').count(), 0);
  await context.close();
});

test('every control is reached by keyboard in order, with a visible ring', { timeout: SLOW }, () =>
  showing(USUAL.consent ?? '', {}, async ({ page }) => {
    const reached: string[] = [];
    for (let stops = 0; stops < 40; stops++) {
      await page.keyboard.press('Tab');
      const [name, ring] = await page.evaluate<[string, string]>(
        `[document.activeElement.name || document.activeElement.textContent.trim(), getComputedStyle(document.activeElement).outlineWidth]`,
      );
      reached.push(name);
      assert.equal(ring, '3px', name);
      if (name === 'answer' && reached.length > 8 && reached.at(-2) === 'answer') break;
    }

    assert.deepEqual(reached, [
      'Skip to the page',
      'My agents',
      'Not you? Sign out',
      ...Array<string>(3).fill('answer'),
      ...Array<string>(6).fill('c'),
      '1 capability that it does not ask for',
      'limit',
      'until',
      'for',
      'pass',
      'My agents',
      'answer',
      'answer',
    ]);
  }),
);

function widthOf(page: Page): Promise<number> {
  return page.evaluate<number>('document.documentElement.scrollWidth');
}

interface ClientServer {
  readonly url: string;
  /** Of every answer that arrived, the page that it says to come from. */
  readonly referers: (string | undefined)[];
}

/** A server of a client; `/frame` shows another page in a frame. */
async function openClient(host: string): Promise<ClientServer> {
  const referers: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://client');
    if (pathname === '/callback') referers.push(request.headers.referer);
    response.setHeader('content-type', 'text/html');
    response.end(
      pathname === '/frame' ? `<iframe src="${searchParams.get('src')}"></iframe>` : 'ok',
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, host, resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`, referers };
}
