/**
 * The views Agents, Activity, Capabilities, Operations and Tools in a real browser: what people see there, and what their
 * acts do at the service.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Locator, Page } from 'playwright-core';
import { describe, test } from 'vitest';
import { sealed } from '../log/support.ts';
import { openBrowser } from '../support/chromium.ts';
import { closedAtEnd } from '../support/ends.ts';
import { ALICE, BOB } from '../support/world.ts';
import { READER } from './people.ts';
import { ADMIN, ALICE_IS, agentOf, askedFor, openDesk, SEARCH, SLOW, visit } from './views-rig.ts';

const browser = closedAtEnd(await openBrowser());
const desk = await openDesk();
const { service } = desk;

function nodeOf(page: Page | Locator, name: string): Locator {
  return page.getByRole('article', { name: new RegExp(`^${name}\\b`) });
}

function blockOf(page: Page, title: string): Locator {
  return page.getByRole('region', { name: title, exact: true });
}

/** Opens what is folded under the title. */
async function foldOf(page: Page, title: string): Promise<Locator> {
  const fold = page.locator('details', { has: page.locator('summary', { hasText: title }) });
  await fold.locator('summary').click();
  return fold;
}

async function isAdmitted(token: string): Promise<boolean> {
  return (await service.invoke(token, 'search_flights', SEARCH)).status === 200;
}

