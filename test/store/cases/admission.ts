/**
 * The contract of `admit`, first part: liveness, freezes, money, and the order of refusals.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { Admission, Refused } from '../../../src/storage/port/invocation-store.ts';
import type { BudgetState, TokenRecord } from '../../../src/storage/port/records.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  admission,
  admitCall,
  at,
  cents,
  chain,
  entry,
  freezeOf,
  granted,
  HOUR,
  insert,
  keyOf,
  rootToken,
  SECOND,
  settlement,
  usd,
  useOf,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { grantOf, money, same, unchanged } from '../observe.ts';

export const LIVENESS_CASES: Cases = {
  'admit() stores the intent unchanged': async (store) => {
    const token = await insert(store, rootToken());
    const request = admission(token, { charge: usd(5n) });

    const result = await store.admit(request);

    assert.equal(result.admitted, true);
    same(await store.abandonedIntents(at(HOUR), 10), [request.intent]);
  },

  'admit() writes no entry: the call has not ended': async (store) => {
    const token = await insert(store, rootToken());
    const { size } = await store.sequence();

    await store.admit(admission(token));

    assert.equal((await store.sequence()).size, size);
  },

  'admit() refuses an unknown token': async (store) => {
    const token = rootToken();

    const refused = await refusal(store, admission(token), [token]);

    same(refused, { admitted: false, reason: 'unknown_token', token_id: token.token_id });
  },

  'admit() refuses below any revoked token, and names it': async (store) => {
    for (const index of [0, 1, 2]) {
      const line = await chain(store, [{}, {}, {}]);
      const revoked = line[index] as TokenRecord;
      await store.revokeToken(revoked.token_id, at(1), () => entry());

      const refused = await refusal(store, admission(line[2]), line);

      same(refused, { admitted: false, reason: 'revoked', token_id: revoked.token_id });
    }
  },

  'admit() refuses below any token that expires at this instant, and names it': async (store) => {
    for (const index of [0, 1, 2]) {
      const line = await chain(
        store,
        [0, 1, 2].map((place) => ({ expires_at: at(place === index ? HOUR : 2 * HOUR) })),
      );
      const leaf = line[2] as TokenRecord;
      const expired = line[index] as TokenRecord;

      const refused = await refusal(store, admission(leaf, { now: at(HOUR) }), line);
      const before = await store.admit(admission(leaf, { now: at(HOUR - 1) }));

      same(refused, { admitted: false, reason: 'expired', token_id: expired.token_id });
      assert.equal(before.admitted, true);
    }
  },

  'admit() names the first revoked token before one that expired above it': async (store) => {
    const later = { expires_at: at(2 * HOUR) };
    const line = await chain(store, [{ expires_at: at(HOUR) }, later, later]);
    const [, first, second] = line;
    // The lower one first, so that the order of time is not that of the lineage.
    for (const { token_id } of [second, first]) {
      await store.revokeToken(token_id, at(1), () => entry());
    }

    const refused = await refusal(store, admission(second, { now: at(HOUR) }), line);

    same(refused, { admitted: false, reason: 'revoked', token_id: first.token_id });
  },
};

/** For each kind of freeze: one that applies to the call below, and one that does not. */
const FREEZES = [
  ['service', () => '', undefined],
  ['capability', () => 'book_flight', 'search_flights'],
  ['root_principal', (token: TokenRecord) => token.root_principal, 'human:other@example.com'],
] as const;

export const FREEZE_CASES: Cases = Object.fromEntries(
  FREEZES.flatMap(([what, targetOf, other]) => [
    [
      `admit() refuses while a freeze of the ${what} is in force`,
      async (store: Store) => {
        const line = await chain(store, [{}, {}]);
        const leaf = line[1];
        const freeze = freezeOf({ what, target: targetOf(leaf), until: at(HOUR) });
        await store.freeze(freeze, entry());

        const refused = await refusal(store, admission(leaf, { now: at(HOUR - 1) }), line);
        const after = await store.admit(admission(leaf, { now: at(HOUR) }));

        same(refused, { admitted: false, reason: 'frozen', freeze });
        assert.equal(after.admitted, true, 'admitted at the instant the freeze ends');
      },
    ],
    [
      `admit() refuses while a freeze of the ${what} without end stands, until it is lifted`,
      async (store: Store) => {
        const token = await insert(store, rootToken({ expires_at: at(900 * HOUR) }));
        const freeze = freezeOf({ what, target: targetOf(token) });
        await store.freeze(freeze, entry());

        const refused = await refusal(store, admission(token, { now: at(800 * HOUR) }), [token]);
        await store.unfreeze(freeze, entry());

        same(refused, { admitted: false, reason: 'frozen', freeze });
        assert.equal((await store.admit(admission(token))).admitted, true);
      },
    ],
    ...(other === undefined
      ? []
      : [
          [
            `admit() ignores a freeze of another ${what}`,
            async (store: Store) => {
              const token = await insert(store, rootToken());
              await store.freeze(freezeOf({ what, target: other }), entry());

              assert.equal((await store.admit(admission(token))).admitted, true);
            },
          ] as const,
        ]),
  ]),
);

