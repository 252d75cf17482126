import assert from 'node:assert/strict';
import { test } from 'vitest';
import { money } from '../../../../test/store/observe.ts';
import { closedAtEnd } from '../../../../test/support/ends.ts';
import {
  admission,
  admitCall,
  at,
  cents,
  chain,
  EXCLUSIVE,
  HOUR,
  insert,
  rootToken,
  SECOND,
  settlement,
  usd,
} from '../../../../test/support/fixtures.ts';
import { connectedTo, freshDatabase } from '../../../../test/support/postgres.ts';
import type { Admission } from '../../port/invocation-store.ts';
import { openPostgres } from '../store.ts';

const server = await freshDatabase();
const store = closedAtEnd(await openPostgres(server.url, { poolSize: 2 }));
const admin = await connectedTo(server.url);

/** The reason of each refusal, in the order of the calls, which share one statement. */
async function reasonsOf(calls: readonly Admission[]): Promise<string[]> {
  const before = await statements();
  const results = await Promise.all(calls.map((call) => store.admit(call)));
  assert.equal((await statements()) - before, 1, 'one transaction for all calls');
  return results.map((result) => (result.admitted ? 'admitted' : result.reason));
}

/** Transactions that wrote an intent. */
async function statements(): Promise<number> {
  const text = 'SELECT count(DISTINCT xmin::text)::int AS count FROM intents';
  return (await admin.query(text)).rows[0].count;
}

test('admit() decides each call of a batch on its own lineage, in order', async () => {
  const [root, child] = await chain(store, [{ budget: cents(100) }, { budget: cents(50) }]);
  const [plain, shared] = [
    await insert(store, rootToken()),
    await insert(store, rootToken(EXCLUSIVE)),
  ];
  const { lineage: judged } = await store.load({ tokenId: child.token_id });
  const altered = judged.map((link) => ({ ...link, token: { ...link.token, mac: 'another' } }));
  const lower = judged.map((link) => ({
    ...link,
    budget: link.budget && { ...link.budget, max: 1n },
  }));
  const charged = (amount: bigint, by: Partial<Admission> = {}) =>
    admission(child, { charge: usd(amount), judged, ...by });

  const reasons = await reasonsOf([
    charged(20n),
    charged(10n, { judged: altered }),
    charged(10n, { judged: lower }),
    charged(31n),
    charged(30n),
    admission(root, { charge: usd(51n) }),
    admission(root, { charge: usd(50n) }),
    admission(root, { charge: { currency: 'EUR', amount: 1n } }),
    admission(plain),
    admission(rootToken()),
    admission(shared),
    admission(shared),
  ]);

  assert.deepEqual(reasons, [
    ...['admitted', 'altered', 'altered', 'budget', 'admitted', 'budget', 'admitted', 'currency'],
    ...['admitted', 'unknown_token', 'admitted', 'busy'],
  ]);
  assert.deepEqual(await money(store, [root, child]), [
    [100n, 0n],
    [50n, 0n],
  ]);
});

test('admit() compares the time of each call of a batch with the expiry of its lineage', async () => {
  const [root, child] = await chain(store, [
    { expires_at: at(HOUR) },
    { expires_at: at(HOUR / 2) },
  ]);
  const times = [HOUR / 2 - 1, HOUR / 2, HOUR].map(at);

  const reasons = await reasonsOf([
    ...times.map((now) => admission(child, { now })),
    ...times.map((now) => admission(root, { now })),
  ]);

  assert.deepEqual(reasons, [
    ...['admitted', 'expired', 'expired'],
    ...['admitted', 'admitted', 'expired'],
  ]);
});

test('admit() refuses the frozen calls of a batch and no other', async () => {
  const token = await insert(store, rootToken());
  const until = at(HOUR);
  await admin.query(
    `INSERT INTO freezes (what, target, reason, frozen_by, frozen_at, until) VALUES ($1, $2, '', '', $3, $4)`,
    ['capability', 'frozen_one', at(0), until],
  );
  const of = (capability: string, now: Date) => admission(token, { now, intent: { capability } });

  const reasons = await reasonsOf([
    of('frozen_one', at(SECOND)),
    of('another', at(SECOND)),
    of('frozen_one', until),
  ]);

  assert.deepEqual(reasons, ['frozen', 'admitted', 'admitted']);
});

test('writ_admit() raises no freeze, which the server would write into its own log', async () => {
  const token = await insert(store, rootToken());
  await admin.query(
    `INSERT INTO freezes (what, target, reason, frozen_by, frozen_at) VALUES ('capability', 'frozen_keyed', '', '', $1)`,
    [at(0)],
  );
  const { intent, now } = admission(token, { intent: { capability: 'frozen_keyed' } });
  const key = {
    chain: 'chain',
    capability: intent.capability,
    key: 'key',
    fingerprint: '00',
    keepUntil: at(HOUR),
  };
  const call = { ...intent, lineage: 1, now, is_charged: false, key };
  const lineage = { token_id: token.token_id, is_charged: false };

  const { rows } = await admin.query('SELECT o_refusal FROM writ_admit($1, $2, NULL)', [
    JSON.stringify([call]),
    JSON.stringify([lineage]),
  ]);

  assert.equal(rows[0].o_refusal.reason, 'frozen');
  assert.equal((await admin.query("SELECT FROM idempotency WHERE key = 'key'")).rowCount, 0);
});

test('settle() decides each settlement of a batch', async () => {
  const [token, shared] = [
    await insert(store, rootToken({ budget: cents(100) })),
    await insert(store, rootToken(EXCLUSIVE)),
  ];
  const calls: Admission[] = [];
  for (const amount of [10n, 20n, 30n, 40n]) {
    calls.push(await admitCall(store, token, { charge: usd(amount) }));
  }
  const [first, second, third, fourth] = calls as [Admission, Admission, Admission, Admission];
  const held = await admitCall(store, shared);
  const done = settlement(first, { actual: 4n });
  await store.settle(done);
  await store.settle(settlement(second));
  await admin.query('UPDATE leases SET operation_id = NULL WHERE token_id = $1', [shared.token_id]);

  const verdicts = await Promise.all(
    [
      ...[done, settlement(second), settlement(third), settlement(held)],
      settlement(fourth, { outcome: 'no_effect' }),
    ].map(store.settle),
  );

  assert.deepEqual(verdicts, ['settled', 'superseded', 'settled', 'superseded', 'settled']);
  assert.deepEqual(await money(store, [token]), [[0n, 54n]]);
  const { size } = await store.sequence();
  const log = await store.scanEntries(0, size);
  const settled = log.filter(({ invocation_id }) => {
    return calls.some(({ intent }) => intent.invocation_id === invocation_id);
  });
  assert.equal(settled.length, calls.length);
});
