/**
 * The guides in which people take part, walked as they are written: a real Chromium does what each asks of a person.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Page } from 'playwright-core';
import { test } from 'vitest';
import { plugIn } from '../console/passkey-device.ts';
import { newAgent, VERSIONS } from '../mcp/agent.ts';
import { testProvider } from '../oidc/provider.ts';
import { chromiumPerson } from '../sign-in/chromium-person.ts';
import { AUTHORIZED, type Connected, createKeep, signedIn } from '../sign-in/mcp-clients.ts';
import { openBrowser } from '../support/chromium.ts';
import { atEnd, closedAtEnd } from '../support/ends.ts';
import { eventually } from '../support/world.ts';
import { type Reader, walk } from './walk.ts';

/** Only to end a test that hangs. */
const SLOW = 240_000;

const browser = closedAtEnd(await openBrowser());

test('docs/guides/approve-with-passkeys.md leads to an order that its person signs', {
  timeout: SLOW,
}, async () => {
  const page = await newPage();
  await plugIn(page);
  const bar = page.locator('.decide');
  let address = '';

  await walk('docs/guides/approve-with-passkeys.md', {
    acts: {
      async 'add-a-passkey'(reader) {
        address = shownIn(reader, /Waiting for the decision on apr_\w+: (http:\S+)/);
        await page.goto(address);
        await enterKey(page, reader);
        await bar
          .filter({ hasText: 'You cannot approve. The policy requires a passkey' })
          .waitFor();
        await page.getByRole('button', { name: 'Add a passkey…' }).click();
        await page.getByLabel('Name', { exact: true }).fill('This laptop');
        await page.getByRole('button', { name: 'Add this passkey' }).click();
        await page.getByRole('button', { name: /^Approve .*…$/ }).waitFor();
      },
      async approve(reader) {
        await page.goto(address);
        await page.getByText('The chair in room 3 is broken').waitFor();
        await page.getByRole('button', { name: /^Approve .*…$/ }).click();
        await page.getByRole('button', { name: /^Sign and / }).click();
        await bar.filter({ hasText: /Approved by you/ }).waitFor();
        await eventually(() => /"order_id": "order-1"/.test(reader.output()));
      },
    },
  });
});

test(
  'docs/guides/delegate-to-agents.md leads to agents within limits, and stops them',
  {
    timeout: SLOW,
  },
  () => walk('docs/guides/delegate-to-agents.md'),
);

test('docs/guides/connect-an-mcp-client.md leads to clients that act within a consent', {
  timeout: SLOW,
}, async () => {
  const guide = readFileSync('docs/guides/connect-an-mcp-client.md', 'utf8');
  const [chair, person] = [{ item: 'chair', count: 1 }, await newPage()];
  let agent: Connected | undefined;
  let decisionUrl = '';

  /** What the client gets for a call is what the guide shows. */
  async function called(name: string, given: object, { port, note }: Reader): Promise<string> {
    const { text = '' } = (await agent?.call(name, { ...given })) ?? {};
    note(text);
    for (const line of text.split('\n')) {
      const shown = line.replace(/apr_\w+\.?/g, 'apr_…').replace(`${port}`, '8420');
      assert.ok(guide.includes(`\n${shown}\n`), `the guide lacks "${shown}"`);
    }
    return text;
  }

  await walk('docs/guides/connect-an-mcp-client.md', {
    acts: {
      async consent(reader) {
        agent = closedAtEnd(await connected(reader));
        assert.deepEqual(await agent.list(), ['look_up_item', 'order_item']);
      },
      async ask(reader) {
        await called('look_up_item', { item: 'chair' }, reader);
        await called('order_item', { ...chair, count: 2 }, reader);
        const text = await called('order_item', chair, reader);
        decisionUrl = /http:\S+/.exec(text)?.[0] ?? '';
      },
      async approve(reader) {
        await person.goto(decisionUrl);
        await enterKey(person, reader);
        await person.getByRole('button', { name: /^Approve/ }).click();
        await person
          .getByRole('dialog')
          .getByRole('button', { name: /^Approve/ })
          .click();
        await person
          .locator('.decide')
          .filter({ hasText: /Approved by you/ })
          .waitFor();
        const ordered = await agent?.call('order_item', chair);
        assert.deepEqual([ordered?.isError, /order-1/.test(ordered?.text ?? '')], [false, true]);
        await person.goto(`http://localhost:${reader.port}/agents`);
        await person.getByText('Trip Helper').first().waitFor();
      },
      async 'log-in'(reader) {
        await person.goto(shownIn(reader, /sign in:\n(http:\S+)/));
        await person.getByRole('button', { name: 'Let it act' }).click();
        await eventually(() => /Logged in to http:\S+: supplies\.read/.test(reader.output()));
      },
      async stdio({ folder, env, port }) {
        const args = ['writ', 'mcp', '--service', `http://127.0.0.1:${port}`];
        const cwd = join(folder, 'office');
        const client = newAgent(VERSIONS[0]);
        await client.connect(
          new StdioClientTransport({ command: 'npx', args, cwd, env: { ...env } }),
        );
        closedAtEnd(client);
        const { tools } = await client.listTools();
        assert.deepEqual(
          tools.map(({ name }) => name),
          ['look_up_item'],
        );
      },
    },
  });
});

