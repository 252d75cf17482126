/**
 * Permissions and invoke agree, whatever the token: what is available is not refused by a rule of
 * token and catalog, and what is not is refused with the very action that was hinted at.
 *
 * @module
 */

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { rounds } from '../support/rounds.ts';
import { ALICE, type Reply, type TestService } from '../support/world.ts';
import { CAPABILITIES, deskAndDepth, goodParameters } from './desk.ts';
import { DESK, onBothStores, permissionsOf } from './support.ts';

/** Room for a machine that does much else; nothing is concluded from the time. */
const PATIENCE_MS = 120_000;

/** What a token and the catalog alone decide, and the reason type of each. */
const REASONS: Readonly<Record<string, string>> = {
  non_delegable_action: 'non_delegable',
  principal_class_not_admitted: 'non_delegable',
  scope_insufficient: 'insufficient_scope',
  purpose_mismatch: 'stronger_delegation_required',
  delegation_depth_exceeded: 'insufficient_delegation_depth',
  budget_exceeded: 'unmet_control_requirement',
  budget_currency_mismatch: 'unmet_control_requirement',
  budget_not_enforceable: 'unmet_control_requirement',
};

/** What is denied has no hint in permissions: the specification gives it no such field. */
const DENIED: Readonly<Record<string, string>> = {
  non_delegable_action: 'invoke_as_root_principal',
  principal_class_not_admitted: 'request_new_delegation',
};

/** Prices that only the call has: that of the quote, and what the author makes of the parameters. */
const PRICES: Readonly<Record<string, number>> = { book_flight: 240, issue_refund: 0.01 };

interface Drawn {
  readonly bearer: string;
  readonly subject: string | undefined;
  readonly scope: readonly string[];
  readonly amount: number | undefined;
  readonly currency: string;
  readonly capability: string | undefined;
  readonly callerClass: string;
  readonly below: readonly string[];
}

const SCOPES = ['search', 'book', 'read', 'extras', 'hold', 'charter', 'refund', 'admin'].map(
  (word) => `travel.${word}`,
);

const ANY: fc.Arbitrary<Drawn> = fc.record({
  bearer: fc.constantFrom(ALICE, DESK),
  subject: fc.constantFrom(undefined, 'agent:planner'),
  scope: fc.oneof(
    fc.constant(SCOPES),
    fc.subarray(SCOPES, { minLength: 5 }),
    fc.subarray(SCOPES, { minLength: 1 }),
  ),
  amount: fc.constantFrom(undefined, 0, 14.99, 15, 24.99, 25, 300, 20_000, 200_000, 1_000_000),
  currency: fc.constantFrom('USD', 'USD', 'USD', 'EUR', 'JPY'),
  capability: fc.option(fc.constantFrom(...CAPABILITIES), { nil: undefined, freq: 3 }),
  callerClass: fc.constantFrom('internal', 'automated_agent', 'partner', 'default'),
  below: fc.array(fc.constantFrom('agent:one', 'service:two', 'agent:three'), { maxLength: 3 }),
});

/** One token for each reason there is, so that the property never holds of tame tokens only. */
const SURE: Drawn[] = [
  { amount: undefined, below: [] },
  { amount: undefined, below: ['agent:one', 'agent:two'] },
  { amount: 24, below: ['agent:one'] },
  { amount: 100, currency: 'EUR', below: [] },
  { amount: undefined, scope: ['travel.search'], below: [] },
  { amount: 1_000_000, capability: 'charter_fleet', below: [] },
].map((drawn) => ({
  bearer: ALICE,
  subject: undefined,
  scope: SCOPES,
  currency: 'USD',
  capability: undefined,
  callerClass: 'internal',
  ...drawn,
}));

onBothStores(
  (rig) => {
    const name = 'permissions and invoke agree on every capability, whatever the token';
    test(name, { timeout: PATIENCE_MS }, async () => {
      const met = new Set<string>();
      const quotes = new Map([
        [ALICE, await quoteFor(rig(), ALICE)],
        [DESK, await quoteFor(rig(), DESK)],
      ]);

      await fc.assert(
        fc.asyncProperty(ANY, async (drawn) => {
          const token = await tokenOf(rig(), drawn);
          const parameters = goodParameters(quotes.get(drawn.bearer) as string);
          let told = await permissionsOf(rig(), token);
          for (const name of CAPABILITIES) {
            const reply = await rig().invoke(token, name, parameters[name]);
            met.add(agreement(name, told.body, reply));
            // What has run may have spent something.
            if (reply.status === 200) told = await permissionsOf(rig(), token);
          }
        }),
        {
          numRuns: SURE.length + rounds(3),
          examples: SURE.map((drawn) => [drawn]),
          endOnFailure: true,
        },
      );

      assert.deepEqual([...met].sort(), ['available', ...new Set(Object.values(REASONS))].sort());
    });
  },
  { definition: deskAndDepth },
);

/** Holds the two answers against each other, and tells on what they agreed. */
function agreement(name: string, permissions: Reply['body'], { body }: Reply): string {
  const told = (bucket: string) =>
    permissions[bucket].find(({ capability }: { capability: string }) => capability === name);
  const type: string | undefined = body.failure?.type;
  const available = told('available');
  if (available) {
    const remaining = available.constraints.budget?.remaining ?? Infinity;
    const isTooDear = remaining < (PRICES[name] ?? 0);
    const byRule = type !== undefined && (type in REASONS || type.startsWith('control_'));
    assert.equal(byRule, isTooDear, `${name}: ${JSON.stringify(body.failure)}`);
    return 'available';
  }
  const restricted = told('restricted');
  const { reason, reason_type } = restricted ?? told('denied');
  assert.equal(body.success, false, name);
  assert.equal(body.failure.detail, reason);
  assert.equal(reason_type, reasonOf(body.failure), `${name}: ${type}`);
  assert.equal(restricted?.resolution_hint ?? DENIED[String(type)], body.failure.resolution.action);
  assert.equal(restricted?.grantable_by, restricted && body.failure.resolution.grantable_by);
  return String(reason_type);
}

function reasonOf({ type, resolution }: Reply['body']['failure']): string | undefined {
  if (type !== 'control_requirement_unsatisfied') return REASONS[type];
  return resolution.action === 'request_capability_binding'
    ? 'stronger_delegation_required'
    : 'unmet_control_requirement';
}

async function tokenOf(service: TestService, drawn: Drawn): Promise<string> {
  const { bearer, subject, scope, amount, currency, capability, callerClass, below } = drawn;
  const budget = amount === undefined ? undefined : { currency, max_amount: Math.ceil(amount) };
  let token = await service.issue(bearer, {
    scope,
    subject,
    capability,
    caller_class: callerClass,
    budget: currency === 'USD' && budget ? { currency, max_amount: amount } : budget,
  });
  for (const next of below) token = await service.delegate(token, { subject: next });
  return token.token;
}

/** A quote belongs to the root principal that asked for it. */
async function quoteFor(service: TestService, bearer: string): Promise<string> {
  const { token } = await service.issue(bearer, { scope: ['travel.search'] });
  const { search_flights } = goodParameters('');
  const { body } = await service.invoke(token, 'search_flights', search_flights);
  assert.equal(body.result.cheapest_flight.price, PRICES.book_flight);
  return body.result.cheapest_flight.quote;
}
