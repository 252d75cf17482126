/**
 * The person of the demo: consents, approves and ends an agent on the real pages.
 *
 * Played in Chromium without a window, with the virtual passkey that Chromium has for tests; or by the viewer, who gets the
 * addresses and does it by hand. The scenes wait for what the service says, so both are the same for them.
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import type { Guarded } from './guarded.ts';
import type { Narrator } from './narrator.ts';
import { SCALE } from './stage.ts';

export interface Person {
  /** Decides on the consent page: both tools, 300 USD, to be passed on. */
  consent(address: URL): Promise<void>;
  /** Approves the request at this address. */
  approve(address: URL): Promise<void>;
  /** Ends the agent on the page My agents. `isEnded` tells what the service says. */
  endAgent(isEnded: () => Promise<boolean>): Promise<void>;
  /** Looks at a page of the service, once it has this heading. */
  lookAt(path: string, heading: RegExp, caption: string): Promise<void>;
}

export interface PersonOptions {
  readonly guard: Guarded;
  readonly narrator: Narrator;
  readonly passkey: boolean;
  readonly signal: AbortSignal;
}

const TICKED = ['Pay invoice', 'Refund payment'];
const LIMIT = '300';

/** Milliseconds between two looks whether the viewer has ended the agent. */
const POLL_MS = 500;

/** As a person's browser says it; the pages show from where the person allowed an agent. */
const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
const LOOK = { userAgent: USER_AGENT, deviceScaleFactor: SCALE };
const DESKTOP = { ...LOOK, viewport: { width: 520, height: 620 } };
const PHONE = { ...LOOK, viewport: { width: 390, height: 844 }, hasTouch: true };

export async function chromiumPerson(browser: Browser, options: PersonOptions): Promise<Person> {
  const { guard, narrator, passkey } = options;
  const desktop = await browser.newContext(DESKTOP);
  const page = await desktop.newPage();
  return {
    async consent(address) {
      await page.goto(address.href);
      await signIn(page, guard.key);
      await narrator.show(page, 'The consent page');
      for (const title of TICKED) await page.getByRole('checkbox', { name: title }).check();
      await page.getByLabel('Spend at most, in total').fill(LIMIT);
      await page.getByLabel('For', { exact: true }).fill('Invoices of November');
      await page.getByLabel('May it pass this on?').selectOption('1');
      await toTop(page.getByText('Within which limits?').last());
      await narrator.show(page, 'The consent page: the limits');
      await page.getByRole('button', { name: 'Let it act' }).click();
      await page.waitForURL(/\/callback\?/);
    },
    approve: (address) => approveOnPhone(browser, address, { guard, narrator, passkey }),
    async endAgent() {
      await page.goto(`${guard.pages}/agents`);
      await narrator.show(page, 'My agents');
      await page
        .getByRole('link', { name: /^End agent/ })
        .first()
        .click();
      await page.locator('form[action$="/agents/end"] button').waitFor();
      await narrator.show(page, 'My agents: End');
      await page.locator('form[action$="/agents/end"] button').click();
      await page.waitForURL(`${guard.pages}/agents`);
      await narrator.show(page, 'My agents');
    },
    async lookAt(path, heading, caption) {
      await page.goto(`${guard.pages}${path}`);
      await toTop(page.getByRole('heading', { name: heading }).first());
      await narrator.show(page, caption);
    },
  };
}

async function approveOnPhone(
  browser: Browser,
  address: URL,
  { guard, narrator, passkey }: Pick<PersonOptions, 'guard' | 'narrator' | 'passkey'>,
): Promise<void> {
  const phone = await browser.newContext(PHONE);
  const page = await phone.newPage();
  if (passkey) await addPasskey(phone, page, guard);
  await page.goto(address.href);
  if (!passkey) await signIn(page, guard.key);
  const approve = page.locator('.decide').getByRole('button', { name: /^Approve/ });
  await approve.waitFor();
  await narrator.show(page, 'A phone: the request');
  await approve.click();
  const confirm = page.getByRole('dialog').getByRole('button', { name: /^(Sign|Approve) and / });
  await confirm.waitFor();
  await narrator.show(page, 'A phone: the passkey signs exactly this');
  await confirm.click();
  await page
    .locator('.decide')
    .filter({ hasText: /Approved by you/ })
    .waitFor();
  await narrator.show(page, 'A phone: approved');
  await phone.close();
}

/** A person adds a first passkey on the page Passkeys. The device is Chromium's own, for tests. */
async function addPasskey(phone: BrowserContext, page: Page, guard: Guarded): Promise<void> {
  const session = await phone.newCDPSession(page);
  await session.send('WebAuthn.enable');
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  });
  await page.goto(`${guard.pages}/console/passkeys`);
  await signIn(page, guard.key);
  await page.getByRole('button', { name: 'Add a passkey…' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Phone');
  await page.getByRole('button', { name: 'Add this passkey' }).click();
  await page.getByRole('heading', { level: 2, name: 'Phone' }).waitFor();
}

/** Scrolls so that this is at the upper edge, once it is there. */
async function toTop(found: Locator): Promise<void> {
  await found.evaluate((element) => (element as unknown as Scrollable).scrollIntoView());
  // Until it is drawn: Chromium cannot take a picture in between.
  await found
    .page()
    .evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
}

/** An element of the page; this program has no types of the DOM. */
interface Scrollable {
  scrollIntoView(): void;
}

async function signIn(page: Page, key: string): Promise<void> {
  await page.locator('input[name=key]').fill(key);
  await page.getByRole('button', { name: 'Sign in with this key' }).click();
}

/** The viewer, who acts in a browser of their own. */
export function viewer({ guard, narrator, passkey, signal }: PersonOptions): Person {
  return {
    async consent(address) {
      await narrator.hint(`Open ${address.href}`);
      await narrator.hint(`Sign in with the key in ${guard.keyFile}`);
      await narrator.hint(
        `Tick "${TICKED.join('" and "')}", spend at most ${LIMIT} USD, choose "Yes, to its sub-agents", and press "Let it act".`,
      );
    },
    async approve(address) {
      if (passkey) await narrator.hint(`Add a passkey first: ${guard.pages}/console/passkeys`);
      await narrator.hint(`Open ${address.href} and approve. The agent waits.`);
    },
    async endAgent(isEnded) {
      await narrator.hint(`Open ${guard.pages}/agents and press "End agent".`);
      while (!(await isEnded())) await pause(POLL_MS, undefined, { signal });
    },
    async lookAt(path, _, caption) {
      await narrator.hint(`${caption}: ${guard.pages}${path}`);
    },
  };
}
