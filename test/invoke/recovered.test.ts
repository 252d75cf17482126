/**
 * What a caller hears of a call whose process died: the replay of what recovery made of it.
 *
 * @module
 */

import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { openStore } from '../../src/storage/open.ts';
import { type Store, StoreUnavailable } from '../../src/storage/port/store.ts';
import { closedAtEnd, temporaryFolder } from '../support/ends.ts';
import { eventually, STORES } from '../support/world.ts';
import { startRig } from './rig.ts';

const KEY = { headers: { 'idempotency-key': 'once' } };

for (const place of STORES) {
  describe(place.name, () => {
    test('a recovered call of a token with a budget is answered with its budget', async () => {
      const { url } = await place.open();
      const keys = temporaryFolder();
      const store = closedAtEnd(await openStore(url));
      const close = async () => undefined;
      let isDead = true;
      const settle: Store['settle'] = (settlement) =>
        isDead
          ? Promise.reject(new StoreUnavailable('Cannot settle: a test'))
          : store.settle(settlement);
      const first = await startRig({
        wrap: () => ({ ...store, settle, close }),
        settings: { keys },
      });
      const { token } = await first.token({ budget: { currency: 'USD', max_amount: 10 } });
      const lost = await first.invoke(token, 'pay', {}, KEY);
      const second = await startRig({
        wrap: () => ({ ...store, close }),
        settings: { keys },
        recovery: { intervalMs: 20, silentMs: 1 },
      });

      let { body } = lost;
      await eventually(async () => {
        ({ body } = await second.invoke(token, 'pay', {}, KEY));
        return body.failure?.type !== 'idempotency_in_progress';
      });

      assert.equal(body.invocation_id, lost.body.invocation_id);
      assert.match(body.failure.detail, /the process that ran it ended/);
      assert.deepEqual(body.budget_context, {
        budget_max: 10,
        budget_currency: 'USD',
        cost_check_amount: 10,
        cost_certainty: 'fixed',
      });
      assert.deepEqual(lost.body.budget_context, body.budget_context);

      isDead = false;
    });
  });
}
