/**
 * Makes the pictures of docs/sign-in.md and docs/console.md: real Chromium at the travel desk, with a client and people of the
 * example.
 *
 * Times are the same in every run: the clock of this process stands still and is moved by the script. Names of agents
 * end with random digits, and fonts are those of the machine, so two runs differ in these.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { serve } from 'writ';
import { DEMO_IDENTITIES, DEMO_SIGN_IN, travelDesk } from '../examples/travel/service.ts';
import { openBrowser } from '../test/support/chromium.ts';
import { takeConsolePictures } from './console-pictures.ts';

const FOLDER = 'docs/images';

/** Bytes: a page with all pictures loads quickly. */
const PICTURE_MAX = 400 * 1_024;

/** Where the client waits for its answer. Nothing listens there: this script reads the address that the browser asks for. */
const REDIRECT = 'http://127.0.0.1:53187/callback';

const USER_AGENT =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36';
const DESKTOP = { viewport: { width: 1_000, height: 360 }, userAgent: USER_AGENT };
const PHONE = { viewport: { width: 390, height: 844 }, userAgent: USER_AGENT };

const MINUTE = 60_000;
let now = Date.UTC(2026, 2, 2, 9, 0);
Date.now = () => now;

const data = mkdtempSync(join(tmpdir(), 'writ-pictures-'));
const service = await serve(travelDesk, {
  settings: { identities: DEMO_IDENTITIES, sign_in: DEMO_SIGN_IN },
  environment: { PORT: '0', WRIT_DATA: data, WRIT_MARK: 'none', WRIT_LOG_LEVEL: 'silent' },
  signals: false,
});
const browser = await openBrowser();
mkdirSync(FOLDER, { recursive: true });
try {
  await takePictures();
  await takeConsolePictures({
    pages: service.pagesUrl,
    ask,
    pass: (minutes) => {
      now += minutes * MINUTE;
    },
    browser: (look) => context(look === 'phone' ? PHONE : DESKTOP),
    keep: picture,
  });
} finally {
  await browser.close();
  await service.close();
  rmSync(data, { recursive: true, force: true });
}

async function takePictures(): Promise<void> {
  const desktop = await context(DESKTOP);
  const page = await desktop.newPage();
  await page.goto(`${service.url}/sign-in`);
  await picture(page, 'sign-in');
  await signIn(page);

  const planner = await newClient('Offsite Planner');
  const asked = askingOf(planner);
  await page.goto(asked.address);
  await picture(page, 'consent');
  const phone = await (await context(PHONE, desktop)).newPage();
  await phone.goto(asked.address);
  await picture(phone, 'consent-phone');

  await page.getByLabel('Book flight').check();
  await page.getByLabel('Spend at most, in total').fill('500');
  await page.getByLabel('For', { exact: true }).fill('March offsite');
  await page.getByLabel('May it pass this on?').selectOption('1');
  const agent = await tokenFor(asked, await answerOf(page));
  now += 3 * MINUTE;
  await actAs(agent);

  now += 5 * MINUTE;
  const reader = askingOf(await newClient('Fare Watch'));
  await page.goto(reader.address);
  await tokenFor(reader, await answerOf(page));
  now += 4 * MINUTE;
  await page.goto(`${service.url}/agents`);
  await picture(page, 'agents');
  await page.getByRole('link', { name: /End agent.*Offsite Planner/ }).click();
  await picture(page, 'end-agent');
}

/** A browser; `signedIn` is one whose session it shares. */
async function context(
  options: BrowserContextOptions,
  signedIn?: BrowserContext,
): Promise<BrowserContext> {
  const opened = await browser.newContext(options);
  if (signedIn) await opened.addCookies(await signedIn.cookies());
  return opened;
}

/** Of the whole page, or of its upper part; a bar that sticks to the window is then at the lower edge. */
async function picture(page: Page, name: string, height?: number): Promise<void> {
  const path = join(FOLDER, `${name}.png`);
  const usual = page.viewportSize() ?? DESKTOP.viewport;
  const whole = await page.evaluate<number>('document.documentElement.scrollHeight');
  await page.setViewportSize({ width: usual.width, height: height ?? whole });
  const png = await page.screenshot();
  await page.setViewportSize(usual);
  const size = png.length;
  if (size > PICTURE_MAX) throw new Error(`Cannot keep ${path}: ${size} bytes`);
  writeFileSync(path, png);
  process.stdout.write(`${path} ${size} bytes\n`);
}

async function signIn(page: Page): Promise<void> {
  await page.getByRole('textbox', { name: 'Key' }).fill('demo-human-key');
  await page.getByRole('button', { name: 'Sign in with this key' }).click();
  await page.waitForURL(`${service.pagesUrl}/agents`);
}

interface Asking {
  readonly client: string;
  readonly verifier: string;
  readonly address: string;
}

async function newClient(name: string): Promise<string> {
  const { client_id } = await ask('/register', { client_name: name, redirect_uris: [REDIRECT] });
  return client_id as string;
}

function askingOf(client: string): Asking {
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: client,
    redirect_uri: REDIRECT,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    scope: 'travel.search travel.book travel.hold',
    resource: `${service.url}/mcp`,
  });
  return { client, verifier, address: `${service.url}/authorize?${query}` };
}

/** Lets the client act, and takes the code from the address that the browser is sent to. */
async function answerOf(page: Page): Promise<string> {
  const sent = page.waitForRequest(`${REDIRECT}**`);
  await page.getByRole('button', { name: 'Let it act' }).click();
  return new URL((await sent).url()).searchParams.get('code') ?? '';
}

async function tokenFor({ client, verifier }: Asking, code: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    client_id: client,
    redirect_uri: REDIRECT,
  });
  const answer = await ask('/token', body);
  return answer.access_token as string;
}

/** Searches, books one flight, is refused a second one, and gives a sub-agent a part. */
async function actAs(token: string): Promise<void> {
  const trip = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
  const found = await invoke(token, 'search_flights', trip);
  const { quote } = (found.result as { cheapest_flight: { quote: string } }).cheapest_flight;
  for (const passenger of ['Ann Lee', 'Bo Lee', 'Cy Lee']) {
    await invoke(token, 'book_flight', { quote, passenger });
  }
  const type = 'urn:ietf:params:oauth:token-type:access_token';
  const part = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: token,
    subject_token_type: type,
    actor_token: 'demo-agent-key',
    actor_token_type: type,
    scope: 'travel.search',
  });
  const { access_token } = await ask('/token', part);
  await invoke(access_token as string, 'search_flights', trip);
}

function invoke(token: string, capability: string, parameters: object) {
  return ask(`/svc/invoke/${capability}`, { parameters }, token);
}

async function ask(
  path: string,
  input: object | URLSearchParams,
  bearer?: string,
): Promise<Record<string, unknown>> {
  const isForm = input instanceof URLSearchParams;
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: {
      ...(!isForm && { 'content-type': 'application/json' }),
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
    },
    body: isForm ? input : JSON.stringify(input),
  });
  return (await response.json()) as Record<string, unknown>;
}
