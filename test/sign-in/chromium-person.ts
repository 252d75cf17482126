/**
 * A person with a real Chromium: logs in at the identity provider, consents and ends agents by what the pages
 * show.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { openBrowser } from '../chromium.ts';
import { closedAtEnd } from '../ends.ts';
import { listening } from '../oidc/provider.ts';

/** A real browser, without a profile. */
export async function chromiumPerson(): Promise<ChromiumPerson> {
  const browser: Browser = closedAtEnd(await openBrowser());
  const context: BrowserContext = await browser.newContext();
  const page = await context.newPage();
  const program = await callbackProgram();
  return {
    page,
    redirectUrl: program.redirectUrl,
    logIn: (account) => logIn(page, account),
    async consent(address, choice) {
      await page.goto(address.href);
      if (choice.account !== undefined) await logIn(page, choice.account);
      await decide(page, choice);
      await page.waitForURL((at) => at.href.startsWith(program.redirectUrl));
      return new URL(page.url());
    },
    endAgent: (url) => endAgent(page, url),
  };
}

interface Choice {
  /** Whom to log in as at the identity provider first. */
  readonly account?: string;
  /** The titles of capabilities that are ticked in addition to what is ticked already. */
  readonly tick: readonly string[];
  readonly limit?: string;
  readonly answer?: 'Let it act' | 'Refuse';
}

export interface ChromiumPerson {
  readonly page: Page;
  /** Where the program on this computer waits for its answer. */
  readonly redirectUrl: string;
  logIn(account: string): Promise<void>;
  /** Resolves with the address that the browser ends at. */
  consent(address: URL, choice: Choice): Promise<URL>;
  /** Ends the only agent of the person. */
  endAgent(url: string): Promise<void>;
}

/** The program that the answer goes to: it only has to be there. */
async function callbackProgram(): Promise<{ readonly redirectUrl: string }> {
  const program = closedAtEnd(await listening(0, (_, response) => response.end('done')));
  return { redirectUrl: `http://127.0.0.1:${program.port}/callback` };
}

async function logIn(page: Page, account: string): Promise<void> {
  await page.getByRole('link', { name: /^Sign in with/ }).click();
  await page.getByLabel('Account').fill(account);
  await page.getByRole('button', { name: 'Log in' }).click();
}

async function decide(page: Page, { tick, limit, answer = 'Let it act' }: Choice): Promise<void> {
  for (const title of tick) await page.getByRole('checkbox', { name: title }).check();
  if (limit !== undefined) await page.getByLabel('Spend at most, in total').fill(limit);
  await page.getByRole('button', { name: answer }).click();
}

async function endAgent(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/agents`);
  await page.getByRole('link', { name: /^End agent/ }).click();
  await page.locator('form[action$="/agents/end"] button').click();
  await page.waitForURL(`${url}/agents`);
  assert.equal(await page.getByRole('link', { name: /^End agent/ }).count(), 0);
}
