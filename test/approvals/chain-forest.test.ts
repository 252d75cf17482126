/**
 * Random delegation forests: two tokens share requests, grants and idempotency keys exactly when
 * their chains of principals are equal.
 *
 * @module
 */

import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'vitest';
import { chainNames } from '../../src/domain/authority/chain.ts';
import type { IssueAnswer } from '../../src/protocol/token.ts';
import { rounds } from '../support/rounds.ts';
import { BOB, type Desk, onEachStore } from './desk.ts';

/** On each store. */
const FORESTS = rounds(3);
const TOKENS_MAX = 9;

/** Room for a machine that does much else; nothing is concluded from the time. */
const PATIENCE_MS = 240_000;

const ROOT = 'human:alice';
const NAMES = ['agent:a', 'agent:b', 'service:c'];

/** One token: below which of those before it, or a root token, and for whom. */
const anyToken = fc.record({
  parent: fc.option(fc.nat(TOKENS_MAX), { freq: 4 }),
  name: fc.constantFrom(...NAMES),
});

interface Grown {
  readonly token: IssueAnswer;
  readonly subjects: readonly string[];
  readonly chain: string;
}

type Plan = readonly { parent: number | null; name: string }[];

async function grow(desk: Desk, plan: Plan): Promise<Grown[]> {
  const forest: Grown[] = [];
  for (const { parent, name } of plan) {
    const above = parent === null ? undefined : forest[parent % Math.max(forest.length, 1)];
    // The deepest may delegate no further.
    const under = above && above.subjects.length < 5 ? above : undefined;
    const request = { scope: ['a.use'], subject: name, ttl_hours: 1 };
    const token = under
      ? await desk.issue(under.token.token, { ...request, parent_token: under.token.token_id })
      : await desk.token(request);
    const subjects = [...(under?.subjects ?? []), name];
    forest.push({ token, subjects, chain: chainNames(ROOT, subjects).join(' > ') });
  }
  return forest;
}

/** What each of the forest has, by the name of its chain; fails where two of one chain differ. */
async function byChain(
  forest: readonly Grown[],
  read: (grown: Grown) => Promise<string>,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const grown of forest) {
    const value = await read(grown);
    assert.equal(found.get(grown.chain) ?? value, value, `${grown.chain} has two`);
    found.set(grown.chain, value);
  }
  assert.equal(new Set(found.values()).size, found.size, 'two chains share one');
  return found;
}

let count = 0;

onEachStore((desk) => {
  test(
    'tokens share requests, grants and keys exactly when their chains are equal',
    () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(anyToken, { minLength: 2, maxLength: TOKENS_MAX }),
          async (plan) => {
            count += 1;
            const parameters = { note: `forest ${count}` };
            const forest = await grow(desk(), plan);

            const requests = await byChain(forest, ({ token }) =>
              desk().asked(token, 'sign', parameters),
            );
            await byChain(forest, async ({ token }) => {
              const headers = { 'idempotency-key': `forest-${count}` };
              const { body } = await desk().invoke(token.token, 'plain', parameters, { headers });
              return body.invocation_id;
            });
            for (const [chain, id] of requests) {
              const grant = await desk().granted(id, BOB);
              for (const { token, chain: own } of forest) {
                const seen = await desk().read(token.token, id);
                const tried = await desk().ask('POST', '/svc/test/sign', {
                  bearer: token.token,
                  body: { parameters, approval_grant: grant },
                });

                assert.equal(seen.status, own === chain ? 200 : 404, `${own} reads ${chain}`);
                assert.equal(tried.body.would_be_admitted, own === chain, `${own} uses ${chain}`);
              }
            }
          },
        ),
        { numRuns: FORESTS },
      ),
    PATIENCE_MS,
  );
});
