import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import pg from 'pg';
import { test } from 'vitest';
import { freshDatabase } from '../../../test/postgres.ts';
import {
  admission,
  cents,
  childToken,
  keep,
  rootToken,
  settlement,
  usd,
} from '../../testing/fixtures.ts';
import { money } from '../../testing/observe.ts';
import type { Admission } from '../invocation-store.ts';
import type { TokenRecord } from '../records.ts';
import type { Store } from '../store.ts';
import { openPostgres } from './store.ts';

/** Without the order of budgets, in admissions or in settlements, some of them ended in a circle. */
const ROUNDS = 40;

/** A circle is found before the waiting in it ends otherwise. */
const ATTENTIVE = '-c deadlock_timeout=20ms';

test('admit() and settle() of crossing sets of tokens never wait in a circle', async () => {
  const circles = await circlesOf(async (stores) => {
    const [one, other] = stores;
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
  });

  assert.equal(circles, 0);
});

/** How often the server found some of them waiting in a circle. */
async function circlesOf(work: (stores: readonly [Store, Store]) => Promise<void>) {
  const server = await freshDatabase();
  try {
    const url = new URL(server.url);
    url.searchParams.set('options', ATTENTIVE);
    const stores = [await openPostgres(url.href), await openPostgres(url.href)] as const;
    try {
      await work(stores);
    } finally {
      // Connections tell what they counted when they end.
      await Promise.all(stores.map((store) => store.close()));
    }
    return await deadlocksOf(server.url);
  } finally {
    await server.drop();
  }
}

async function deadlocksOf(url: string): Promise<number> {
  const observer = new pg.Client({ connectionString: url });
  await observer.connect();
  try {
    while ((await observer.query(OTHERS)).rows.length > 0) await turn();
    const { rows } = await observer.query(DEADLOCKS);
    return rows[0].deadlocks;
  } finally {
    await observer.end();
  }
}

const OTHERS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'writ'`;

const DEADLOCKS = `SELECT deadlocks::integer FROM pg_stat_database
  WHERE datname = current_database()`;

/** Trees whose branches have budgets and turns of their own, in places that differ. */
async function forest(store: Store): Promise<TokenRecord[]> {
  const tokens: TokenRecord[] = [];
  for (let tree = 0; tree < 3; tree++) {
    const root = await keep(store, rootToken(tree === 2 ? {} : { budget: cents(100_000) }));
    tokens.push(root);
    for (let branch = 0; branch < 3; branch++) {
      const turns = branch === 0 ? { concurrent_branches: 'exclusive' as const } : {};
      const child = await keep(store, childToken(root, { budget: cents(50_000), ...turns }));
      tokens.push(child, await keep(store, childToken(child, { budget: cents(20_000) })));
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
