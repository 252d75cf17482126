/**
 * The inbox of the console and everything that one decision shows, over HTTP as the page asks for it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { Client } from 'pg';
import { describe, test } from 'vitest';
import type { Inbox } from '../../src/protocol/console/views.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import {
  ALICE,
  BOB,
  CAROL,
  createWorld,
  type Desk,
  SETTINGS,
  startDesk,
} from '../approvals/desk.ts';
import { delegation } from '../sign-in/browser.ts';
import { emptyStore } from '../support/empty-store.ts';
import { temporaryFolder } from '../support/ends.ts';
import { person } from '../support/person.ts';
import { onEachStore } from '../support/world.ts';
import { atConsole, type ConsolePerson } from './person.ts';

const HOUR = 3_600_000;

/** People who may decide little and nothing. Only people sign in. */
const DAN = 'dan-key';
const EVE = 'eve-key';
const PEOPLE = {
  ...SETTINGS,
  identities: [
    ...SETTINGS.identities,
    person(DAN, 'human:dan', ['approver:sign']),
    person(EVE, 'human:eve', ['operator:*']),
  ],
};

const startPeople = ({ url }: { url: string }) => startDesk({ store: url, settings: PEOPLE });

/** A token of alice's agent with a budget. */
function budgeted(desk: Desk, max_amount: number, more: object = {}): Promise<IssueAnswer> {
  return desk.token({ budget: { currency: 'USD', max_amount }, ...more });
}

async function allPages(person: ConsolePerson, limit: number): Promise<Inbox['requests'][]> {
  const pages: Inbox['requests'][] = [];
  let cursor: string | null = null;
  do {
    const page: Inbox = await person.answer('inbox', { limit, ...(cursor && { cursor }) });
    pages.push(page.requests);
    cursor = page.next_cursor;
  } while (cursor);
  return pages;
}

const idsOf = (requests: Inbox['requests']) => requests.map((each) => each.approval_request_id);

