/** Rows that are changed after a call was judged and before its step: the step sees it, and takes nothing. */

import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { Store } from '../../src/storage/port/store.ts';
import { ALICE } from '../support/world.ts';
import { onInspectedStores, rowCounts } from './support.ts';
import { alarms, childOf, type Dialect, issue, refusedAs, send, update } from './tampering.ts';

/** Runs once, between the next load and whatever follows it. */
let meanwhile: (() => Promise<void>) | undefined;

function interrupted(store: Store): Store {
  return {
    ...store,
    async load(request) {
      const loaded = await store.load(request);
      const act = meanwhile;
      meanwhile = undefined;
      await act?.();
      return loaded;
    },
  };
}

const BUDGETED = {
  subject: 'agent:planner',
  scope: ['travel.extras'],
  budget: { currency: 'USD', max_amount: 1_000 },
  concurrent_branches: 'exclusive',
};

const EDITS: readonly [name: string, table: string, set: Dialect][] = [
  ['ceiling', 'budgets', 'max = max * 2'],
  ['currency', 'budgets', "currency = 'EUR'"],
  ['turns', 'tokens', "concurrent_branches = 'allowed'"],
  [
    'expiry',
    'tokens',
    { file: 'expires_at = expires_at + 9', database: "expires_at = expires_at + interval '9 h'" },
  ],
  ['MAC', 'tokens', 'mac = NULL'],
];

onInspectedStores(
  (rig) => {
    for (const [name, table, set] of EDITS) {
      test(`invoke reserves nothing when the ${name} is edited after the checks`, async () => {
        const root = await issue(rig(), ALICE, BUDGETED);
        const child = await childOf(rig(), root, { budget: BUDGETED.budget });
        for (const { token, token_id } of [child, root]) {
          meanwhile = () => update(rig(), table, set, `token_id = '${root.token_id}'`);

          const called = await send(rig(), token, '/svc/invoke/buy_lounge_pass', {
            parameters: {},
          });

          refusedAs(called, 'invalid_token');
          const described = await rig().store.describeToken(token_id, 0);
          const spent = described?.lineage.map(({ budget }) => [
            budget?.reserved,
            budget?.consumed,
          ]);
          assert.deepEqual(
            spent,
            described?.lineage.map(() => [0n, 0n]),
          );
          if (token_id === child.token_id) assert.equal(alarms(rig(), 'token', token_id), 1);
        }
      });
    }

    for (const [name, table, set] of EDITS.filter(([, edited]) => edited === 'tokens')) {
      test(`no child is made when the ${name} of the parent is edited after the checks`, async () => {
        const root = await issue(rig(), ALICE, BUDGETED);
        const request = { parent_token: root.token_id, subject: 'agent:x', scope: root.scope };
        const before = await rowCounts(rig());
        meanwhile = () => update(rig(), table, set, `token_id = '${root.token_id}'`);

        const refused = await send(rig(), root.token, '/svc/tokens', request);

        refusedAs(refused, 'not_entitled');
        assert.deepEqual(await rowCounts(rig()), before);
        assert.equal(alarms(rig(), 'token', root.token_id), 1);
      });
    }
  },
  { wrap: interrupted },
);
