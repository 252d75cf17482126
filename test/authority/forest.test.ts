/**
 * Random forests over HTTP, honest and hostile requests mixed: every token that comes to be is a
 * subset of each token above it, in every dimension, in the rows that decide.
 *
 * @module
 */

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import type { Authority } from '../../src/domain/authority/narrowing.ts';
import type { TokenRecord } from '../../src/storage/port/records.ts';
import { anyAuthority, anyPlan, type Plan, requestOf, widened } from '../support/authorities.ts';
import type { TestService } from '../support/world.ts';
import { askToken, IDENTITIES, onBothStores, SETTINGS } from './support.ts';

/** On each store. */
const FORESTS = 20;
const REQUESTS = 25;

/** Room for a machine that does much else; nothing is concluded from the time. */
const PATIENCE_MS = 240_000;

const PLANTER = 'test-planter-key';

/** Whoever plants a forest may put nearly everything into a root, and also owns no part of others. */
const PLANTERS = [
  {
    key: PLANTER,
    principal: 'service:planter',
    scopes: ['travel.search', 'travel.book', 'travel', 'approver:*'],
    subjects: ['human:*', 'agent:*', 'service:*', 'oidc:*'],
    caller_class: 'internal',
    caller_classes: ['automated_agent', 'partner', 'default', 'quiet', 'unheard_of'],
  },
  { key: 'test-x-key', principal: 'agent:x', scopes: ['travel.search'] },
];

interface Step {
  readonly plan: Plan;
  /** Which token is named as the parent. */
  readonly parent: number;
  /** Whose text or credential is presented: the parent's own most of the time. */
  readonly presented: number;
}

const STEP: fc.Arbitrary<Step> = fc.record({
  plan: anyPlan,
  parent: fc.nat(),
  presented: fc.oneof(
    { weight: 8, arbitrary: fc.constant(-1) },
    { weight: 2, arbitrary: fc.nat() },
  ),
});

const FOREST = fc.record({
  roots: fc.array(anyAuthority(fc.constant(5)), { minLength: 2, maxLength: 3 }),
  steps: fc.array(STEP, { minLength: REQUESTS, maxLength: REQUESTS }),
});

interface Grown {
  readonly record: TokenRecord;
  readonly text: string;
}

onBothStores(
  (rig) => {
    test('tokens.issue issues only subsets of the tokens above, for any request', {
      timeout: PATIENCE_MS,
    }, async () => {
      const outcomes = new Map<string, number>();

      await fc.assert(
        fc.asyncProperty(FOREST, async ({ roots, steps }) => {
          const grown: Grown[] = [];
          for (const root of roots) grown.push(await plant(rig(), root));
          for (const step of steps) {
            const outcome = await grow(rig(), grown, step);
            outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
          }
        }),
        { numRuns: FORESTS, endOnFailure: true },
      );

      // Otherwise the property would hold of a service that refuses everything.
      const asked = FORESTS * REQUESTS;
      assert.ok((outcomes.get('issued') ?? 0) > asked / 5, JSON.stringify([...outcomes]));
      for (const type of ['invalid_parameters', 'not_entitled', 'purpose_mismatch']) {
        assert.ok((outcomes.get(type) ?? 0) > 0, JSON.stringify([...outcomes]));
      }
    });
  },
  { settings: { ...SETTINGS, identities: [...IDENTITIES, ...PLANTERS] } },
);

/** A root with this authority, as far as an identity can be entitled to it. */
async function plant(service: TestService, authority: Authority): Promise<Grown> {
  // A star that is no wildcard is nothing that anybody can be entitled to.
  const scope = authority.scope.filter((each) => each !== 'a:b:*');
  const answer = await service.issue(PLANTER, {
    scope: scope.length > 0 ? scope : ['travel.search'],
    subject: authority.subject,
    capability: authority.capability,
    purpose_parameters: authority.purpose,
    budget: authority.budget,
    caller_class: authority.caller_class,
    concurrent_branches: authority.concurrent_branches,
    max_delegation_depth: Math.min(5, authority.max_delegation_depth),
    session_id: authority.session_id,
  });
  return { record: await recordOf(service, answer.token_id), text: answer.token };
}

/** Asks for one child, and judges what came to be. */
async function grow(service: TestService, grown: Grown[], step: Step): Promise<string> {
  const parent = grown[step.parent % grown.length] as Grown;
  const bearers = [...grown.map(({ text }) => text), PLANTER, 'test-x-key'];
  const bearer =
    step.presented < 0 ? parent.text : (bearers[step.presented % bearers.length] as string);
  const { status, body } = await askToken(service, bearer, {
    ...requestFor(step.plan, parent.record),
    parent_token: parent.record.token_id,
  });
  assert.ok(status < 500, JSON.stringify(body));
  if (status !== 200) return body.failure.type;

  const record = await recordOf(service, body.token_id);
  assert.equal(record.parent_token_id, parent.record.token_id);
  assert.ok(mayDelegateFrom(bearer, parent), `${bearer} delegated from ${parent.record.subject}`);
  assert.deepEqual(record.lineage, [...parent.record.lineage, record.token_id]);
  assert.equal(record.depth, parent.record.depth + 1);
  const byId = new Map(grown.map((each) => [each.record.token_id, each.record]));
  for (const id of parent.record.lineage) {
    assert.deepEqual(widened(byId.get(id) as TokenRecord, record), [], JSON.stringify(record));
  }
  grown.push({ record, text: body.token });
  return 'issued';
}

/** A request for a child, with what every honest one needs here: a subject, names that exist. */
function requestFor(plan: Plan, parent: TokenRecord): object {
  const { subject, capability, ttl_hours, conditions, ...raw } = requestOf(plan, parent);
  return {
    ...raw,
    conditions: conditionsHere(conditions),
    subject: subject ?? 'agent:x',
    capability: capability === 'find_flights' ? 'search_flights' : capability,
    // The largest of them is more than JSON of ours may carry.
    ttl_hours: ttl_hours === 1e300 ? 1e9 : ttl_hours,
  };
}

/** The conditions on an amount, on an input that exists here. */
function conditionsHere(conditions: unknown): unknown {
  const text = JSON.stringify(conditions ?? null);
  if (text.includes('"other"')) return undefined;
  return JSON.parse(text.replace('"pay"', '"search_flights"').replace('"amount"', '"max_results"'));
}

/** Decisions, section 1.3: the presented token itself, or a credential of its subject or root. */
function mayDelegateFrom(bearer: string, { record, text }: Grown): boolean {
  const principal = PLANTERS.find(({ key }) => key === bearer)?.principal;
  if (principal === undefined) return bearer === text;
  return [record.subject, record.root_principal].includes(principal);
}

async function recordOf({ store }: TestService, tokenId: string): Promise<TokenRecord> {
  const { token } = await store.load({ tokenId });
  assert.ok(token);
  return token;
}
