import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expectAnswer, expectFailure, testService } from 'writ/testing';
import { service } from '../src/service.ts';

test('an order is charged to the budget of the agent, which bounds what it orders', async () => {
  const desk = await testService(service);
  const clerk = await desk.caller('clerk', { budget: { currency: 'EUR', max_amount: 50 } });

  expectAnswer(await clerk.invoke('look_up_item', { item: 'lamp' }));
  await desk.expectSpent(clerk, 0);
  expectAnswer(await clerk.invoke('order_item', { item: 'lamp', count: 1 }));
  await desk.expectSpent(clerk, 35);
  expectFailure(await clerk.invoke('order_item', { item: 'paper', count: 5 }), 'budget_exceeded');

  await desk.expectSpent(clerk, 35);
  await desk.close();
});

test('an order above 100 EUR waits for a person', async () => {
  const desk = await testService(service);
  const clerk = await desk.caller('clerk', { budget: { currency: 'EUR', max_amount: 500 } });
  const order = { item: 'chair', count: 1 } as const;

  const refused = await clerk.invoke('order_item', order);
  expectFailure(refused, 'approval_required');
  expectAnswer(await desk.human('ann').approve(refused));
  const { result } = expectAnswer(
    await clerk.invoke('order_item', order, { continue_approved: true }),
  );

  assert.equal(result.item, 'chair');
  await desk.expectSpent(clerk, 180);
  await desk.expectEntry({ entry_type: 'invocation', outcome: 'success' });
  await desk.close();
});

test('a token without the scope orders nothing', async () => {
  const desk = await testService(service);
  const reader = await desk.caller('reader', { scopes: ['supplies.read'] });

  expectFailure(
    await reader.invoke('order_item', { item: 'paper', count: 1 }),
    'scope_insufficient',
  );
  await desk.close();
});
