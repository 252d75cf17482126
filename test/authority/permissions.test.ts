/**
 * Permissions: the three buckets for the whole travel desk, as several tokens see it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { ALICE, type TestService } from '../support/world.ts';
import { CAPABILITIES, deskAndDepth } from './desk.ts';
import { ALICE_PRINCIPAL, ask, DESK, onBothStores, permissionsOf, watched } from './support.ts';

const SCOPES = ['search', 'book', 'read', 'extras', 'hold', 'charter', 'refund', 'admin'];
const EVERYTHING = SCOPES.map((word) => `travel.${word}`);

/** What stands in the way, and the action that would lift it. */
type Obstacle = readonly [reasonType: string, hint: string];

const SCOPE: Obstacle = ['insufficient_scope', 'request_broader_scope'];
const BINDING: Obstacle = ['stronger_delegation_required', 'request_capability_binding'];
const DEPTH: Obstacle = ['insufficient_delegation_depth', 'request_new_delegation'];
const CEILING: Obstacle = ['unmet_control_requirement', 'request_budget_bound_delegation'];
const SPENT: Obstacle = ['unmet_control_requirement', 'request_budget_increase'];
const CURRENCY: Obstacle = ['unmet_control_requirement', 'obtain_matching_currency'];
const QUOTE: Obstacle = ['unmet_control_requirement', 'obtain_quote_first'];
const DENIED: Obstacle = ['non_delegable', ''];

interface Case {
  readonly name: string;
  token(service: TestService): Promise<IssueAnswer>;
  /** What is not available. */
  readonly obstacles: Readonly<Record<string, Obstacle>>;
}

const CASES: readonly Case[] = [
  {
    name: 'a human root with every scope',
    token: ({ issue }) => issue(ALICE, { scope: EVERYTHING }),
    obstacles: { charter_jet: CEILING, charter_fleet: BINDING },
  },
  {
    name: 'an agent with every scope',
    token: ({ issue }) => issue(ALICE, { scope: EVERYTHING, subject: 'agent:planner' }),
    obstacles: { charter_jet: CEILING, charter_fleet: BINDING, erase_traveler: DENIED },
  },
  {
    name: 'a human below the root',
    token: async (service) =>
      service.delegate(await service.issue(ALICE, { scope: EVERYTHING }), {
        subject: 'human:bob@example.com',
      }),
    obstacles: { charter_jet: CEILING, charter_fleet: BINDING, erase_traveler: DENIED },
  },
  {
    name: 'the root principal by name, one level down',
    token: async (service) =>
      service.delegate(await service.issue(ALICE, { scope: EVERYTHING }), {
        subject: ALICE_PRINCIPAL,
      }),
    obstacles: { charter_jet: CEILING, charter_fleet: BINDING, erase_traveler: DENIED },
  },
  {
    name: 'the agent of an agent',
    token: async (service) => {
      const root = await service.issue(ALICE, { scope: EVERYTHING });
      const agent = await service.delegate(root, { subject: 'agent:one' });
      return service.delegate(agent, { subject: 'agent:two' });
    },
    obstacles: {
      charter_jet: CEILING,
      charter_fleet: BINDING,
      erase_traveler: DENIED,
      stamp_passport: DEPTH,
    },
  },
  {
    name: 'one scope and a budget',
    token: ({ issue }) =>
      issue(ALICE, {
        scope: ['travel.extras'],
        subject: 'agent:planner',
        budget: { currency: 'USD', max_amount: 25 },
      }),
    obstacles: {
      ...only(['buy_lounge_pass', 'request_taxi'], SCOPE),
      request_taxi: QUOTE,
      erase_traveler: DENIED,
    },
  },
  {
    name: 'a budget that is too small for most',
    token: ({ issue }) =>
      issue(ALICE, { scope: EVERYTHING, budget: { currency: 'USD', max_amount: 24.99 } }),
    obstacles: {
      buy_lounge_pass: SPENT,
      request_taxi: QUOTE,
      charter_jet: SPENT,
      charter_fleet: BINDING,
    },
  },
  {
    name: 'a budget in another currency',
    token: ({ issue }) =>
      issue(ALICE, { scope: EVERYTHING, budget: { currency: 'EUR', max_amount: 1_000_000 } }),
    obstacles: {
      book_flight: CURRENCY,
      buy_lounge_pass: CURRENCY,
      hold_seat: CURRENCY,
      request_taxi: CURRENCY,
      charter_jet: CURRENCY,
      charter_fleet: BINDING,
      issue_refund: CURRENCY,
      plan_trip: CURRENCY,
    },
  },
  {
    name: 'a binding to the one that needs it',
    token: ({ issue }) => issue(ALICE, { scope: EVERYTHING, capability: 'charter_fleet' }),
    obstacles: only(['charter_fleet'], BINDING),
  },
  {
    name: 'a spent budget',
    async token(service) {
      const budget = { currency: 'USD', max_amount: 50 };
      const root = await service.issue(ALICE, { scope: ['travel.extras', 'travel.hold'], budget });
      const child = await service.delegate(root, { subject: 'agent:x' });
      assert.equal((await service.invoke(root.token, 'buy_lounge_pass')).status, 200);
      assert.equal(
        (await service.invoke(child.token, 'hold_seat', { flight_number: 'KX205' })).status,
        200,
      );
      return child;
    },
    obstacles: {
      ...only(['release_seat'], SCOPE),
      buy_lounge_pass: SPENT,
      hold_seat: SPENT,
      request_taxi: QUOTE,
      erase_traveler: DENIED,
    },
  },
];