export const MONEY_CASES: Cases = {
  'admit() reserves on every budget of the lineage, and returns them root first': async (store) => {
    const line = await chain(store, [{ budget: cents(900) }, {}, { budget: cents(500) }, {}]);

    const result = await store.admit(admission(line[3], { charge: usd(120n) }));

    const expected: BudgetState[] = [[line[0], 900n] as const, [line[2], 500n] as const].map(
      ([token, max]) => ({
        token_id: (token as TokenRecord).token_id,
        currency: 'USD',
        max,
        reserved: 120n,
        consumed: 0n,
      }),
    );
    same(result, { admitted: true, budgets: expected });
    assert.deepEqual(await money(store, line), [
      [120n, 0n],
      [120n, 0n],
    ]);
  },

  'admit() reserves nothing on siblings and descendants': async (store) => {
    const [root, child, grandchild] = await chain(store, [
      { budget: cents(900) },
      { budget: cents(800) },
      { budget: cents(700) },
    ]);
    const other = await insert(store, rootToken({ budget: cents(600) }));

    await store.admit(admission(child, { charge: usd(1n) }));

    assert.deepEqual(await money(store, [root, child, grandchild, other]), [
      [1n, 0n],
      [1n, 0n],
      [0n, 0n],
      [0n, 0n],
    ]);
  },

  'admit() takes exactly what remains, and refuses one minor unit more': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const first = await admitCall(store, token, { charge: usd(60n) });
    await store.settle(settlement(first, { actual: 40n }));
    await store.admit(admission(token, { charge: usd(25n) }));

    // 100 are allowed, 40 consumed, 25 reserved: 35 remain.
    const refused = await refusal(store, admission(token, { charge: usd(36n) }), [token]);
    const taken = await store.admit(admission(token, { charge: usd(35n) }));

    const { token_id } = token;
    const budget = { token_id, currency: 'USD', max: 100n, reserved: 25n, consumed: 40n };
    same(refused, { admitted: false, reason: 'budget', budget });
    assert.equal(taken.admitted, true);
    assert.deepEqual(await money(store, [token]), [[60n, 40n]]);
  },

  'admit() refuses when any one budget of the lineage is too small, and names it': async (
    store,
  ) => {
    for (const index of [0, 1, 2]) {
      const line = await chain(
        store,
        [0, 1, 2].map((place) => ({ budget: cents(place === index ? 10 : 1_000) })),
      );
      const small = line[index] as TokenRecord;
      const call = admission(line[2] as TokenRecord, { charge: usd(11n) });

      const refused = await refusal(store, call, line);

      const { token_id } = small;
      const budget = { token_id, currency: 'USD', max: 10n, reserved: 0n, consumed: 0n };
      same(refused, { admitted: false, reason: 'budget', budget });
    }
  },

  'admit() refuses when any budget of the lineage is in another currency': async (store) => {
    for (const index of [0, 1, 2]) {
      const euros = { currency: 'EUR', max_amount: 10 };
      const line = await chain(
        store,
        [0, 1, 2].map((place) => ({ budget: place === index ? euros : cents(1_000) })),
      );
      const { token_id } = line[index] as TokenRecord;
      const call = admission(line[2] as TokenRecord, { charge: usd(1n) });

      const refused = await refusal(store, call, line);

      const budget = { token_id, currency: 'EUR', max: 1_000n, reserved: 0n, consumed: 0n };
      same(refused, { admitted: false, reason: 'currency', budget });
    }
  },

  'admit() takes a charge of any size where no token has a budget': async (store) => {
    const line = await chain(store, [{}, {}]);
    const request = admission(line[1], { charge: usd(9_007_199_254_740_993n) });

    const result = await store.admit(request);

    same(result, { admitted: true, budgets: [] });
    same((await store.abandonedIntents(at(HOUR), 10))[0]?.charge, request.charge);
  },

  'admit() reserves nothing for a call without a charge': async (store) => {
    const line = await chain(store, [{ budget: cents(10) }, {}]);
    await store.admit(admission(line[1], { charge: usd(10n) }));

    const result = await store.admit(admission(line[1]));

    const { token_id } = line[0];
    const budget = { token_id, currency: 'USD', max: 10n, reserved: 10n, consumed: 0n };
    same(result, { admitted: true, budgets: [budget] });
  },

  'admit() accepts a charge of zero on a spent budget': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(0) }));

    const result = await store.admit(admission(token, { charge: usd(0n) }));

    assert.equal(result.admitted, true);
    assert.deepEqual(await money(store, [token]), [[0n, 0n]]);
  },

  'admit() rejects a negative charge, which would give money': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    await store.admit(admission(token, { charge: usd(50n) }));

    await unchanged(store, { tokens: [token.token_id] }, () =>
      assert.rejects(store.admit(admission(token, { charge: usd(-20n) }))),
    );
  },
};

