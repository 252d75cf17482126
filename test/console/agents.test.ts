/**
 * The trees of agents in the console, and what a revocation would end.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Agent } from '../../src/protocol/console/views.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { delegation } from '../sign-in/browser.ts';
import { issuanceEntry } from '../support/entries.ts';
import { accessToken } from '../support/sign-in.ts';
import { ALICE, BOB, onEachStore, testService } from '../support/world.ts';
import { AUDITOR, ENDER, PEOPLE, READER } from './people.ts';
import { atConsole, type ConsolePerson } from './person.ts';

const ALICE_IS = 'human:alice@example.com';
const SEARCH = { origin: 'SEA', destination: 'SFO', date: '2026-12-01' };
const SCOPE = ['travel.search'];

function claimsOf(token: string): { sub: string; jti: string } {
  return JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
}

async function agentOf(person: ConsolePerson, tokenId: string, more = {}): Promise<Agent> {
  const { agents } = await person.answer('agents', { limit: 100, ...more });
  const found = agents.find(({ token_id }) => token_id === tokenId);
  assert.ok(found, `there is no ${tokenId}`);
  return found;
}

const countOf = (agent: Agent): number =>
  1 + agent.children.reduce((sum, child) => sum + countOf(child), 0);

onEachStore(
  ({ url }) => testService({ store: url, settings: PEOPLE }),
  (service) => {
    const root = (more = {}): Promise<IssueAnswer> =>
      service().issue(ALICE, { scope: SCOPE, subject: 'agent:planner', ...more });
    const child = (parent: IssueAnswer, subject: string) =>
      service().delegate(parent, { subject, scope: SCOPE });

    test('agents() has the tree below each root token, newest first', async () => {
      const alice = await atConsole(service(), ALICE);
      const budget = { currency: 'USD', max_amount: 50 };
      const older = await root();
      service().advance(1_000);
      const planner = await root({ budget, purpose_parameters: { for: 'March offsite' } });
      const finder = await child(planner, 'agent:finder');
      const below = await child(finder, 'agent:below');

      const { agents, root_principal, next_cursor } = await alice.answer('agents', { limit: 2 });

      assert.equal(root_principal, ALICE_IS);
      assert.deepEqual(
        agents.map(({ token_id }) => token_id),
        [planner.token_id, older.token_id],
      );
      const [tree] = agents as [Agent];
      assert.deepEqual(tree.budget, { currency: 'USD', max: 50, spent: 0, reserved: 0, left: 50 });
      assert.deepEqual(tree.purpose, { for: 'March offsite' });
      assert.equal(tree.state, 'active');
      assert.equal(tree.children_count, 1);
      const [first] = tree.children;
      assert.equal(first?.subject, 'agent:finder');
      assert.equal(first?.parent_token_id, planner.token_id);
      assert.equal(first?.children[0]?.token_id, below.token_id);
      const rest = next_cursor === null ? [] : await allAfter(alice, next_cursor);
      assert.ok(!rest.includes(older.token_id));
    });

    test('agents() shows revoked branches under a living root, and ended roots when asked', async () => {
      const alice = await atConsole(service(), ALICE);
      const planner = await root();
      const finder = await child(planner, 'agent:finder');
      const other = await child(planner, 'agent:other');
      assert.equal((await alice.reply('tokens.revoke', { token_id: finder.token_id })).status, 200);

      const tree = await agentOf(alice, planner.token_id);
      assert.deepEqual(
        tree.children.map(({ subject, state }) => [subject, state]),
        [
          ['agent:other', 'active'],
          ['agent:finder', 'revoked'],
        ],
      );

      await alice.reply('tokens.revoke', { token_id: planner.token_id });
      const { agents } = await alice.answer('agents', { limit: 100 });
      assert.ok(!agents.some(({ token_id }) => token_id === planner.token_id));
      const ended = await agentOf(alice, planner.token_id, { ended: true });
      assert.equal(ended.state, 'revoked');
      assert.ok(ended.revoked_at !== null);
      const last = ended.children.find(({ token_id }) => token_id === other.token_id);
      assert.equal(last?.state, 'revoked');
    });

    test('agents() folds the access tokens of a consent into its agent', async () => {
      const alice = await atConsole(service(), ALICE);
      const decision = { chosen: ['search_flights'], pass: '1' };
      const { access } = await delegation(service(), decision, { person: alice });
      const { sub, jti } = claimsOf(access);
      const sub_agent = await service().issue(access, {
        parent_token: jti,
        subject: 'agent:helper',
        scope: SCOPE,
      });
      await service().invoke(access, 'search_flights', SEARCH);
      await service().invoke(sub_agent.token, 'buy_lounge_pass');

      const { agents } = await alice.answer('agents', { limit: 100 });

      const [agent] = agents.filter(({ subject }) => subject === sub) as [Agent];
      assert.equal(agents.filter(({ subject }) => subject === sub).length, 1);
      assert.notEqual(agent.token_id, jti);
      assert.ok((agent.client_name ?? '').length > 0);
      assert.equal(agent.last_act?.capability, 'search_flights');
      assert.equal(agent.last_act?.success, true);
      assert.equal(agent.refused_today, 0);
      assert.equal(agent.children_count, 1);
      const [helper] = agent.children;
      assert.equal(helper?.token_id, sub_agent.token_id);
      assert.equal(helper?.refused_today, 1);
      assert.equal(helper?.last_act?.failure_type, 'scope_insufficient');
    });

    test('an agent that names its child like another agent adds nothing to the other', async () => {
      const alice = await atConsole(service(), ALICE);
      const [maker, other] = [await root(), await root({ subject: 'agent:innocent' })];
      const named = await child(maker, 'agent:innocent');
      await service().invoke(named.token, 'buy_lounge_pass');

      assert.equal((await agentOf(alice, other.token_id)).refused_today, 0);
      const made = await agentOf(alice, maker.token_id);
      assert.equal(made.refused_today, 0);
      assert.equal(made.children[0]?.refused_today, 1);
    });

    test('agents() bounds a wide and a deep tree, and agents.children() has the rest', async () => {
      const alice = await atConsole(service(), ALICE);
      const planner = await root();
      const made = new Set<string>();
      const wide: IssueAnswer[] = [];
      for (let n = 0; n < 45; n++) wide.push(await child(planner, `agent:wide-${n}`));
      for (const each of wide) made.add(each.token_id);
      let deep = wide[0] as IssueAnswer;
      for (let n = 0; n < 4; n++) deep = await child(deep, 'agent:deep');
      await alice.reply('tokens.revoke', { token_id: (wide[1] as IssueAnswer).token_id });

      const tree = await agentOf(alice, planner.token_id);

      assert.ok(countOf(tree) <= 50);
      assert.equal(tree.children.length, 20);
      assert.equal(tree.children_count, 45);
      const found = tree.children.map(({ token_id }) => token_id);
      for (let cursor = tree.next_cursor; cursor !== null; ) {
        const page = await alice.answer('agents.children', {
          token_id: planner.token_id,
          limit: 7,
          cursor,
        });
        found.push(...page.children.map(({ token_id }) => token_id));
        cursor = page.next_cursor;
      }
      assert.equal(found.length, 45);
      assert.deepEqual(new Set(found), made);
      assert.equal(found.at(-1), wide[1]?.token_id, 'the one that ended comes last');
    });

    test('a person sees no tree of another person, by name, id or cursor', async () => {
      const [alice, bob] = [await atConsole(service(), ALICE), await atConsole(service(), BOB)];
      const planner = await root();
      const finder = await child(planner, 'agent:finder');
      const { token_id } = planner;

      const named = await bob.reply('agents', { root_principal: ALICE_IS });
      assert.equal(named.body.failure.type, 'scope_insufficient');
      assert.deepEqual(named.body.failure.resolution.requires, ['operator:read']);
      for (const method of ['agents.children', 'agents.ends'] as const) {
        const foreign = await bob.reply(method, { token_id });
        const unknown = await bob.reply(method, { token_id: `tok_${'0'.repeat(32)}` });
        assert.equal(foreign.body.failure.type, 'not_found');
        assert.equal(unknown.body.failure.type, 'not_found');
      }
      assert.deepEqual((await bob.answer('agents', { cursor: token_id })).agents, []);
      const own = await root({ subject: 'agent:own' });
      const forged = `l-${token_id}-tok_${'0'.repeat(32)}`;
      const moved = await alice.reply('agents.children', {
        token_id: own.token_id,
        cursor: forged,
      });
      assert.equal(moved.body.failure.type, 'invalid_parameters');
      assert.ok(!JSON.stringify(moved.body).includes(finder.token_id));
      for (const cursor of ['', 'x', 'l-', "l-tok_';--", token_id, `${forged}0`]) {
        const { body } = await alice.reply('agents.children', { token_id, cursor });
        assert.equal(body.failure.type, 'invalid_parameters');
      }
    });

    test('an operator sees the trees of others, and their acts only with the right to audit', async () => {
      const planner = await root();
      await service().invoke(planner.token, 'buy_lounge_pass');
      const reader = await atConsole(service(), READER);
      const auditor = await atConsole(service(), AUDITOR);
      const asked = { root_principal: ALICE_IS };

      assert.equal((await agentOf(reader, planner.token_id, asked)).last_act, null);
      assert.equal((await agentOf(auditor, planner.token_id, asked)).refused_today, 1);
    });

    test('agents() shows that the root principal is frozen', async () => {
      const alice = await atConsole(service(), ALICE);
      const planner = await root();
      assert.equal((await agentOf(alice, planner.token_id)).is_frozen, false);
      const target = { what: 'root_principal', target: ALICE_IS, reason: 'a look' };
      const ask = (path: string, body: object) =>
        service().ask('POST', path, { bearer: 'demo-operator-key', body });
      await ask('/svc/operator/freeze', target);

      const { is_frozen } = await agentOf(alice, planner.token_id);

      await ask('/svc/operator/unfreeze', target);
      assert.equal(is_frozen, true);
    });

    test('agents.ends() counts what a revocation ends, and changes nothing', async () => {
      const alice = await atConsole(service(), ALICE);
      const budget = { currency: 'USD', max_amount: 9 };
      const planner = await root({ budget });
      const finder = await child(planner, 'agent:finder');
      await child(finder, 'agent:below');
      const before = (await service().entriesBy({})).length;

      const ends = await alice.answer('agents.ends', { token_id: planner.token_id });

      assert.equal(ends.tokens, 3);
      assert.deepEqual(ends.principals.toSorted(), [
        'agent:below',
        'agent:finder',
        'agent:planner',
      ]);
      assert.equal(ends.running, 0);
      assert.equal(ends.requests, 0);
      assert.equal(ends.budgets[0]?.left, 9);
      assert.equal((await service().entriesBy({})).length, before);
      const revoked = await alice.reply('tokens.revoke', { token_id: planner.token_id });
      assert.equal(revoked.body.ended, ends.tokens);
      const again = await alice.answer('agents.ends', { token_id: planner.token_id });
      assert.deepEqual([again.tokens, again.principals], [0, []]);
    });

    test('agents.ends() counts pending approval requests of the branch', async () => {
      const alice = await atConsole(service(), ALICE);
      const budget = { currency: 'USD', max_amount: 90_000 };
      const planner = await root({ scope: ['travel.charter'], budget });
      const flyer = await service().delegate(planner, {
        subject: 'agent:flyer',
        scope: ['travel.charter'],
      });
      const other = await root();
      const asked = await service().invoke(flyer.token, 'charter_jet', {
        route: 'SEA-SFO',
        date: '2026-12-01',
      });
      assert.equal(asked.body.failure.type, 'approval_required', JSON.stringify(asked.body));
      const ender = await atConsole(service(), ENDER);

      const ends = await ender.answer('agents.ends', { token_id: planner.token_id });

      assert.equal(ends.requests, 1);
      const none = await ender.answer('agents.ends', { token_id: other.token_id });
      assert.equal(none.requests, 0);
      const tree = await agentOf(alice, planner.token_id);
      assert.equal(tree.waits_for, null);
      assert.match(tree.children[0]?.waits_for ?? '', /^apr_/);
    });
  },
);

test('agents.children() gets through thousands of access tokens that have no children', async () => {
  const service = await testService({ settings: PEOPLE });
  const alice = await atConsole(service, ALICE);
  const { access } = await delegation(
    service,
    { chosen: ['search_flights'], pass: '1' },
    { person: alice },
  );
  const { jti, sub } = claimsOf(access);
  const helper = await service.issue(access, {
    parent_token: jti,
    subject: 'agent:helper',
    scope: SCOPE,
  });
  const { token } = await service.store.load({ tokenId: jti });
  const root = (await service.store.load({ tokenId: token?.lineage[0] ?? '' })).token;
  assert.ok(root);
  const bounds = { now: service.store.now(), childrenMax: 10_000 };
  const renewed = Array.from({ length: 4_500 }, () => accessToken(root, { subject: sub }));
  await Promise.all(
    renewed.map((each) => service.store.insertChild(each, issuanceEntry(each), bounds)),
  );

  const found: string[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await alice.answer('agents.children', {
      token_id: root.token_id,
      limit: 10,
      ...(cursor !== undefined && { cursor }),
    });
    found.push(...page.children.map(({ token_id }) => token_id));
    cursor = page.next_cursor ?? undefined;
    pages += 1;
  } while (cursor !== undefined && pages < 20);

  assert.deepEqual(found, [helper.token_id]);
  assert.ok(pages > 1 && pages < 20, `${pages} pages`);
});

async function allAfter(person: ConsolePerson, cursor: string): Promise<string[]> {
  const { agents } = await person.answer('agents', { limit: 100, cursor });
  return agents.map(({ token_id }) => token_id);
}