onBothStores(
  (rig) => {
    for (const { name, token, obstacles } of CASES) {
      test(`permissions sorts every capability for ${name}`, async () => {
        const { body } = await permissionsOf(rig(), (await token(rig())).token);

        assert.deepEqual(Object.keys(body).sort(), ['available', 'denied', 'restricted']);
        const restricted = CAPABILITIES.filter((each) => obstacles[each]?.[1]);
        const denied = CAPABILITIES.filter((each) => obstacles[each] === DENIED);
        assert.deepEqual(names(body.restricted), restricted);
        assert.deepEqual(names(body.denied), denied);
        assert.deepEqual(
          names(body.available),
          CAPABILITIES.filter((each) => obstacles[each] === undefined),
        );
        for (const each of body.restricted) {
          const [reason_type, resolution_hint] = obstacles[each.capability] as Obstacle;
          assert.deepEqual(
            [each.reason_type, each.resolution_hint],
            [reason_type, resolution_hint],
          );
          assert.ok(each.reason.startsWith('Cannot '), each.reason);
        }
        for (const each of body.denied) {
          assert.deepEqual(Object.keys(each).sort(), ['capability', 'reason', 'reason_type']);
          assert.equal(each.reason_type, 'non_delegable');
        }
      });
    }

    test('permissions names the principal that can lift a restriction, and the unmet controls', async () => {
      const { token } = await rig().issue(ALICE, { scope: EVERYTHING, subject: 'agent:planner' });

      const { restricted } = (await permissionsOf(rig(), token)).body;

      const shown = restricted.map((each: Record<string, unknown>) => [
        each.capability,
        each.grantable_by,
        each.unmet_token_requirements,
      ]);
      assert.deepEqual(shown, [
        ['charter_jet', ALICE_PRINCIPAL, ['cost_ceiling']],
        ['charter_fleet', ALICE_PRINCIPAL, ['stronger_delegation_required']],
      ]);
    });

    test('permissions lists the scopes that make a capability available, as one text', async () => {
      const { token } = await rig().issue(ALICE, { scope: ['travel.hold', 'travel.search'] });

      const { available } = (await permissionsOf(rig(), token)).body;

      const matches = Object.fromEntries(
        available.map((each: Record<string, string>) => [each.capability, each.scope_match]),
      );
      assert.deepEqual(matches, {
        search_flights: 'travel.search',
        hold_seat: 'travel.hold',
        release_seat: 'travel.hold',
        plan_trip: 'travel.hold, travel.search',
      });
    });

    test('permissions lists everything that limits a call', async () => {
      const { token, expires_at } = await rig().issue(ALICE, {
        scope: EVERYTHING,
        budget: { currency: 'USD', max_amount: 100_000 },
        purpose_parameters: { task_id: 'task-1' },
        concurrent_branches: 'exclusive',
      });
      await rig().invoke(token, 'buy_lounge_pass');

      const { available } = (await permissionsOf(rig(), token)).body;

      const constraints = new Map<string, Record<string, unknown>>(
        available.map((each: { capability: string; constraints: object }) => [
          each.capability,
          each.constraints,
        ]),
      );
      const common = {
        expires_at,
        budget: { currency: 'USD', max_amount: 100_000, remaining: 99_975 },
        task_id: 'task-1',
        concurrent_branches: 'exclusive',
      };
      assert.deepEqual(constraints.get('search_flights'), common);
      const declared = (name: string) => deskAndDepth.catalog.capabilities.get(name);
      for (const name of ['book_flight', 'buy_lounge_pass', 'charter_jet', 'issue_refund']) {
        const { cost, requires_binding, approval } = declared(name) ?? {};
        assert.deepEqual(constraints.get(name), {
          ...common,
          ...(cost && { cost: JSON.parse(JSON.stringify(cost)) }),
          ...(requires_binding && { requires_binding }),
          ...(approval && { approval }),
        });
      }
      assert.ok(constraints.get('charter_jet')?.approval);
    });

    test('permissions reports a binding, and the least that a lineage leaves', async () => {
      const budget = { currency: 'USD', max_amount: 100 };
      const root = await rig().issue(ALICE, { scope: ['travel.extras'], budget });
      const child = await rig().delegate(root, {
        subject: 'agent:x',
        capability: 'buy_lounge_pass',
        budget: { currency: 'USD', max_amount: 90 },
      });
      await rig().invoke(root.token, 'buy_lounge_pass');

      const { available } = (await permissionsOf(rig(), child.token)).body;

      assert.equal(available.length, 1);
      const [{ constraints }] = available;
      assert.equal(constraints.capability, 'buy_lounge_pass');
      assert.deepEqual(constraints.budget, { currency: 'USD', max_amount: 90, remaining: 75 });
    });

    test('permissions accepts an empty body and no body, ignores fields, and records no entry', async () => {
      const { token } = await rig().issue(DESK, { scope: ['travel.search'] });
      const { result, entries } = await watched(rig().store, async () => [
        await rig().ask('POST', '/svc/permissions', { bearer: token }),
        await ask(rig(), token, '/svc/permissions', {}),
        await ask(rig(), token, '/svc/permissions', { scope: ['travel.admin'] }),
      ]);

      const [first, ...others] = result;
      assert.equal(first?.status, 200);
      for (const { body } of others) assert.deepEqual(body, first?.body);
      assert.deepEqual(entries, []);
    });
  },
  { definition: deskAndDepth },
);

/** The same obstacle for all but a few. */
function only(open: readonly string[], obstacle: Obstacle): Record<string, Obstacle> {
  return Object.fromEntries(
    CAPABILITIES.filter((name) => !open.includes(name)).map((name) => [name, obstacle]),
  );
}

function names(entries: { capability: string }[]): string[] {
  return entries.map(({ capability }) => capability);
}
