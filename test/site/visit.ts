/**
 * Looks at one page of the built site in a real browser, and notes what is wrong with it and where it leads.
 *
 * @module
 */

import axe from 'axe-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

/** Faults that keep somebody from using the page. */
const GRAVE = ['serious', 'critical'];

export interface Look {
  readonly name: string;
  readonly options: BrowserContextOptions & { viewport: { width: number; height: number } };
}

const DESKTOP = { width: 1_280, height: 900 };
const PHONE = { width: 375, height: 800 };

export const LIGHT: readonly Look[] = [
  { name: 'desktop', options: { colorScheme: 'light', viewport: DESKTOP } },
  { name: 'phone', options: { colorScheme: 'light', viewport: PHONE } },
];
export const DARK: readonly Look[] = [
  { name: 'dark desktop', options: { colorScheme: 'dark', viewport: DESKTOP } },
  { name: 'dark phone', options: { colorScheme: 'dark', viewport: PHONE } },
];

export interface Reader {
  readonly page: Page;
  readonly look: Look;
  /** What the browser complained of and what was asked of other hosts, since the last call. */
  complaints(): string[];
  close(): Promise<void>;
}

/** A browser that gets nothing but what the site has. */
export async function openReader(browser: Browser, look: Look, site: string): Promise<Reader> {
  const context = await browser.newContext(look.options);
  const found: string[] = [];
  await context.route('**/*', async (route) => {
    const asked = route.request().url();
    if (new URL(asked).origin === new URL(site).origin) return route.continue();
    found.push(`asks another host: ${asked}`);
    return route.abort();
  });
  const page = await context.newPage();
  page.on('console', (said) => {
    if (['error', 'warning'].includes(said.type())) found.push(`console: ${said.text()}`);
  });
  page.on('pageerror', (error) => found.push(`script: ${error.message}`));
  return { page, look, complaints: () => found.splice(0), close: () => context.close() };
}

export interface Visit {
  readonly faults: string[];
  /** Absolute, with their anchors. */
  readonly links: string[];
  readonly ids: string[];
}

export async function visit(reader: Reader, url: string): Promise<Visit> {
  const { page } = reader;
  const response = await page.goto(url);
  await page.waitForLoadState('networkidle');
  const faults = [
    ...(response?.status() === 200 ? [] : [`status ${response?.status()}`]),
    ...(await faultsOf(reader)),
  ];
  const links = await page.evaluate<string[]>(`[...document.links].map((each) => each.href)`);
  const ids = await page.evaluate<string[]>(
    `[...document.querySelectorAll('[id]')].map((each) => each.id)`,
  );
  return { faults, links, ids };
}

/** What is wrong with the page as it is shown now. */
export async function faultsOf(reader: Reader): Promise<string[]> {
  const { page, look } = reader;
  const faults = [
    ...(await widthFaults(page, look.options.viewport.width)),
    ...(await headingFaults(page)),
    ...(await brokenImages(page)),
    ...(await graveFaults(page)),
  ];
  return [...faults, ...reader.complaints()];
}

async function widthFaults(page: Page, width: number): Promise<string[]> {
  const shown = await page.evaluate<number>('document.documentElement.scrollWidth');
  if (shown <= width) return [];
  const wide = await page.evaluate<string>(
    `[...document.querySelectorAll('main *')].find((each) => each.getBoundingClientRect().right > ${width} + 1)
      ?.outerHTML.slice(0, 120) ?? ''`,
  );
  return [`is ${shown} pixels wide: ${wide}`];
}

async function headingFaults(page: Page): Promise<string[]> {
  const levels = await page.evaluate<number[]>(
    `[...document.querySelectorAll('main :is(h1, h2, h3, h4, h5, h6)')].map((each) => Number(each.tagName[1]))`,
  );
  const main = await page.locator('main, [role=main]').count();
  const navigation = await page.locator('nav, [role=navigation]').count();
  const first = levels.filter((level) => level === 1).length;
  const skipped = levels.some((level, at) => level > (levels[at - 1] ?? 0) + 1);
  return [
    ...(main === 1 ? [] : [`has ${main} main landmarks`]),
    ...(navigation > 0 ? [] : ['has no navigation']),
    ...(first === 1 ? [] : [`has ${first} headings of level 1`]),
    ...(skipped ? [`skips a level of heading: ${levels.join(' ')}`] : []),
  ];
}

async function brokenImages(page: Page): Promise<string[]> {
  const broken = await page.evaluate<string[]>(
    `Promise.all([...document.images].map((each) => each.decode().then(() => '', () => each.src)))
      .then((all) => all.filter((each) => each !== ''))`,
  );
  return broken.map((source) => `does not show the image ${source}`);
}

async function graveFaults(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate<axe.AxeResults>(
    `axe.run(document, { resultTypes: ['violations'] })`,
  );
  return violations
    .filter(({ impact }) => GRAVE.includes(impact ?? ''))
    .map(({ id, nodes }) => `axe ${id}: ${nodes.length} times, first ${nodes[0]?.html}`);
}