/** The reasons for a refusal, in the order of the checks. */
const REASONS = ['revoked', 'frozen', 'key', 'budget', 'grant', 'busy'] as const;
type Reason = (typeof REASONS)[number];

export const ORDER_CASES: Cases = {
  'admit() names the widest of the freezes that apply': async (store) => {
    const token = await insert(store, rootToken());
    // The widest is neither the oldest nor the newest, nor the first or last inserted.
    const [widest, middle, narrow] = [
      freezeOf({ frozen_at: at(2) }),
      freezeOf({ what: 'root_principal', target: token.root_principal, frozen_at: at(1) }),
      freezeOf({ what: 'capability', target: 'book_flight', frozen_at: at(3) }),
    ] as const;
    for (const freeze of [narrow, widest, middle]) await store.freeze(freeze, entry());

    for (const freeze of [widest, middle, narrow]) {
      const refused = await refusal(store, admission(token), [token]);
      await store.unfreeze(freeze, entry());

      same(refused, { admitted: false, reason: 'frozen', freeze });
    }
  },

  'admit() returns the first refusal in the order of the port': async (store) => {
    // Each round removes the reason of the round before.
    for (const reason of REASONS) {
      const token = await insert(
        store,
        rootToken({ budget: cents(100), concurrent_branches: 'exclusive' }),
      );
      const call = await breached(store, token, REASONS.slice(REASONS.indexOf(reason)));

      const refused = await refusal(store, call, [token]);

      assert.equal(refused.reason, reason);
      await store.unfreeze(freezeOf(), entry());
    }
  },

  'admit() admits the same call when no condition fails': async (store) => {
    const token = await insert(
      store,
      rootToken({ budget: cents(100), concurrent_branches: 'exclusive' }),
    );
    const call = await breached(store, token, []);

    assert.equal((await store.admit(call)).admitted, true);
    assert.equal((await grantOf(store, token.token_id, call.grant?.grant_id ?? ''))?.uses, 1);
    assert.deepEqual(await money(store, [token]), [[1n, 0n]]);
  },
};

/** A call that violates exactly these conditions. */
async function breached(
  store: Store,
  token: TokenRecord,
  reasons: readonly Reason[],
): Promise<Admission> {
  const grant = await granted(store, token);
  const idempotency = keyOf(token, 'k');

  if (reasons.includes('key')) await finish(store, admission(token, { idempotency }));
  if (reasons.includes('budget')) await finish(store, admission(token, { charge: usd(100n) }));
  if (reasons.includes('busy')) await store.admit(admission(token, { leaseUntil: at(HOUR) }));
  if (reasons.includes('frozen')) await store.freeze(freezeOf(), entry());
  if (reasons.includes('revoked')) {
    await store.revokeToken(token.token_id, at(1), () => entry());
  }
  return admission(token, {
    now: at(2 * SECOND),
    charge: usd(1n),
    idempotency,
    grant: useOf(grant, reasons.includes('grant') ? { chain: 'sha256:thief' } : {}),
  });
}

async function finish(store: Store, request: Admission): Promise<void> {
  assert.equal((await store.admit(request)).admitted, true);
  assert.equal(await store.settle(settlement(request)), 'settled');
}

/** The refusal of an admission, which must leave everything unchanged. */
export async function refusal(
  store: Store,
  request: Admission,
  tokens: readonly TokenRecord[],
): Promise<Refused> {
  const watched = {
    tokens: [...tokens.map(({ token_id }) => token_id)].reverse(),
    grants: request.grant ? [request.grant.grant_id] : [],
    keys: request.idempotency ? [request.idempotency] : [],
  };
  const result = await unchanged(store, watched, () => store.admit(request));
  if (result.admitted) assert.fail('the call was admitted');
  return result;
}