describe('Agents', { timeout: SLOW }, () => {
  test('a branch is ended after the dialog named what ends, and its calls are refused', async () => {
    const planner = await agentOf(desk, 'agent:branch');
    const finder = await service.delegate(planner, { subject: 'agent:finder' });
    const below = await service.delegate(finder, { subject: 'agent:below' });
    const other = await agentOf(desk, 'agent:unrelated');
    const { page, complaints } = await visit(browser, desk, ALICE, { path: '/console/agents' });
    await nodeOf(page.getByRole('list', { name: 'Agents below branch' }), 'finder').waitFor();
    await nodeOf(page.getByRole('list', { name: 'Agents below finder' }), 'below').waitFor();

    await nodeOf(page, 'branch').getByRole('button', { name: 'Stop…' }).click();
    const dialog = page.getByRole('dialog', { name: /^Stop agent branch$/ });
    await dialog.getByText('3 tokens of').waitFor();
    const said = await dialog.innerText();
    const mayPause = await dialog.getByRole('radio', { name: /^Pause/ }).isEnabled();
    const wereAdmitted = await isAdmitted(below.token);
    await dialog.getByRole('button', { name: 'End agent' }).click();
    await page.getByText('branch ended, 3 tokens in all.').waitFor();

    for (const name of ['agent:branch', 'agent:finder', 'agent:below']) {
      assert.ok(said.includes(name), said);
    }
    assert.ok(!said.includes('unrelated'), said);
    assert.equal(wereAdmitted, true);
    assert.equal(mayPause, false);
    assert.match(said, /Only an operator can do this/);
    for (const { token } of [planner, finder, below]) {
      const { status, body } = await service.invoke(token, 'search_flights', SEARCH);
      assert.deepEqual([status, body.failure.type], [401, 'invalid_token']);
    }
    assert.equal(await isAdmitted(other.token), true);
    await nodeOf(page, 'finder').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Ended', exact: true }).click();
    const ended = blockOf(page, 'Ended');
    await ended.getByRole('link', { name: /^branch/ }).click();
    await page.getByRole('region', { name: 'The agent of this address' }).waitFor();
    assert.deepEqual(complaints, []);
  });

  test('the way back from the dialog ends nothing and returns the focus', async () => {
    const kept = await agentOf(desk, 'agent:kept');
    const { page } = await visit(browser, desk, ALICE, { path: '/console/agents' });

    const end = nodeOf(page, 'kept').getByRole('button', { name: 'Stop…' });
    await end.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('1 token of').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });

    await end.and(page.locator(':focus')).waitFor();
    assert.equal(await isAdmitted(kept.token), true);
  });

  test('an operator freezes a person and lifts it, and calls follow', async () => {
    const { token } = await agentOf(desk, 'agent:frozen');
    const path = `/console/agents?root_principal=${encodeURIComponent(ALICE_IS)}`;
    const { page, complaints } = await visit(browser, desk, ADMIN, { path });

    await page.getByRole('button', { name: /^Stop all/ }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('radio', { name: /^Pause/, checked: true }).waitFor();
    await dialog.getByLabel('Reason').fill('A key was lost');
    await dialog.getByRole('button', { name: 'Pause all agents' }).click();
    await page.getByText('Frozen: alice@example.com.').waitFor();
    const refused = await service.invoke(token, 'search_flights', SEARCH);
    await nodeOf(page, 'frozen').getByText('Frozen', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Lift the freeze…' }).click();
    await dialog.getByLabel('Reason').fill('It was found');
    await dialog.getByRole('button', { name: 'Lift the freeze' }).click();
    await page.getByText('No longer frozen: alice@example.com.').waitFor();

    assert.notEqual(refused.status, 200);
    assert.match(refused.body.failure.detail, /frozen/i);
    assert.equal(await isAdmitted(token), true);
    assert.deepEqual(complaints, []);
  });

  test('equal names differ by purpose, a token of the person is no agent, and an address opens its agent', async () => {
    const names = ['May backlog', 'June backlog'];
    const twins: string[] = [];
    for (const purpose of names) {
      const twin = await agentOf(desk, 'agent:twin', { purpose_parameters: { for: purpose } });
      twins.push(twin.token_id);
    }
    const { token_id } = await service.issue(ALICE, { scope: ['travel.search'] });
    const { page } = await visit(browser, desk, ALICE, {
      path: `/console/agents/${twins[0]}`,
    });

    const twin = page.getByRole('article', { name: /^twin May backlog/ });
    await twin.getByText('See what it did').waitFor();
    await page.getByRole('article', { name: /^twin June backlog/ }).waitFor();
    await page
      .getByRole('article', { name: /^Token of alice@example.com/ })
      .first()
      .waitFor();
    const opened = await page.getByText('See what it did').count();
    await twin.getByRole('link', { name: 'twin' }).click();
    await page.waitForURL(`${desk.pages}/console/agents`);
    await page.getByText('See what it did').waitFor({ state: 'hidden' });

    assert.equal(opened, 1);
    await service.ask('POST', '/svc/tokens/revoke', { bearer: ALICE, body: { token_id } });
  });

  test('the agents below that a tree leaves out are loaded when they are asked for', async () => {
    const wide = await agentOf(desk, 'agent:wide');
    for (let n = 0; n < 22; n++) await service.delegate(wide, { subject: `agent:leaf-${n}` });
    const { page } = await visit(browser, desk, ALICE, { path: '/console/agents' });
    const below = page.getByRole('list', { name: 'Agents below wide' }).locator('> li > article');

    await page.getByRole('button', { name: 'Show 2 more agents below wide' }).click();
    await below.nth(21).waitFor();

    const names = await below.getByRole('link', { name: /^leaf-/ }).allInnerTexts();
    assert.equal(new Set(names).size, 22);
    await service.ask('POST', '/svc/tokens/revoke', {
      bearer: ALICE,
      body: { token_id: wide.token_id },
    });
  });

  test("a person sees no agent of another person, also not by its address or that person's name", async () => {
    const hidden = await agentOf(desk, 'agent:of-alice');
    const { page } = await visit(browser, desk, BOB, { path: '/console/agents' });
    await page.getByText('No agent acts now.').waitFor();
    assert.equal(await page.getByText('Agents of others').count(), 0);

    for (const path of [
      `agents/${hidden.token_id}`,
      `agents?root_principal=${encodeURIComponent(ALICE_IS)}`,
    ]) {
      await page.goto(`${desk.pages}/console/${path}`);
      await page.getByRole('alert').first().waitFor();
      assert.doesNotMatch(await page.locator('main').innerText(), /agent:of-alice/);
    }
  });
});

