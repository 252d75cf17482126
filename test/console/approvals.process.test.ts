/**
 * Approvals in a real browser: people decide from the link that an agent got, and what keeps them from approving.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { openBrowser } from '../support/chromium.ts';
import { closedAtEnd } from '../support/ends.ts';
import { eventually } from '../support/world.ts';
import { ANN, type Asked, BOB, CAROL, openRig, type Visitor } from './chromium-rig.ts';

/** Only to end a test that hangs. */
const SLOW = 120_000;

const browser = closedAtEnd(await openBrowser());
const rig = await openRig(browser);

/** Waits until the bar at the end says so. */
async function saying({ bar }: Visitor, words: RegExp): Promise<void> {
  await bar.filter({ hasText: words }).waitFor();
}

async function statusOf(asked: Asked): Promise<string> {
  return (await rig.read(asked)).status;
}

describe('a decision', { timeout: SLOW }, () => {
  test('opens from the link over the sign-in, and an approval with chosen terms lets the call go on', async () => {
    const { token } = await rig.token({ session_id: 'session 7', subject: 'agent:mover' });
    const asked = await rig.asked({ capability: 'move', parameters: { amount: 3 }, token });
    const bob = await rig.visitor();

    await bob.page.goto(asked.link);
    assert.equal(new URL(bob.page.url()).pathname, '/sign-in');
    await bob.signIn(BOB);
    await bob.page.waitForURL(asked.link.replace(rig.url, rig.pages));
    await bob.page.getByLabel('For', { exact: true }).selectOption('session_bound');
    await bob.page.getByLabel('Until').selectOption('60');
    await bob.page.getByLabel('Uses').fill('2');
    await bob.page.getByLabel('Uses').blur();
    await bob.approve.click();
    await saying(bob, /Approved by you/);

    const { status, terms, grant_id } = await rig.read(asked);
    assert.equal(status, 'approved');
    assert.deepEqual(terms, {
      grant_type: 'session_bound',
      session_id: 'session 7',
      expires_in_seconds: 60,
      max_uses: 2,
    });
    assert.equal((await asked.resume(grant_id)).status, 200);
    assert.deepEqual(rig.scripts.calls('move').at(-1)?.parameters, { amount: 3 });
    assert.equal(await bob.approve.count(), 0);
    assert.deepEqual(bob.complaints, []);
  });

  test('that cannot be undone takes a second step, and the way back approves nothing', async () => {
    const asked = await rig.asked({ capability: 'refund', parameters: { amount: 250 } });
    const bob = await rig.approver(BOB, asked);

    await bob.approve.dblclick();
    await bob.dialog.getByText('It cannot be undone').waitFor();
    await bob.dialog.getByRole('button', { name: 'Go back' }).click();
    await bob.dialog.waitFor({ state: 'hidden' });
    const before = await statusOf(asked);
    const focused = await bob.page.evaluate('document.activeElement.textContent');
    await bob.approve.click();
    await bob.dialog.getByRole('button', { name: /^Approve/ }).waitFor();
    const first = await bob.page.evaluate('document.activeElement.textContent');
    await bob.dialog.getByRole('button', { name: /^Approve/ }).click();
    await saying(bob, /Approved by you/);

    assert.equal(before, 'pending');
    assert.equal(first, 'Go back');
    assert.match(String(focused), /^Approve/);
    assert.equal(await statusOf(asked), 'approved');
  });

  test('to deny has a reason, which the agent reads', async () => {
    const asked = await rig.asked({ capability: 'refund', parameters: { amount: 251 } });
    const bob = await rig.approver(BOB, asked);

    await bob.deny.click();
    const deny = bob.dialog.getByRole('button', { name: /^Deny/ });
    await deny.click();
    const withoutReason = await statusOf(asked);
    await bob.dialog.getByLabel('Reason').fill('the booking is of last year');
    await deny.click();
    await saying(bob, /Denied by you.*the booking is of last year/);

    assert.equal(withoutReason, 'pending');
    const { status, reason } = await rig.read(asked);
    assert.deepEqual([status, reason], ['denied', 'the booking is of last year']);
    assert.equal(rig.scripts.calls('refund').length, 0);
  });

  test('of two people has the terms of the first, which the second sees without a reload', async () => {
    const asked = await rig.asked({ capability: 'pair', parameters: { amount: 9 } });
    const bob = await rig.approver(BOB, asked);
    const carol = await rig.approver(CAROL, asked);
    const carolsChoice = carol.page.getByLabel('Until');
    assert.equal(await carolsChoice.count(), 1);

    await bob.page.getByLabel('Until').selectOption('300');
    await bob.approve.click();
    await bob.dialog.getByRole('button', { name: /^Approve/ }).click();
    await saying(bob, /You approved it\. 1 more person has to approve/);
    const terms = carol.page.locator('#terms');
    await terms.getByText('The first approver chose these terms').waitFor();
    const [choices, words] = [await carolsChoice.count(), await terms.innerText()];
    const after = await statusOf(asked);
    await carol.approve.click();
    await carol.dialog.getByRole('button', { name: /^Approve/ }).click();
    await saying(carol, /Approved by bob and you/);
    await saying(bob, /Approved by you and carol/);

    assert.equal(choices, 0);
    assert.match(words, /within 5 min/);
    assert.equal(after, 'pending');
    const read = await rig.read(asked);
    assert.equal((read.terms as { expires_in_seconds: number }).expires_in_seconds, 300);
    assert.equal((await asked.resume(read.grant_id)).status, 200);
  });

  test('whose request expires while it is read loses its buttons, also an open dialog', async () => {
    const asked = await rig.asked({ capability: 'brief' });
    const bob = await rig.approver(BOB, asked);
    const carol = await rig.approver(CAROL, asked);
    await bob.approve.click();
    await bob.dialog.getByRole('button', { name: /^Approve/ }).waitFor();
    await carol.approve.waitFor();

    rig.service.advance(60_000);
    for (const each of [bob, carol])
      await saying(each, /This request expired at .* Nothing was done/);

    for (const each of [bob, carol]) {
      assert.equal(await each.page.getByRole('button', { name: /^(Approve|Deny)/ }).count(), 0);
      assert.equal(await each.bar.getAttribute('role'), 'alert');
    }
    assert.equal(await statusOf(asked), 'expired');
  });

  test('that somebody else makes appears while the page is open, also behind an open dialog', async () => {
    const asked = await rig.asked({ capability: 'refund', parameters: { amount: 252 } });
    const bob = await rig.approver(BOB, asked);
    await bob.approve.click();
    await bob.dialog.getByRole('button', { name: /^Approve/ }).waitFor();

    await rig.service.ask('POST', `/svc/approval_requests/${asked.id}/deny`, {
      bearer: CAROL,
      body: { reason: 'asked twice' },
    });
    await saying(bob, /Denied by carol.*asked twice/);

    assert.equal(await bob.page.getByRole('button', { name: /^(Approve|Deny)/ }).count(), 0);
  });

  test('has its six facts and both buttons on the first screen of a phone', async () => {
    const asked = await rig.asked({ capability: 'refund', parameters: { amount: 253 } });
    const bob = await rig.approver(BOB, asked);
    await bob.page.setViewportSize({ width: 390, height: 844 });
    await bob.approve.waitFor();

    const [facts, bar, bottom] = await bob.page.evaluate<number[]>(
      `[document.querySelector('.brief').getBoundingClientRect().bottom,
        document.querySelector('.decide').getBoundingClientRect().top,
        document.querySelector('.decide .act').getBoundingClientRect().bottom]`,
    );

    assert.equal(await bob.page.locator('.brief dt').count(), 6);
    assert.ok((facts ?? 0) <= (bar ?? 0), `${facts} is below ${bar}`);
    assert.ok((bottom ?? 0) <= 844);
  });

  test('is not for the root principal of the requester, who sees why', async () => {
    const asked = await rig.asked({ capability: 'apart' });
    const ann = await rig.approver(ANN, asked);

    await saying(ann, /You cannot decide this request.*root principal of the requester/);

    assert.equal(await ann.page.getByRole('button', { name: /^(Approve|Deny)/ }).count(), 0);
  });

  test('takes no mouse: by keyboard from the sign-in to the approval, with a visible ring', async () => {
    const asked = await rig.asked({ capability: 'refund', parameters: { note: 'a\u200bb' } });
    const { page, bar, complaints } = await rig.visitor();
    const reach = async (wanted: RegExp) => {
      for (let stops = 0; stops < 80; stops++) {
        await page.keyboard.press('Tab');
        const [name, ring] = await page.evaluate<[string, string]>(
          `(({ name, type, textContent }, { outlineStyle }) => [name || type + ' ' + textContent.trim(), outlineStyle])(
            document.activeElement, getComputedStyle(document.activeElement))`,
        );
        if (!wanted.test(name)) continue;
        assert.notEqual(ring, 'none', name);
        return;
      }
      assert.fail(`no stop is ${wanted}`);
    };

    await page.goto(asked.link);
    await reach(/^key$/);
    await page.keyboard.type(BOB);
    await page.keyboard.press('Enter');
    await bar.waitFor();
    await reach(/Approve refund…$/);
    await page.keyboard.press('Enter');
    await reach(/^checkbox/);
    await page.keyboard.press('Space');
    await reach(/Approve and refund$/);
    await page.keyboard.press('Enter');
    await bar.filter({ hasText: /Approved by you/ }).waitFor();

    assert.equal(await statusOf(asked), 'approved');
    assert.deepEqual(complaints, []);
  });
});

