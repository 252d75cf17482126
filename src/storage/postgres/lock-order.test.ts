import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import type pg from 'pg';
import { test } from 'vitest';
import { closedAtEnd } from '../../../test/ends.ts';
import { connectedTo, freshDatabase } from '../../../test/postgres.ts';
import {
  admission,
  admitCall,
  cents,
  childToken,
  insert,
  rootToken,
  settlement,
  usd,
} from '../../testing/fixtures.ts';
import { money } from '../../testing/store/observe.ts';
import type { Admission } from '../port/invocation-store.ts';
import type { TokenRecord } from '../port/records.ts';
import type { Store } from '../port/store.ts';
import { GATE } from './schema/functions.ts';
import { openPostgres } from './store.ts';

const ROUNDS = 40;

/** A circle is found before the waiting in it ends otherwise. */
const ATTENTIVE = '-c deadlock_timeout=20ms';

test('admit() and settle() of crossing sets of tokens never wait in a circle', async () => {
  const server = await freshDatabase();
  const url = new URL(server.url);
  url.searchParams.set('options', ATTENTIVE);
  const [one, other] = [await openPostgres(url.href), await openPostgres(url.href)];
  const tokens = await forest(one);
  const reversed = [...tokens].reverse();

  await Promise.all([
    callOften(one, tokens),
    callOften(one, reversed),
    callOften(other, tokens),
    callOften(other, reversed),
  ]);

  const kept = await money(one, tokens);
  assert.deepEqual(
    kept.map(([reserved]) => reserved),
    kept.map(() => 0n),
  );
  // Connections tell what they counted when they end.
  await Promise.all([one.close(), other.close()]);
  const observer = await connectedTo(server.url);
  while ((await observer.query(OTHERS)).rows.length > 0) await turn();
  assert.deepEqual((await observer.query(DEADLOCKS)).rows, [{ deadlocks: 0 }]);
});

const OTHERS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'writ'`;

const DEADLOCKS = `SELECT deadlocks::integer FROM pg_stat_database
  WHERE datname = current_database()`;

/** What two tokens have each that others may hold: how to hold one, and to see that another is free. */
const LOCKS = {
  gate: {
    hold: `SELECT pg_advisory_xact_lock(${GATE}, hashtext($1))`,
    try: `SELECT pg_try_advisory_xact_lock(${GATE}, hashtext($1)) AS free`,
  },
  budget: {
    hold: 'SELECT FROM budgets WHERE token_id = $1 FOR UPDATE',
    try: 'SELECT true AS free FROM budgets WHERE token_id = $1 FOR UPDATE SKIP LOCKED',
  },
  lease: {
    hold: 'SELECT FROM leases WHERE token_id = $1 FOR UPDATE',
    try: 'SELECT true AS free FROM leases WHERE token_id = $1 FOR UPDATE SKIP LOCKED',
  },
} as const;

const WAITED_FOR = [
  ['admit', 'gate'],
  ['admit', 'budget'],
  ['admit', 'lease'],
  ['settle', 'budget'],
  ['settle', 'lease'],
] as const;

for (const [step, lock] of WAITED_FOR) {
  test(`${step}() that waits for a ${lock} holds none that comes after it`, async () => {
    const server = await freshDatabase();
    const store = closedAtEnd(await openPostgres(server.url));
    const [holder, observer] = [await connectedTo(server.url), await connectedTo(server.url)];
    const tokens = await pairOf(store, observer, lock);
    const [first, second] = tokens;
    const calls = tokens.map((token) => admission(token, { charge: usd(1n) }));
    if (step === 'settle') await Promise.all(calls.map((call) => store.admit(call)));
    await holder.query('BEGIN');
    await holder.query(LOCKS[lock].hold, [first.token_id]);

    const done = [...calls].reverse().map((call) => {
      return step === 'settle' ? store.settle(settlement(call)) : store.admit(call);
    });
    while ((await observer.query(WAITING)).rows.length === 0) await turn();
    const { rows } = await observer.query(LOCKS[lock].try, [second.token_id]);
    await holder.query('ROLLBACK');

    assert.deepEqual(rows, [{ free: true }]);
    await Promise.all(done);
  });
}

/** Two tokens in the order in which this lock is taken. Each was used before, and so has a lease. */
async function pairOf(
  store: Store,
  observer: pg.Client,
  lock: keyof typeof LOCKS,
): Promise<[TokenRecord, TokenRecord]> {
  const fields = { budget: cents(100), concurrent_branches: 'exclusive' } as const;
  const tokens = [await insert(store, rootToken(fields)), await insert(store, rootToken(fields))];
  for (const token of tokens) {
    const call = await admitCall(store, token);
    await store.settle(settlement(call));
  }
  const place = lock === 'gate' ? 'hashtext(token_id)' : 'lineage';
  const { rows } = await observer.query(`SELECT token_id FROM tokens ORDER BY ${place}`);
  const inOrder = rows.map(({ token_id }) => tokens.find((token) => token.token_id === token_id));
  return inOrder as [TokenRecord, TokenRecord];
}

const WAITING = `SELECT pid FROM pg_stat_activity WHERE datname = current_database()
  AND wait_event_type = 'Lock' AND application_name = 'writ'`;

/** Trees whose branches have budgets and turns of their own, in places that differ. */
async function forest(store: Store): Promise<TokenRecord[]> {
  const tokens: TokenRecord[] = [];
  for (let tree = 0; tree < 3; tree++) {
    const root = await insert(store, rootToken(tree === 2 ? {} : { budget: cents(100_000) }));
    tokens.push(root);
    for (let branch = 0; branch < 3; branch++) {
      const turns = branch === 0 ? { concurrent_branches: 'exclusive' as const } : {};
      const child = await insert(store, childToken(root, { budget: cents(50_000), ...turns }));
      tokens.push(child, await insert(store, childToken(child, { budget: cents(20_000) })));
    }
  }
  return tokens;
}

async function callOften(store: Store, tokens: readonly TokenRecord[]): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const admitted = await admitAll(store, tokens);
    await Promise.all(admitted.map((call) => store.settle(settlement(call))));
  }
}

/** Those that were admitted. Some cost nothing, and hold no budget. */
async function admitAll(store: Store, tokens: readonly TokenRecord[]): Promise<Admission[]> {
  const calls = tokens.map((token, place) =>
    admission(token, place % 4 === 3 ? {} : { charge: usd(1n) }),
  );
  const results = await Promise.all(calls.map((call) => store.admit(call)));
  return calls.filter((_, place) => results[place]?.admitted);
}
