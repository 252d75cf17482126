/**
 * The contract of `admit`, second part: grant uses, leases and idempotency keys.
 *
 * @module
 */

import assert from 'node:assert/strict';
import type { GrantUse } from '../../../src/storage/port/invocation-store.ts';
import type { GrantRecord, TokenRecord } from '../../../src/storage/port/records.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import {
  admission,
  admitCall,
  at,
  cents,
  chain,
  childToken,
  EXCLUSIVE,
  granted,
  HOUR,
  insert,
  keyOf,
  newId,
  rootToken,
  settlement,
  usd,
  useOf,
} from '../../support/fixtures.ts';
import type { Cases } from '../cases.ts';
import { grantOf, money, recordOf, same, unchanged } from '../observe.ts';
import { refusal } from './admission.ts';

/** Every part of a use that can differ from its grant. */
const OTHER_USES: [part: string, change: Partial<GrantUse>][] = [
  ['capability', { capability: 'cancel_flight' }],
  ['contract version', { contract_version: '1.0.1' }],
  ['declaration', { declaration_digest: `sha256:${'22'.repeat(32)}` }],
  ['parameters', { parameters_digest: `sha256:${'00'.repeat(32)}` }],
  ['chain', { chain: `sha256:${'11'.repeat(32)}` }],
];

const SESSION = { grant_type: 'session_bound', session_id: 'session-1', max_uses: 5 } as const;

export const GRANT_CASES: Cases = {
  'admit() takes one use of the grant, and refuses when all are taken': async (store) => {
    const { token, grant } = await tokenWithGrant(store, { ...SESSION, max_uses: 2 });
    for (const uses of [1, 2]) {
      await store.admit(admission(token, { grant: useOf(grant) }));
      same(await grantOf(store, token.token_id, grant.grant_id), { ...grant, uses });
    }

    const refused = await refusal(store, admission(token, { grant: useOf(grant) }), [token]);

    same(refused, { admitted: false, reason: 'grant', grant: { ...grant, uses: 2 } });
  },

  'admit() refuses an unknown grant': async (store) => {
    const { token, grant } = await tokenWithGrant(store);
    const unknown = useOf(grant, { grant_id: newId('gnt_') });

    const refused = await refusal(store, admission(token, { grant: unknown }), [token]);

    same(refused, { admitted: false, reason: 'grant' });
  },

  ...Object.fromEntries(
    OTHER_USES.map(([part, change]) => [
      `admit() refuses a grant for another ${part}`,
      async (store: Store) => {
        const { token, grant } = await tokenWithGrant(store);
        const call = admission(token, { grant: useOf(grant, change) });

        const refused = await refusal(store, call, [token]);

        same(refused, { admitted: false, reason: 'grant', grant });
      },
    ]),
  ),

  'admit() refuses a grant at the instant it expires': async (store) => {
    const { token, grant } = await tokenWithGrant(store, { expires_at: at(HOUR) });
    const call = { grant: useOf(grant) };

    const refused = await refusal(store, admission(token, { ...call, now: at(HOUR) }), [token]);
    const before = await store.admit(admission(token, { ...call, now: at(HOUR - 1) }));

    same(refused, { admitted: false, reason: 'grant', grant });
    assert.equal(before.admitted, true);
  },

  'admit() refuses a session-bound grant in another session, and in none': async (store) => {
    const { token, grant } = await tokenWithGrant(store, SESSION);

    for (const session_id of ['session-2', '', undefined]) {
      const call = admission(token, { grant: useOf(grant, { session_id }) });
      const refused = await refusal(store, call, [token]);
      same(refused, { admitted: false, reason: 'grant', grant });
    }

    const own = await store.admit(admission(token, { grant: useOf(grant) }));
    assert.equal(own.admitted, true);
  },

  'admit() takes a grant that is bound to no session from any': async (store) => {
    const { token, grant } = await tokenWithGrant(store);
    const call = admission(token, { grant: useOf(grant, { session_id: 'session-9' }) });

    assert.equal((await store.admit(call)).admitted, true);
  },
};

