/**
 * Pictures of the site for a person to look at: some pages, the open search and the page of a wrong address.
 *
 * @module
 */

import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Site } from './checks.ts';
import { DARK, LIGHT, openReader } from './visit.ts';

const PAGES: Readonly<Record<string, string>> = {
  home: '',
  guides: 'guides/',
  guide: 'guides/first-service.html',
  reference: 'reference/',
  handlers: 'reference/handlers.html',
  configuration: 'reference/configuration.html',
  tour: 'reference/tour.html',
  decision: 'decisions/06-issuing-tokens.html',
  missing: 'no-such-page.html',
};

export async function takeSitePictures(site: Site, folder: string): Promise<void> {
  for (const look of [...LIGHT, ...DARK]) {
    const { page, close } = await openReader(site.browser, look, site.url);
    const keep = (name: string) =>
      page.screenshot({ path: join(folder, `${name}-${look.name.replace(' ', '-')}.png`) });
    for (const [name, path] of Object.entries(PAGES)) {
      await open(page, `${site.url}${path}`);
      await keep(name);
    }
    await open(page, site.url);
    await page.keyboard.press('Control+k');
    await page.locator('.VPLocalSearchBox input').fill('passkey');
    await page.locator('.VPLocalSearchBox .result').first().waitFor();
    await keep('search');
    await close();
  }
}

async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.waitForLoadState('networkidle');
}