onEachStore(startPeople, (desk) => {
  describe('inbox()', () => {
    test('lists what the person may decide, the next to expire first, in pages', async () => {
      const token = await desk().token({ subject: 'agent:inbox' });
      const late = await desk().asked(token, 'sign', { note: 'one' });
      const soon = await desk().asked(token, 'brief', { note: 'two' });
      const later = await desk().asked(token, 'sign', { note: 'three' });
      const bob = await atConsole(desk(), BOB);

      const [whole = []] = await allPages(bob, 100);
      const pages = await allPages(bob, 1);

      assert.deepEqual(
        idsOf(whole).filter((id) => [late, soon, later].includes(id)),
        [soon, late, later],
      );
      assert.deepEqual(idsOf(pages.flat()), idsOf(whole));
      assert.ok(pages.slice(0, -1).every(({ length }) => length === 1));
      const { pending, pending_max } = await bob.answer('pulse');
      assert.equal(pending, whole.length);
      assert.ok(pending <= pending_max);
    });

    test('says what one line of a list needs', async () => {
      const token = await budgeted(desk(), 100, { subject: 'agent:line' });
      const child = await desk().delegate(token, { subject: 'agent:below' });
      const id = await desk().asked(child, 'pay', { note: 'canc\u202eelled', amount: 3 });
      const bob = await atConsole(desk(), BOB);

      const [whole = []] = await allPages(bob, 100);

      const item = whole.find((each) => each.approval_request_id === id);
      assert.deepEqual(item?.chain, ['agent:below', 'agent:line', 'human:alice']);
      assert.deepEqual(item?.cost, { currency: 'USD', amount: 10 });
      assert.equal(item?.has_hidden, true);
      assert.equal(item?.parameters_count, 2);
      assert.equal(item?.side_effect, 'irreversible');
      assert.equal(item?.needs_passkey, false);
      assert.equal(item?.has_approved, false);
    });

    test('has neither requests of others for a person without the scope nor decided ones', async () => {
      const token = await desk().token({ subject: 'agent:gone' });
      const denied = await desk().asked(token, 'sign', { note: 'to be denied' });
      await desk().deny(BOB, denied);
      const bob = await atConsole(desk(), BOB);
      const dan = await atConsole(desk(), DAN);

      const [all = []] = await allPages(bob, 100);
      const [some = []] = await allPages(dan, 100);

      assert.ok(!idsOf(all).includes(denied));
      assert.ok(some.length > 0 && some.every(({ capability }) => capability === 'sign'));
      const eve = await atConsole(desk(), EVE);
      assert.deepEqual(await eve.answer('inbox', {}), { requests: [], next_cursor: null });
      assert.equal((await eve.answer('pulse')).pending, 0);
    });

    test('refuses a cursor that no page gave', async () => {
      const bob = await atConsole(desk(), BOB);

      const { status, body } = await bob.reply('inbox', { cursor: '../etc' });

      assert.equal(status, 400);
      assert.equal(body.failure.type, 'invalid_parameters');
    });
  });

  describe('decision()', () => {
    test('shows every budget above the call, the nearest first, and what is left after it', async () => {
      const token = await budgeted(desk(), 100, { subject: 'agent:rich' });
      const child = await desk().delegate(token, {
        subject: 'agent:poor',
        budget: { currency: 'USD', max_amount: 10 },
      });
      const id = await desk().asked(child, 'pay');
      const bob = await atConsole(desk(), BOB);

      const decision = await bob.answer('decision', { approval_request_id: id });

      assert.deepEqual(decision.cost, { currency: 'USD', amount: 10 });
      assert.deepEqual(decision.request.cost, decision.cost);
      const shown = decision.budgets.map(({ principal, max, spent, left, left_after }) => {
        return { principal, max, spent, left, left_after };
      });
      assert.deepEqual(shown, [
        { principal: 'agent:poor', max: 10, spent: 0, left: 10, left_after: 0 },
        { principal: 'agent:rich', max: 100, spent: 0, left: 100, left_after: 90 },
      ]);
      assert.deepEqual(
        decision.chain.map(({ principal, state, token_id }) => [principal, state, token_id]),
        [
          ['human:alice', 'active', null],
          ['agent:rich', 'active', token.token_id],
          ['agent:poor', 'active', child.token_id],
        ],
      );
      assert.equal(decision.has_changed, false);
      assert.deepEqual(decision.passkey, { is_required: false, usable: [] });
      assert.deepEqual(Object.values(decision.viewer), ['human:bob', true, null, false]);
    });

    test('compares with the newest approved request of the same agent, and counts the day', async () => {
      const token = await desk().token({ subject: 'agent:again' });
      const first = await desk().asked(token, 'sign', { amount: 1 });
      await desk().granted(first);
      const second = await desk().asked(token, 'sign', { amount: 2 });
      await desk().granted(second);
      const third = await desk().asked(token, 'sign', { amount: 3 });
      await desk().deny(BOB, third, 'too much');
      await desk().asked(token, 'sign', { amount: 4 });
      const other = await desk().token({ subject: 'agent:other' });
      await desk().granted(await desk().asked(other, 'sign', { amount: 9 }));
      const id = await desk().asked(token, 'sign', { amount: 5 });
      const bob = await atConsole(desk(), BOB);

      const { similar, history } = await bob.answer('decision', { approval_request_id: id });
      const earlier = await bob.answer('decision', { approval_request_id: second });

      assert.equal(similar?.approval_request_id, second);
      assert.deepEqual(similar?.parameters, { amount: 2 });
      assert.deepEqual(similar?.approved_by, ['human:bob']);
      assert.deepEqual(history.today, { approved: 2, denied: 1, expired: 0, pending: 1 });
      assert.equal(history.is_complete, true);
      assert.deepEqual(
        history.items.map(({ status, parameters, decided_by, reason }) => {
          return [status, parameters?.amount, decided_by, reason];
        }),
        [
          ['pending', 4, [], null],
          ['denied', 3, ['human:bob'], 'too much'],
          ['approved', 2, ['human:bob'], null],
          ['approved', 1, ['human:bob'], null],
        ],
      );
      assert.equal(earlier.similar?.approval_request_id, first);
      assert.equal(earlier.viewer.may_decide, false);
      assert.match(earlier.viewer.why ?? '', /decided already/);
    });

    test('says when the history is longer than what is shown', async () => {
      const token = await desk().token({ subject: 'agent:busy' });
      for (let amount = 0; amount < 11; amount++) await desk().asked(token, 'sign', { amount });
      const id = await desk().asked(token, 'sign', { amount: 100 });
      const bob = await atConsole(desk(), BOB);

      const { history } = await bob.answer('decision', { approval_request_id: id });

      assert.equal(history.items.length, 10);
      assert.equal(history.today.pending, 11);
      assert.equal(history.is_complete, false);
    });

    test('keeps every character of the requester, and its note', async () => {
      const hidden = 'canc\u202eelled \u200b<script>alert(1)</script>';
      const token = await desk().token({ subject: 'agent:sly' });
      const fields = { note: `furious ${hidden}` };
      const { body } = await desk().invoke(token.token, 'sign', { note: hidden }, { fields });
      const again = await desk().invoke(
        token.token,
        'sign',
        { note: hidden },
        {
          fields: { note: 'other words' },
        },
      );
      const bob = await atConsole(desk(), BOB);

      const { request } = await bob.answer('decision', {
        approval_request_id: body.failure.approval_request_id,
      });

      assert.equal(again.body.failure.approval_request_id, body.failure.approval_request_id);
      assert.equal(request.parameters.note, hidden);
      assert.equal(request.note, fields.note);
      assert.match(request.safe?.note ?? '', /canc⟨U\+202E⟩elled/);
    });

    test('shows votes with their terms, and that the person has approved', async () => {
      const token = await desk().token({ subject: 'agent:pair' });
      const id = await desk().asked(token, 'pair', { note: 'two people' });
      await desk().approve(BOB, id);
      const bob = await atConsole(desk(), BOB);
      const carol = await atConsole(desk(), CAROL);

      const own = await bob.answer('decision', { approval_request_id: id });
      const others = await carol.answer('decision', { approval_request_id: id });

      assert.deepEqual(
        own.votes.map(({ approver, terms, passkey }) => [approver, terms?.grant_type, passkey]),
        [['human:bob', 'one_time', null]],
      );
      assert.equal(own.viewer.has_approved, true);
      assert.equal(others.viewer.has_approved, false);
      const [inbox = []] = await allPages(bob, 100);
      const item = inbox.find((each) => each.approval_request_id === id);
      assert.deepEqual([item?.approvals, item?.has_approved], [1, true]);
    });

    test('shows the requester its request without a way to decide, and nothing to others', async () => {
      const token = await desk().token({ subject: 'agent:mine' });
      const id = await desk().asked(token, 'apart', { note: 'root may not' });
      const alice = await atConsole(desk(), ALICE);
      const dan = await atConsole(desk(), DAN);

      const { viewer } = await alice.answer('decision', { approval_request_id: id });
      const [inbox = []] = await allPages(alice, 100);
      const refused = await alice.reply('approval_grants.issue', {
        approval_request_id: id,
        grant_type: 'one_time',
      });
      const hidden = await dan.reply('decision', { approval_request_id: id });
      const unknown = await dan.reply('decision', { approval_request_id: 'apr_none' });

      assert.equal(viewer.may_decide, false);
      assert.match(viewer.why ?? '', /root principal of the requester may not approve/);
      assert.ok(!idsOf(inbox).includes(id));
      assert.equal(refused.body.failure.type, 'approver_not_authorized');
      assert.equal(hidden.status, 404);
      assert.deepEqual(hidden.body, unknown.body);
    });

    test('shows a request whose token was revoked, and says so', async () => {
      const token = await budgeted(desk(), 50, { subject: 'agent:revoked' });
      const child = await desk().delegate(token, { subject: 'agent:under' });
      const id = await desk().asked(child, 'pay', { note: 'too late' });
      await desk().ask('POST', '/svc/tokens/revoke', {
        bearer: ALICE,
        body: { token_id: token.token_id },
      });
      const bob = await atConsole(desk(), BOB);

      const decision = await bob.answer('decision', { approval_request_id: id });

      assert.deepEqual(
        decision.chain.map(({ state }) => state),
        ['active', 'revoked', 'revoked'],
      );
      assert.deepEqual(
        decision.budgets.map(({ left_after }) => left_after),
        [40, 40],
      );
    });
  });
});

