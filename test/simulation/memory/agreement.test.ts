/**
 * Two implementations agree: random walks over the simulated store and over SQLite, compared after every act.
 *
 * The two were written apart from the same sentences of the port. Where they answer differently, one of them or
 * the sentence is wrong.
 *
 * @module
 */

import { test } from 'vitest';
import type { LedgerSight } from '../../../src/storage/port/ledger-store.ts';
import { ROW_TABLES } from '../../../src/storage/port/row-store.ts';
import type { Store } from '../../../src/storage/port/store.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';
import { at } from '../../../src/testing/fixtures.ts';
import { same } from '../../../src/testing/store/observe.ts';
import { closedAtEnd } from '../../ends.ts';
import { seededPlatform } from '../../seeded.ts';
import { CALL_ACTS, STEP_ACTS, TOKEN_ACTS } from './agreement/calls.ts';
import { APPROVAL_ACTS, OPERATOR_ACTS } from './agreement/decisions.ts';
import { PEOPLE_ACTS } from './agreement/people.ts';
import type { Act, Random, World } from './agreement/world.ts';
import { createMemoryDatabase } from './database.ts';
import { openMemoryStore } from './store.ts';

/** `WRIT_TEST_AGREEMENT_SEEDS` asks for more. */
const SEEDS = Number(process.env.WRIT_TEST_AGREEMENT_SEEDS ?? 5);
const STEPS = 300;

/** Acts between two comparisons of all rows. */
const BETWEEN = 50;

/** Calls are the most frequent: most rules meet there. */
const ACTS: readonly (readonly [name: string, act: Act])[] = [
  ...Object.entries(TOKEN_ACTS),
  ...Object.entries(CALL_ACTS),
  ...Object.entries(CALL_ACTS),
  ...Object.entries(CALL_ACTS),
  ...Object.entries(STEP_ACTS),
  ...Object.entries(APPROVAL_ACTS),
  ...Object.entries(OPERATOR_ACTS),
  ...Object.entries(PEOPLE_ACTS),
];

for (let seed = 1; seed <= SEEDS; seed++) {
  test(`the simulated store and SQLite agree over ${STEPS} acts from seed ${seed}`, async () => {
    const world = newWorld(seed);
    const clock = () => world.now;
    const platform = seededPlatform(`store ${seed}`, 0);
    const sqlite = closedAtEnd(await openSqlite(':memory:', { clock }));
    const memory = openMemoryStore(createMemoryDatabase(), { platform, clock });

    for (let step = 0; step < STEPS; step++) {
      world.now = new Date(world.now.getTime() + 1 + world.random.below(2_000));
      const [name, act] = world.random.pick(ACTS);
      const where = `seed ${seed}, step ${step}: ${name}`;
      const call = act(world);
      if (call) agree(await outcomeOf(call, memory), await outcomeOf(call, sqlite), where);
      if (step % BETWEEN !== BETWEEN - 1) continue;
      agree(await everythingIn(memory), await everythingIn(sqlite), `after ${where}`);
    }
  });
}

function newWorld(seed: number): World {
  const platform = seededPlatform(`world ${seed}`, 0);
  const below = (end: number) => Buffer.from(platform.random(4)).readUInt32LE() % end;
  const random: Random = {
    below,
    chance: (percent) => below(100) < percent,
    pick: (items) => items[below(items.length)] as (typeof items)[number],
  };
  const none = { tokens: [], calls: [], settlements: [], steps: [], requests: [], grants: [] };
  return { random, now: at(0), ...none, deliveries: [], bindings: [] };
}

/** A store may word a defect in its own way. */
async function outcomeOf(call: (store: Store) => Promise<unknown>, store: Store): Promise<unknown> {
  try {
    return { result: await call(store) };
  } catch {
    return 'rejected';
  }
}

function agree(simulated: unknown, stored: unknown, where: string): void {
  try {
    same(simulated, stored);
  } catch (cause) {
    throw new Error(`${where}: ${(cause as Error).message}`, { cause });
  }
}

/** All rows that the port shows, each kind in an order that both stores have. */
async function everythingIn(store: Store): Promise<unknown> {
  const seen: Record<string, unknown[]> = {};
  const sight = new Proxy({} as LedgerSight, {
    get: (_, kind: string) => (row: unknown) => {
      seen[kind] ??= [];
      seen[kind].push(row);
    },
  });
  await store.readLedger(0, sight);
  const rows = await Promise.all(
    ROW_TABLES.map(async (table) => (await store.scanRows(table, undefined, 9_999)).rows),
  );
  const ledger = Object.entries(seen).map(([kind, items]) => [
    kind,
    kind === 'entry'
      ? items
      : items.toSorted((one, other) => (textOf(one) < textOf(other) ? -1 : 1)),
  ]);
  return { ledger, rows, deliveries: await store.listDeliveries(9_999) };
}

function textOf(row: unknown): string {
  return JSON.stringify(row, (_, value) => {
    if (typeof value === 'bigint') return `${value}`;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)),
    );
  });
}
