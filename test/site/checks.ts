/**
 * Tries the built site as its readers use it: every page on a phone and on a desktop, every link, the search by
 * keyboard and by hand, the switch of the theme, and a page that does not exist.
 *
 * @module
 */

import { readdirSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { DARK, faultsOf, LIGHT, openReader, type Reader, type Visit, visit } from './visit.ts';

export interface Site {
  readonly browser: Browser;
  /** Ends with a slash. */
  readonly url: string;
  /** The built files. */
  readonly folder: string;
  /** Where links to the sources lead. */
  readonly repository: string;
}

/** Shown in dark as well: one of each kind. */
const SHOWN_IN_DARK = [
  'index.html',
  'guides/first-service.html',
  'reference/guard.html',
  'api.html',
];

/** Long enough to be on few pages; the search finds the page that is about it. */
const WORD = 'mounting';
const WORD_PAGE = 'reference/mounting.html';

/** Only pages that begin with one of `only`, or all. Prints each fault once. Returns how many there are. */
export async function trySite(
  site: Site,
  only: readonly string[],
  say: (line: string) => void,
): Promise<number> {
  const places = new Map<string, string[]>();
  const note = (place: string, faults: readonly string[]) => {
    for (const fault of faults) {
      const known = places.get(fault) ?? [];
      if (known.length === 0) say(`FAULT ${place}: ${fault}`);
      places.set(fault, [...known, place]);
    }
  };
  const wanted = (name: string) => only.length === 0 || only.some((each) => name.startsWith(each));
  const pages = builtPages(site.folder).filter(wanted);
  const visits = new Map<string, Visit>();
  for (const look of [...LIGHT, ...DARK]) {
    const reader = await openReader(site.browser, look, site.url);
    const shown = DARK.includes(look) ? SHOWN_IN_DARK.filter(wanted) : pages;
    for (const name of shown) {
      const found = await visit(reader, `${site.url}${name}`);
      visits.set(name, found);
      note(`${name} (${look.name})`, found.faults);
    }
    for (const [name, attempt] of Object.entries(ATTEMPTS)) {
      const faults = await attempt(reader, site).catch((error: Error) => [error.message]);
      note(`${name} (${look.name})`, [...faults, ...reader.complaints()]);
    }
    await reader.close();
    say(`${look.name}: tried ${shown.length} pages and ${Object.keys(ATTEMPTS).length} attempts`);
  }
  note('links', brokenLinks(site, visits));
  for (const [fault, found] of places) {
    if (found.length > 1) say(`FAULT in ${found.length} places: ${fault}`);
  }
  return places.size;
}

type Attempt = (reader: Reader, site: Site) => Promise<string[]>;

const ATTEMPTS: Readonly<Record<string, Attempt>> = {
  'search by keyboard': async (reader, { url }) => {
    const { page } = reader;
    await page.goto(url);
    await page.waitForLoadState('networkidle');
    await page.keyboard.press('Control+k');
    await page.locator('.VPLocalSearchBox input').waitFor();
    await page.keyboard.type(WORD);
    await page.locator('.VPLocalSearchBox .result').first().waitFor();
    const faults = await searchFaults(reader);
    await page.keyboard.press('Enter');
    return [...faults, ...(await arrivedAt(page, url))];
  },
  'search by hand': async ({ page }, { url }) => {
    await page.goto(url);
    await page.waitForLoadState('networkidle');
    await page.locator('.VPNavBarSearch button').click();
    await page.locator('.VPLocalSearchBox input').fill(WORD);
    await page.locator('.VPLocalSearchBox .result').first().click();
    return arrivedAt(page, url);
  },
  'a page that does not exist': async (reader, { url }) => {
    const { page } = reader;
    const response = await page.goto(`${url}no/such-page.html`);
    await page.waitForLoadState('networkidle');
    // The browser itself complains of the status.
    const complaints = reader.complaints().filter((each) => !each.includes('status of 404'));
    const home = page.getByRole('link', { name: 'Go to the first page' });
    await page.getByRole('heading', { name: 'This page does not exist' }).waitFor();
    const faults = await faultsOf(reader);
    await home.click();
    await page.waitForURL(url);
    return [
      ...(response?.status() === 404 ? [] : [`status ${response?.status()}`]),
      ...complaints,
      ...faults,
    ];
  },
  'the switch of the theme': async (reader, { url }) => {
    const { page } = reader;
    await page.goto(url);
    await page.waitForLoadState('networkidle');
    const before = await groundOf(page);
    const menu = page.locator('.VPNavBarHamburger');
    if (await menu.isVisible()) await menu.click();
    await page.locator('.VPSwitchAppearance:visible').first().click();
    await page.waitForTimeout(300);
    const after = await groundOf(page);
    return [
      ...(before === after ? [`the ground stays ${before}`] : []),
      ...(await faultsOf(reader)),
    ];
  },
  'the menu of pages': async ({ page }, { url }) => {
    await page.goto(`${url}reference/guard.html`);
    await page.waitForLoadState('networkidle');
    const menu = page.locator('.VPLocalNav .menu');
    if (await menu.isVisible()) await menu.click();
    await page.locator('.VPSidebar').getByRole('link', { name: 'Approvals', exact: true }).click();
    await page.waitForURL(`${url}reference/approvals.html`);
    await page.getByRole('heading', { name: 'Approvals', level: 1 }).waitFor();
    return [];
  },
};

/** The page behind the search box is not looked at: it cannot be reached then. */
async function searchFaults(reader: Reader): Promise<string[]> {
  const faults = await faultsOf(reader);
  return faults.map((fault) => `open search: ${fault}`);
}

/** The page that the search leads to has the word that was looked for. */
async function arrivedAt(page: Page, url: string): Promise<string[]> {
  await page.waitForURL((address) => address.href !== url);
  if (!page.url().startsWith(`${url}${WORD_PAGE}`)) return [`"${WORD}" led to ${page.url()}`];
  await page.locator('main').filter({ hasText: WORD }).waitFor();
  return [];
}

function groundOf(page: Page): Promise<string> {
  return page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
}

function brokenLinks(site: Site, visits: ReadonlyMap<string, Visit>): string[] {
  const files = new Set(filesIn(site.folder));
  return [...visits].flatMap(([from, { links }]) =>
    [...new Set(links)].flatMap((link) => {
      const isOwn = link.startsWith(new URL(site.url).origin);
      const fault = isOwn ? ownFault(link, site, files, visits) : foreignFault(link, site);
      return fault === undefined ? [] : [`${from} leads to ${link}, which ${fault}`];
    }),
  );
}

function ownFault(
  link: string,
  { url }: Site,
  files: ReadonlySet<string>,
  visits: ReadonlyMap<string, Visit>,
): string | undefined {
  if (!link.startsWith(url)) return 'is outside the site';
  const [path = '', anchor = ''] = link.slice(url.length).split('#');
  const name = path === '' || path.endsWith('/') ? `${path}index.html` : path;
  if (!files.has(name)) return 'does not exist';
  const ids = visits.get(name)?.ids;
  const isThere = anchor === '' || !ids || ids.includes(decodeURIComponent(anchor));
  return isThere ? undefined : 'has no such heading';
}

/** Other hosts are not asked. */
function foreignFault(link: string, { repository }: Site): string | undefined {
  const isSource = link.startsWith(repository);
  return isSource || /^https?:/.test(link) ? undefined : 'no browser follows';
}

function builtPages(folder: string): string[] {
  return filesIn(folder)
    .filter((name) => name.endsWith('.html') && name !== '404.html')
    .sort();
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) =>
    name.replaceAll('\\', '/'),
  );
}