export const LEASE_CASES: Cases = {
  'admit() lets one call at a time run under an exclusive token': async (store) => {
    const token = await insert(store, rootToken(EXCLUSIVE));
    const first = await admitCall(store, token, { leaseUntil: at(HOUR) });

    const refused = await refusal(store, admission(token, { charge: usd(1n) }), [token]);
    await store.settle(settlement(first));

    const { token_id } = token;
    same(refused, { admitted: false, reason: 'busy', token_id, until: at(HOUR) });
    assert.equal((await store.admit(admission(token))).admitted, true);
  },

  'admit() counts calls of all descendants of an exclusive token': async (store) => {
    const root = await insert(store, rootToken(EXCLUSIVE));
    const left = await insert(store, childToken(root));
    const right = await insert(store, childToken(root, EXCLUSIVE));
    await store.admit(admission(left, { leaseUntil: at(HOUR) }));

    for (const token of [root, left, right]) {
      const refused = await refusal(store, admission(token), [root, left, right]);
      const { token_id } = root;
      same(refused, { admitted: false, reason: 'busy', token_id, until: at(HOUR) });
    }
  },

  'admit() does not block the parent or the siblings of an exclusive token': async (store) => {
    const root = await insert(store, rootToken());
    const left = await insert(store, childToken(root, EXCLUSIVE));
    const right = await insert(store, childToken(root, EXCLUSIVE));
    await store.admit(admission(left));

    assert.equal((await store.admit(admission(root))).admitted, true);
    assert.equal((await store.admit(admission(right))).admitted, true);
  },

  'admit() lets calls run side by side where no token is exclusive': async (store) => {
    const token = await insert(store, rootToken());
    await store.admit(admission(token));

    assert.equal((await store.admit(admission(token))).admitted, true);
  },

  'admit() takes over a lease at the instant it ends, and not before': async (store) => {
    const token = await insert(store, rootToken(EXCLUSIVE));
    await store.admit(admission(token, { leaseUntil: at(HOUR) }));

    const refused = await refusal(store, admission(token, { now: at(HOUR - 1) }), [token]);
    const taken = await store.admit(admission(token, { now: at(HOUR) }));

    assert.equal(refused.reason, 'busy');
    assert.equal(taken.admitted, true);
  },

  'admit() takes no lease below a token that is busy': async (store) => {
    const [root, leaf] = await chain(store, [EXCLUSIVE, EXCLUSIVE]);
    const first = await admitCall(store, root, { leaseUntil: at(HOUR) });
    await refusal(store, admission(leaf, { leaseUntil: at(9 * HOUR) }), [root, leaf]);
    await store.settle(settlement(first));

    assert.equal((await store.admit(admission(leaf))).admitted, true);
  },

  'admit() lets a call run under the leases of another, and takes and releases none for it': async (
    store,
  ) => {
    const root = await insert(store, rootToken(EXCLUSIVE));
    const leaf = await insert(store, childToken(root, EXCLUSIVE));
    const outer = await admitCall(store, leaf, { leaseUntil: at(HOUR) });
    const leasedBy = outer.intent.operation_id;

    // An expired lease is still that of its call, until another one takes it.
    const inner = await admitCall(store, leaf, {
      leasedBy,
      now: at(HOUR),
      leaseUntil: at(9 * HOUR),
    });
    await store.settle(settlement(inner));

    const busy = { admitted: false, reason: 'busy', token_id: root.token_id, until: at(HOUR) };
    same(await refusal(store, admission(leaf), [root, leaf]), busy);
    assert.equal(await store.settle(settlement(outer)), 'settled');
  },

  'admit() refuses a call under leases that another call has, or that were released': async (
    store,
  ) => {
    const token = await insert(store, rootToken(EXCLUSIVE));
    const { token_id } = token;
    const busy = (until: Date) => ({ admitted: false, reason: 'busy', token_id, until });
    const never = admission(token, { leasedBy: 'nobody', now: at(HOUR) });
    same(await refusal(store, never, [token]), busy(at(HOUR)));

    const lost = await admitCall(store, token, { leaseUntil: at(HOUR) });
    const next = await admitCall(store, token, { now: at(HOUR), leaseUntil: at(3 * HOUR) });
    const late = { leasedBy: lost.intent.operation_id, now: at(2 * HOUR) };
    same(await refusal(store, admission(token, late), [token]), busy(at(3 * HOUR)));

    await store.settle(settlement(next));
    const after = { leasedBy: next.intent.operation_id, now: at(4 * HOUR) };
    same(await refusal(store, admission(token, after), [token]), busy(at(4 * HOUR)));
    assert.equal((await store.admit(admission(token, { now: at(4 * HOUR) }))).admitted, true);
  },

  'renewLeases() extends all leases of a running call': async (store) => {
    const line = await chain(store, [EXCLUSIVE, EXCLUSIVE]);
    const leaf = line[1];
    const call = await admitCall(store, leaf, { leaseUntil: at(HOUR) });

    const renewed = await store.renewLeases(call.intent.operation_id, at(2 * HOUR));

    assert.equal(renewed, true);
    for (const token of line) {
      const late = admission(token, { now: at(2 * HOUR - 1) });
      const refused = await refusal(store, late, line);
      const { token_id } = line[0];
      same(refused, { admitted: false, reason: 'busy', token_id, until: at(2 * HOUR) });
    }
  },

  'renewLeases() is false when a lease was lost, and does not take it back': async (store) => {
    const token = await insert(store, rootToken(EXCLUSIVE));
    const slow = admission(token, { leaseUntil: at(HOUR) });
    const next = admission(token, { now: at(HOUR), leaseUntil: at(2 * HOUR) });
    await store.admit(slow);
    await store.admit(next);

    const renewed = await store.renewLeases(slow.intent.operation_id, at(9 * HOUR));

    assert.equal(renewed, false);
    const refused = await refusal(store, admission(token, { now: at(HOUR) }), [token]);
    assert.deepEqual(refused.reason === 'busy' && refused.until, at(2 * HOUR));
  },

  'renewLeases() is false when one of two leases was lost': async (store) => {
    const [root, leaf] = await chain(store, [EXCLUSIVE, EXCLUSIVE]);
    const slow = await admitCall(store, leaf, { leaseUntil: at(HOUR) });
    await store.admit(admission(root, { now: at(HOUR) }));

    assert.equal(await store.renewLeases(slow.intent.operation_id, at(9 * HOUR)), false);
  },

  'settle() keeps the leases of a call that still runs, until they are released': async (store) => {
    const token = await insert(store, rootToken(EXCLUSIVE));
    const slow = admission(token, { leaseUntil: at(HOUR) });
    const { operation_id } = slow.intent;
    await store.admit(slow);
    await store.settle(settlement(slow, { outcome: 'indeterminate', stillRuns: true }));

    const beside = await refusal(store, admission(token), [token]);
    const renewed = await store.renewLeases(operation_id, at(2 * HOUR));
    const later = await refusal(store, admission(token, { now: at(HOUR) }), [token]);
    await store.releaseLeases(operation_id);

    assert.equal(beside.reason, 'busy');
    assert.equal(renewed, true);
    assert.equal(later.reason, 'busy');
    assert.equal(await store.renewLeases(operation_id, at(3 * HOUR)), false);
    assert.equal((await store.admit(admission(token))).admitted, true);
  },

  'settle() releases the leases of a completed call, even with stillRuns': async (store) => {
    const token = await insert(store, rootToken(EXCLUSIVE));
    const call = await admitCall(store, token);
    await store.settle(settlement(call, { outcome: 'completed', stillRuns: true }));

    assert.equal((await store.admit(admission(token))).admitted, true);
  },

  'busyUntil() returns the end of a held lease, and undefined without one': async (store) => {
    const token = await insert(store, rootToken(EXCLUSIVE));
    const ids = ['tok_unknown', token.token_id];
    const before = await store.busyUntil(ids, at(0));
    const call = await admitCall(store, token, { leaseUntil: at(HOUR) });
    const during = await store.busyUntil(ids, at(0));
    const late = await store.busyUntil(ids, at(HOUR));
    await store.settle(settlement(call));

    assert.deepEqual([before, during, late], [undefined, at(HOUR), undefined]);
    assert.equal(await store.busyUntil(ids, at(0)), undefined);
  },

  'releaseLeases() leaves a lease that another call has taken': async (store) => {
    const token = await insert(store, rootToken(EXCLUSIVE));
    const slow = await admitCall(store, token, { leaseUntil: at(HOUR) });
    await store.admit(admission(token, { now: at(HOUR), leaseUntil: at(2 * HOUR) }));

    await store.releaseLeases(slow.intent.operation_id);

    const refused = await refusal(store, admission(token, { now: at(HOUR) }), [token]);
    assert.equal(refused.reason, 'busy');
  },

  'renewLeases() is true for a running call that holds none': async (store) => {
    const token = await insert(store, rootToken());
    const call = await admitCall(store, token);

    assert.equal(await store.renewLeases(call.intent.operation_id, at(HOUR)), true);
  },

  'renewLeases() is false for a closed call that holds none, while it still runs': async (
    store,
  ) => {
    const call = await admitCall(store, await insert(store, rootToken()));
    await store.settle(settlement(call, { outcome: 'indeterminate', stillRuns: true }));

    assert.equal(await store.renewLeases(call.intent.operation_id, at(HOUR)), false);
  },
};

