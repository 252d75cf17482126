/**
 * Makes the pictures of docs/console.md: each view of the console, with an agent that asked for a refund.
 *
 * @module
 */

import type { BrowserContext, Page, Route } from 'playwright-core';

/** What the pictures are taken of, and how. */
export interface Studio {
  readonly pages: string;
  /** The answer to a request with a demo key or a token. */
  ask(path: string, input: object, bearer?: string): Promise<Record<string, unknown>>;
  /** Lets minutes pass at the service. */
  pass(minutes: number): void;
  browser(look: 'desktop' | 'phone'): Promise<BrowserContext>;
  /** Of the whole page, or of as many pixels of its upper part. */
  keep(page: Page, name: string, height?: number): Promise<void>;
}

/** Pixels of a long page: what a picture of it is about. */
const UPPER = 1_150;

const APPROVER = 'demo-approver-key';

export async function takeConsolePictures(studio: Studio): Promise<void> {
  const refund = await pendingRefund(studio);
  await statePictures(studio);
  await approverPictures(studio, refund);
  await studio.ask('/svc/operator/checkpoints', {}, 'demo-operator-key');
  await ownerPictures(studio);
  const page = await signedIn(studio, 'demo-admin-key', 'desktop');
  await show(studio, page, 'operations');
  await page.getByText('All is well.').waitFor();
  await studio.keep(page, 'console-operations', UPPER);
}

/** An agent books, gets one refund approved, and asks for a larger one. */
async function pendingRefund({ ask, pass }: Studio): Promise<string> {
  const issued = await ask(
    '/svc/tokens',
    {
      subject: 'agent:refund-desk',
      scope: ['travel.search', 'travel.book', 'travel.refund'],
      budget: { currency: 'USD', max_amount: 1_500 },
    },
    'demo-human-key',
  );
  const token = issued.token as string;
  const invoke = (capability: string, parameters: object, note?: string) =>
    ask(`/svc/invoke/${capability}`, { parameters, ...(note && { note }) }, token);
  const trip = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
  const found = (await invoke('search_flights', trip)).result;
  const { quote } = (found as { cheapest_flight: { quote: string } }).cheapest_flight;
  const booked = (await invoke('book_flight', { quote, passenger: 'Ann Lee' })).result;
  const { booking_id } = booked as { booking_id: string };
  const refund = async (amount: number, reason: string, note: string) => {
    const answer = await invoke('issue_refund', { booking_id, amount, reason }, note);
    return (answer.failure as { approval_request_id: string }).approval_request_id;
  };
  const approval_request_id = await refund(120, 'seat was broken', 'The airline agreed.');
  await ask('/svc/approval_grants', { approval_request_id, grant_type: 'one_time' }, APPROVER);
  pass(22);
  const asked = await refund(250, 'canc\u202eelled', 'The customer is furious, please hurry.');
  pass(3);
  return asked;
}

/** Pixels of a state: it stands at the top. */
const STATE = 420;

/** A list while it loads, when it did not load, when nothing is in it, and when the service does not answer. */
async function statePictures(studio: Studio): Promise<void> {
  const page = await signedIn(studio, 'demo-admin-key', 'phone');
  const entries = '**/console/api/activity.entries';
  await page.route(entries, () => undefined);
  await show(studio, page, 'activity');
  await page.locator('[aria-busy=true]').first().waitFor();
  await studio.keep(page, 'console-state-loading', STATE);
  await page.unroute(entries);
  await page.route(entries, (route) => route.abort());
  await show(studio, page, 'activity');
  await page.getByRole('button', { name: 'Load again' }).first().waitFor();
  await studio.keep(page, 'console-state-failed', STATE);
  await page.unroute(entries);
  await show(studio, page, 'activity?capability=cancel_booking');
  await page.locator('.empty').waitFor();
  await studio.keep(page, 'console-state-empty', STATE);
  await page.context().setOffline(true);
  await page.getByText(/^Reconnecting/).waitFor();
  await studio.keep(page, 'console-state-stale', STATE);
}

async function approverPictures(studio: Studio, refund: string): Promise<void> {
  const page = await signedIn(studio, APPROVER, 'desktop');
  await show(studio, page, 'approvals');
  await page.getByText('Refund').first().waitFor();
  await studio.keep(page, 'console-approvals');
  const phone = await signedIn(studio, APPROVER, 'phone');
  for (const [each, name, height] of [
    [page, 'console-decision', undefined],
    [phone, 'console-decision-phone', 844],
  ] as const) {
    await show(studio, each, `approvals/${refund}`);
    await each.getByRole('button', { name: /^Approve/ }).waitFor();
    await studio.keep(each, name, height);
  }
}

async function ownerPictures(studio: Studio): Promise<void> {
  const page = await signedIn(studio, 'demo-human-key', 'desktop');
  await show(studio, page, 'agents');
  await page.getByRole('article', { name: /^refund-desk/ }).waitFor();
  await studio.keep(page, 'console-agents');
  await show(studio, page, 'activity?capability=book_flight');
  await page.getByText('The same numbers as a table').waitFor();
  await page
    .getByRole('link', { name: /^Book flight/ })
    .first()
    .waitFor();
  await studio.keep(page, 'console-activity');
  await page
    .getByRole('link', { name: /^Book flight/ })
    .first()
    .click();
  await page.getByRole('heading', { name: 'Through whose hands' }).waitFor();
  await studio.keep(page, 'console-invocation');
  const invocation = new URL(page.url()).pathname.split('/').at(-1);
  await show(studio, page, 'capabilities');
  await page.getByRole('img').first().waitFor();
  await studio.keep(page, 'console-capabilities', UPPER);
  await show(studio, page, `trust?entry=${invocation}`);
  await page.getByRole('heading', { name: / is in checkpoint / }).waitFor();
  await studio.keep(page, 'console-trust', UPPER);
  await page.route('**/console/api/checkpoints.get', changed);
  await show(studio, page, `trust?entry=${invocation}`);
  await page.getByRole('heading', { name: /does not hold/ }).waitFor();
  await studio.keep(page, 'console-trust-red', UPPER);
}

/** As if someone between the service and the browser had changed one hash of the path. */
async function changed(route: Route): Promise<void> {
  const response = await route.fetch();
  const body = await response.json();
  const [first = '', ...others]: string[] = body.inclusion_proof?.hashes ?? [];
  if (first)
    body.inclusion_proof.hashes = [first.replace(/^./, first[0] === '0' ? '1' : '0'), ...others];
  await route.fulfill({ response, json: body });
}

async function signedIn(studio: Studio, key: string, look: 'desktop' | 'phone'): Promise<Page> {
  const page = await (await studio.browser(look)).newPage();
  await page.goto(`${studio.pages}/console/`);
  await page.locator('input[name=key]').fill(key);
  await page.getByRole('button', { name: 'Sign in with this key' }).click();
  await page.waitForURL(`${studio.pages}/console/`);
  return page;
}

/** Waits until the page has heard the clock of the service. */
async function show({ pages }: Studio, page: Page, path: string): Promise<void> {
  await page.goto(`${pages}/console/${path}`);
  // On a phone it stands in the menu.
  await page.getByText(/^Live, checked/).waitFor({ state: 'attached' });
}
