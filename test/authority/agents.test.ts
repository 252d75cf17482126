/**
 * The trees of agents as an operation: who sees which, and how deep a tree may be.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readJson } from '../../src/domain/wire/json.ts';
import type { AgentListAnswer, AgentView } from '../../src/protocol/agents.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { ALICE, OPERATOR, type TestService } from '../support/world.ts';
import { ALICE_PRINCIPAL, assertRefused, DESK, onBothStores, READER, SETTINGS } from './support.ts';

/** As the client reads answers. */
const CLIENT_LIMITS = { bytes: 16 * 1024 * 1024, depth: 64, keys: 1_000_000 };

const SCOPE = ['travel.search'];

const ask = (service: TestService, bearer: string, query = '') =>
  service.ask('GET', `/svc/agents${query}`, { bearer });

async function listed(service: TestService, bearer: string, query = ''): Promise<AgentListAnswer> {
  const { status, body } = await ask(service, bearer, query);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const idsOf = ({ agents }: { readonly agents: readonly AgentView[] }) =>
  agents.map(({ token_id }) => token_id);

const OF_ALICE = `?root_principal=${encodeURIComponent(ALICE_PRINCIPAL)}`;

onBothStores(
  (rig) => {
    const root = (key = ALICE, subject = 'agent:planner') =>
      rig().issue(key, { scope: SCOPE, subject });

    test('agents.list() has the trees of the caller, the living or the ended', async () => {
      const [living, over] = [await root(), await root()];
      const finder = await rig().delegate(living, { subject: 'agent:finder' });
      await rig().ask('POST', '/svc/tokens/revoke', {
        bearer: ALICE,
        body: { token_id: over.token_id },
      });

      const now = await listed(rig(), ALICE, '?limit=100');
      const ended = await listed(rig(), ALICE, '?limit=100&ended=true');

      const found = now.agents.find(({ token_id }) => token_id === living.token_id);
      assert.deepEqual(idsOf({ agents: found?.children ?? [] }), [finder.token_id]);
      assert.equal(now.root_principal, ALICE_PRINCIPAL);
      assert.ok(!idsOf(now).includes(over.token_id));
      assert.ok(idsOf(ended).includes(over.token_id) && !idsOf(ended).includes(living.token_id));
      assert.deepEqual(idsOf(await listed(rig(), ALICE, '?limit=100&ended=false')), idsOf(now));
    });

    test('agents.list() comes in pages', async () => {
      const made = [await root(), await root(), await root()];
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const query: string = cursor === null ? '?limit=2' : `?limit=2&cursor=${cursor}`;
        const page = await listed(rig(), ALICE, query);
        assert.ok(page.agents.length <= 2);
        found.push(...idsOf(page));
        cursor = page.next_cursor;
      } while (cursor !== null);

      assert.equal(new Set(found).size, found.length);
      for (const { token_id } of made) assert.ok(found.includes(token_id));
    });

    test('an agent sees the tree below its own token, whatever name the token has', async () => {
      const desk = await root(DESK, 'service:desk');
      const planner = await root();
      const named = await rig().delegate(planner, { subject: 'service:desk' });
      const below = await rig().delegate(named, { subject: 'agent:below' });

      const seen = await listed(rig(), named.token);

      assert.deepEqual(idsOf(seen), [named.token_id]);
      assert.deepEqual(idsOf({ agents: seen.agents[0]?.children ?? [] }), [below.token_id]);
      assert.equal(seen.next_cursor, null);
      assert.deepEqual(idsOf(await listed(rig(), named.token, '?ended=true')), []);
      for (const principal of ['service:desk', ALICE_PRINCIPAL]) {
        const query = `?root_principal=${encodeURIComponent(principal)}`;
        assertRefused(await ask(rig(), named.token, query), 'scope_insufficient');
      }
      assert.ok(idsOf(await listed(rig(), desk.token)).includes(desk.token_id));
    });

    test('a cursor of another principal opens nothing', async () => {
      const planner = await root();
      const named = await rig().delegate(planner, { subject: 'agent:finder' });
      const other = await root();

      const seen = await listed(rig(), named.token, `?cursor=${other.token_id}`);
      const foreign = await listed(rig(), DESK, `?cursor=${other.token_id}&limit=100`);

      assert.deepEqual(idsOf(seen), [named.token_id]);
      assert.ok(!JSON.stringify(foreign).includes(planner.token_id));
      assertRefused(await ask(rig(), ALICE, '?cursor=x'), 'invalid_parameters');
    });

    test('an operator reads the trees of others, and their acts only with the right to audit', async () => {
      const planner = await root();
      await rig().invoke(planner.token, 'buy_lounge_pass');
      const of = async (bearer: string) =>
        (await listed(rig(), bearer, `${OF_ALICE}&limit=100`)).agents.find(
          ({ token_id }) => token_id === planner.token_id,
        );

      assert.equal((await of(READER))?.last_act, null);
      assert.equal((await of(READER))?.acts_are_whole, false);
      assert.equal((await of(OPERATOR))?.last_act?.failure_type, 'scope_insufficient');
      assertRefused(await ask(rig(), DESK, OF_ALICE), 'scope_insufficient');
    });

    test('agents.list() refuses an unknown caller and an unknown field', async () => {
      assert.equal((await rig().ask('GET', '/svc/agents')).status, 401);
      assertRefused(await ask(rig(), ALICE, '?everyone=1'), 'invalid_parameters');
      assertRefused(await ask(rig(), ALICE, '?ended=maybe'), 'invalid_parameters');
    });

    test('a tree is cut where a client could no longer read it', async () => {
      const levels = (agent: AgentView): number =>
        1 + Math.max(0, ...agent.children.map((child) => levels(child)));
      const last = (agent: AgentView): AgentView =>
        agent.children[0] ? last(agent.children[0]) : agent;
      // The deepest purpose that a token can carry.
      const purpose_parameters = JSON.parse(`${'{"a":'.repeat(7)}1${'}'.repeat(7)}`);
      const first = await rig().issue(ALICE, {
        scope: SCOPE,
        subject: 'agent:first',
        purpose_parameters,
      });
      let token: IssueAnswer = first;
      for (let depth = 1; depth <= 20; depth++) {
        token = await rig().delegate(token, { subject: `agent:at-${depth}` });
      }

      const { text = '' } = await ask(rig(), first.token);
      const reading = readJson(new TextEncoder().encode(text), CLIENT_LIMITS);

      assert.ok('value' in reading, JSON.stringify(reading));
      const [tree] = (reading.value as AgentListAnswer).agents as [AgentView];
      assert.equal(levels(tree), 16);
      assert.equal(last(tree).children_count, 1);
      assert.notEqual(last(tree).next_cursor, null);
    });
  },
  { settings: { ...SETTINGS, max_delegation_depth: 32, rate_limits: 'off' } },
);