/** The official client, after its person consented as the guide says. */
async function connected(reader: Reader): Promise<Connected> {
  const url = `http://127.0.0.1:${reader.port}`;
  const person = await chromiumPerson(browser);
  const keep = createKeep({ issuer: url, redirectUrl: person.redirectUrl });
  const choice = { key: keyOf(reader), tick: ['Order item'], limit: '300' };
  const [generation] = AUTHORIZED;
  assert.ok(generation);
  return signedIn(generation, url, keep, (address) => person.consent(address, choice));
}

test('docs/guides/sign-people-in.md leads to people with keys and with the login of a company', {
  timeout: SLOW,
}, async () => {
  const provider = await testProvider();
  atEnd(() => provider.stop());
  const [owner, ben, ann] = [await newPage(), await newPage(), await newPage()];
  const OFFICE_LOGIN_SECRET = randomBytes(16).toString('hex');
  const signInPage = (page: Page) => page.getByRole('heading', { name: 'Sign in to office' });

  await walk('docs/guides/sign-people-in.md', {
    env: { OFFICE_LOGIN_SECRET },
    acts: {
      async 'sign-in'(reader) {
        await owner.goto(`http://localhost:${reader.port}/console/`);
        await enterKey(owner, reader);
        await owner.getByRole('link', { name: 'Operations' }).waitFor();
      },
      async 'my-agents'(reader) {
        await ben.goto(shownIn(reader, /sign in:\n(http:\S+)/));
        await enterKey(ben, reader, 'ben.key');
        await ben.getByRole('button', { name: 'Let it act' }).click();
        await eventually(() => /Logged in to http:\S+: supplies\.read/.test(reader.output()));
        await ben.goto(`http://localhost:${reader.port}/agents`);
        await ben.getByRole('link', { name: /^End agent/ }).waitFor();
        await ben.getByRole('heading', { name: 'Where you are signed in' }).waitFor();
      },
      async removed({ port }) {
        await ben.goto(`http://localhost:${port}/agents`);
        await signInPage(ben).waitFor();
      },
      async 'name-the-provider'({ folder, port }) {
        await provider.register({
          client_id: 'office',
          client_secret: OFFICE_LOGIN_SECRET,
          redirect_uris: [`http://127.0.0.1:${port}/sign-in/callback`],
          grant_types: ['authorization_code'],
          response_types: ['code'],
        });
        const file = join(folder, 'office/writ.config.yaml');
        const settings = readFileSync(file, 'utf8');
        writeFileSync(file, settings.replace('https://login.example.com', provider.issuer));
      },
      async 'company-login'({ port }) {
        await ann.goto(`http://localhost:${port}/agents`);
        await signInPage(ann).waitFor();
        await ann.getByRole('link', { name: 'Continue with Example staff login' }).click();
        await ann.getByLabel('Account').fill('ann-1');
        await ann.getByRole('button', { name: 'Log in' }).click();
        await ann.getByText('ann@example.com').first().waitFor();
      },
    },
  });
});

async function newPage(): Promise<Page> {
  return closedAtEnd(await browser.newContext()).newPage();
}

/** Signs in with a key, that of the owner unless another file is named. */
async function enterKey(page: Page, reader: Reader, file?: string): Promise<void> {
  await page.getByLabel('Key', { exact: true }).fill(keyOf(reader, file));
  await page.getByRole('button', { name: 'Sign in with this key' }).click();
}

function keyOf({ folder }: Reader, file = 'owner.key'): string {
  return readFileSync(join(folder, 'office', file), 'utf8').trim();
}

/** What the first group of a pattern finds in the terminals. */
function shownIn({ output }: Reader, pattern: RegExp): string {
  const [, found] = pattern.exec(output()) ?? [];
  assert.ok(found, `the terminals do not show ${pattern}`);
  return found;
}
