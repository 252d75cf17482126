/**
 * What a decision says about budgets and history, where an agent could make it say less.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import { BOB, onEachStore } from '../approvals/desk.ts';
import { atConsole } from './person.ts';

onEachStore((desk) => {
  test('decision() shows that the call no longer fits into a budget', async () => {
    const budget = { currency: 'USD', max_amount: 15 };
    const token = await desk().token({ subject: 'agent:spender', budget });
    const first = await desk().asked(token, 'pay', { note: 'first' });
    const second = await desk().asked(token, 'pay', { note: 'second' });
    const grant = await desk().granted(first);
    const resumed = await desk().resume(token, 'pay', grant, { note: 'first' });
    const bob = await atConsole(desk(), BOB);

    const { budgets } = await bob.answer('decision', { approval_request_id: second });

    assert.equal(resumed.status, 200);
    assert.deepEqual(
      budgets.map(({ left, left_after }) => [left, left_after]),
      [[5, -5]],
    );
  });

  test('decision() does not let a large request hide those before it', async () => {
    const token = await desk().token({ subject: 'agent:large' });
    await desk().deny(BOB, await desk().asked(token, 'sign', { amount: 1 }), 'never');
    await desk().asked(token, 'sign', { data: { text: 'x'.repeat(140_000) } });
    const id = await desk().asked(token, 'sign', { amount: 2 });
    const bob = await atConsole(desk(), BOB);

    const { history } = await bob.answer('decision', { approval_request_id: id });

    assert.deepEqual(
      history.items.map(({ status, parameters, reason }) => [status, parameters, reason]),
      [
        ['pending', null, null],
        ['denied', { amount: 1 }, 'never'],
      ],
    );
    assert.equal(history.is_complete, true);
  });
});
