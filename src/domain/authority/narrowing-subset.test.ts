import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import {
  anyAuthority,
  anyPlan,
  disclosure,
  NOW,
  requestOf,
  widened,
} from '../../../test/support/authorities.ts';
import { ask, tryNarrowings } from '../../../test/support/narrowings.ts';
import { rounds } from '../../../test/support/rounds.ts';
import { IssueRequest } from '../../protocol/token.ts';
import { type Authority, narrow } from './narrowing.ts';

const RUNS = rounds(1_000);

/** Milliseconds. Generous for a busy machine; the test asserts no times. */
const PATIENCE = 60_000;

test(
  'narrow() gives a subset of the parent in every dimension, or a failure',
  () => {
    const outcomes = tryNarrowings(RUNS);

    // Otherwise a rule that refuses everything, or requests that are never wide, would pass this property.
    assert.ok((outcomes.get('accepted') ?? 0) > RUNS / 5, JSON.stringify([...outcomes]));
    assert.deepEqual([...outcomes.keys()].sort(), [
      'accepted',
      'budget_currency_mismatch',
      'budget_exceeded',
      'delegation_depth_exceeded',
      'invalid_parameters',
      'malformed',
      'not_entitled',
      'purpose_mismatch',
      'scope_escalation',
    ]);
  },
  PATIENCE,
);

test(
  'narrow() makes the last token of every chain a subset of each token above it',
  () => {
    const runs = 150;
    const links = 6;
    const plans = fc.array(anyPlan, { minLength: 4 * links, maxLength: 4 * links });
    let whole = 0;

    void fc.assert(
      fc.property(anyAuthority(fc.constant(4 * links)), plans, (root, attempts) => {
        const chain = [root];
        for (const plan of attempts) {
          if (chain.length > links) break;
          const narrowed = ask(
            requestOf(plan, chain.at(-1) as Authority),
            chain.at(-1) as Authority,
          );
          if (!narrowed || 'failure' in narrowed) continue;

          for (const above of chain) assert.deepEqual(widened(above, narrowed.authority), []);
          chain.push(narrowed.authority);
        }
        if (chain.length > links) whole += 1;
      }),
      { numRuns: runs },
    );

    assert.ok(whole > runs / 3, `${whole} chains of ${runs} have ${links} links`);
  },
  PATIENCE,
);

test('narrow() changes neither the parent nor the request', () => {
  return fc.assert(
    fc.property(anyAuthority(fc.constant(3)), anyPlan, (parent, plan) => {
      const request = IssueRequest.safeParse(requestOf(plan, parent));
      if (!request.success) return;
      const before = structuredClone([parent, request.data]);

      narrow(parent, { ...request.data, subject: 'agent:x' }, { now: NOW, disclosure });

      assert.deepEqual([parent, request.data], before);
    }),
  );
});