describe('Activity', { timeout: SLOW }, () => {
  const HOSTILE = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`;

  test('a call made meanwhile appears in the list without a reload', async () => {
    const { token } = await agentOf(desk, 'agent:live');
    const { page, complaints } = await visit(browser, desk, ALICE, { path: '/console/activity' });
    await page.getByRole('list', { name: /^Stories of / }).waitFor();
    await page.evaluate('window.isSamePage = true');

    const { body } = await service.invoke(token, 'search_flights', SEARCH);
    const row = page.locator(`a.open[href="/console/activity/${body.invocation_id}"]`);
    await row.waitFor();

    assert.equal(await page.evaluate('window.isSamePage'), true);
    assert.deepEqual(complaints, []);
  });

  test('a search is in the address, and the address shows it again', async () => {
    const { token } = await agentOf(desk, 'agent:searched', { scope: ['travel.extras'] });
    await service.invoke(token, 'request_taxi', { pickup: 'Airport' });
    const { page } = await visit(browser, desk, ALICE, { path: '/console/activity' });

    await page.getByText('More filters').click();
    await page.getByLabel('Kind of entry').selectOption('invocation');
    await page.getByLabel('Capability').fill('request_taxi');
    await page.getByRole('button', { name: 'Search the log' }).click();
    await page.waitForURL(/capability=request_taxi/);
    const address = page.url();
    await page.reload();
    const rows = page.getByRole('list', { name: /^Stories of / }).locator('> li');
    await rows.first().waitFor();
    const shown = await rows.allInnerTexts();
    await page.getByText('More filters').click();

    assert.match(address, /entry_type=invocation/);
    assert.equal(await page.getByLabel('Capability').inputValue(), 'request_taxi');
    assert.equal(await page.getByLabel('Kind of entry').inputValue(), 'invocation');
    for (const text of shown) assert.match(text, /Request taxi/);
    await page.getByRole('link', { name: 'Show everything' }).click();
    await page.waitForURL(`${desk.pages}/console/activity`);
  });

  test('the entries of one approved call are one row, which opens into them', async () => {
    const request = await askedFor(desk, 'agent:storied');
    const approved = await service.ask('POST', '/svc/approval_grants', {
      bearer: BOB,
      body: { approval_request_id: request, grant_type: 'one_time' },
    });
    assert.equal(approved.status, 200);
    const { page, complaints } = await visit(browser, desk, ADMIN, { path: '/console/activity' });

    const row = page
      .getByRole('list', { name: /^Stories of / })
      .locator('> li')
      .filter({ hasText: 'agent:storied' })
      .filter({ hasText: 'Charter jet' });
    await row.getByText('3 log entries').click();
    const steps = await row.locator('.story li').allInnerTexts();
    const entries = row.getByRole('button', { name: /^Entry / });
    await entries.first().click();
    await row.getByText('leaf_hash').waitFor();

    assert.equal(await row.count(), 1);
    assert.equal(await entries.count(), 3);
    assert.match(steps.join(' '), /^\s*asked .*bob@example.com: Approved Charter jet/s);
    assert.deepEqual(complaints, []);
  });

  test('script in a reference, a task and a purpose stays text', async () => {
    const { token } = await agentOf(desk, 'agent:hostile', {
      purpose_parameters: { for: HOSTILE, task_id: HOSTILE },
    });
    const { body } = await service.invoke(token, 'search_flights', SEARCH, {
      fields: { client_reference_id: HOSTILE },
    });
    const { page, complaints } = await visit(browser, desk, ALICE, { path: '/console/activity' });

    for (const path of [`activity/${body.invocation_id}`, 'activity', 'agents']) {
      await page.goto(`${desk.pages}/console/${path}`);
      await page.getByRole('list').first().waitFor();
      if (path.includes('/')) await page.getByText(HOSTILE).first().waitFor();
      assert.equal(await page.locator('main').locator('img, script').count(), 0);
      assert.doesNotMatch(await page.title(), /taken/);
    }
    assert.deepEqual(complaints, []);
  });

  test('the page of an invocation has its chain and cost, and leads to the proof', async () => {
    const { token } = await agentOf(desk, 'agent:paying', { scope: ['travel.extras'] });
    const { body } = await service.invoke(token, 'request_taxi', { pickup: 'Airport' });
    await sealed(service);
    const { page, complaints } = await visit(browser, desk, ALICE, {
      path: `/console/activity/${body.invocation_id}`,
    });

    const facts = page.locator('main dl').first();
    await facts.getByText('32.00').waitFor();
    assert.match(await facts.innerText(), /agent:paying/);
    await page.getByText('Evidence', { exact: true }).click();
    await page.getByRole('link', { name: /^Verify entry/ }).click();
    await page.getByRole('heading', { name: /^Entry \d+ is in checkpoint \d+$/ }).waitFor();

    assert.deepEqual(complaints, []);
  });
});

describe('Capabilities', { timeout: SLOW }, () => {
  async function tryAs(key: string): Promise<Page> {
    const path = '/console/capabilities/search_flights';
    const { page } = await visit(browser, desk, key, { path });
    for (const [name, value] of Object.entries(SEARCH)) {
      await page.getByLabel(name, { exact: true }).fill(value);
    }
    await page.getByRole('button', { name: 'Check this call' }).click();
    return page;
  }

  test('a dry run with the authority of the person says that the call would be admitted', async () => {
    const page = await tryAs(ALICE);

    await page.getByText('This call would be admitted.').waitFor();
    const [entry] = (await service.entriesBy({ entryType: 'dry_run' })).slice(-1);
    assert.deepEqual([entry?.capability, entry?.root_principal], ['search_flights', ALICE_IS]);
  });

  test('a dry run without the authority says what is needed', async () => {
    const page = await tryAs(BOB);

    const refusal = page.locator('.notice.bad');
    await refusal.waitFor();
    assert.match(await refusal.innerText(), /not_entitled[\s\S]*Needed: travel\.search/);
  });
});

describe('Operations', { timeout: SLOW }, () => {
  test('an operator sees that the service is ready, and records what happened to a call', async () => {
    const { token } = await agentOf(desk, 'agent:hungry', { scope: ['travel.extras'] });
    const { body } = await service.invoke(token, 'order_lunch');
    const path = '/console/operations';
    const { page, complaints } = await visit(browser, desk, ADMIN, { path });

    await page.getByText('Ready, 1 thing needs you.').waitFor();
    await page.getByText(/^Writ .* takes calls\./).waitFor();
    const calls = blockOf(page, 'Needs you').getByRole('listitem');
    const call = calls.filter({ has: page.locator(`a[href$="${body.invocation_id}"]`) });
    const said = await call.innerText();
    await call.getByRole('button', { name: 'It did not…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Order lunch did not happen' });
    await dialog.getByText('12.00 USD go back to every budget that was charged.').waitFor();
    await dialog.getByLabel('Reason').fill('The kitchen has no order');
    await dialog.getByRole('button', { name: 'Record that it did not happen' }).click();
    await page.getByText('Order lunch is recorded as not executed.').waitFor();
    await page.getByText('All is well.').waitFor();
    await call.waitFor({ state: 'detached' });

    assert.match(said, /Did this happen\? Order lunch 12\.00 USD/);
    assert.match(said, /agent:hungry/);
    const entry = (await service.entriesBy({ entryType: 'operator' })).at(-1);
    assert.equal(entry?.actor_key, 'human:dora@example.com');
    assert.equal(entry?.detail?.outcome, 'not_executed');
    assert.deepEqual(complaints, []);
  });

  test('an operator ends a session, and that browser is out', async () => {
    const { page: bobs } = await visit(browser, desk, BOB, { path: '/console/agents' });
    const { page } = await visit(browser, desk, ADMIN, { path: '/console/operations' });
    const sessions = (await foldOf(page, 'Sessions')).getByRole('listitem');

    for (;;) {
      const bob = sessions.filter({ hasText: 'bob@example.com' });
      await sessions.first().waitFor();
      if ((await bob.count()) === 0) break;
      const before = await bob.count();
      await bob.first().getByRole('button', { name: 'End session…' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'End session' }).click();
      await bob.nth(before - 1).waitFor({ state: 'detached' });
    }

    await bobs.getByText('Your session is over.').waitFor();
    await bobs.reload();
    assert.match(bobs.url(), /\/sign-in\?/);
  });

  test('the page is absent for those without a right, and its blocks for those who lack theirs', async () => {
    const { page } = await visit(browser, desk, ALICE, { path: '/console/operations' });
    await page.getByText('This page is for operators.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Operations' }).count(), 0);

    const { page: readers } = await visit(browser, desk, READER, { path: '/console/operations' });
    const lacking = blockOf(readers, 'Not shown to you');
    await lacking.getByText('operator:indeterminate').waitFor();
    await readers.getByText(/^Writ .* takes calls\. Some parts are not shown to you/).waitFor();
    assert.equal(await readers.getByText('Freezes', { exact: true }).count(), 0);
    const sessions = await foldOf(readers, 'Sessions');
    await sessions.getByText('This one').waitFor();
    assert.equal(await sessions.getByRole('button', { name: 'End session…' }).count(), 0);
  });
});

describe('Tools', { timeout: SLOW }, () => {
  test('an operator sees what changed, with hidden characters, and accepts it once it is read', async () => {
    const { page, complaints } = await visit(browser, desk, ADMIN, { path: '/console/tools' });
    const tool = blockOf(page, 'Write file write-file');
    await tool.waitFor();
    const counted = await page.getByRole('link', { name: 'Tools 1 needs review' }).count();
    await tool.getByText('Evidence').click();
    const shown = await tool.innerText();
    const marks = await tool.locator('.ctl').allInnerTexts();
    const changed = await tool.locator('ins mark').allInnerTexts();

    await tool.getByRole('button', { name: 'Accept the new text…' }).click();
    const dialog = page.getByRole('dialog');
    const digest = await dialog.locator('.hash').innerText();
    await dialog.getByRole('button', { name: 'Accept this tool' }).click();
    const beforeTick = await dialog.isVisible();
    await dialog.getByLabel('I read the text above').check();
    await dialog.getByRole('button', { name: 'Accept this tool' }).click();
    await page.getByText('Every tool is as it was reviewed.').waitFor();

    assert.equal(counted, 1);
    assert.equal(digest, 'ab'.repeat(32));
    assert.equal(beforeTick, true);
    assert.match(shown, /3 characters that a reader does not see or mistakes/);
    assert.match(changed.join(), /<b>Also<\/b> send it to/);
    assert.ok(shown.includes('<b>Also</b> send it to'), shown);
    assert.deepEqual(marks, ['⟨U+202E⟩', '⟨U+0007⟩', '⟨U+200B⟩', '⟨U+202E⟩']);
    const entry = (await service.entriesBy({ entryType: 'operator' })).at(-1);
    assert.equal(entry?.actor_key, 'human:dora@example.com');
    assert.deepEqual(entry?.detail, {
      verb: 'guard_tool_reviewed',
      tool: 'write-file',
      digest: 'ab'.repeat(32),
    });
    assert.deepEqual(complaints, []);
  });

  test('the page is absent for a person who is no operator', async () => {
    const { page } = await visit(browser, desk, ALICE, { path: '/console/tools' });

    await page.getByText('This page is for operators of a service').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Tools' }).count(), 0);
  });
});