describe('the inbox', { timeout: SLOW }, () => {
  test('has what ends soon first, the requests of one agent together, and what others decide last', async () => {
    const desk = await openRig(browser);
    const { token: one } = await desk.token({ subject: 'agent:one' });
    const { token: two } = await desk.token({ subject: 'agent:two' });
    const asked: Record<string, Asked> = {
      first: await desk.asked({ capability: 'refund', token: one }),
      second: await desk.asked({ capability: 'refund', token: two }),
      third: await desk.asked({ capability: 'move', token: one }),
      soon: await desk.asked({ capability: 'brief', token: two }),
      others: await desk.asked({ capability: 'pair', token: two }),
    };
    const approval_request_id = asked.others?.id;
    const body = { approval_request_id, grant_type: 'one_time' };
    await desk.service.ask('POST', '/svc/approval_grants', { bearer: BOB, body });
    const bob = await desk.visitor();
    await bob.page.goto(`${desk.pages}/console/approvals`);
    await bob.signIn(BOB);
    await bob.page.getByRole('heading', { name: 'Ends within the hour' }).waitFor();

    const groups = await bob.page.evaluate<[string, string[]][]>(
      `[...document.querySelectorAll('.group')].map((group) => [
        group.querySelector('h2').textContent,
        [...group.querySelectorAll('a.open')].map(({ href }) => href.split('/').at(-1))])`,
    );
    // The whole row opens the request, also beside its words.
    await bob.page
      .locator('.list > li')
      .first()
      .click({ position: { x: 5, y: 5 } });
    await bob.bar.waitFor();

    const names = new Map(Object.entries(asked).map(([name, { id }]) => [id, name]));
    assert.deepEqual(
      groups.map(([title, ids]) => [title, ids.map((id) => names.get(id))]),
      [
        ['Ends within the hour', ['soon']],
        ['Waiting for you', ['first', 'third', 'second']],
        ['You approved, others decide', ['others']],
      ],
    );
    assert.equal(new URL(bob.page.url()).pathname.split('/').at(-1), asked.soon?.id);
  });
});

