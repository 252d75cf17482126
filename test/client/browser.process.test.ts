/**
 * `writ/client` in a real browser, on a page of the service's own address.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { openBrowser } from '../support/chromium.ts';
import { closedAtEnd } from '../support/ends.ts';
import { ALICE } from '../support/world.ts';
import { bundleClient, FOUND, PROGRAM } from './bundle.ts';
import { openDesk, TRIP } from './desk.ts';

const SLOW = 120_000;

const browser = closedAtEnd(await openBrowser());
const desk = await openDesk();

test(
  'writ/client verifies, invokes, recovers and streams in Chromium',
  async () => {
    const scope = ['travel.search', 'travel.admin'];
    const { token } = await desk.service.issue(ALICE, { scope, subject: 'agent:planner' });
    const given = { url: desk.url, credential: token, trip: JSON.stringify(TRIP) };
    const page = await browser.newPage();
    // Not /docs, whose policy lets nothing be fetched.
    await page.goto(`${desk.url}/openapi.json`);

    await page.evaluate(`${await bundleClient()}
    globalThis.client = client; Object.assign(globalThis, ${JSON.stringify(given)});`);
    const said = await page.evaluate<string>(PROGRAM);

    assert.deepEqual(JSON.parse(said), FOUND);
  },
  SLOW,
);
