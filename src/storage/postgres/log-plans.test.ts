import assert from 'node:assert/strict';
import { test } from 'vitest';
import { closedAtEnd } from '../../../test/ends.ts';
import { freshDatabase } from '../../../test/postgres.ts';
import { at, entry } from '../../testing/fixtures.ts';
import type { EntryQuery } from '../port/store.ts';
import { openDatabase } from './connection.ts';
import { IN_ORDER, lookOf, queryOf } from './log/log.ts';
import { settingsOf } from './options.ts';
import { openPostgres } from './store.ts';

/** In entries. All alike but for one of each kind, so that the planner takes every filter for vain. */
const SIZE = 3_000;

const ROOT = 'human:root@example.com';
const COMMON = {
  capability: 'book_flight',
  client_reference_id: 'ref',
  task_id: 'task',
  parent_invocation_id: 'inv-000000000000',
  invocation_id: 'inv-111111111111',
};

const server = await freshDatabase();
const store = closedAtEnd(await openPostgres(server.url, { poolSize: 2 }));
const database = closedAtEnd(openDatabase(server.url, settingsOf({}), 1));
for (let from = 0; from < SIZE; from += 500) {
  await store.append(Array.from({ length: 500 }, () => entry(COMMON)));
}
await store.sequence();
await database.read({ name: 'analyze', text: 'ANALYZE log' });

interface Plan {
  readonly 'Node Type': string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Actual Rows'?: number;
  readonly 'Actual Loops'?: number;
  readonly Plans?: readonly Plan[];
}

async function planOf(text: string, values: readonly unknown[]): Promise<Plan> {
  // Without a name it goes as it is, with its parameters open.
  const rows = await database.reading(async (session) => {
    await session.run(IN_ORDER);
    return session.run<{ 'QUERY PLAN': [{ Plan: Plan }] }>({ name: '', text }, values);
  });
  return (rows[0] as { 'QUERY PLAN': [{ Plan: Plan }] })['QUERY PLAN'][0].Plan;
}

function scansIn(plan: Plan): Plan[] {
  const below = (plan.Plans ?? []).flatMap(scansIn);
  return plan['Index Name'] === undefined ? below : [plan, ...below];
}

const NAMED = [
  ['invocationId', 'invocation_id', 'invocation'],
  ['parentInvocationId', 'parent_invocation_id', 'parent'],
  ['clientReferenceId', 'client_reference_id', 'reference'],
  ['taskId', 'task_id', 'task'],
  ['capability', 'capability', 'capability'],
] as const;

/** Every set of filters, each with the index that has the rarest, the trail and the type. */
const QUERIES = Array.from({ length: 2 ** (NAMED.length + 1) }, (_, set) => {
  const has = (place: number) => (set & (2 ** place)) !== 0;
  const named = NAMED.filter((_name, place) => has(place));
  const query: EntryQuery = {
    ...Object.fromEntries(named.map(([field]) => [field, 'x'])),
    ...(has(NAMED.length) && { rootPrincipal: 'r' }),
    limit: 50,
  };
  const [, column, suffix] = named[0] ?? ['', '', 'type'];
  const inTrail = has(NAMED.length) && suffix !== 'invocation';
  const columns = [inTrail ? 'root_principal' : '', column, 'entry_type'].filter(Boolean);
  return { query, index: `${inTrail ? 'trail' : 'log'}_by_${suffix}`, columns };
});

test('queryEntries() ranges over the one index that has what is asked for', async () => {
  for (const { query, index, columns } of QUERIES) {
    for (const rest of [{}, { since: at(0), before: 9 }]) {
      const asked = { ...query, ...rest };
      for (const question of [queryOf(asked), queryOf(asked, 5), lookOf(asked)]) {
        if (!question) continue;
        const text = `EXPLAIN (GENERIC_PLAN, FORMAT JSON) ${question.statement.text}`;

        const scans = scansIn(await planOf(text, []));

        const place = scans.find((scan) => scan['Index Name'] === index);
        const names = scans.map((scan) => scan['Index Name']).join(', ');
        assert.ok(place, `${JSON.stringify(query)}: ${names}`);
        const key = `ROW(${[...columns, 'sequence'].join(', ')})`;
        assert.ok(place['Index Cond']?.replaceAll('log.', '').includes(`${key} >= `));
        assert.ok(place['Index Cond']?.replaceAll('log.', '').includes(`${key} < `));
      }
    }
  }
});

const RARE: readonly [EntryQuery, Parameters<typeof entry>[0]][] = [
  [{ entryType: 'dry_run', limit: 50 }, { entry_type: 'dry_run' }],
  [{ capability: 'cancel', limit: 50 }, { capability: 'cancel' }],
  [{ taskId: 'rare', limit: 50 }, { task_id: 'rare' }],
  [{ clientReferenceId: 'rare', limit: 50 }, { client_reference_id: 'rare' }],
  [
    { parentInvocationId: 'inv-222222222222', limit: 50 },
    { parent_invocation_id: 'inv-222222222222' },
  ],
  [{ invocationId: 'inv-333333333333', limit: 50 }, { invocation_id: 'inv-333333333333' }],
];

test('queryEntries() reads the rows it gives and no others, though hits are rare', async () => {
  // They come first, so that every walk from the newest would pass over all the others.
  await store.append(RARE.map(([, fields]) => entry({ ...COMMON, ...fields })));
  await store.append(Array.from({ length: 500 }, () => entry(COMMON)));
  await store.sequence();

  for (const [query] of RARE) {
    for (const scope of [{}, { rootPrincipal: ROOT }]) {
      const { statement, values } = queryOf({ ...query, ...scope });
      const text = `EXPLAIN (ANALYZE, FORMAT JSON) ${statement.text}`;

      const scans = scansIn(await planOf(text, values));

      const read = scans.map((scan) => {
        const removed = scan['Rows Removed by Filter'] ?? 0;
        return ((scan['Actual Rows'] ?? 0) + removed) * (scan['Actual Loops'] ?? 1);
      });
      // One is found in the index, and read by its place.
      assert.deepEqual(
        read.map(Math.round),
        read.map(() => 1),
        JSON.stringify(query),
      );
    }
  }
});
