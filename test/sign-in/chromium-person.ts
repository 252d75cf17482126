/**
 * A person with a real Chromium: logs in at the identity provider, consents and ends agents by what the pages
 * show.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { pagesUrl } from '../../src/address/host.ts';
import { listening } from '../oidc/provider.ts';
import { closedAtEnd } from '../support/ends.ts';

/** Someone who was never here before: without cookies. */
export async function chromiumPerson(browser: Browser): Promise<ChromiumPerson> {
  const page = await closedAtEnd(await browser.newContext()).newPage();
  const redirectUrl = await callbackAddress();
  return {
    page,
    redirectUrl,
    async consent(address, choice) {
      await page.goto(address.href);
      if (choice.account !== undefined) await logIn(page, choice.account);
      if (choice.key !== undefined) await enterKey(page, choice.key);
      if (choice.passkey) await page.getByRole('button', { name: 'Use a passkey' }).click();
      await decide(page, choice);
      await page.waitForURL((at) => at.href.startsWith(redirectUrl));
      return new URL(page.url());
    },
    endAgent: (url) => endAgent(page, url),
  };
}

interface Choice {
  /** Whom to log in as at the identity provider first. */
  readonly account?: string;
  /** The demo key to sign in with first. */
  readonly key?: string;
  /** Signs in first, with the device of the page. */
  readonly passkey?: true;
  /** The titles of capabilities that are ticked in addition to what is ticked already. */
  readonly tick: readonly string[];
  readonly limit?: string;
}

export interface ChromiumPerson {
  readonly page: Page;
  /** Where the program on this computer waits for its answer. */
  readonly redirectUrl: string;
  /** Resolves with the address that the browser ends at. */
  consent(address: URL, choice: Choice): Promise<URL>;
  /** Ends the only agent of the person. */
  endAgent(url: string): Promise<void>;
}

/** The program that the answer goes to: it only has to be there. */
async function callbackAddress(): Promise<string> {
  const { port } = closedAtEnd(await listening(0, (_, response) => response.end('done')));
  return `http://127.0.0.1:${port}/callback`;
}

async function logIn(page: Page, account: string): Promise<void> {
  await page.getByRole('link', { name: /^Continue with/ }).click();
  await page.getByLabel('Account').fill(account);
  await page.getByRole('button', { name: 'Log in' }).click();
}

async function enterKey(page: Page, key: string): Promise<void> {
  await page.getByLabel('Key', { exact: true }).fill(key);
  await page.getByRole('button', { name: 'Sign in with this key' }).click();
}

async function decide(page: Page, { tick, limit }: Choice): Promise<void> {
  for (const title of tick) await page.getByRole('checkbox', { name: title }).check();
  if (limit !== undefined) await page.getByLabel('Spend at most, in total').fill(limit);
  await page.getByRole('button', { name: 'Let it act' }).click();
}

async function endAgent(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/agents`);
  await page.getByRole('link', { name: /^End agent/ }).click();
  await page.locator('form[action$="/agents/end"] button').click();
  await page.waitForURL(`${pagesUrl(url)}/agents`);
  assert.equal(await page.getByRole('link', { name: /^End agent/ }).count(), 0);
}
