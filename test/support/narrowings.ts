/**
 * Random delegations through the rules of narrowing, each judged by the oracle of `authorities.ts`.
 *
 * @module
 */

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { type Authority, type Narrowed, narrow } from '../../src/domain/authority/narrowing.ts';
import { readStated } from '../../src/domain/authority/token-conditions.ts';
import { CapabilityDeclaration } from '../../src/protocol/capability.ts';
import { IssueRequest } from '../../src/protocol/token.ts';
import {
  anyAuthority,
  anyPlan,
  disclosure,
  ignored,
  NOW,
  requestOf,
  widened,
} from './authorities.ts';

/** As in the service: text is read as JSON, the schema parses it, the rules narrow it. */
export function ask(raw: object, parent: Authority): Narrowed | undefined {
  const parsed = IssueRequest.safeParse(JSON.parse(JSON.stringify(raw)));
  if (!parsed.success) return undefined;
  const { subject = 'agent:x', ...rest } = parsed.data;
  const stated = readStated(rest.conditions ?? {}, () => PAY);
  if ('failure' in stated) return stated;
  return narrow(parent, { ...rest, subject }, { now: NOW, disclosure, ...stated });
}

const PAY = CapabilityDeclaration.parse({
  description: 'Pay',
  contract_version: '1.0.0',
  inputs: [
    { name: 'amount', type: 'number' },
    { name: 'other', type: 'integer', required: false },
    { name: 'added', type: 'string', required: false },
  ],
  output: { type: 'payment', fields: [] },
  side_effect: { type: 'write' },
  minimum_scope: ['pay'],
});

/** So many delegations, counted by what became of each. Throws at the first that is wider than its parent. */
export function tryNarrowings(numRuns: number): Map<string, number> {
  const outcomes = new Map<string, number>();
  const levels = fc.constantFrom(0, 1, 2, 3, 4, 5);

  void fc.assert(
    fc.property(anyAuthority(levels), anyPlan, (parent, plan) => {
      const raw = requestOf(plan, parent);
      const narrowed = ask(raw, parent);

      const outcome = outcomeOf(narrowed);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      if (!narrowed || 'failure' in narrowed) return;
      assert.deepEqual(widened(parent, narrowed.authority), []);
      assert.deepEqual(ignored(raw, narrowed.authority), []);
      assert.equal(narrowed.authority.depth, parent.depth + 1);
    }),
    { numRuns },
  );
  return outcomes;
}

function outcomeOf(narrowed: Narrowed | undefined): string {
  if (!narrowed) return 'malformed';
  return 'failure' in narrowed ? narrowed.failure.type : 'accepted';
}