export const KEY_CASES: Cases = {
  'admit() claims the key, and refuses the next call with its record': async (store) => {
    const token = await insert(store, rootToken());
    const key = keyOf(token, 'key-1', 'sha256:01');
    const first = await admitCall(store, token, { idempotency: key });
    const second = admission(token, { idempotency: { ...key, fingerprint: 'sha256:02' } });

    const running = await refusal(store, second, [token]);
    const done = settlement(first);
    await store.settle(done);
    const answered = await refusal(store, second, [token]);

    const record = {
      chain: token.chain,
      capability: 'book_flight',
      key: 'key-1',
      fingerprint: 'sha256:01',
      operation_id: first.intent.operation_id,
    };
    same(running, { admitted: false, reason: 'key', record });
    same(answered, { admitted: false, reason: 'key', record: { ...record, answer: done.answer } });
  },

  'admit() distinguishes keys by chain, capability and text': async (store) => {
    const root = await insert(store, rootToken());
    const child = await insert(store, childToken(root));
    const namesake = await insert(store, childToken(child, { subject: root.subject }));
    const stranger = await insert(store, rootToken());
    const key = keyOf(root, 'key-1');
    await store.admit(admission(root, { idempotency: key }));

    const others = [
      admission(root, { idempotency: { ...key, key: 'KEY-1' } }),
      admission(root, { idempotency: { ...key, capability: 'cancel_flight' } }),
      admission(child, { idempotency: keyOf(child, 'key-1') }),
      admission(namesake, { idempotency: keyOf(namesake, 'key-1') }),
      admission(stranger, { idempotency: keyOf(stranger, 'key-1') }),
    ];

    for (const other of others) assert.equal((await store.admit(other)).admitted, true);
  },

  'admit() claims no key for a call that is refused': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(5) }));
    const idempotency = keyOf(token, 'key-1');
    await refusal(store, admission(token, { idempotency, charge: usd(6n) }), [token]);

    const result = await store.admit(admission(token, { idempotency, charge: usd(5n) }));

    assert.equal(result.admitted, true);
  },

  'admit() reclaims a key at the instant it expires': async (store) => {
    const token = await insert(store, rootToken());
    const idempotency = { ...keyOf(token, 'key-1', 'sha256:01'), keepUntil: at(HOUR) };
    const first = await admitCall(store, token, { idempotency });
    await store.settle(settlement(first));
    const next = { ...idempotency, fingerprint: 'sha256:02', keepUntil: at(2 * HOUR) };

    const early = admission(token, { idempotency: next, now: at(HOUR - 1) });
    const refused = await refusal(store, early, [token]);
    const late = admission(token, { idempotency: next, now: at(HOUR) });
    const taken = await store.admit(late);

    assert.equal(refused.reason, 'key');
    assert.equal(taken.admitted, true);
    const record = await recordOf(store, token.token_id, idempotency);
    assert.equal(record?.operation_id, late.intent.operation_id);
    assert.equal(record.fingerprint, 'sha256:02');
    assert.equal(record.answer, undefined, 'the old answer does not belong to the new call');
  },

  'admit() never reclaims the key of a call that is still open': async (store) => {
    const token = await insert(store, rootToken());
    const idempotency = { ...keyOf(token, 'key-1'), keepUntil: at(HOUR) };
    await store.admit(admission(token, { idempotency }));

    const late = admission(token, { idempotency, now: at(2 * HOUR) });
    const refused = await refusal(store, late, [token]);

    assert.equal(refused.reason, 'key');
  },

  'admit() rejects an operation id that is taken, and takes nothing': async (store) => {
    const token = await insert(store, rootToken({ budget: cents(100) }));
    const call = await admitCall(store, token, { charge: usd(10n) });
    const other = admission(token, {
      charge: usd(20n),
      intent: { operation_id: call.intent.operation_id },
    });

    await unchanged(store, { tokens: [token.token_id] }, () => assert.rejects(store.admit(other)));

    assert.deepEqual(await money(store, [token]), [[10n, 0n]]);
  },
};

async function tokenWithGrant(
  store: Store,
  changed: Partial<GrantRecord> = {},
): Promise<{ token: TokenRecord; grant: GrantRecord }> {
  const token = await insert(store, rootToken());
  return { token, grant: await granted(store, token, changed) };
}
