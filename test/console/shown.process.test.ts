/**
 * The page of a decision in a real browser against `writ approvals show`: both show the same words, in the same order.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { PARTS } from '../../src/domain/decision/facts.ts';
import { approvals } from '../approvals/at-terminal.ts';
import { openBrowser } from '../support/chromium.ts';
import { closedAtEnd } from '../support/ends.ts';
import { BOB, CAROL, openRig } from './chromium-rig.ts';

/** Only to end a test that hangs. */
const SLOW = 120_000;

const browser = closedAtEnd(await openBrowser());
const rig = await openRig(browser);

/** Without white space, quotes that a browser draws itself, and ages, which move on between two looks. */
function squeezed(text: string): string {
  return text
    .replaceAll(/just now|\d+ (?:s|min|h|days) (?:ago|left)/g, '…')
    .replaceAll('by this command', 'in this browser')
    .replaceAll(/[\s“”]/g, '');
}

/** The text of a part without what only a page has: buttons, choices, the heads of columns. */
const TEXT = `(selector) => {
  const part = document.querySelector(selector).cloneNode(true);
  for (const each of part.querySelectorAll('thead, button, .field, svg, .cmd')) each.remove();
  return part.textContent;
}`;

test('writ approvals show prints the words of the page', { timeout: SLOW }, async () => {
  const { token } = await rig.token({
    subject: 'agent:compared',
    budget: { currency: 'USD', max_amount: 100 },
    purpose_parameters: { for: 'the offsite' },
  });
  const first = await rig.asked({ capability: 'refund', parameters: { amount: 1 }, token });
  const grant = { approval_request_id: first.id, grant_type: 'one_time' };
  await rig.service.ask('POST', '/svc/approval_grants', { bearer: CAROL, body: grant });
  const second = await rig.asked({ capability: 'refund', parameters: { amount: 2 }, token });
  await rig.service.ask('POST', `/svc/approval_requests/${second.id}/deny`, {
    bearer: CAROL,
    body: { reason: 'too <b>much</b>' },
  });
  const asked = await rig.asked({
    capability: 'refund',
    token,
    note: 'please\u202e hurry',
    parameters: { amount: 250, note: 'a\u200bb', data: { list: ['x'.repeat(90), true] } },
  });
  const bob = await rig.approver(BOB, asked);
  await bob.approve.waitFor();

  const texts: string[] = [];
  for (const name of PARTS) {
    const selector = name === 'summary' ? '.brief' : `#${name}`;
    texts.push(await bob.page.evaluate<string>(`(${TEXT})('${selector}')`));
  }
  const heading = await bob.page.locator('h1').textContent();
  const { status, out, err } = await approvals(['show', asked.id], { url: rig.url, key: BOB });

  assert.equal(status, 0, err);
  // The command folds long lines itself, and marks the rest of each.
  const [printed = ''] = out.replaceAll(/\n *… /g, '').split('\nPage  ');
  const notice = /^.* hidden characters in .*\n/m;
  assert.match(printed, notice);
  assert.equal(squeezed(printed.replace(notice, '')), squeezed([heading, ...texts].join('')));
});