describe('the connection', { timeout: SLOW }, () => {
  test('that is lost is shown and blocks approval, and comes back by itself', async () => {
    const asked = await rig.asked({ capability: 'refund' });
    const bob = await rig.approver(BOB, asked);
    await bob.approve.waitFor();

    await bob.context.setOffline(true);
    await bob.page.getByText(/^Reconnecting/).waitFor();
    await saying(bob, /You cannot approve/);
    const lost = await bob.approve.count();
    await bob.context.setOffline(false);
    await bob.approve.waitFor();

    assert.equal(lost, 0);
    await eventually(async () => (await bob.page.getByText(/^Live, checked/).count()) === 1);
  });

  test('of a session that is over shows the way back to the same decision', async () => {
    const asked = await rig.asked({ capability: 'refund' });
    const bob = await rig.approver(BOB, asked);
    const other = await bob.context.newPage();

    await other.goto(`${rig.pages}/agents`);
    await other
      .getByRole('button', { name: /Sign out/ })
      .first()
      .click();
    await other.close();
    await bob.page.getByText('Your session is over').waitFor();
    await saying(bob, /You cannot approve/);
    const over = await bob.approve.count();
    await bob.page.getByRole('link', { name: 'Sign in again and come back here' }).click();
    await bob.signIn(CAROL);
    await bob.approve.waitFor();

    assert.equal(over, 0);
    assert.equal(bob.page.url(), asked.link.replace(rig.url, rig.pages));
  });
});