test('decision() says that a request expired, and the inbox no longer has it', async () => {
  const desk = await startDesk();
  const id = await desk.asked(await desk.token(), 'brief', { note: 'quick' });
  const bob = await atConsole(desk, BOB);
  const before = await bob.answer('decision', { approval_request_id: id });

  desk.advance(60_000);
  const after = await bob.answer('decision', { approval_request_id: id });

  assert.equal(before.viewer.may_decide, true);
  assert.equal(after.request.status, 'expired');
  assert.equal(after.viewer.may_decide, false);
  assert.match(after.viewer.why ?? '', /expired at/);
  assert.deepEqual(await bob.answer('inbox', {}), { requests: [], next_cursor: null });
  assert.equal((await bob.answer('pulse')).pending, 0);
});

test('decision() counts only requests since midnight UTC as those of today', async () => {
  const desk = await startDesk();
  const request = { subject: 'agent:daily', ttl_hours: 100 };
  const first = await desk.token(request);
  await desk.granted(await desk.asked(first, 'sign', { amount: 1 }));
  desk.advance(25 * HOUR);
  const id = await desk.asked(await desk.token(request), 'sign', { amount: 2 });
  const bob = await atConsole(desk, BOB);

  const { history, similar } = await bob.answer('decision', { approval_request_id: id });

  assert.deepEqual(history.today, { approved: 0, denied: 0, expired: 0, pending: 0 });
  assert.equal(history.items.length, 1);
  assert.deepEqual(similar?.parameters, { amount: 1 });
});

