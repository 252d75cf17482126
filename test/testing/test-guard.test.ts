/**
 * `testGuard()`: a policy before an MCP server of the test, in one process.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { McpServer } from '@modelcontextprotocol/server';
import { test } from 'vitest';
import { z } from 'zod';
import { expectAnswer, expectFailure, testGuard } from '../../src/testing/index.ts';
import { atEnd } from '../support/ends.ts';

const POLICY = `
guard: till
upstream: { command: [node, till.mjs] }
tools:
  look: { effect: read }
  refund:
    effect: irreversible
    cost: { field: amount, currency: EUR, most: 500 }
    approval: { when: above 50 EUR }
  forget: { effect: irreversible }
`;

function till() {
  const server = new McpServer({ name: 'till', version: '1.0.0' });
  const refunds: number[] = [];
  server.registerTool('look', {}, async () => ({ content: [{ type: 'text', text: 'open' }] }));
  const refund = server.registerTool(
    'refund',
    { inputSchema: z.object({ amount: z.number() }) },
    async ({ amount }) => {
      refunds.push(amount);
      return { content: [{ type: 'text', text: 'paid' }] };
    },
  );
  return { server, refunds, refund };
}

async function guarded(policy = POLICY) {
  const { server, ...rest } = till();
  const guard = await testGuard({ policy, server });
  atEnd(() => guard.close());
  return { guard, ...rest };
}

test('testGuard() asks by the policy, charges the budget, and calls the tool of the server', async () => {
  const { guard, refunds } = await guarded();
  const clerk = await guard.caller('clerk', { budget: { currency: 'EUR', max_amount: 200 } });

  const looked = await clerk.invoke('look');
  const small = await clerk.invoke('refund', { amount: 20 });
  const asked = await clerk.invoke('refund', { amount: 80 });
  assert.deepEqual(refunds, [20]);
  expectAnswer(await guard.human('ann').approve(asked));
  const paid = await clerk.invoke('refund', { amount: 80 }, { continue_approved: true });

  assert.deepEqual(expectAnswer(looked).result, {
    content: [{ type: 'text', text: 'open' }],
  });
  expectAnswer(small);
  expectFailure(asked, 'approval_required');
  expectAnswer(paid);
  assert.deepEqual(refunds, [20, 80]);
  await guard.expectSpent(clerk, 100);
});

test('testGuard() says which tools are off', async () => {
  const { guard } = await guarded();

  assert.deepEqual([...guard.off], [['forget', 'the upstream has no longer the tool "forget"']]);
});

test('testGuard() refuses a tool that changes while the guard runs', async () => {
  const { guard, refund, refunds } = await guarded();
  const clerk = await guard.caller('clerk', { budget: { currency: 'EUR', max_amount: 200 } });
  expectAnswer(await clerk.invoke('look'));

  refund.update({ description: 'Pays twice' });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const changed = await clerk.invoke('refund', { amount: 20 });

  assert.match(expectFailure(changed, 'service_unavailable').detail, /changed this tool/);
  assert.deepEqual(refunds, []);
});

test('testGuard() throws the faults of a policy with their lines', async () => {
  await assert.rejects(
    guarded(
      'guard: till\nupstream: { command: [node, x.mjs] }\ntools:\n  look: { effect: raed }\n',
    ),
    /^Error: Cannot test the guard: its policy has faults\n {2}line 4: tools\.look\.effect: /,
  );
});

test('testGuard() ends with its server', async () => {
  const { server } = till();
  const guard = await testGuard({ policy: POLICY, server });
  await server.close();
  const clerk = await guard.caller('clerk');

  assert.equal((await clerk.invoke('look')).ok, false);
  await guard.close();
  await guard.close();
});
