/**
 * People in a real Chromium, with a virtual device: an invitation from the link to the console, sign-in without a name,
 * the operator who invites at the console, and the official MCP clients that send a person to sign in with a passkey.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { test } from 'vitest';
import { pagesUrl } from '../../src/address/host.ts';
import { plugIn } from '../console/passkey-device.ts';
import { chromiumPerson } from '../sign-in/chromium-person.ts';
import { listeningDesk } from '../sign-in/listening.ts';
import { AUTHORIZED, createKeep, signedIn } from '../sign-in/mcp-clients.ts';
import { faultsOf } from '../support/accessibility.ts';
import { openBrowser } from '../support/chromium.ts';
import { atEnd, closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { AGENT, testService } from '../support/world.ts';
import { invitedAtStore } from './desk.ts';

/** Only to end a test that hangs. */
const SLOW = 120_000;

const CLIENT = { client_id: 'trip-helper', name: 'Trip Helper' };
const TRIP = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
const OPERATES = ['operator:*', 'travel.*'];

const browser = closedAtEnd(await openBrowser());

// The first operator is invited before the service starts, and no person has a key.
const folder = temporaryFolder();
const place = { store: `sqlite:${join(folder, 'writ.db')}`, keys: join(folder, 'keys') };
const settings = {
  identities: [{ key: AGENT, principal: 'agent:offsite-planner', scopes: ['travel.*'] }],
  sign_in: { clients: [{ ...CLIENT, redirect_uris: ['http://127.0.0.1/callback'] }] },
};
const before = await testService({ ...place, settings });
const invite = (principal: string, scopes: readonly string[]) =>
  invitedAtStore(before, { principal, scopes, subjects: ['agent:*', 'human:*'] });
const first = await invite('human:ann@example.com', OPERATES);
const { url } = await listeningDesk({ ...place, settings });
const pages = pagesUrl(url);

async function visitor(): Promise<Page> {
  return closedAtEnd(await browser.newContext()).newPage();
}

/** Follows a link, types the code and makes the passkey. */
async function enrol(page: Page, link: string, code: string): Promise<void> {
  await page.goto(link);
  await page.getByLabel('Code').fill(code);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: 'Make a passkey' }).click();
  await page.waitForURL(`${pages}/console/**`);
}

test('an operator enrols from a link, signs in again with the passkey, and invites the next person', {
  timeout: SLOW,
}, async () => {
  const page = await visitor();
  const complaints: string[] = [];
  page.on('console', (message) => void complaints.push(message.text()));
  page.on('pageerror', (error) => void complaints.push(error.message));
  const device = await plugIn(page);
  await page.goto(`${pages}/enrol#${first.link}`);
  assert.equal(page.url(), `${pages}/enrol`, 'the secret leaves the address');
  assert.deepEqual(await faultsOf(page), []);
  await page.getByLabel('Code').fill(first.code);
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('ann@example.com').waitFor();
  assert.deepEqual(await faultsOf(page), []);
  await page.getByRole('button', { name: 'Make a passkey' }).click();
  await page.getByRole('link', { name: 'Operations' }).waitFor();

  await page.goto(`${pages}/agents`);
  await page
    .getByRole('button', { name: /Sign out$/ })
    .first()
    .click();
  await page.waitForURL(`${pages}/sign-in`);
  assert.equal(await page.getByLabel('Key', { exact: true }).count(), 0);
  assert.deepEqual(await faultsOf(page), []);
  await page.goto(`${pages}/console/operations`);
  const signed = await device.signatures();
  await page.getByRole('button', { name: 'Use a passkey' }).click();
  await page.waitForURL(`${pages}/console/operations`);
  assert.equal(await device.signatures(), signed + 1);

  await page.getByText('People with passkeys').click();
  await page.getByLabel('Address').fill('Bob@example.com');
  await page.getByLabel('Scopes').fill('travel.search travel.book');
  await page.getByRole('button', { name: 'Make an invitation' }).click();
  const shown = page.getByRole('status').locator('dd code');
  await shown.last().waitFor();
  const [link, code] = await shown.allTextContents();
  const bob = await visitor();
  await plugIn(bob);
  await enrol(bob, link as string, code as string);
  await bob.getByText('bob@example.com').first().waitFor();
  await page.reload();
  await page.getByText('People with passkeys').click();
  await page
    .getByRole('heading', { level: 3, name: 'bob@example.com', exact: true })
    .first()
    .waitFor();
  assert.deepEqual(complaints, []);
});

test('a wrong code keeps the link, and a closed question of the device is told on the page', {
  timeout: SLOW,
}, async () => {
  const { link, code } = await invite('human:carol@example.com', ['travel.*']);
  const page = await visitor();
  await page.goto(`${pages}/enrol#${link}`);
  await page.getByLabel('Code').fill(code === '000000' ? '000001' : '000000');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('the link and the code do not belong together').waitFor();
  await page.getByLabel('Code').fill(`${code.slice(0, 3)} ${code.slice(3)}`);
  await page.getByRole('button', { name: 'Continue' }).click();
  const device = await plugIn(page);
  const { session, id: authenticatorId } = device;
  await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false });

  await page.getByRole('button', { name: 'Make a passkey' }).click();
  await page.getByText('the question was closed, or not answered in time').waitFor();

  await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true });
  await page.getByRole('button', { name: 'Make a passkey' }).click();
  await page.waitForURL(`${pages}/console/**`);
});

test('an approver sees on an open page that another one is invited again, and cancels it', {
  timeout: SLOW,
}, async () => {
  const approver = async (principal: string) => {
    const { link, code } = await invite(principal, ['approver:*']);
    const page = await visitor();
    await plugIn(page);
    await enrol(page, `${pages}/enrol#${link}`, code);
    return page;
  };
  await approver('human:dora@example.com');
  const page = await approver('human:eli@example.com');
  const { link, code } = await invitedAtStore(before, { principal: 'human:dora@example.com' });

  const notice = page.getByRole('alert').filter({ hasText: 'dora@example.com is invited again' });
  await notice.getByRole('button', { name: 'Cancel it' }).click();
  await notice.waitFor({ state: 'detached' });

  const stranger = await visitor();
  await stranger.goto(`${pages}/enrol#${link}`);
  await stranger.getByLabel('Code').fill(code);
  await stranger.getByRole('button', { name: 'Continue' }).click();
  await stranger.getByText('the link and the code do not belong together').waitFor();
});

for (const generation of AUTHORIZED) {
  test(`${generation.name} sends a person to the consent page, who signs in with a passkey`, {
    timeout: SLOW,
  }, async () => {
    const name = generation.name.replaceAll(/\W+/g, '-');
    const { link, code } = await invite(`human:${name}@example.com`, ['travel.*']);
    const owner = await chromiumPerson(browser);
    await plugIn(owner.page);
    await enrol(owner.page, `${pages}/enrol#${link}`, code);
    await owner.page.context().clearCookies();
    const keep = createKeep({
      issuer: url,
      redirectUrl: owner.redirectUrl,
      client_id: CLIENT.client_id,
    });

    const client = await signedIn(generation, url, keep, (address) =>
      owner.consent(address, { passkey: true, tick: [] }),
    );
    atEnd(() => client.close());

    assert.equal((await client.call('search_flights', TRIP)).isError, false);
    await owner.endAgent(url);
  });
}