test('decision() says that the declaration changed since the request', async () => {
  const { url } = await emptyStore();
  const keys = temporaryFolder();
  const first = await startDesk({ store: url, keys });
  const id = await first.asked(await first.token(), 'sign', { note: 'of the old kind' });
  await first.close();
  const second = await startDesk({ store: url, keys, world: createWorld({ described: 'Does' }) });
  const bob = await atConsole(second, BOB);

  const decision = await bob.answer('decision', { approval_request_id: id });

  assert.equal(decision.has_changed, true);
  assert.equal(decision.capability?.description, 'Does sign');
});

test('decision() names the client of a consent and what the person let it do', async () => {
  const desk = await startDesk();
  const { access } = await delegation(desk, { chosen: ['sign'] }, { key: ALICE });
  const { body } = await desk.invoke(access, 'sign', {});
  assert.equal(body.failure?.type, 'approval_required', JSON.stringify(body));
  const bob = await atConsole(desk, BOB);

  const { chain } = await bob.answer('decision', {
    approval_request_id: body.failure.approval_request_id,
  });

  assert.equal(chain.length, 2);
  assert.equal(chain[0]?.principal, 'human:alice');
  assert.equal(chain[1]?.client_name, 'writ login');
  assert.equal(chain[1]?.purpose?.for, 'March offsite');
});

test('inbox() and decision() leave out a request whose row was edited', async () => {
  const { url } = await emptyStore();
  const desk = await startDesk({ store: url });
  const token = await budgeted(desk, 100);
  const ids: string[] = [];
  for (const amount of [1, 2, 3, 4]) ids.push(await desk.asked(token, 'pay', { amount }));
  const [cheaper, reworded, moved, whole] = ids as [string, string, string, string];
  await editRow(url, cheaper, `cost = '{"currency": "USD", "amount": 1}'`);
  await editRow(url, reworded, "note = 'the boss agreed'");
  await editRow(url, moved, 'token_id = NULL');
  const bob = await atConsole(desk, BOB);

  const { requests } = await bob.answer('inbox', {});
  const refused = await Promise.all(
    [cheaper, reworded, moved].map((approval_request_id) =>
      bob.reply('decision', { approval_request_id }),
    ),
  );
  const { history } = await bob.answer('decision', { approval_request_id: whole });

  assert.deepEqual(idsOf(requests), [whole]);
  assert.deepEqual(
    refused.map(({ status }) => status),
    [404, 404, 404],
  );
  assert.deepEqual(history.items, []);
});

/** Changes a row as somebody with access to the database could. */
async function editRow(url: string, id: string, change: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`UPDATE approval_requests SET ${change} WHERE approval_request_id = $1`, [id]);
  await client.end();
}
